"""How the report writes numbers and untrusted text."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["BOUND_NOTE", "MISSING", "cut", "interval", "number", "percent", "visible"]

MISSING: Final = "–"
"""What stands where a value is undefined."""
BOUND_NOTE: Final = (
    "no policy's true rate on these tasks is higher; an estimate from n episodes may exceed it by "
    "chance."
)
"""What the structural bound bounds: a rate above it is no error."""


def visible(text: str) -> str:
    """Return a text in which every character that cannot be seen is written out.

    Text from agents and environments is untrusted: control characters could steer a terminal,
    marks of writing direction could make a text read as something else, and lone surrogates have
    no UTF-8 form. Line breaks, tabs and all kinds of blanks stay.
    """
    return "".join(char if char in "\n\t" or _is_seen(char) else _escaped(char) for char in text)


def cut(text: str, limit: int) -> str:
    """Return the first ``limit`` characters of a text, and say so if there are more."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut here: {limit:,} of {len(text):,} characters shown]"


def percent(share: float) -> str:
    """Return a share in [0, 1] in percent with one decimal, ``"–"`` for NaN."""
    return number(100 * share, 1)


def number(value: float | None, decimals: int) -> str:
    """Return a number with that many decimals, ``"–"`` where there is none."""
    if value is None or math.isnan(value):
        return MISSING
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def interval(low: float, high: float) -> str:
    """Return an interval of shares in percent, e.g. ``"[12.5, 40.0]"``; nothing for NaN.

    With as many decimals as `percent`: with fewer, an interval could leave out its own estimate.
    """
    return "" if math.isnan(low) else f"[{percent(low)}, {percent(high)}]"


def _is_seen(char: str) -> bool:
    return char.isprintable() or (char.isspace() and ord(char) > 0x9F)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
