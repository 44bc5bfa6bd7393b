"""The texts of InterCode-SQL: the question, and what a statement returned."""

from __future__ import annotations

from typing import Final

from budget_envs.sql.protocol import QueryResult

__all__ = ["first_observation", "no_action_observation", "result_observation"]

MAX_ROWS: Final = 50
MAX_CHARACTERS: Final = 3000
_MAX_CELL: Final = 200
_HOW: Final = (
    "Each turn, answer with one SQL statement, bare, in a fenced block or as execute[...]. "
    "SHOW TABLES and DESC table show the schema."
)
_SUBMIT: Final = (
    "When the newest result answers the question, answer submit; skip gives up. Only the newest "
    "result counts."
)
_AUTO: Final = "Every result is checked; the episode ends with the right one. skip gives up."


def first_observation(database: str, question: str, *, writable: bool, auto_submit: bool) -> str:
    """Return the question and how to work on it."""
    access = "You may change it; changes last for this episode." if writable else "It is read-only."
    return (
        f"Answer a question about the SQL database {database!r}. {access}\n{_HOW} "
        f"{_AUTO if auto_submit else _SUBMIT}\n\nQuestion: {question.strip()}"
    )


def no_action_observation() -> str:
    """Return the answer to a text without an action."""
    return f"Expected one SQL statement, submit or skip, and found none. {_HOW}"


def result_observation(result: QueryResult) -> str:
    """Return a result as a table of text, its cuts marked and its rows counted."""
    if result.error is not None:
        return f"Error: {result.error}"
    if not result.columns:
        rows = result.affected_rows
        return "Done." if rows is None else f"Done: {_counted(rows)} affected."
    count = f"({_counted(result.total_rows)})"
    lines = [" | ".join(map(_cell, result.columns))]
    length = len(lines[0])
    for row in result.rows[:MAX_ROWS]:
        line = " | ".join(map(_cell, row))
        length += len(line) + 1
        if length > MAX_CHARACTERS:
            break
        lines.append(line)
    shown = len(lines) - 1
    if shown < result.total_rows:
        count = f"({_counted(result.total_rows)}, the first {shown} shown)"
    return "\n".join([*lines, count])


def _counted(rows: int) -> str:
    return f"{rows} {'row' if rows == 1 else 'rows'}"


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.replace("\n", "\\n")
    if len(text) <= _MAX_CELL:
        return text
    return f"{text[:_MAX_CELL]}... ({len(text)} characters)"
