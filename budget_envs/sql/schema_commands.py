"""MySQL's commands that show a schema, for an engine that has none: SHOW and DESC on SQLite."""

from __future__ import annotations

import re
import sqlite3

from budget_envs.sql.protocol import QueryResult
from budget_envs.sql.schema import Column, Table, Value
from budget_envs.sql.sqlite_schema import read_table, table_names

__all__ = ["COMMAND_WORDS", "run_command"]

COMMAND_WORDS = frozenset({"show", "desc", "describe"})
"""First words of the statements that `run_command` answers."""

_NAME = r"""(?: `[^`]+` | "[^"]+" | [\w$]+ )"""
_SHOW_TABLES = re.compile(
    rf"SHOW \s+ TABLES (?: \s+ (?:FROM|IN) \s+ (?P<in>{_NAME}) )?", re.X | re.I
)
_SHOW_COLUMNS = re.compile(
    rf"""(?: SHOW \s+ (?:COLUMNS|FIELDS) \s+ (?:FROM|IN) | DESC (?:RIBE)? ) (?: \s+ | (?=[`"]) )
         (?: (?P<in>{_NAME}) \s* \. \s* )? (?P<table>{_NAME})""",
    re.X | re.I,
)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_COLUMN_HEADERS = ("Field", "Type", "Null", "Key", "Default", "Extra")


def run_command(command: str, database: str, connection: sqlite3.Connection) -> QueryResult:
    """Answer ``SHOW TABLES``, ``SHOW COLUMNS FROM t``, ``DESC t`` or ``DESCRIBE t``.

    Args:
        command: The statement; its first word is one of `COMMAND_WORDS`.
        database: The name of the open database.
        connection: The database; its statements are not restricted.

    Returns:
        The columns that MySQL 8 shows, or an error.
    """
    text = _COMMENT.sub(" ", command).strip()
    if match := _SHOW_TABLES.fullmatch(text) or _SHOW_COLUMNS.fullmatch(text):
        schema = match["in"].strip('`"') if match["in"] else database
        if schema.lower() != database.lower():
            return QueryResult(error=f"unknown database: {schema} (this one is {database})")
        if match.re is _SHOW_TABLES:
            return _tables(database, connection)
        return _columns(match["table"].strip('`"'), connection)
    return QueryResult(
        error="here SHOW and DESC mean one of: SHOW TABLES; SHOW COLUMNS FROM t; DESC t; DESCRIBE t"
    )


def _tables(database: str, connection: sqlite3.Connection) -> QueryResult:
    rows = tuple((name,) for name in table_names(connection))
    return QueryResult((f"Tables_in_{database}",), rows, len(rows))


def _columns(name: str, connection: sqlite3.Connection) -> QueryResult:
    table = read_table(connection, name)
    if table is None:
        return QueryResult(error=f"no such table: {name}")
    rows = tuple(_description(table, column) for column in table.columns)
    return QueryResult(_COLUMN_HEADERS, rows, len(rows))


def _description(table: Table, column: Column) -> tuple[Value, ...]:
    return (
        column.name,
        column.type.removesuffix(" binary"),
        "YES" if column.nullable else "NO",
        _key_mark(table, column.name),
        _default_text(column.default),
        "auto_increment" if column.auto_increment else "",
    )


def _key_mark(table: Table, column: str) -> str:
    """MySQL's mark: in the primary key; alone in a unique key; first in any other key."""
    if column in table.primary_key:
        return "PRI"
    if any(key.kind == "unique" and key.columns == (column,) for key in table.keys):
        return "UNI"
    return "MUL" if any(key.columns[0] == column for key in table.keys) else ""


def _default_text(default: str | None) -> str | None:
    if default is None or default.upper() == "NULL":
        return None
    return default[1:-1].replace("''", "'") if default.startswith("'") else default
