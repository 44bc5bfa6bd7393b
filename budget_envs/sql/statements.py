"""Which statement a text holds: one, several or none.

An action is one statement. A semicolon may end it; a second statement after it is refused, because
which of two results the agent meant to submit would be a guess.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = [
    "NO_STATEMENT",
    "SEVERAL_STATEMENTS",
    "WRITING_WORDS",
    "Dialect",
    "first_word",
    "has_executable_comment",
    "one_statement",
    "refused",
    "without_quotes",
    "without_temporary",
]

Dialect = Literal["sqlite", "mysql"]

NO_STATEMENT = "expected one SQL statement; got none"
SEVERAL_STATEMENTS = "expected one SQL statement; got several: send them one at a time"
WRITING_WORDS = frozenset({"insert", "update", "delete", "replace", "create", "drop"})
"""First words of the statements that write, in a session that may."""

_QUOTED = r"""'(?:[^']|'')*'? | "(?:[^"]|"")*"? | `(?:[^`]|``)*`?"""
_BACKSLASHED = r"""'(?:[^'\\]|\\.|'')*'? | "(?:[^"\\]|\\.|"")*"? | `(?:[^`]|``)*`?"""

# What is opened and never closed runs to the end of the text, for the engine to complain about.
_SKIPPED = {
    "sqlite": re.compile(rf"{_QUOTED} | \[[^\]]*\]? | --[^\n]* | /\*.*?(?:\*/|\Z)", re.X | re.S),
    "mysql": re.compile(
        rf"{_BACKSLASHED} | --(?=\s|\Z)[^\n]* | \#[^\n]* | /\*.*?(?:\*/|\Z)", re.X | re.S
    ),
}
_LEADING = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*(?!M?!).*?\*/)*", re.S)
_TEMPORARY = re.compile(r"\s*(?:CREATE|DROP)\b(\s+TEMP(?:ORARY)?)(?=\s+TABLE\b)", re.I)
_WORD = re.compile(r"[A-Za-z]+|\S")


def one_statement(sql: str, dialect: Dialect) -> str | None:
    """The one statement of a text, without the semicolon that ends it.

    Args:
        sql: Any text.
        dialect: Which quotes, escapes and comments there are.

    Returns:
        ``None`` if there are several; ``""`` if there is none.
    """
    end = sql.find(";")
    if end < 0:
        return sql.strip()
    if not sql[end + 1 :].strip(" \t\r\n;"):
        return sql[:end].strip()
    found, start = [], 0
    for part in without_quotes(sql, dialect).split(";"):
        if part.strip():
            found.append(sql[start : start + len(part)].strip())
        start += len(part) + 1
    return None if len(found) > 1 else "".join(found)


def without_quotes(sql: str, dialect: Dialect) -> str:
    """The text with a stand-in of the same length for whatever is quoted or a comment."""
    return _SKIPPED[dialect].sub(_masked, sql)


def _masked(match: re.Match[str]) -> str:
    """A stand-in of the same length: nothing for a comment, something for anything quoted."""
    text = match[0]
    return ("x" if text[0] in "'\"`[" else " ") * len(text)


def first_word(sql: str) -> str:
    """The first word of a statement in lower case, after comments.

    Returns:
        One character if it begins with another sign; ``""`` if there is nothing but comments.
        A comment that MySQL executes (``/*! ... */``) is none.
    """
    start = _LEADING.match(sql)
    word = _WORD.match(sql, start.end() if start else 0)
    return word[0].lower() if word else ""


def has_executable_comment(sql: str) -> bool:
    """Whether MySQL or MariaDB would execute what stands in a comment: ``/*! ... */``."""
    return any(match[0].startswith(("/*!", "/*M!")) for match in _SKIPPED["mysql"].finditer(sql))


def refused(word: str) -> str:
    """Words for a statement that is refused for its kind.

    Args:
        word: Its first word.
    """
    writes = word in WRITING_WORDS or word == "with"
    return f"{word.upper()} statements" + (" (the database is read-only)" if writes else "")


def without_temporary(sql: str) -> str:
    """``CREATE TEMPORARY TABLE`` as ``CREATE TABLE``.

    What is made in a session ends with it, so both mean the same; but engines keep a temporary
    table apart, where a snapshot would miss it.
    """
    match = _TEMPORARY.match(sql)
    return sql[: match.start(1)] + sql[match.end(1) :] if match else sql
