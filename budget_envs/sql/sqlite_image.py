"""An SQLite database as bytes: made once, copied into memory for each session.

The schema is kept in the image alone, MySQL's types included: SQLite takes any type name, and
derives from it how values are stored (``"varchar(20)"`` holds text, ``"double"`` floats). Where
MySQL's name would say the wrong thing, a word is added: a ``datetime`` is text here.

Reference: https://www.sqlite.org/datatype3.html, section 3.1 (affinity of a column).
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from budget_envs.errors import DataError, OptionError, did_you_mean
from budget_envs.sql.collation import MYSQL_CI, compare
from budget_envs.sql.schema import Column, Database, Table
from budget_envs.sql.sqlite_digest import content_digest

__all__ = ["ImageCatalog", "Images", "SqliteImage", "declared_type", "quoted_name"]

_MAGIC = b"SQLite format 3\0"
_TEXT_TYPES = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set")
_AS_TEXT = ("date", "datetime", "timestamp", "time", "enum", "set", "json")
_AS_BLOB = ("bit", "binary", "varbinary")
_PLAIN_TYPE = re.compile(r"[a-z ]+(?:\(\d+(?:,\d+)?\))?")  # what needs no quotes in SQLite


@dataclass(frozen=True)
class SqliteImage:
    """An immutable database.

    Args:
        name: What the agent knows it as.
        content: A database file, as `sqlite3.Connection.serialize` gives it.

    Raises:
        DataError: If the content is no database file.
    """

    name: str
    content: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not self.content.startswith(_MAGIC):
            raise DataError(
                f"The image {self.name!r} is the bytes of an SQLite file; it begins with "
                f"{self.content[:16]!r}."
            )

    @cached_property
    def sha256(self) -> str:
        """Checksum of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def digest(self) -> bytes:
        """Checksum of what it holds; see `budget_envs.sql.sqlite_digest.content_digest`."""
        return self._digests[0]

    @property
    def row_digests(self) -> Mapping[str, bytes]:
        """Checksums of the rows of its tables."""
        return self._digests[1]

    @cached_property
    def _digests(self) -> tuple[bytes, dict[str, bytes]]:
        connection, rows = _scratch(), dict[str, bytes]()
        try:
            connection.deserialize(self.content)
            return content_digest(connection, rows), rows
        finally:
            connection.close()

    @classmethod
    def from_script(cls, name: str, script: str) -> SqliteImage:
        """Make an image by running SQLite statements; text columns may be ``COLLATE MYSQL_CI``."""
        connection = _scratch()
        try:
            connection.executescript(script)
            return cls(name, connection.serialize())
        finally:
            connection.close()

    @classmethod
    def from_database(cls, database: Database) -> SqliteImage:
        """Make an image of a database in MySQL's types."""
        connection = _scratch()
        try:
            for table in database.tables:
                for statement in _definition(table):
                    connection.execute(statement)
                marks = ",".join("?" * len(table.columns))
                connection.executemany(
                    f"INSERT INTO {quoted_name(table.name)} VALUES ({marks})", table.rows
                )
            connection.commit()
            return cls(database.name, connection.serialize())
        except sqlite3.Error as error:
            raise DataError(f"The database {database.name!r} cannot be made: {error}.") from error
        finally:
            connection.close()


class ImageCatalog(Protocol):
    """Where an engine finds its databases. Picklable, and cheap to pickle."""

    @property
    def databases(self) -> tuple[str, ...]:
        """Their names."""
        ...

    def image(self, database: str) -> SqliteImage:
        """The image of one.

        Raises:
            OptionError: If there is no such database.
        """
        ...


class Images:
    """A catalogue of images that are at hand.

    Args:
        images: The images; no two have one name.
    """

    def __init__(self, images: Iterable[SqliteImage]) -> None:
        self._images = {image.name: image for image in images}

    @property
    def databases(self) -> tuple[str, ...]:
        """The names of the databases, in the order given."""
        return tuple(self._images)

    def image(self, database: str) -> SqliteImage:
        """The image of a database.

        Raises:
            OptionError: If there is no such database.
        """
        if database not in self._images:
            raise OptionError(
                f"There is no database {database!r}.{did_you_mean(database, self._images)}"
            )
        return self._images[database]


def _scratch() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.create_collation(MYSQL_CI, compare)
    connection.execute("PRAGMA user_version = 1")  # an empty database has bytes too
    return connection


def quoted_name(name: str) -> str:
    """A table's or a column's name as SQLite reads it whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(quoted_name, names))


def _definition(table: Table) -> Iterator[str]:
    key = table.primary_key
    counted = len(key) == 1 and any(c.auto_increment and c.name == key[0] for c in table.columns)
    parts = [_column(column, is_row_id=counted and column.name in key) for column in table.columns]
    if key and not counted:
        parts.append(f"PRIMARY KEY ({_names(key)})")
    parts.extend(
        f"FOREIGN KEY ({_names(foreign.columns)}) "
        f"REFERENCES {quoted_name(foreign.table)} ({_names(foreign.references)})"
        for foreign in table.foreign_keys
    )
    yield f"CREATE TABLE {quoted_name(table.name)} (\n  " + ",\n  ".join(parts) + "\n)"
    for number, index in enumerate(table.keys):
        if index.kind != "primary":
            unique = "UNIQUE " if index.kind == "unique" else ""
            place = f"{quoted_name(table.name)} ({_names(index.columns)})"
            yield f"CREATE {unique}INDEX {quoted_name(f'{table.name}_key_{number}')} ON {place}"


def _column(column: Column, *, is_row_id: bool) -> str:
    if is_row_id:  # counts on by itself, and only under this very type
        return f"{quoted_name(column.name)} INTEGER PRIMARY KEY"
    parts = [quoted_name(column.name), declared_type(column.type)]
    if column.type.split("(")[0] in _TEXT_TYPES and not column.type.endswith(" binary"):
        parts.append(f"COLLATE {MYSQL_CI}")
    if not column.nullable:
        parts.append("NOT NULL")
    if column.default is not None:
        parts.append(f"DEFAULT {column.default}")
    return " ".join(parts)


def declared_type(mysql_type: str) -> str:
    """MySQL's type as SQLite's type name: itself, with a word added where SQLite would misread it.

    Args:
        mysql_type: For example ``"varchar(20)"``, ``"datetime"``.

    Returns:
        For example ``"varchar(20)"``, ``"datetime text"``.
    """
    base = mysql_type.split("(")[0].split()[0]
    word = " text" if base in _AS_TEXT else " blob" if base in _AS_BLOB else ""
    name = mysql_type + word
    return name if _PLAIN_TYPE.fullmatch(name) else quoted_name(name)
