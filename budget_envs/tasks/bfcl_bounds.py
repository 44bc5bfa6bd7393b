"""What BFCL's API classes are kept from: work without bounds, and changes outside of the episode.

The classes trust their callers. A number may have a billion digits, and directories that are copied
into each other may come to hold themselves, and then nothing that walks through them ends. What no
sane request needs is refused as text; every other call goes through as it is.
"""

from __future__ import annotations

import decimal
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from budget_envs.tool_calls.values import MAX_CHARACTERS, refusal

__all__ = ["SETS_PRECISION", "FileSystemBounds", "own_precision", "unusable"]

MAX_DIGITS: Final = 1000
"""Precision and decimal places that may be asked for."""
MAX_NAME: Final = 255
"""Length of the name of a file or directory."""
MAX_PATH: Final = 4096
"""Length of a path."""
MAX_DEPTH: Final = 64
"""How deep directories may be nested."""
MAX_ENTRIES: Final = 3000
"""Paths in a file system into which directories were copied or moved."""
MAX_PATHS: Final = 1_000_000
"""Characters of all these paths together."""

_PRECISION: Final = threading.Lock()
_POWER_BITS: Final = 14_300  # an integer of more bits has more digits than Python prints
_NUMBER_TEXT: Final = re.compile(r"[^eE]{,40}([eE][+-]?\d{,3})?")

SETS_PRECISION: Final = frozenset(("logarithm", "square_root"))
"""Functions to be called within `own_precision`."""

Arguments = Mapping[str, Any]


def unusable(name: str, arguments: Arguments) -> str | None:
    """Say why a call is not carried out with these arguments, or return ``None`` if it is.

    Args:
        name: The function.
        arguments: Its arguments by name; any values.
    """
    characters = 0
    for value in arguments.values():
        if type(value) is str and value.isascii():
            characters += len(value)
        elif value is not None and type(value) is not bool:
            reason = refusal(value)
            if reason is not None:
                return f"an argument is {reason}"
            characters += len(value) if type(value) is str else 0
    if characters > MAX_CHARACTERS:
        return f"the arguments have more than {MAX_CHARACTERS} characters"
    check = _CHECKS.get(name)
    return None if check is None else check(arguments)


def _precision(arguments: Arguments) -> str | None:
    for name in ("precision", "decimal_places"):
        try:
            digits = int(arguments.get(name, 0))
        except (TypeError, ValueError, OverflowError):
            continue  # for the function to refuse
        if abs(digits) > MAX_DIGITS:
            return f"{name} is more than {MAX_DIGITS}"
    return None


def _logarithm(arguments: Arguments) -> str | None:
    for name in ("value", "base"):
        number = arguments.get(name)
        if isinstance(number, str) and _NUMBER_TEXT.fullmatch(number) is None:
            return f"{name} is a text that is too long for a number"
    return _precision(arguments)


def _power(arguments: Arguments) -> str | None:
    base, exponent = arguments.get("base"), arguments.get("exponent")
    if not (isinstance(base, int) and isinstance(exponent, int) and exponent > 0):
        return None
    bits = (abs(base).bit_length() - 1) * exponent  # the result has no fewer
    return "the result has too many digits" if bits > _POWER_BITS else None


def _path(arguments: Arguments) -> str | None:
    path = arguments.get("path")
    is_long = isinstance(path, str) and len(path) > MAX_PATH
    return f"the path has more than {MAX_PATH} characters" if is_long else None


_CHECKS: Final[Mapping[str, Callable[[Arguments], str | None]]] = {
    "logarithm": _logarithm,
    "square_root": _precision,
    "round_number": _precision,
    "power": _power,
    "find": _path,
}


@contextmanager
def own_precision() -> Iterator[None]:
    """Keep what sets the precision of `decimal` or mpmath inside from setting it for others.

    mpmath has one for all threads, so one thread at a time may be inside.
    """
    import mpmath

    with _PRECISION, decimal.localcontext(), mpmath.workprec(mpmath.mp.prec):
        yield


class FileSystemBounds:
    """Keeps one ``GorillaFileSystem`` small enough to walk through.

    Copying a directory shares what is in it, so directories can come to be inside each other.

    Args:
        file_system: The instance that is watched.
    """

    def __init__(self, file_system: Any) -> None:
        self._fs = file_system
        self._is_tangled = False  # directories were copied or moved: paths may share what they hold

    def around(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of the instance that raises `ValueError` where it would make too much.

        Nothing has changed then.
        """
        if name not in ("mkdir", "touch", "cp", "mv"):
            return method

        def bounded(**arguments: Any) -> Any:
            if any(isinstance(text, str) and len(text) > MAX_NAME for text in arguments.values()):
                raise ValueError(f"a name has more than {MAX_NAME} characters")
            if name == "mkdir" and self._depth() >= MAX_DEPTH:
                raise ValueError(f"directories are nested more than {MAX_DEPTH} deep")
            if name in ("cp", "mv") and self._is_directory(arguments.get("source")):
                return self._tangle(arguments, method)
            if self._is_tangled and not self._is_small():
                raise ValueError(f"there are more than {MAX_ENTRIES} files and directories")
            return method(**arguments)

        return bounded

    def _tangle(self, arguments: Arguments, method: Callable[..., Any]) -> Any:
        """Copy or move a directory, and take that back if the result is too large."""
        touched = [self._fs._current_dir.contents]
        destination = self._item(arguments.get("destination"))
        if hasattr(destination, "contents"):
            touched.append(destination.contents)
        before = [dict(contents) for contents in touched]
        result = method(**arguments)
        self._is_tangled = True
        if self._is_small():
            return result
        for contents, saved in zip(touched, before, strict=True):
            contents.clear()
            contents.update(saved)
        raise ValueError("a directory would hold itself, or too many files and directories")

    def _item(self, name: Any) -> Any:
        return self._fs._current_dir.contents.get(name) if isinstance(name, str) else None

    def _is_directory(self, name: Any) -> bool:
        return hasattr(self._item(name), "contents")

    def _depth(self) -> int:
        depth, directory = 0, self._fs._current_dir
        while directory is not None and depth < MAX_DEPTH:
            depth, directory = depth + 1, directory.parent
        return depth

    def _is_small(self) -> bool:
        return _is_small(self._fs.root) and _is_small(self._fs._current_dir)


def _is_small(root: Any) -> bool:
    """Return whether all paths below a directory stay within bounds, in bounded time."""
    entries = characters = 0
    waiting = [(root, 1, 0)]
    while waiting:
        directory, depth, length = waiting.pop()
        for name, item in directory.contents.items():
            path = length + 1 + len(str(name))
            entries, characters = entries + 1, characters + path
            if entries > MAX_ENTRIES or characters > MAX_PATHS:
                return False
            if hasattr(item, "contents"):
                if depth >= MAX_DEPTH:
                    return False
                waiting.append((item, depth + 1, path))
    return True
