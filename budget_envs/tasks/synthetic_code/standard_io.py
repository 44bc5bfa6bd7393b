"""How arguments and results of the script form of a task are written as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from budget_envs.tasks.synthetic_code.dsl import Type

__all__ = ["input_text", "output_text"]


def input_text(arguments: Sequence[Any]) -> str:
    """Return the standard input of a script: one argument a line, lists separated by spaces."""
    return "".join(f"{_line(argument)}\n" for argument in arguments)


def output_text(type_: Type, result: Any) -> str:
    """Return what a script prints for a result.

    Integers, strings and lists of integers take one line; a ``bool`` is ``YES`` or ``NO``; a
    ``list[str]`` is its length and then one element a line, so that empty elements count.

    Args:
        type_: Type of the result (an empty list does not tell).
        result: A value of a program.
    """
    if type_ is Type.BOOL:
        return "YES\n" if result else "NO\n"
    if type_ is Type.WORDS:
        return "".join(f"{item}\n" for item in (len(result), *result))
    return f"{_line(result)}\n"


def _line(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
