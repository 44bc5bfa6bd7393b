"""Statements that a MySQL session refuses before the server sees them.

The account's privileges protect what is stored; this protects the session itself, whose limits any
account may lift with SET, and the sessions beside it, whose statements a process list shows.
"""

from __future__ import annotations

import re

from budget_envs.sql.collation import sort_key
from budget_envs.sql.statements import (
    WRITING_WORDS,
    has_executable_comment,
    refused,
    without_quotes,
)

__all__ = ["refusal"]

_READING_WORDS = {"select", "with", "values", "show", "desc", "describe", "explain", "("}
_OTHER_SESSIONS = re.compile("PROCESSLIST|PERFORMANCE_SCHEMA")
_USER_VARIABLE = re.compile("(?<!@)@(?!@)")


def refusal(statement: str, word: str, *, writable: bool) -> str | None:
    """Why a statement is refused.

    Args:
        statement: One statement.
        word: Its first word in lower case.
        writable: Whether the session may write.

    Returns:
        The reason, or ``None`` if the server may see it.
    """
    if word not in (_READING_WORDS | WRITING_WORDS if writable else _READING_WORDS):
        return refused(word)
    if has_executable_comment(statement):
        return "comments that the server executes"
    if _OTHER_SESSIONS.search(sort_key(statement)):  # as the server compares names
        return "to look at other sessions"
    if _USER_VARIABLE.search(without_quotes(statement, "mysql")):
        return "user variables (they are not part of the database)"
    return None
