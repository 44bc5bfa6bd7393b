"""Results of read-only statements, kept for the next time that somebody asks the same.

An image never changes, so neither does what a statement reads from it. Agents that play one task
side by side, an oracle that looks at the action of its agent, and an episode that goes on from a
snapshot run the same statements again and again.
"""

from __future__ import annotations

from budget_envs.sql.protocol import QueryResult

__all__ = ["ResultMemory"]

_MAX_SIZE = 1_000_000  # bytes, roughly; all that is known is forgotten beyond it
_LARGEST = _MAX_SIZE // 8  # no single result may push out the others
_CELL = 40  # bytes, beside its text


class ResultMemory:
    """What is known of one image under one set of limits. Threads may share it.

    Only results that depend on nothing but the image, the limits and the statement may be kept:
    none that time, memory or an exception from outside ended.
    """

    def __init__(self) -> None:
        self._results: dict[str, QueryResult] = {}
        self._size = 0

    def recall(self, sql: str) -> QueryResult | None:
        """The result of a statement, to the letter; ``None`` if it is not known."""
        return self._results.get(sql)

    def keep(self, sql: str, result: QueryResult) -> None:
        """Keep a result, if it is not too large."""
        size = len(sql) + _size(result)
        if size > _LARGEST:
            return
        if self._size + size > _MAX_SIZE:
            self._results.clear()
            self._size = 0
        self._size += size
        self._results[sql] = result


def _size(result: QueryResult) -> int:
    cells = len(result.rows) * len(result.columns)
    if cells * _CELL > _LARGEST:
        return cells * _CELL
    texts = sum(len(cell) for row in result.rows for cell in row if isinstance(cell, str | bytes))
    return _CELL * cells + texts + sum(map(len, result.columns)) + len(result.error or "")
