"""Reading the schema of an SQLite database back, as MySQL would describe it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace

from budget_envs.errors import DataError
from budget_envs.sql.collation import MYSQL_CI, compare
from budget_envs.sql.schema import Column, Database, ForeignKey, Key, Table, Value
from budget_envs.sql.sqlite_image import SqliteImage, quoted_name

__all__ = ["read_database", "read_table", "table_names"]

_SYNONYMS = {"integer": "int", "real": "double", "numeric": "decimal", "boolean": "tinyint(1)"}
_ADDED_WORD = re.compile(r"(?<=.) (?:text|blob)$")


def table_names(connection: sqlite3.Connection) -> list[str]:
    """The names of the tables, sorted as MySQL sorts them."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return sorted(name for (name,) in rows)


def read_table(connection: sqlite3.Connection, name: str) -> Table | None:
    """The definition of a table, without its rows.

    Args:
        connection: An open database whose statements are not restricted.
        name: In any case.

    Returns:
        ``None`` if there is no such table.
    """
    known = {table.lower(): table for table in table_names(connection)}
    if (table := known.get(name.lower())) is None:
        return None
    rows = connection.execute(f"PRAGMA table_info({quoted_name(table)})").fetchall()
    primary = [row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]]
    row_id = primary[0] if [row[2].upper() for row in rows if row[5]] == ["INTEGER"] else None
    columns = tuple(
        Column(name, _mysql_type(kind), not (not_null or key), default, name == row_id)
        for _, name, kind, not_null, default, key in rows
    )
    keys = [Key("primary", tuple(primary))] if primary else []
    keys.extend(_keys(connection, table))
    return Table(table, columns, tuple(keys), tuple(_foreign_keys(connection, table)))


def read_database(image: SqliteImage) -> Database:
    """The tables of an image with their definitions and rows, in the order they were made."""
    connection = sqlite3.connect(":memory:")
    connection.create_collation(MYSQL_CI, compare)
    try:
        connection.deserialize(image.content)
        made = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
        tables = [read_table(connection, name) for (name,) in connection.execute(made).fetchall()]
        return Database(
            image.name,
            tuple(
                replace(table, rows=tuple(_rows(connection, table)))
                for table in tables
                if table is not None  # SQLite's own
            ),
        )
    except sqlite3.Error as error:
        raise DataError(f"The image {image.name!r} cannot be read: {error}.") from error
    finally:
        connection.close()


def _rows(connection: sqlite3.Connection, table: Table) -> Iterator[tuple[Value, ...]]:
    yield from connection.execute(f"SELECT * FROM {quoted_name(table.name)}")


def _mysql_type(declared: str) -> str:
    base, arguments, rest = declared.partition("(")
    text = _ADDED_WORD.sub("", base.lower() + arguments + rest)
    return _SYNONYMS.get(text, text)


def _keys(connection: sqlite3.Connection, table: str) -> Iterator[Key]:
    indices = connection.execute(f"PRAGMA index_list({quoted_name(table)})").fetchall()
    for _, index, unique, origin, _ in sorted(indices, reverse=True):  # the newest comes first
        parts = connection.execute(f"PRAGMA index_info({quoted_name(index)})").fetchall()
        columns = tuple(name for _, _, name in parts)
        if origin != "pk" and None not in columns:  # None stands for an expression
            yield Key("unique" if unique else "index", columns)


def _foreign_keys(connection: sqlite3.Connection, table: str) -> Iterator[ForeignKey]:
    rows = connection.execute(f"PRAGMA foreign_key_list({quoted_name(table)})").fetchall()
    for number in sorted({row[0] for row in rows}, reverse=True):
        parts = sorted(row for row in rows if row[0] == number)
        if None not in (references := tuple(part[4] for part in parts)):
            yield ForeignKey(tuple(part[3] for part in parts), parts[0][2], references)
