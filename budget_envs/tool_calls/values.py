"""Which values an argument may have: one rule for every format, and its bounds."""

from __future__ import annotations

import math
from typing import Any, Final

__all__ = ["MAX_CHARACTERS", "MAX_DEPTH", "MAX_INTEGER", "TOO_DEEP", "refusal"]

MAX_CHARACTERS: Final = 100_000
"""Length of the longest block that is read as a call."""
MAX_DEPTH: Final = 32
"""How deep lists, tuples and dicts may be nested in an argument."""
MAX_INTEGER: Final = 10**300 - 1
"""Absolute value of the largest integer: every one can be printed, and converted to a float."""
TOO_DEEP: Final = f"values nested more than {MAX_DEPTH} deep"


def refusal(value: Any, depth: int = 0) -> str | None:
    """Say why a value cannot be an argument, or return ``None`` if it can.

    Arguments are what JSON holds, and tuples: ``None``, booleans, integers up to `MAX_INTEGER`,
    finite floats, valid Unicode text, and lists, tuples and dicts with text keys of them.
    """
    if depth > MAX_DEPTH:
        return TOO_DEEP
    kind = type(value)
    if kind is dict:
        for key in value:
            reason = _scalar_refusal(key) if type(key) is str else "a dict key that is not a text"
            if reason is not None:
                return reason
        value = value.values()
    elif kind not in (list, tuple):
        return _scalar_refusal(value)
    for item in value:
        reason = refusal(item, depth + 1)
        if reason is not None:
            return reason
    return None


def _scalar_refusal(value: Any) -> str | None:
    kind = type(value)
    if kind is str:
        is_text = value.isascii() or _is_unicode(value)
        return None if is_text else "a text with half of a surrogate pair"
    if value is None or kind is bool:
        return None
    if kind is int:
        return None if abs(value) <= MAX_INTEGER else "an integer of more than 300 digits"
    if kind is float:
        return None if math.isfinite(value) else "a number that is not finite"
    return f"a value of type {kind.__name__}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
