"""How `Run`, `Episode` and `Turn` become SQL rows and come back equal."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, get_args

from budget_envs.errors import DataError
from budget_envs.evaluation.outcomes import Protocol
from budget_envs.evaluation.policy import shown
from budget_envs.evaluation.trajectory import BOUNDARIES, Episode, Run, Turn
from budget_envs.text_env import Verdict

__all__ = ["COLUMNS", "RecordT", "from_row", "to_json", "to_row", "to_sql", "to_text"]

RecordT = TypeVar("RecordT", Run, Episode, Turn)
Record = Run | Episode | Turn

COLUMNS: Final[Mapping[type[Record], tuple[str, ...]]] = {
    kind: tuple(field.name for field in dataclasses.fields(kind) if field.name != "turns")
    for kind in (Run, Episode, Turn)
}
"""The columns of each record's table: its attributes, an episode's turns aside."""


def to_row(record: Record) -> list[Any]:
    """Return the record's values in the order of its columns, as SQLite takes them."""
    kind = type(record)
    composite = _COMPOSITE[kind]
    return [
        to_json(value) if name in composite else to_sql(value)
        for name, value in ((name, getattr(record, name)) for name in COLUMNS[kind])
    ]


def from_row(kind: type[RecordT], row: Sequence[Any]) -> RecordT:
    """Return the record of a row that :func:`to_row` made.

    Raises:
        DataError: If a column holds what :func:`to_row` never writes.
    """
    readers = _READERS[kind]
    values: dict[str, Any] = {}
    for name, value in zip(COLUMNS[kind], row, strict=True):
        try:
            values[name] = readers[name](value)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(
                f"column {name!r} holds {value!r:.80}, which no evaluation writes there ({error})."
            ) from error
    return kind(**values)


def to_sql(value: Any) -> Any:
    """Return a plain value as SQLite takes it: text without a UTF-8 form becomes a blob."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def to_text(value: Any) -> Any:
    """Undo :func:`to_sql`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def to_json(value: Any) -> str | None:
    """Return a composite value as strict JSON; NaN and infinities, which it lacks, become null.

    NumPy scalars and arrays are written as numbers and lists, and what else JSON lacks as its
    ``repr``, keys included. ``None`` stays ``None``.
    """
    if value is None:
        return None
    try:
        return _STRICT.encode(value)
    except (ValueError, TypeError, RecursionError):
        return _STRICT.encode(_strict(value, 0))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else shown(value)


_MAX_DEPTH: Final = 50
_MAX_BITS: Final = 1024  # more digits than Python writes out at once
_STRICT: Final = json.JSONEncoder(allow_nan=False, default=_plain)


def _strict(value: Any, depth: int) -> Any:
    """Return a value in what strict JSON has, whatever it is made of."""
    if depth > _MAX_DEPTH:  # perhaps a value that holds itself
        return "..."
    if isinstance(value, Mapping):
        return {_key(key): _strict(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_BITS else hex(value)
    return _strict(value.tolist(), depth + 1) if hasattr(value, "tolist") else shown(value)


def _key(key: Any) -> Any:
    return key if key is None or isinstance(key, str | int | bool) else shown(key)


# Reading.


def _text(value: Any) -> Any:
    text = to_text(value)
    if not isinstance(text, str):
        raise TypeError("expected text")
    return text


def _integer(value: Any) -> Any:
    if not isinstance(value, int):
        raise TypeError("expected an integer")
    return value


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise TypeError("expected a number")
    return value


def _flag(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError("expected 0 or 1")
    return bool(value)


def _one_of(known: Sequence[str]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value not in known:
            raise ValueError(f"expected one of {', '.join(known)}")
        return value

    return read


def _mapping(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("expected a JSON object")
    return found


def _tuple(text: str) -> tuple[Any, ...]:
    found = json.loads(text)
    if not isinstance(found, list):
        raise TypeError("expected a JSON list")
    return tuple(found)


def _bounds(text: str) -> dict[int, float]:
    return {int(turns): bound for turns, bound in _mapping(text).items()}


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_BY_TYPE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "str": _text,
    "int": _integer,
    "float": _number,
    "bool": _flag,
    "Verdict": _one_of(get_args(Verdict)),
    "Boundary": _one_of(BOUNDARIES),
    "Protocol": _one_of(get_args(Protocol)),
    "Mapping[str, Any]": _mapping,
    "Mapping[str, str]": _mapping,
    "Mapping[int, float]": _bounds,
    "tuple[int, ...]": _tuple,
    "tuple[str, ...]": _tuple,
}


def _reader(annotation: str) -> Callable[[Any], Any]:
    kind = annotation.removesuffix(" | None")
    return _BY_TYPE[kind] if kind == annotation else _optional(_BY_TYPE[kind])


def _readers(kind: type[Record]) -> dict[str, Callable[[Any], Any]]:
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    return {name: _reader(types[name]) for name in COLUMNS[kind]}


_READERS: Final = {kind: _readers(kind) for kind in COLUMNS}
_COMPOSITE: Final = {
    kind: frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if str(field.type).startswith(("Mapping[", "tuple["))
    )
    for kind in COLUMNS
}
