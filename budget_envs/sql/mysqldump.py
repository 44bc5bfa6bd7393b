"""Reading what ``mysqldump`` writes: `CREATE TABLE` and `INSERT` statements, by database.

Everything else in a dump (settings, locks, users, privileges, views, triggers) is skipped and
never run: the published dump of InterCode begins by making a user with all privileges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from budget_envs.errors import DataError
from budget_envs.sql.dump_definitions import create_table
from budget_envs.sql.dump_reader import END, OPEN, DumpReader
from budget_envs.sql.dump_tokens import tokens
from budget_envs.sql.schema import Database, Table, Value

__all__ = ["read_dump", "read_dump_file"]

_Rows = list[tuple[Value, ...]]


def read_dump_file(path: Path) -> tuple[Database, ...]:
    """Read a dump from a UTF-8 file; see `read_dump`."""
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
        return tuple(read_dump(stream))


def read_dump(stream: TextIO, name: str = "") -> Iterator[Database]:
    """Yield the databases of a dump, one after the other.

    Args:
        stream: The text of the dump; see `budget_envs.sql.dump_tokens.tokens`.
        name: Name of the database that a dump without ``USE`` statements holds.

    Yields:
        Each database as soon as the next one begins: one at a time is in memory.

    Raises:
        DataError: If a statement cannot be read, or has a generated column: its values are not in
            the dump.
    """
    reader = DumpReader(tokens(stream))
    tables: dict[str, tuple[Table, _Rows]] = {}
    while (token := reader.peek()) is not None:
        word = reader.word()
        if word == "use":
            if tables:
                yield _database(name, tables)
            name, tables = reader.name(), {}
        elif word == "create" and reader.accept("table"):
            table = create_table(reader)
            tables[table.name] = (table, [])
        elif word in ("insert", "replace") and reader.accept("into"):
            _insert(reader, tables)
        if token != END:
            reader.skip_statement()
    if tables:
        yield _database(name, tables)


def _database(name: str, tables: dict[str, tuple[Table, _Rows]]) -> Database:
    if not name:
        raise DataError("A dump has USE before its first table, or give the database's name.")
    filled = (replace(table, rows=tuple(rows)) for table, rows in tables.values())
    return Database(name, tuple(filled))


def _insert(reader: DumpReader, tables: dict[str, tuple[Table, _Rows]]) -> None:
    name = reader.name()
    if name not in tables:
        raise DataError(f"The dump fills the table {name!r} before it makes it.")
    table, rows = tables[name]
    columns = [column.name for column in table.columns]
    named = list(reader.names()) if reader.peek() == OPEN else columns
    if sorted(named) != sorted(columns):
        raise DataError(f"Rows of {name!r} have the columns {columns}; the dump has {named}.")
    places = [named.index(column) for column in columns]
    reader.expect("values")
    while reader.accept("("):
        values = _values(reader)
        if len(values) != len(named):
            raise DataError(
                f"A row of {name!r} has {len(named)} values; the dump has {len(values)}: "
                f"{values[:8]!r}."
            )
        rows.append(tuple(values[place] for place in places))
        reader.accept(",")


def _values(reader: DumpReader) -> list[Value]:
    values = []
    while True:
        values.append(_value(reader))
        if not reader.accept(","):
            reader.expect(")")
            return values


def _value(reader: DumpReader) -> Value:
    kind, text = reader.take()
    if kind == "word" and text.startswith("_"):  # a character set before a literal
        if text.lower() != "_binary":
            return _value(reader)
        kind, text = reader.take()
        if kind == "string":
            return text.encode("utf-8", "surrogateescape")
    if kind == "string":
        return _checked(text)
    if kind == "number":
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    if kind == "hex":
        digits = text[2:].rstrip("'")
        return bytes.fromhex("0" * (len(digits) % 2) + digits)
    if kind == "bits":
        digits = text[2:].rstrip("'")
        return int(digits or "0", 2).to_bytes(-(-len(digits) // 8), "big")
    if kind == "word" and text.lower() == "null":
        return None
    raise DataError(f"The dump has {text!r} where a value belongs.")


def _checked(text: str) -> str:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"A dump's text is UTF-8; {text[:60]!r} is not. Dump it with utf8mb4.")
    return text
