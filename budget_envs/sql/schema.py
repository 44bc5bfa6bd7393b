"""A database as plain values: what a dump is read into and what every engine is loaded from.

Names, types and defaults are MySQL's, as text; values are plain: ``None``, ``int``, ``float``,
``str`` or ``bytes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Column", "Database", "ForeignKey", "Key", "Table", "Value"]

Value = int | float | str | bytes | None
"""A cell. Dates and times are text as MySQL prints them, ``"2018-03-02 17:51:40"``."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        name: Its name.
        type: MySQL's type in lower case, with its arguments: ``"varchar(20)"``, ``"int"``.
        nullable: Whether it may hold NULL.
        default: The default as SQL text, ``"'0'"`` or ``"CURRENT_TIMESTAMP"``; ``None`` for none.
        auto_increment: Whether an insert without it counts on.
    """

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    auto_increment: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """A primary key, a unique key or an index.

    Args:
        kind: Which of the three.
        columns: Names of its columns, in order.
    """

    kind: Literal["primary", "unique", "index"]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A reference to the rows of a table.

    Args:
        columns: The columns that refer.
        table: The table they refer to.
        references: Its columns.
    """

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table with its rows.

    Args:
        name: Its name.
        columns: Its columns, in order.
        keys: Its keys; at most one is primary.
        foreign_keys: Its references.
        rows: Its rows, one value per column.
    """

    name: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Names of the columns of the primary key; empty without one."""
        return next((key.columns for key in self.keys if key.kind == "primary"), ())


@dataclass(frozen=True, slots=True)
class Database:
    """One database.

    Args:
        name: Its name.
        tables: Its tables, in the order of the source.
    """

    name: str
    tables: tuple[Table, ...]
