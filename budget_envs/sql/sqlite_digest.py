"""A checksum of what a database holds, whatever writes led there."""

from __future__ import annotations

import hashlib
import sqlite3
from functools import partial

__all__ = ["content_digest"]

_ANY_TEXT = partial(str, encoding="utf-8", errors="surrogateescape")  # also what is no UTF-8


def content_digest(connection: sqlite3.Connection, rows: dict[str, bytes]) -> bytes:
    """A checksum of the definitions and of the rows, each in their order.

    The hidden numbers of rows (``rowid``) count: a query can read them, and what is inserted next
    depends on them. A database file says more: the catalogue's own numbers, in which pages it keeps
    what, and how often it was changed. That is how it was written, not what it holds.

    Args:
        connection: An open database whose statements are not restricted.
        rows: Checksums of the rows of tables, by the tables' names. Rows of a table that is not
            among them are read, and their checksum is added.

    Returns:
        16 bytes; equal if and only if the contents are equal.
    """
    factory, connection.text_factory = connection.text_factory, _ANY_TEXT
    try:
        entries = connection.execute(
            "SELECT type, name, sql FROM sqlite_master ORDER BY rowid"
        ).fetchall()
        state = hashlib.blake2b(repr(entries).encode(), digest_size=16)
        for kind, name, _ in entries:
            if kind != "table":
                continue
            if name not in rows or name.startswith("sqlite_"):  # it is SQLite that writes to those
                rows[name] = _row_digest(connection, name)
            state.update(rows[name])
    finally:
        connection.text_factory = factory
    return state.digest()


def _row_digest(connection: sqlite3.Connection, table: str) -> bytes:
    state = hashlib.blake2b(digest_size=16)
    quoted = table.replace('"', '""')
    number = _number_column(connection, quoted)
    for row in connection.execute(f'SELECT {number}* FROM "{quoted}" NOT INDEXED'):
        state.update(repr(row).encode())
    return state.digest()


def _number_column(connection: sqlite3.Connection, quoted: str) -> str:
    """The hidden number's name and a comma; empty where queries cannot read the number either."""
    columns = connection.execute(f'PRAGMA table_xinfo("{quoted}")').fetchall()
    taken = {name.lower() for _, name, *_ in columns}
    name = next((name for name in ("rowid", "oid", "_rowid_") if name not in taken), None)
    listed = connection.execute(f'PRAGMA table_list("{quoted}")').fetchall()
    without = any(row[4] for row in listed)
    return "" if name is None or without else f"{name}, "
