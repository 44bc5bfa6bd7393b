"""One SQLite file, opened safely: every way in which that fails is a `DataError` that says why."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from budget_envs.errors import DataError

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "connect", "explained"]

APPLICATION_ID: Final = 0x62656E76  # "benv": marks the file as ours
SCHEMA_VERSION: Final = 1
_MAGIC: Final = b"SQLite format 3\x00"


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn SQLite's errors into `DataError` with the file's name and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise DataError(f"results database {path!r}: {_explain(error)}") from error


def _explain(error: sqlite3.Error) -> str:
    text = str(error)
    kept = "Episodes that were stored before stay; the same command continues where it stopped."
    if "locked" in text or "busy" in text:
        return f"another program is writing to it ({text}). Close that program, or wait. {kept}"
    if "not a database" in text:
        return f"expected an SQLite file ({text}). Give another path; this file was not changed."
    if "malformed" in text or "corrupt" in text:
        return (
            f"it is damaged ({text}) and was not changed. Save a copy; "
            "`sqlite3 FILE .recover` brings back what is readable."
        )
    if "full" in text:
        return f"no space is left on the disk ({text}). Make room. {kept}"
    if "readonly" in text or "unable to open" in text:
        return f"it cannot be opened for writing ({text}). Check that its folder is writable."
    return f"{text}."


def connect(path: str, schema: str, *, create: bool, timeout_s: float) -> sqlite3.Connection:
    """Open a results database, and check that it is whole, ours and of this version.

    Args:
        path: The file, or ``":memory:"``.
        schema: Statements that make the tables of a new database.
        create: Make the file if it is missing or empty.
        timeout_s: Seconds to wait while another program holds the write lock.

    Returns:
        A connection in autocommit mode.

    Raises:
        DataError: If the file is missing, no database, of another program, of another version,
            cut short, damaged, or locked for too long. Such a file is left as it is.
    """
    if path != ":memory:":
        _check_file(Path(path), create)
    with explained(path):
        connection = sqlite3.connect(
            _address(path, create), timeout=timeout_s, isolation_level=None, uri=True
        )
        try:
            _prepare(connection, path, schema, create)
        except BaseException:
            connection.close()
            raise
    return connection


def _address(path: str, create: bool) -> str:
    """Return the file as SQLite's URI, read as it is where nothing can be written beside it."""
    if path == ":memory:":
        return path
    file = Path(path).absolute()
    log = file.with_name(f"{file.name}-wal")
    is_fixed = not create and not os.access(file.parent, os.W_OK) and not log.exists()
    return f"{file.as_uri()}?immutable=1" if is_fixed else file.as_uri()


def _check_file(path: Path, create: bool) -> None:
    size = path.stat().st_size if path.is_file() else 0
    if path.is_dir():
        raise DataError(f"results database {str(path)!r}: expected a file, got a folder.")
    if size == 0:
        if create and not path.parent.is_dir():
            raise DataError(
                f"results database {str(path)!r}: its folder does not exist. Make it first."
            )
        if not create:
            state = "is empty" if path.is_file() else "does not exist"
            raise DataError(
                f"results database {str(path)!r} {state}. Check the path, or run an evaluation "
                "that writes it."
            )
        return
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(_MAGIC):
        raise DataError(
            f"results database {str(path)!r}: expected an SQLite file, got one that starts with "
            f"{header[:16]!r}. Give another path; this file was not changed."
        )
    _check_length(path, header, size)


def _check_length(path: Path, header: bytes, size: int) -> None:
    """Find a file that was only half copied; SQLite itself notices on reading a missing page."""
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    pages = int.from_bytes(header[28:32], "big")
    counted = header[24:28] == header[92:96]  # else the count of pages is not to be relied on
    if len(header) < 100 or (counted and size < pages * page_size):
        raise DataError(
            f"results database {str(path)!r} is cut short: it should hold "
            f"{pages * page_size} bytes and has {size}. Copy it again from its source; this file "
            "was not changed."
        )


def _prepare(connection: sqlite3.Connection, path: str, schema: str, create: bool) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    if _is_new(connection):
        if not create:
            raise DataError(f"results database {path!r} holds no results.")
        connection.execute("PRAGMA journal_mode = WAL")
        _make_tables(connection, schema)
    _check_owner(connection, path)
    # A killed process loses nothing this way; a power cut may lose the last transactions.
    connection.execute("PRAGMA synchronous = NORMAL")


def _is_new(connection: sqlite3.Connection) -> bool:
    application = _pragma(connection, "application_id")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return application == 0 and tables == 0


def _make_tables(connection: sqlite3.Connection, schema: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_new(connection):  # no other process was faster
            for statement in schema.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends some failed ones itself
            connection.execute("ROLLBACK")
        raise


def _check_owner(connection: sqlite3.Connection, path: str) -> None:
    application = _pragma(connection, "application_id")
    if application != APPLICATION_ID:
        raise DataError(
            f"results database {path!r} belongs to another program (application id "
            f"{application}, expected {APPLICATION_ID}). Give another path; this file was not "
            "changed."
        )
    version = _pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        raise DataError(
            f"results database {path!r} has schema version {version}, and this release reads "
            f"version {SCHEMA_VERSION}. Use the release of budget-envs that wrote it, or give "
            "another path; this file was not changed."
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
