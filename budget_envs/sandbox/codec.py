"""Plain values as bytes: the only thing that crosses the sandbox's wall.

A value is encoded by its *exact* type, so an ``int`` subclass with a kind ``__eq__``, a
generator or any other object is refused instead of being carried across. Decoding builds only
builtin values, and treats its input as hostile: bounded size, depth and number of items, no code.
This module runs on both sides and imports nothing but four modules of the standard library.

Wire format: one tag byte, then a fixed-size or length-prefixed body, little-endian.
"""

from __future__ import annotations

import collections
import struct
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_ITEMS",
    "MalformedError",
    "NotPlainError",
    "Reference",
    "decode",
    "encode",
]

MAX_BYTES = 8 << 20
"""Most bytes that a reply of a candidate may have."""
MAX_DEPTH = 200
"""Most levels of containers in a value."""
MAX_ITEMS = 1_000_000
"""Most items in a value; long sequences of equal scalar types are packed and count as one."""
_PACK_FROM = 8
_COLLISIONS_FROM = 128
_MOST_COLLISIONS = 64


_SEQUENCES: dict[type, bytes] = {
    list: b"l",
    tuple: b"t",
    set: b"S",
    frozenset: b"Z",
    collections.deque: b"Q",
}
_MAPPINGS: dict[type, bytes] = {
    dict: b"d",
    collections.Counter: b"C",
    collections.OrderedDict: b"O",
    collections.defaultdict: b"D",
}
_CONSTANTS: dict[Any, bytes] = {None: b"N", True: b"T", False: b"F"}
_SCALARS: tuple[type, ...] = (type(None), bool, int, float, complex, str, bytes)

_COUNT, _INTEGER, _REAL = struct.Struct("<cI"), struct.Struct("<cq"), struct.Struct("<cd")
_UINT32, _UINT64 = struct.Struct("<I"), struct.Struct("<Q")
_INT64, _FLOAT64 = struct.Struct("<q"), struct.Struct("<d")

PLAIN_TYPES: tuple[type, ...] = (*_SCALARS, *_SEQUENCES, *_MAPPINGS)
"""The types whose values cross by value; the types themselves cross by name."""


class NotPlainError(TypeError):
    """A value does not cross the sandbox's wall."""


class MalformedError(ValueError):
    """Bytes that no encoder wrote."""


class Reference:
    """An object that stays in the sandbox: good as an argument of later calls, for nothing else.

    Every question about it (its truth, an attribute, a comparison) raises `NotPlainError`, so an
    object of the candidate can never answer for itself in the judge.
    """

    __slots__ = ("_key", "_type_name")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, key: int, type_name: str) -> None:
        self._key = key
        self._type_name = type_name

    def __repr__(self) -> str:
        return f"<{self._type_name} object inside the sandbox>"

    def _refuse(self, *_: object) -> NoReturn:
        raise NotPlainError(f"a {self._type_name!r} object does not cross by value")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __call__ = _refuse
    __int__ = __float__ = __index__ = __getattr__ = _refuse


def encode(value: object) -> bytes:
    """Return the bytes of a plain value.

    Raises:
        NotPlainError: If something in it is not plain, or it is nested too deeply or too large.
    """
    out = bytearray()
    _Writer(out).write(value, 0)
    return bytes(out)


def decode(wire: bytes, resolve: Callable[[int], object] | None = None) -> Any:
    """Return the plain value that ``wire`` stands for.

    Args:
        wire: Bytes from `encode`, or from an enemy.
        resolve: Gives the object of a `Reference`'s key; without it references are malformed.

    Raises:
        MalformedError: If `encode` cannot have written them.
    """
    reader = _Reader(wire, resolve)
    try:
        value = reader.read(0)
    except (ValueError, TypeError, LookupError, struct.error, RecursionError) as error:
        raise MalformedError(f"not an encoded value: {error}") from None
    if reader.at != len(wire):
        raise MalformedError(f"{len(wire) - reader.at} bytes are left over after the value")
    return value


class _Writer:
    def __init__(self, out: bytearray) -> None:
        self.out = out
        self.items = 0

    def write(self, value: Any, depth: int) -> None:
        self.items += 1
        if self.items > MAX_ITEMS or depth > MAX_DEPTH:
            raise NotPlainError(f"a value of over {MAX_ITEMS} items or {MAX_DEPTH} levels")
        write = _WRITE.get(type(value))
        if write is None:
            raise NotPlainError(_does_not_cross(type(value)))
        write(self, value, depth)

    def constant(self, value: Any, depth: int) -> None:
        self.out += _CONSTANTS[value]

    def integer(self, value: int, depth: int) -> None:
        if -(1 << 63) <= value < 1 << 63:
            self.out += _INTEGER.pack(b"i", value)
        else:
            self._sized(b"n", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))

    def real(self, value: float, depth: int) -> None:
        self.out += _REAL.pack(b"f", value)

    def complex(self, value: complex, depth: int) -> None:
        self.out += b"c" + struct.pack("<dd", value.real, value.imag)

    def text(self, value: str, depth: int) -> None:
        self._sized(b"s", value.encode("utf-8", "surrogatepass"))

    def binary(self, value: bytes, depth: int) -> None:
        self._sized(b"b", value)

    def reference(self, value: Reference, depth: int) -> None:
        self.out += b"R" + struct.pack("<Q", value._key)

    def plain_type(self, value: type, depth: int) -> None:
        for index, plain in enumerate(PLAIN_TYPES):
            if value is plain:  # never by ==, which a metaclass may define
                self.out += b"y" + bytes([index])
                return
        raise NotPlainError(_does_not_cross(type))

    def _sized(self, tag: bytes, body: bytes) -> None:
        self.out += _COUNT.pack(tag, len(body))
        self.out += body

    def sequence(self, value: Iterable[Any], depth: int) -> None:
        tag = _SEQUENCES[type(value)]
        items = list(value)  # a snapshot: another thread of the candidate may change the original
        if len(items) >= _PACK_FROM and self._packed(tag, items):
            return
        self.out += _COUNT.pack(tag, len(items))
        for item in items:
            self.write(item, depth + 1)

    def _packed(self, tag: bytes, items: list[Any]) -> bool:
        kinds = set(map(type, items))
        letter = {int: "q", float: "d"}.get(kinds.pop()) if len(kinds) == 1 else None
        if letter is None:
            return False
        try:
            body = struct.pack(f"<{len(items)}{letter}", *items)
        except struct.error:  # an integer beyond 64 bits
            return False
        self.out += b"p" + tag
        self._sized(letter.encode(), body)
        return True

    def mapping(self, value: dict[Any, Any], depth: int) -> None:
        items = list(value.items())
        self.out += _COUNT.pack(_MAPPINGS[type(value)], len(items))
        for key, item in items:
            self.write(key, depth + 1)
            self.write(item, depth + 1)


_WRITE: dict[type, Callable[[_Writer, Any, int], None]] = {
    **dict.fromkeys((type(None), bool), _Writer.constant),
    **dict.fromkeys(_SEQUENCES, _Writer.sequence),
    **dict.fromkeys(_MAPPINGS, _Writer.mapping),
    int: _Writer.integer,
    float: _Writer.real,
    complex: _Writer.complex,
    str: _Writer.text,
    bytes: _Writer.binary,
    type: _Writer.plain_type,
    Reference: _Writer.reference,
}


def _does_not_cross(kind: type) -> str:
    return f"a {getattr(kind, '__name__', '?')!r} object does not cross by value"


class _Reader:
    def __init__(self, wire: bytes, resolve: Callable[[int], object] | None) -> None:
        self.wire = wire
        self.at = 0
        self.items = 0
        self.resolve = resolve

    def read(self, depth: int) -> Any:
        self.items += 1
        if self.items > MAX_ITEMS or depth > MAX_DEPTH:
            raise MalformedError("too many items or levels")
        at = self.at
        tag = self.wire[at : at + 1]
        self.at = at + 1
        return _READ[tag](self, tag, depth)  # KeyError: a tag that no encoder writes

    def _take(self, size: int) -> bytes:
        start, self.at = self.at, self.at + size
        if self.at > len(self.wire):
            raise MalformedError("the value is cut short")
        return self.wire[start : self.at]

    def _number(self, kind: struct.Struct) -> Any:
        start, self.at = self.at, self.at + kind.size
        return kind.unpack_from(self.wire, start)[0]

    def constant(self, tag: bytes, depth: int) -> Any:
        return _NAMED[tag]

    def integer(self, tag: bytes, depth: int) -> Any:
        return self._number(_INT64)

    def real(self, tag: bytes, depth: int) -> Any:
        return self._number(_FLOAT64)

    def complex(self, tag: bytes, depth: int) -> Any:
        return complex(*struct.unpack("<dd", self._take(16)))

    def text(self, tag: bytes, depth: int) -> Any:
        return self._take(self._number(_UINT32)).decode("utf-8", "surrogatepass")

    def binary(self, tag: bytes, depth: int) -> Any:
        return self._take(self._number(_UINT32))

    def big_integer(self, tag: bytes, depth: int) -> Any:
        return int.from_bytes(self._take(self._number(_UINT32)), "little", signed=True)

    def reference(self, tag: bytes, depth: int) -> Any:
        if self.resolve is None:
            raise MalformedError("a reference where nothing can be referred to")
        return self.resolve(self._number(_UINT64))

    def plain_type(self, tag: bytes, depth: int) -> Any:
        return PLAIN_TYPES[self._take(1)[0]]

    def sequence(self, tag: bytes, depth: int) -> Any:
        return _build(tag, [self.read(depth + 1) for _ in range(self._number(_UINT32))])

    def packed(self, tag: bytes, depth: int) -> Any:
        tag, letter = self._take(1), self._take(1)
        body = self._take(self._number(_UINT32))
        if tag not in _BUILD_SEQUENCE or letter not in (b"q", b"d"):
            raise MalformedError(f"unknown packed tag {tag + letter!r}")
        return _build(tag, list(struct.unpack(f"<{len(body) // 8}{letter.decode()}", body)))

    def mapping(self, tag: bytes, depth: int) -> Any:
        count = self._number(_UINT32)
        pairs = [(self.read(depth + 1), self.read(depth + 1)) for _ in range(count)]
        _check_hashes([key for key, _ in pairs])
        built = _BUILD_MAPPING[tag](pairs)
        if len(built) != len(pairs):
            raise MalformedError("a key comes twice")
        return built


_NAMED: dict[bytes, Any] = {tag: value for value, tag in _CONSTANTS.items()}
_BUILD_SEQUENCE: dict[bytes, Callable[[list[Any]], Any]] = {
    tag: kind for kind, tag in _SEQUENCES.items()
}
_BUILD_MAPPING: dict[bytes, Callable[[Any], Any]] = {
    b"d": dict,
    b"C": lambda pairs: collections.Counter(dict(pairs)),
    b"O": collections.OrderedDict,
    b"D": lambda pairs: collections.defaultdict(None, pairs),
}


_READ: dict[bytes, Callable[[_Reader, bytes, int], Any]] = {
    **dict.fromkeys(_NAMED, _Reader.constant),
    **dict.fromkeys(_BUILD_SEQUENCE, _Reader.sequence),
    **dict.fromkeys(_BUILD_MAPPING, _Reader.mapping),
    b"i": _Reader.integer,
    b"n": _Reader.big_integer,
    b"f": _Reader.real,
    b"c": _Reader.complex,
    b"s": _Reader.text,
    b"b": _Reader.binary,
    b"p": _Reader.packed,
    b"y": _Reader.plain_type,
    b"R": _Reader.reference,
}


def _build(tag: bytes, items: list[Any]) -> Any:
    if tag not in (b"S", b"Z"):
        return items if tag == b"l" else _BUILD_SEQUENCE[tag](items)
    _check_hashes(items)
    built = _BUILD_SEQUENCE[tag](items)
    if len(built) != len(items):
        raise MalformedError("a member comes twice")
    return built


def _check_hashes(keys: list[Any]) -> None:
    """Refuse keys made to collide: inserting n of them would cost the judge n**2 steps."""
    if len(keys) < _COLLISIONS_FROM:
        return
    most = collections.Counter(map(hash, keys)).most_common(1)[0][1]
    if most > _MOST_COLLISIONS:
        raise MalformedError(f"{most} keys have one hash")
