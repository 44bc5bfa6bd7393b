"""Queries as data: what the templates write, and the near misses that a task must tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

__all__ = ["Condition", "Query", "SetOperation", "Statement"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One conjunct of a WHERE or HAVING.

    Args:
        sql: The conjunct.
        weaker: The conjunct with a part left out; what it selects must differ.
        slips: Other mistakes in it.
    """

    sql: str
    weaker: tuple[str, ...] = ()
    slips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT.

    Args:
        select: The columns.
        source: What stands behind FROM, joins included.
        where: Conjuncts.
        group: Grouping columns.
        having: Conjuncts.
        order: Sort keys, with ``DESC`` where descending.
        limit: The LIMIT, or ``None``.
        distinct: Whether repeated rows are dropped.
        other_selects: Other columns that a careless reader would select.
        weaker_sources: ``source`` with a part left out; what it selects must differ.
    """

    select: tuple[str, ...]
    source: str
    where: tuple[Condition, ...] = ()
    group: tuple[str, ...] = ()
    having: tuple[Condition, ...] = ()
    order: tuple[str, ...] = ()
    limit: int | None = None
    distinct: bool = False
    other_selects: tuple[tuple[str, ...], ...] = ()
    weaker_sources: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The query as text."""
        parts = [
            f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(self.select)}",
            f"FROM {self.source}",
            *_clause("WHERE", " AND ", tuple(c.sql for c in self.where)),
            *_clause("GROUP BY", ", ", self.group),
            *_clause("HAVING", " AND ", tuple(c.sql for c in self.having)),
            *_clause("ORDER BY", ", ", self.order),
        ]
        return " ".join(parts) + (f" LIMIT {self.limit}" if self.limit is not None else "")

    @property
    def ordered(self) -> bool:
        """Whether the rows come in an order."""
        return bool(self.order)

    @property
    def sort_keys(self) -> Query:
        """The query for the sort keys of all rows, in order and without the LIMIT."""
        keys = tuple(key.removesuffix(" DESC") for key in self.order)
        return replace(self, select=keys, limit=None, distinct=False)

    def weaker(self) -> Iterator[str]:
        """Yield the query with one part left out: each part must matter to the result."""
        for where in (*_shorter(self.where), *_replaced(self.where, weaker=True)):
            yield replace(self, where=where).sql
        for having in (*_shorter(self.having), *_replaced(self.having, weaker=True)):
            yield replace(self, having=having).sql
        for source in self.weaker_sources:
            yield replace(self, source=source).sql
        if self.distinct:
            yield replace(self, distinct=False).sql
        if self.limit is not None:
            yield replace(self, limit=None).sql

    def slips(self) -> Iterator[str]:
        """Yield the query with one mistake."""
        for select in self.other_selects:
            yield replace(self, select=select).sql
        for where in _replaced(self.where):
            yield replace(self, where=where).sql
        for having in _replaced(self.having):
            yield replace(self, having=having).sql
        if self.order:
            yield replace(self, order=(_reversed(self.order[0]), *self.order[1:])).sql
        if self.limit is not None:
            yield replace(self, limit=self.limit + 1).sql


@dataclass(frozen=True, slots=True)
class SetOperation:
    """Two SELECTs joined by ``UNION``, ``INTERSECT`` or ``EXCEPT``.

    Args:
        operator: One of the three.
        left: The first operand.
        right: The second.
    """

    operator: str
    left: Query
    right: Query

    @property
    def sql(self) -> str:
        """The query as text."""
        return f"{self.left.sql} {self.operator} {self.right.sql}"

    @property
    def ordered(self) -> bool:
        """A set operation of this kind has no order."""
        return False

    def weaker(self) -> Iterator[str]:
        """Yield each operand alone."""
        for operand in (self.left, self.right):
            yield replace(operand, distinct=True).sql

    def slips(self) -> Iterator[str]:
        """Yield the operands swapped, the other operators, and a mistake in an operand."""
        if self.operator == "EXCEPT":
            yield replace(self, left=self.right, right=self.left).sql
        for operator in ("UNION", "INTERSECT", "EXCEPT"):
            if operator != self.operator:
                yield replace(self, operator=operator).sql
        for sql in self.left.slips():
            yield f"{sql} {self.operator} {self.right.sql}"


Statement: TypeAlias = Query | SetOperation


def _clause(keyword: str, separator: str, parts: tuple[str, ...]) -> list[str]:
    return [f"{keyword} {separator.join(parts)}"] if parts else []


def _reversed(key: str) -> str:
    return key.removesuffix(" DESC") if key.endswith(" DESC") else f"{key} DESC"


def _shorter(conjuncts: tuple[Condition, ...]) -> Iterator[tuple[Condition, ...]]:
    """Yield the conjuncts without each of them in turn."""
    for place in range(len(conjuncts)):
        yield conjuncts[:place] + conjuncts[place + 1 :]


def _replaced(
    conjuncts: tuple[Condition, ...], weaker: bool = False
) -> Iterator[tuple[Condition, ...]]:
    """Yield the conjuncts with one of them replaced by a weaker form, or by a slip."""
    for place, conjunct in enumerate(conjuncts):
        for sql in conjunct.weaker if weaker else conjunct.slips:
            yield (*conjuncts[:place], Condition(sql), *conjuncts[place + 1 :])
