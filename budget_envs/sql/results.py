"""Execution equality: whether a query's result is the result that the gold query asks for.

Rows form a bag; their order counts only where the gold query orders at its outermost level.
There, rows that sort alike may come in any order, and where a LIMIT cuts through such a tie any
choice of the right size is right: SQL leaves both open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from budget_envs.sql.gold_shape import Dialect, Shape, shape_of
from budget_envs.sql.row_bags import Row, overlap, plain_row, same_row

__all__ = ["GoldResult", "agreement", "degenerate", "equal", "gold_result"]

_Rows = tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class GoldResult:
    """The result of a gold query and every other result that would be as right.

    Args:
        rows: What the engine returned.
        ordered: Whether the query orders its rows.
        limit: Its LIMIT, or ``None``.
        classes: The rows without LIMIT and OFFSET, in classes that sort alike, in the order of
            the classes. One class where nothing is sorted.
        offset: How many rows of ``classes`` are left out at the start.
        tie_aware: False if the query sorts or cuts and its ties could not be found out: then
            exactly ``rows`` is right, in this order if ``ordered``.
    """

    rows: _Rows
    ordered: bool
    limit: int | None
    classes: tuple[_Rows, ...]
    offset: int = 0
    tie_aware: bool = True

    @property
    def cuts_ties(self) -> bool:
        """Whether LIMIT or OFFSET choose among rows that sort alike: several results are right."""
        return any(len(part) < len(members) for part, members in _segments(self.rows, self))


def gold_result(
    sql: str, run: Callable[[str], Sequence[Row]], *, dialect: Dialect = "sqlite"
) -> GoldResult:
    """Run a gold query, and once more without its LIMIT if it sorts or cuts.

    Args:
        sql: The gold query.
        run: Executes a query and returns its rows. What it raises for ``sql`` passes through;
            if it raises for the rewritten query, the result is not tie-aware.
        dialect: Of the engine behind ``run``.

    Returns:
        The rows and the ties. A query with parts that are chosen freely by the engine below its
        outermost level (``WHERE id = (SELECT ... LIMIT 1)``) has other right results; they are
        not found.

    Raises:
        DependencyNotInstalled: If sqlglot is missing and the query has an ORDER BY or LIMIT.
    """
    rows = _tuples(run(sql))
    shape = shape_of(sql, dialect)
    if not shape.ordered and not shape.cut:
        return GoldResult(rows, False, None, (rows,))
    classes = _tie_classes(shape, run)
    if classes is not None:
        result = GoldResult(rows, shape.ordered, shape.limit, classes, shape.offset)
        if equal(rows, result):  # else the rewritten query means something else to the engine
            return result
    known = tuple((row,) for row in rows) if shape.ordered else (rows,)
    return GoldResult(rows, shape.ordered, shape.limit, known, tie_aware=False)


def equal(got: Sequence[Row] | None, gold: GoldResult) -> bool:
    """Return whether rows are a right result.

    Columns are compared by position. NULL equals NULL, text never equals a number, two whole
    numbers are compared exactly and others within a relative 1e-6, whatever their types.

    Args:
        got: Rows in the order the engine gave; ``None`` for an error or a statement without
            a result, which is never right.
        gold: What is right.
    """
    return (
        got is not None
        and len(got) == len(gold.rows)
        and all(_placed(part, members) == len(part) for part, members in _segments(got, gold))
    )


def agreement(got: Sequence[Row] | None, gold: GoldResult) -> float:
    """Return how much of a result is right: a number in [0, 1] that is 1 iff it is `equal`.

    The intersection over union of the bags of rows, ties broken in favour of ``got``. Where the
    gold query orders, the mean of that and of the share of places that hold a row which may
    stand there.

    Args:
        got: Rows in the order the engine gave, or ``None``, which agrees with nothing.
        gold: What is right.
    """
    if got is None:
        return 0.0
    if equal(got, gold):
        return 1.0
    nearest = _nearest(got, gold)
    common = overlap(got, nearest)
    over_union = common / (len(got) + len(nearest) - common)
    if not gold.ordered:
        return over_union
    placed = sum(_placed(part, members) for part, members in _segments(got, gold))
    return (over_union + placed / max(len(got), len(gold.rows))) / 2


def degenerate(rows: Sequence[Row]) -> Literal["empty", "all zero or null"] | None:
    """Return why a gold result does not tell a right query from a careless one, or ``None``.

    Any query that finds nothing returns no rows, and any aggregate of nothing zeros and NULLs.
    """
    if not rows:
        return "empty"
    if all(cell is None or (not isinstance(cell, str) and cell == 0) for r in rows for cell in r):
        return "all zero or null"
    return None


def _tuples(rows: Sequence[Row]) -> _Rows:
    return tuple(map(tuple, rows))


def _tie_classes(shape: Shape, run: Callable[[str], Sequence[Row]]) -> tuple[_Rows, ...] | None:
    if shape.ranked is None:
        return None
    try:
        ranked = run(shape.ranked)
    except Exception:  # of the engine's own classes, which are not known here
        return None
    return tuple(
        tuple(tuple(row[:-1]) for row in members)
        for _, members in groupby(ranked, key=lambda row: row[-1])
    )


def _segments(got: Sequence[Row], gold: GoldResult) -> Iterator[tuple[Sequence[Row], _Rows]]:
    """Yield the rows in the places of each class, with the rows that may stand there."""
    start, stop = gold.offset, gold.offset + len(gold.rows)
    before = 0
    for members in gold.classes:
        first, last = max(before, start), min(before + len(members), stop)
        if first < last:
            yield got[first - start : last - start], members
        before += len(members)


def _placed(part: Sequence[Row], members: _Rows) -> int:
    if len(part) == len(members) == 1:
        return int(same_row(part[0], members[0]))
    return overlap(part, members)


def _nearest(got: Sequence[Row], gold: GoldResult) -> list[Row]:
    """Return a right result that has as many rows of ``got`` as the cut ties allow."""
    wanted = Counter(map(plain_row, got))
    result: list[Row] = []
    cut = []
    for places, members in _segments(gold.rows, gold):
        if len(places) == len(members):
            result += members
            wanted.subtract(map(plain_row, members))
        else:
            cut.append((len(places), members))
    for size, members in cut:
        result += _chosen(members, size, wanted)
    return result


def _chosen(members: _Rows, size: int, wanted: Counter[tuple[object, ...]]) -> list[Row]:
    preferred: list[Row] = []
    others: list[Row] = []
    for row in members:
        key = plain_row(row)
        (preferred if wanted[key] > 0 else others).append(row)
        wanted[key] -= 1
    return [*preferred, *others][:size]
