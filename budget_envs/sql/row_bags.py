"""When two rows are equal, and how many rows two bags have in common.

Rows are compared cell by cell. NULL equals NULL, text and blobs equal themselves, and no text
equals a number. Numbers are compared by value, whatever their type: two whole numbers exactly,
others within a relative 1e-6. "Within 1e-6" is not transitive, so no rounding to a grid decides
it; bags are compared by a maximum matching of their rows.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, TypeAlias

__all__ = ["Row", "overlap", "plain_row", "same_row"]

Row: TypeAlias = Sequence[Any]
"""The cells of one row, as a database driver returns them."""

_Plain: TypeAlias = tuple[Any, ...]
_RELATIVE: Final = 1e-6
_ABSOLUTE: Final = 1e-12  # what cancellation leaves of a zero, such as 0.1 + 0.2 - 0.3
_EXACT_FLOATS: Final = 2.0**53  # from here on a float no longer tells whole numbers apart
_NUMBER: Final = (int, float, Decimal)
_NAN: Final = ("NaN",)  # equal to itself, as one value among others must be


def plain_row(row: Row) -> _Plain:
    """Return a row as a hashable tuple of None, numbers, text and bytes.

    Dates and times become their text, as SQLite stores them.
    """
    return tuple(map(_plain, row))


def same_row(got: Row, expected: Row) -> bool:
    """Return whether two rows are equal, cell by cell and in the order of the columns.

    Args:
        got: A row.
        expected: Another; a row of another width is different.
    """
    return _close(plain_row(got), plain_row(expected))


def overlap(got: Iterable[Row], expected: Iterable[Row]) -> int:
    """Return the greatest number of pairs of equal rows that two bags can be paired into.

    The bags are equal if that is the size of both.

    Args:
        got: Rows; those that occur twice count twice.
        expected: Rows.
    """
    left, right = Counter(map(plain_row, got)), Counter(map(plain_row, expected))
    identical = (left & right).total()
    if identical == min(left.total(), right.total()):
        return identical
    return sum(
        _matched({row: left[row] for row in part if row in left},
                 {row: right[row] for row in part if row in right})
        for part in _clusters(left | right)
    )  # fmt: skip


def _plain(cell: Any) -> Any:
    if cell is None or isinstance(cell, str | bytes):
        return cell
    if isinstance(cell, _NUMBER):
        return cell if cell == cell else _NAN
    return bytes(cell) if isinstance(cell, bytearray | memoryview) else str(cell)


def _close(left: _Plain, right: _Plain) -> bool:
    return len(left) == len(right) and all(
        a == b or (isinstance(a, _NUMBER) and isinstance(b, _NUMBER) and _near(a, b))
        for a, b in zip(left, right, strict=True)
    )


def _near(left: Any, right: Any) -> bool:
    """Whether two unequal numbers count as equal: never if both are whole."""
    if _is_whole(left) and _is_whole(right):
        return False
    return math.isclose(_float(left), _float(right), rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _is_whole(number: Any) -> bool:
    if isinstance(number, float):
        return number.is_integer() and abs(number) < _EXACT_FLOATS
    return isinstance(number, int) or bool(number == number.to_integral_value())


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _clusters(rows: Iterable[_Plain]) -> Iterator[list[_Plain]]:
    """Split distinct rows into parts such that equal rows are in the same part.

    A part agrees in everything that is not a number, and its values of each numeric column have
    no gap wider than the tolerance.
    """
    groups: dict[_Plain, list[_Plain]] = defaultdict(list)
    for row in rows:
        groups[tuple(_NUMBER if isinstance(cell, _NUMBER) else cell for cell in row)].append(row)
    for form, members in groups.items():
        parts = [members]
        for column, cell in enumerate(form):
            if cell is _NUMBER:
                parts = [piece for part in parts for piece in _split_at_gaps(part, column)]
        yield from parts


def _split_at_gaps(rows: list[_Plain], column: int) -> list[list[_Plain]]:
    ordered = sorted(rows, key=lambda row: _float(row[column]))
    pieces = [[ordered[0]]]
    for before, row in pairwise(ordered):
        low, high = _float(before[column]), _float(row[column])
        # twice the tolerance: a gap too many joined costs time, one too many split is wrong
        if math.isclose(low, high, rel_tol=2 * _RELATIVE, abs_tol=2 * _ABSOLUTE):
            pieces[-1].append(row)
        else:
            pieces.append([row])
    return pieces


def _matched(left: dict[_Plain, int], right: dict[_Plain, int]) -> int:
    """Return the size of a maximum matching of two bags, given as row -> number of copies.

    Maximum flow by shortest augmenting paths (Edmonds and Karp, 1972) over distinct rows.
    """
    if not left or not right:
        return 0
    neighbours = _neighbours(left, right)
    free, room = dict(left), dict(right)
    sent: dict[_Plain, Counter[_Plain]] = {row: Counter() for row in right}  # by whom
    for row, partners in neighbours.items():
        for partner in partners:
            amount = min(free[row], room[partner])
            sent[partner][row] += amount
            free[row] -= amount
            room[partner] -= amount
    while path := _augmenting_path(neighbours, free, room, sent):
        _augment(path, free, room, sent)
    return sum(left.values()) - sum(free.values())


def _neighbours(left: Iterable[_Plain], right: Iterable[_Plain]) -> dict[_Plain, list[_Plain]]:
    """Return, for each row of the left, the rows of the right equal to it, in sorted order."""
    lefts, rights = list(left), list(right)
    numeric = [i for i, cell in enumerate(lefts[0]) if isinstance(cell, _NUMBER)]
    if not numeric:
        return dict.fromkeys(lefts, rights)
    # search windows of the column with the most different values; others are checked one by one
    column = max(numeric, key=lambda i: len({row[i] for row in rights}))
    lefts.sort(key=lambda row: _float(row[column]))
    rights.sort(key=lambda row: _float(row[column]))
    values = [_float(row[column]) for row in rights]
    result = {}
    for row in lefts:
        value = _float(row[column])
        margin = 2 * (_RELATIVE * abs(value) + _ABSOLUTE) if math.isfinite(value) else 0.0
        window = slice(bisect_left(values, value - margin), bisect_right(values, value + margin))
        result[row] = [other for other in rights[window] if _close(row, other)]
    return result


def _augmenting_path(
    neighbours: dict[_Plain, list[_Plain]],
    free: dict[_Plain, int],
    room: dict[_Plain, int],
    sent: dict[_Plain, Counter[_Plain]],
) -> list[_Plain]:
    """Return a path left, right, left, ..., right from a free row to one with room, or []."""
    queue = deque([row] for row, copies in free.items() if copies)
    seen: set[_Plain] = {path[0] for path in queue}
    reached: set[_Plain] = set()
    while queue:
        path = queue.popleft()
        for partner in neighbours[path[-1]]:
            if partner in reached:
                continue
            reached.add(partner)
            if room[partner]:
                return [*path, partner]
            for row, copies in sent[partner].items():
                if copies and row not in seen:
                    seen.add(row)
                    queue.append([*path, partner, row])
    return []


def _augment(
    path: list[_Plain],
    free: dict[_Plain, int],
    room: dict[_Plain, int],
    sent: dict[_Plain, Counter[_Plain]],
) -> None:
    forward = list(zip(path[::2], path[1::2], strict=True))
    backward = list(zip(path[2::2], path[1::2], strict=False))
    amount = min(free[path[0]], room[path[-1]], *(sent[partner][row] for row, partner in backward))
    for row, partner in forward:
        sent[partner][row] += amount
    for row, partner in backward:
        sent[partner][row] -= amount
    free[path[0]] -= amount
    room[path[-1]] -= amount
