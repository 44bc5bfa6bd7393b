"""Reading an SQL action from free text, by one documented rule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from budget_envs.actions import last_fenced_block

__all__ = ["SqlAction", "read_sql_action"]

_COMMANDS: Final = ("submit", "skip")
_READING: Final = ("select", "with", "values", "show", "desc", "describe", "explain")
_WRITING: Final = ("insert", "update", "delete", "replace", "create", "drop", "alter", "truncate")
_OTHER: Final = (
    *("attach", "detach", "pragma", "vacuum", "begin", "commit", "rollback"),
    *("use", "set", "grant", "load", "call"),
)
_SQL_WORDS: Final = frozenset((*_READING, *_WRITING, *_OTHER))
_COMMENTS: Final = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SqlAction:
    """What an action asks for.

    Attributes:
        kind: ``"sql"``, ``"submit"`` or ``"skip"``.
        sql: The statement, for ``"sql"``.
    """

    kind: Literal["sql", "submit", "skip"]
    sql: str = ""


def read_sql_action(text: str) -> SqlAction | None:
    """Read a statement, ``submit`` or ``skip``.

    The first of these places that the text has decides: the whole text, if it is ``submit`` or
    ``skip`` in any letter case; the last ``execute[...]``; the last closed fenced block; the whole
    text, if its first word is one that SQL statements begin with. A block may also hold ``submit``
    or ``skip``. Whether a statement is valid, allowed, or several, is for the engine to say.

    Args:
        text: Any string. Time is linear in its length.

    Returns:
        The action, or ``None`` if the text has none.
    """
    command = _command(text)
    if command is not None:
        return command
    executed = _last_executed(text)
    if executed is None:
        executed = last_fenced_block(text)
    if executed is not None:
        return _command(executed) or (SqlAction("sql", executed) if executed.strip() else None)
    return SqlAction("sql", text) if _starts_like_sql(text) else None


def _command(text: str) -> SqlAction | None:
    word = text.strip(" \t\r\n.`").lower()
    return SqlAction(word) if word in _COMMANDS else None  # type: ignore[arg-type]


def _last_executed(text: str) -> str | None:
    """Return what stands between the last ``execute[`` and the last ``]`` after it."""
    start = text.rfind("execute[")
    end = text.rfind("]")
    return text[start + len("execute[") : end] if 0 <= start < end else None


def _starts_like_sql(text: str) -> bool:
    begin = _COMMENTS.match(text)
    rest = text[begin.end() if begin else 0 :].lstrip("(")
    word = re.match(r"[A-Za-z]+", rest)
    return word is not None and word.group().lower() in _SQL_WORDS
