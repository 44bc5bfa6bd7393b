"""When an answer equals what was expected: the rules for printed text and for returned values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

__all__ = ["equal_value", "same_output", "same_value"]

TOLERANCE: Final = 1e-6
# Each alternative begins in another way, so that a match takes time linear in the word's length.
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_NUMBER: Final = 400  # characters; what is longer is compared letter by letter


def same_output(got: str, expected: str, *, ignore_case: bool = False) -> bool:
    """Compare what a program printed with what it should print.

    Lines are compared word by word: blanks at line ends and between words, and empty lines at the
    end, do not count. Integers are compared exactly, whatever their length. Two numbers with a
    point or an exponent may differ by 1e-6, relative or absolute; such a number and an integer by
    1e-6, absolute: 0.5 more than an integer is wrong, however large that integer is.

    Args:
        got: What was printed.
        expected: What should be.
        ignore_case: Whether letters are equal in any case.
    """
    if ignore_case:
        got, expected = got.lower(), expected.lower()
    got_lines, expected_lines = _lines(got), _lines(expected)
    if got_lines == expected_lines:
        return True
    return len(got_lines) == len(expected_lines) and all(
        _same_line(line.split(), other.split())
        for line, other in zip(got_lines, expected_lines, strict=True)
    )


def same_value(got: Any, expected: Any) -> bool:
    """Compare a returned value with an expected JSON value.

    A tuple equals the list of its elements and an integer key the text that JSON makes of it,
    since JSON has neither. Apart from that types must agree: neither ``True`` nor ``"1"`` is 1.
    Numbers are compared as :func:`same_output` compares them.

    Args:
        got: A plain value.
        expected: A JSON value.
    """
    if isinstance(got, tuple):
        got = list(got)
    if isinstance(expected, dict) and isinstance(got, dict):
        try:
            got = {str(key) if type(key) is int else key: value for key, value in got.items()}
        except ValueError:  # a key of more digits than Python prints
            return False
    return _same(got, expected, same_value)


def equal_value(got: Any, expected: Any) -> bool:
    """Compare a returned value with an expected Python value, as ``==`` between plain values does.

    Numbers may differ as in :func:`same_output`; a list never equals a tuple.

    Args:
        got: A plain value.
        expected: A Python value.
    """
    return bool(got == expected) or _same(got, expected, equal_value)


def _same(got: Any, expected: Any, same: Callable[[Any, Any], bool]) -> bool:
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, int | float) and isinstance(expected, int | float):
        return _same_number(got, expected)
    if type(got) is not type(expected):
        return False
    if isinstance(got, list | tuple):
        return len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(got, dict):
        return got.keys() == expected.keys() and all(same(got[k], expected[k]) for k in got)
    return bool(got == expected)


def _same_number(got: float, expected: float) -> bool:
    if isinstance(got, int) and isinstance(expected, int):
        return got == expected
    if isinstance(got, float) and isinstance(expected, float):
        both_nan = math.isnan(got) and math.isnan(expected)
        return both_nan or math.isclose(got, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if not all(isinstance(number, int) or math.isfinite(number) for number in (got, expected)):
        return False
    return abs(Fraction(got) - Fraction(expected)) <= TOLERANCE  # floats would round the integer


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _same_line(got: list[str], expected: list[str]) -> bool:
    return len(got) == len(expected) and all(map(_same_word, got, expected))


def _same_word(got: str, expected: str) -> bool:
    if got == expected:
        return True
    if max(len(got), len(expected)) > _LONGEST_NUMBER:
        return False
    if not (_NUMBER.fullmatch(got) and _NUMBER.fullmatch(expected)):
        return False
    if _INTEGER.fullmatch(got) and _INTEGER.fullmatch(expected):
        return False  # equal integers are written alike
    numbers = [int(word) if _INTEGER.fullmatch(word) else float(word) for word in (got, expected)]
    return math.inf not in map(abs, numbers) and _same_number(*numbers)
