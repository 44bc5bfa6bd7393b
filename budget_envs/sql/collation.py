"""MySQL's ``utf8mb4_general_ci``: case, accents and trailing spaces make no difference.

Registered on every SQLite connection under the name `MYSQL_CI` and used by the text columns that
come from MySQL, so that ``WHERE name = 'france'`` finds ``'France '`` there as it does in MySQL.

Reference: MySQL 8.0 Reference Manual, section 12.10 (character sets, PAD SPACE).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from typing import Protocol

__all__ = ["MYSQL_CI", "Meter", "collation", "compare", "sort_key"]

MYSQL_CI = "MYSQL_CI"
"""The collation's name in SQL."""

_LAST_WEIGHED = 0xFFFF  # beyond the first plane all characters weigh the same
_REPLACEMENT = 0xFFFD
_LONG = 500  # characters


class _Weights(dict[int, int]):
    """Code point -> code point of its upper-case letter without accents; filled on demand."""

    def __missing__(self, code: int) -> int:
        if code > _LAST_WEIGHED:
            return _REPLACEMENT  # not kept: there are a million of them
        weight = self[code] = _weight(chr(code))
        return weight


def _weight(character: str) -> int:
    """Weight as in MySQL's table, which is from Unicode 3 and strips accents of letters only."""
    if character == "ß":
        return ord("S")
    has_accents = character < "\u0590" or "\u1e00" <= character < "\u2000"
    old = unicodedata.ucd_3_2_0
    base = old.normalize("NFD", character)[0] if has_accents else character
    upper = base.upper()
    has_case = len(upper) == 1 and old.category(character) != "Cn" != old.category(upper)
    return ord(upper if has_case else base)


_WEIGHTS = _Weights()


def sort_key(text: str) -> str:
    """The text with every character replaced by the one it is compared as."""
    return text.upper() if text.isascii() else text.translate(_WEIGHTS)


class Meter(Protocol):
    """Counts comparisons; a sort is one step of SQLite's, in which nobody else is asked."""

    comparisons: int
    max_comparisons: float

    def is_exhausted(self) -> bool:
        """Whether the statement is to end: from then on everything compares as equal."""
        ...


def collation(meter: Meter) -> Callable[[str, str], int]:
    """A function for `sqlite3.Connection.create_collation`.

    Args:
        meter: Counts each comparison of two different texts. It is asked whether to go on where
            there were more than ``max_comparisons``, or the texts are long.

    Returns:
        Compares two texts as if the shorter one were padded with spaces: -1, 0 or 1.
    """

    def compare(left: str, right: str) -> int:
        # One Python call for every step of a sort: written for speed.
        if left == right:
            return 0
        meter.comparisons += 1
        is_due = meter.comparisons > meter.max_comparisons or len(left) > _LONG
        if is_due and meter.is_exhausted():
            return 0
        left = left.upper() if left.isascii() else left.translate(_WEIGHTS)
        right = right.upper() if right.isascii() else right.translate(_WEIGHTS)
        if left < right:
            return -1 if not right.startswith(left) else -_against_spaces(right[len(left) :])
        if left == right:
            return 0
        return 1 if not left.startswith(right) else _against_spaces(left[len(right) :])

    return compare


def _against_spaces(tail: str) -> int:
    rest = tail.lstrip(" ")
    return 0 if not rest else 1 if rest[0] > " " else -1


class _Unmetered:
    comparisons = 0
    max_comparisons = math.inf

    def is_exhausted(self) -> bool:
        return False


compare = collation(_Unmetered())
"""The collation without a meter."""
