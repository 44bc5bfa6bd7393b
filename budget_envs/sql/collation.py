"""MySQL's ``utf8mb4_general_ci``: case, accents and trailing spaces make no difference.

Registered on every SQLite connection under the name `MYSQL_CI` and used by the text columns that
come from MySQL, so that ``WHERE name = 'france'`` finds ``'France '`` there as it does in MySQL.

Reference: MySQL 8.0 Reference Manual, section 12.10 (character sets, PAD SPACE).
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterator
from typing import Protocol

__all__ = ["MYSQL_CI", "Meter", "collation", "compare", "sort_key"]

MYSQL_CI = "MYSQL_CI"
"""The collation's name in SQL."""

_LAST_WEIGHED = 0xFFFF  # beyond the first plane all characters weigh the same
_REPLACEMENT = 0xFFFD
_MAX_KEPT = 16_384  # texts whose keys are kept: at most some 20 MB
_LONGEST_KEPT = 100  # characters


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


class _Key(str):
    """What a text is compared as, if some of its characters come before the space.

    Without such characters, a text that another one begins with comes first, padded or not. With
    them padding matters, and the reflected method of a subclass decides wherever one is an operand.
    """

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        width = max(len(self), len(other))
        return self.ljust(width) < other.ljust(width)

    def __gt__(self, other: str) -> bool:
        width = max(len(self), len(other))
        return self.ljust(width) > other.ljust(width)


class _Keys(dict[str, str]):
    """Text -> what it is compared as; filled on demand."""

    def __missing__(self, text: str) -> str:
        """The key; kept for the next time, if the text is short."""
        key = sort_key(text).rstrip(" ")
        if not key.isprintable():
            key = _Key(key)
        if len(text) <= _LONGEST_KEPT:
            if len(self) >= _MAX_KEPT:
                self.clear()
            self[text] = key
        return key


_keys = _Keys()


class Meter(Protocol):
    """Counts comparisons; a sort is one step of SQLite's, in which nobody else is asked."""

    allowance: Iterator[None]
    """An item for every comparison that may go ahead without asking."""

    def renew(self) -> bool:
        """Called where the allowance is used up.

        Returns:
            Whether there is another one. If not, the statement is about to end, and everything
            compares as equal.
        """
        ...

    def note(self, error: BaseException) -> None:
        """Keep what was raised in a comparison: the engine does not pass it on."""
        ...


def collation(meter: Meter) -> Callable[[str, str], int]:
    """A function for `sqlite3.Connection.create_collation`.

    Args:
        meter: Counts each comparison of two different texts.

    Returns:
        Compares two texts as if the shorter one were padded with spaces: negative, 0 or positive.
    """
    keys = _keys

    def compare(left: str, right: str) -> int:
        # Most of the time of a query is spent here: one call for every step of a search or sort.
        try:
            if left == right:
                return 0
            for _ in meter.allowance:  # the cheapest way to count
                break
            else:
                if not meter.renew():
                    return 0
            # No KeyError is made and caught here: it would push out an exception of a signal's
            # handler that came when SQLite called, and that is on its way through it.
            a, b = keys[left], keys[right]
            return -1 if a < b else a > b
        except BaseException as error:
            meter.note(error)
            return 0

    return compare


class _Unmetered:
    allowance: Iterator[None] = itertools.repeat(None)

    def renew(self) -> bool:
        return True

    def note(self, error: BaseException) -> None:
        raise error


compare = collation(_Unmetered())
"""The collation without a meter."""
