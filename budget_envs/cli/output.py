"""What the commands print: one JSON document, or text for a terminal."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "INTERRUPTED",
    "console",
    "plain_values",
    "print_json",
    "tolerate_any_text",
]

INTERRUPTED: Final = 130  # the exit code of a program that Ctrl-C ended
_WIDTH_OF_FILES: Final = 160  # columns, where the output is no terminal


def print_json(document: object) -> None:
    """Print one JSON document: ASCII, ``null`` for what is not a finite number."""
    print(json.dumps(plain_values(document), indent=2, allow_nan=False))


def plain_values(value: Any) -> Any:
    """Return a value as JSON has it; NumPy's numbers, tuples and sets become plain."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted(plain_values(inner) for inner in value)
    if hasattr(value, "tolist"):
        return plain_values(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def console(*, stderr: bool = False, width_of_files: int | None = _WIDTH_OF_FILES) -> Console:
    """Return a console that prints text as it stands, without markup or highlighting.

    It raises `BrokenPipeError` where nobody reads any more, as ``print`` does.

    Args:
        stderr: Print to standard error instead of standard output.
        width_of_files: Columns where the output is no terminal; ``None`` for rich's own number.
    """
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:  # rich's own ends the program, with another exit code
            raise BrokenPipeError

    stream: TextIO = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else width_of_files
    return PlainConsole(file=stream, width=width, markup=False, highlight=False, emoji=False)


def tolerate_any_text() -> None:
    """Let standard streams take and give any text, whatever the encoding of the terminal."""
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace")):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors=errors)  # type: ignore[union-attr]  # if it can
