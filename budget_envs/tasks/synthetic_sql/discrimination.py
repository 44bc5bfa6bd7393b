"""Whether a gold query tells right from wrong: what makes a draft worth being a task."""

from __future__ import annotations

import sqlite3
from collections import Counter
from itertools import islice
from typing import Any, Final

from budget_envs.sql.results import degenerate
from budget_envs.tasks.synthetic_sql.query import Query, Statement

__all__ = ["MOST_ROWS", "is_discriminating"]

MOST_ROWS: Final = 40
"""The longest result of a gold query."""

_NEAR_MISSES: Final = 2


def is_discriminating(connection: sqlite3.Connection, query: Statement) -> bool:
    """Return whether a query makes a task.

    It does if its result is neither empty, nor all zero or NULL, nor the number 1, nor too long;
    if its order is without ties; if every part of it matters to the result; and if at least two
    wrong queries like it give other results.

    Args:
        connection: To the database.
        query: The gold query.
    """
    rows = connection.execute(query.sql).fetchall()
    if degenerate(rows) or len(rows) > MOST_ROWS or rows == [(1,)]:
        return False
    if isinstance(query, Query) and query.ordered and not _is_total(connection, query):
        return False

    def differs(sql: str) -> bool:
        return not _same(connection.execute(sql).fetchall(), rows, query.ordered)

    weaker = list(query.weaker())
    if not all(map(differs, weaker)):
        return False
    missing = max(0, _NEAR_MISSES - len(weaker))
    return len(list(islice(filter(differs, query.slips()), missing))) == missing


def _is_total(connection: sqlite3.Connection, query: Query) -> bool:
    """Whether no two rows that matter sort alike: all of them, or those up to the LIMIT's edge."""
    keys = connection.execute(query.sort_keys.sql).fetchall()
    edge = len(keys) if query.limit is None else query.limit + 1
    return len(set(keys[:edge])) == len(keys[:edge])


def _same(got: list[Any], gold: list[Any], ordered: bool) -> bool:
    return got == gold if ordered else Counter(got) == Counter(gold)
