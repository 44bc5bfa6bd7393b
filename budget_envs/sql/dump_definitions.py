"""The definition of a table in a dump: what stands between ``CREATE TABLE`` and its options."""

from __future__ import annotations

from dataclasses import replace

from budget_envs.errors import DataError
from budget_envs.sql.dump_reader import CLOSE, COMMA, OPEN, DumpReader
from budget_envs.sql.schema import Column, ForeignKey, Key, Table

__all__ = ["create_table"]

_INDEX_WORDS = {"key", "index", "fulltext", "spatial"}


def create_table(reader: DumpReader) -> Table:
    """Read a table's definition.

    Args:
        reader: After the words ``CREATE TABLE``. It is left after the closing parenthesis.

    Returns:
        The table, without rows.

    Raises:
        DataError: If it cannot be read, or has a generated column: its values are not in a dump.
    """
    if reader.accept("if"):
        reader.expect("not")
        reader.expect("exists")
    name = reader.name()
    columns: list[Column] = []
    keys: list[Key] = []
    foreign_keys: list[ForeignKey] = []
    reader.expect("(")
    while True:
        part = _table_part(reader)
        if isinstance(part, Column):
            columns.append(part)
        elif isinstance(part, Key):
            keys.append(part)
        elif isinstance(part, ForeignKey):
            foreign_keys.append(part)
        if not reader.accept(","):
            reader.expect(")")
            break
    return Table(name, tuple(columns), tuple(keys), tuple(foreign_keys))


def _table_part(reader: DumpReader) -> Column | Key | ForeignKey | None:
    word = reader.next_word()
    if word == "constraint":
        reader.take()
        if reader.next_word() not in ("foreign", "primary", "unique", "check"):
            reader.name()
        return _table_part(reader)
    if word == "foreign":
        return _foreign_key(reader)
    if word in ("primary", "unique", *_INDEX_WORDS):
        return _key(reader, reader.word())
    if word == "check":
        _skip_options(reader)
        return None
    return _column(reader)


def _foreign_key(reader: DumpReader) -> ForeignKey:
    reader.expect("foreign")
    reader.expect("key")
    if reader.peek() != OPEN:
        reader.name()
    columns = reader.names()
    reader.expect("references")
    key = ForeignKey(columns, reader.name(), reader.names())
    _skip_options(reader)
    return key


def _key(reader: DumpReader, word: str) -> Key:
    reader.accept(*_INDEX_WORDS)
    if reader.peek() != OPEN:
        reader.name()
    columns = reader.names()
    _skip_options(reader)
    return Key(
        "primary" if word == "primary" else "unique" if word == "unique" else "index", columns
    )


def _skip_options(reader: DumpReader) -> None:
    """Skip to the comma or parenthesis that ends the part of a table's definition."""
    while reader.peek() not in (COMMA, CLOSE):
        if reader.take() == OPEN:
            reader.skip_parentheses()


def _column(reader: DumpReader) -> Column:
    column = Column(reader.name(), _type(reader))
    while reader.peek() not in (COMMA, CLOSE):
        column = _with_option(reader, column)
    return column


def _type(reader: DumpReader) -> str:
    name = reader.word()
    if not name:
        raise DataError("The dump has a column without a type.")
    if reader.accept("("):
        name += f"({_arguments(reader)})"
    while reader.next_word() in ("unsigned", "zerofill", "precision", "varying"):
        name += f" {reader.word()}"
    return name


def _arguments(reader: DumpReader) -> str:
    arguments = []
    while not reader.accept(")"):
        token = reader.take()
        if token.kind == "string":
            arguments.append(_quoted(token.text))
        elif token != COMMA:
            arguments.append(token.text)
    return ",".join(arguments)


def _with_option(reader: DumpReader, column: Column) -> Column:
    token = reader.take()
    word = token.text.lower() if token.kind == "word" else ""
    if word == "not":
        reader.expect("null")
        return replace(column, nullable=False)
    if word == "default":
        return replace(column, default=_default(reader))
    if word == "auto_increment":
        return replace(column, auto_increment=True)
    if word == "collate" and reader.name().lower().endswith("_bin"):
        return replace(column, type=f"{column.type} binary")
    if word in ("generated", "as"):
        raise DataError(f"The column {column.name!r} is generated: its values are not in a dump.")
    if word in ("comment", "on"):  # ON UPDATE CURRENT_TIMESTAMP
        reader.take()
    elif token == OPEN:
        reader.skip_parentheses()
    return column


def _default(reader: DumpReader) -> str | None:
    token = reader.take()
    if token.kind == "string":
        return _quoted(token.text)
    if token == OPEN:
        reader.skip_parentheses()
        return None  # an expression in MySQL's own functions
    return None if token.text.lower() == "null" else token.text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
