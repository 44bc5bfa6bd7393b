"""Reading a cursor to its end within bounds: all rows are counted, the first ones are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from budget_envs.sql.protocol import QueryResult, SqlLimits
from budget_envs.sql.schema import Value

__all__ = ["Cursor", "fetched"]

_ROWS_AT_ONCE = 16  # what is in memory beyond the bounds: this many rows


class Cursor(Protocol):
    """The part of a database cursor that is needed here (PEP 249)."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """One entry per column, its name first; ``None`` if there are no rows to fetch."""
        ...

    @property
    def rowcount(self) -> int:
        """How many rows were written, or -1."""
        ...

    def fetchmany(self, size: int, /) -> Sequence[tuple[Value, ...]]:
        """The next rows; none at the end."""
        ...


def fetched(cursor: Cursor, limits: SqlLimits) -> QueryResult:
    """Read all rows and keep as many as the limits allow."""
    if cursor.description is None:
        return QueryResult(affected_rows=max(cursor.rowcount, 0))
    rows: list[tuple[Value, ...]] = []
    total, text_bytes, truncated = 0, 0, False
    while some := cursor.fetchmany(_ROWS_AT_ONCE):
        total += len(some)
        if truncated:
            continue
        text_bytes += sum(
            len(cell) for row in some for cell in row if isinstance(cell, str | bytes)
        )
        kept = some[: limits.max_rows - len(rows)] if text_bytes <= limits.max_result_bytes else ()
        truncated = len(kept) < len(some)
        rows.extend(kept)
    columns = tuple(str(header[0]) for header in cursor.description)
    return QueryResult(columns, tuple(rows), total, truncated)
