"""One SQLite file, opened safely: every way in which that fails is a `DataError` that says why."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from budget_envs.errors import DataError

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "connect", "explained"]

APPLICATION_ID: Final = 0x62656E76  # "benv": marks the file as ours
SCHEMA_VERSION: Final = 1
_MAGIC: Final = b"SQLite format 3\x00"
_LOOKS: Final = 4  # how often a short file is looked at again
_PAUSE_S: Final = 0.02
_NO_ROOM: Final = frozenset(
    {"SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_TRUNCATE"}
)


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn SQLite's errors into `DataError` with the file's name and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise DataError(f"results database {path!r}: {_explain(error, path)}") from error


def _explain(error: sqlite3.Error, path: str) -> str:
    name = getattr(error, "sqlite_errorname", None) or ""
    text = f"{error}, {name}" if name else str(error)
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
    if name in _NO_ROOM or "full" in text:
        return (
            f"no space is left on the disk, or the file has reached a size limit ({text}). Make "
            f"room. {kept}"
        )
    if "readonly" in text or "unable to open" in text:
        if _has_log(Path(path)):
            return (
                f"it cannot be opened for writing ({text}), and its newest part is in the log "
                f"{Path(path).name}-wal beside it, which is not read without writing. Copy both "
                "files to a folder that is writable, and open the copy."
            )
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
        try:
            _check_file(Path(path), create)
        except OSError as error:
            raise DataError(f"results database {path!r} cannot be read: {error}.") from error
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
    is_fixed = not create and not os.access(file.parent, os.W_OK) and not _has_log(file)
    return f"{file.as_uri()}?immutable=1" if is_fixed else file.as_uri()


def _has_log(path: Path) -> bool:
    """Return whether transactions stand in the write-ahead log beside the file."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except (OSError, ValueError):
        return False


def _check_file(path: Path, create: bool) -> None:
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or pipe"
        raise DataError(f"results database {str(path)!r}: expected a file, got {kind}.")
    size = path.stat().st_size if path.is_file() else 0
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
    header, _ = _measured(path)
    if not header.startswith(_MAGIC):
        raise DataError(
            f"results database {str(path)!r}: expected an SQLite file, got one that starts with "
            f"{header[:16]!r}. Give another path; this file was not changed."
        )
    _check_length(path)


def _measured(path: Path) -> tuple[bytes, int]:
    """Return the header and the size of a file."""
    with path.open("rb") as file:
        return file.read(100), os.fstat(file.fileno()).st_size


def _check_length(path: Path) -> None:
    """Find a file that was only half copied; SQLite itself notices on reading a missing page.

    A file is shorter than its header says also while its log is written back, by another program
    or, after a crash, by the next one. Then SQLite has to judge, which takes locks: only a file
    that stays short with no log beside it is cut.
    """
    last: tuple[bytes, int] | None = None
    unchanged = 0
    while not _has_log(path):
        header, size = measured = _measured(path)
        expected = _expected_size(header)
        if size >= expected:
            return
        unchanged = unchanged + 1 if measured == last else 0
        if unchanged == _LOOKS:
            raise DataError(
                f"results database {str(path)!r} is cut short: it should hold {expected} bytes "
                f"and has {size}. Copy it again from its source; this file was not changed."
            )
        last = measured
        time.sleep(_PAUSE_S)  # whoever is making the file gets a moment to go on


def _expected_size(header: bytes) -> int:
    """Return the bytes that a file holds by its header, as far as that can be relied on."""
    if len(header) < 100:
        return 100
    page_size = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    is_counted = header[24:28] == header[92:96]
    return pages * (65536 if page_size == 1 else page_size) if is_counted else 0


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
