"""The databases of the set: a schema, a number, and rows that follow from the two."""

from __future__ import annotations

import datetime
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import derive_key, text_key
from budget_envs.tasks.synthetic_sql.columns import Column, Role
from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_sql.schema import Schema, Table
from budget_envs.tasks.synthetic_sql.schemas import SCHEMAS

__all__ = ["Database", "Value", "database", "literal"]

Value: TypeAlias = str | int | float | None

_EPOCH: Final = datetime.date(2015, 1, 1)
_CHILDLESS: Final = 0.2  # share of rows that nothing refers to
_DATABASE_VERSION: Final = 1
_NAME: Final = re.compile(r"([a-z]+)_(0|[1-9][0-9]{0,17})", re.ASCII)


@dataclass(frozen=True)
class Database:
    """One database: its rows and the statements that build it.

    Attributes:
        name: ``"library_3"``.
        schema: Its schema.
        rows: Table -> rows, in the order of the columns.
        statements: ``CREATE TABLE`` and ``INSERT`` statements for SQLite, MySQL and MariaDB,
            in an order that the foreign keys allow.
    """

    name: str
    schema: Schema
    rows: Mapping[str, tuple[tuple[Value, ...], ...]]
    statements: tuple[str, ...]

    def values(self, table: Table, column: Column) -> list[Value]:
        """The values of a column that are not NULL, in the order of the rows."""
        place = table.columns.index(column)
        return [row[place] for row in self.rows[table.name] if row[place] is not None]

    @cached_property
    def image(self) -> bytes:
        """The database as a SQLite file."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            for statement in self.statements:
                connection.execute(statement)
            return connection.serialize()

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open an in-memory copy for the length of a ``with`` block."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.deserialize(self.image)
            yield connection


@lru_cache(maxsize=256)
def database(name: str) -> Database:
    """Return the database of a name such as ``"library_3"``: always the same one.

    Raises:
        OptionError: If there is none of this name.
    """
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in SCHEMAS:
        known = [f"{schema}_0" for schema in SCHEMAS]
        raise OptionError(
            f"Expected a database such as 'library_3', one of the schemas {', '.join(SCHEMAS)} "
            f"and a number, got {name!r}.{did_you_mean(name, known)}"
        )
    schema = SCHEMAS[match[1]]
    stream = derive_key(text_key(schema.name), _DATABASE_VERSION, int(match[2]))
    rows = _rows(schema, stream)
    return Database(name, schema, rows, tuple(_statements(schema, rows)))


def literal(value: Value) -> str:
    """Return a value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _statements(schema: Schema, rows: Mapping[str, tuple[tuple[Value, ...], ...]]) -> Iterator[str]:
    for table in schema.tables:
        yield _create(table, schema)
    for table in schema.tables:
        values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows[table.name])
        yield f"INSERT INTO {table.name} VALUES {values}"


def _create(table: Table, schema: Schema) -> str:
    lines = [
        f"{column.name} {column.sql_type}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns
    ]
    lines.append(f"PRIMARY KEY ({table.key.name})")
    for column in table.with_role(Role.REFERENCE):
        target = schema.table(column.target)
        lines.append(f"FOREIGN KEY ({column.name}) REFERENCES {target.name} ({target.key.name})")
    return f"CREATE TABLE {table.name} (\n  " + ",\n  ".join(lines) + "\n)"


def _rows(schema: Schema, stream: int) -> dict[str, tuple[tuple[Value, ...], ...]]:
    rows: dict[str, tuple[tuple[Value, ...], ...]] = {}
    for number, table in enumerate(schema.tables):
        count = Draws(derive_key(stream, number)).integer(*table.rows)
        columns: dict[Column, list[Value]] = {}
        for place, column in enumerate(table.columns):
            draw = Draws(derive_key(stream, number, place))
            if column.role is Role.REFERENCE:
                used = [columns[c] for c in columns if c.target == column.target]
                keys = [row[0] for row in rows[column.target]]
                columns[column] = _references(keys, count, used, draw)
            else:
                columns[column] = _column(column, count, draw)
        rows[table.name] = tuple(zip(*columns.values(), strict=True))
    return rows


def _column(column: Column, count: int, draw: Draws) -> list[Value]:
    values: list[Value]
    if column.role is Role.KEY:
        return _keys(count, draw)
    if column.role is Role.LABEL:
        values = [*draw.sample(_texts(column), count)]
    elif column.role is Role.CATEGORY:
        pool = draw.sample(_texts(column), draw.integer(4, 6))
        values = [draw.skewed_choice(pool) for _ in range(count)]
    else:
        values = [_number(column, draw) for _ in range(count)]
    return [None if column.nullable and draw.chance(column.nullable) else v for v in values]


def _keys(count: int, draw: Draws) -> list[Value]:
    """Ascending numbers with gaps, so that a key is neither a count nor a position."""
    keys: list[Value] = []
    number = draw.integer(1, 20)
    for _ in range(count):
        keys.append(number)
        number += draw.integer(1, 3)
    return keys


def _references(keys: list[Value], count: int, used: list[list[Value]], draw: Draws) -> list[Value]:
    """Keys of another table, some often and some never; two of one row to one table differ."""
    busy = draw.sample(keys, round(len(keys) * (1 - _CHILDLESS)))
    return [
        draw.skewed_choice([key for key in busy if all(key != other[row] for other in used)])
        for row in range(count)
    ]


def _texts(column: Column) -> list[str]:
    texts = [""]
    for part in column.parts:
        texts = [
            f"{text}{column.joiner if text else ''}{piece}" for text in texts for piece in part
        ]
    return texts


def _number(column: Column, draw: Draws) -> Value:
    steps = int((column.high - column.low) / column.step)
    number = column.low + column.step * draw.integer(0, steps)
    if column.role is Role.DATE:
        return (_EPOCH + datetime.timedelta(days=int(number))).isoformat()
    return float(number) if column.role is Role.REAL else int(number)
