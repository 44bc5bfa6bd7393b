"""SQLite as an engine: a session is an in-memory copy of an immutable image.

A copy is one `deserialize`, not a rebuilt database. A copy that nothing was written to is as good
as new, since a read-only statement leaves nothing behind: it is kept for the process's next
session on the same image, so most resets cost nothing. A copy that was written to is dropped. For
the same reason the results of a read-only session's statements are kept (`result_memory`).
"""

from __future__ import annotations

import sqlite3
import weakref
from types import TracebackType
from typing import Literal, Self

from budget_envs.errors import EnvStateError, SnapshotError
from budget_envs.sql import sqlite_connection
from budget_envs.sql.fetching import fetched
from budget_envs.sql.protocol import QueryResult, SqlEngineError, SqlLimits
from budget_envs.sql.schema_commands import COMMAND_WORDS, run_command
from budget_envs.sql.sqlite_guard import Guard
from budget_envs.sql.sqlite_image import ImageCatalog, SqliteImage
from budget_envs.sql.sqlite_schema import table_names
from budget_envs.sql.statements import (
    NO_STATEMENT,
    SEVERAL_STATEMENTS,
    first_word,
    one_statement,
    refused,
    without_temporary,
)

__all__ = ["SqliteEngine", "SqliteSession"]

_READING_WORDS = {"select", "values", "explain"}
_ERRORS = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError)  # of a statement
_LASTING = {"SQLITE_ERROR", "SQLITE_TOOBIG"}  # errors that come whenever the statement does
_CALLBACK_FAILED = "user-defined function raised exception"


class SqliteEngine:
    """Opens sessions on the images of a catalogue.

    Args:
        catalog: The databases.
        limits: What one query may use.
    """

    dialect: Literal["sqlite"] = "sqlite"

    def __init__(self, catalog: ImageCatalog, *, limits: SqlLimits | None = None) -> None:
        self.catalog = catalog
        self.limits = limits or SqlLimits()

    @property
    def databases(self) -> tuple[str, ...]:
        """Names of the databases."""
        return self.catalog.databases

    def open(self, database: str, *, writable: bool = False) -> SqliteSession:
        """Begin a session on a fresh copy of a database.

        Args:
            database: One of ``databases``.
            writable: Allow INSERT, UPDATE, DELETE, CREATE TABLE and DROP TABLE.

        Raises:
            OptionError: If there is no such database.
            SqlEngineError: If there is no memory for it.
        """
        return SqliteSession(self.catalog.image(database), self.limits, writable=writable)

    def close(self) -> None:
        """Do nothing: idle copies belong to the process."""


class SqliteSession:
    """One episode on one image; see `budget_envs.sql.protocol.SqlSession`.

    Args:
        image: The database.
        limits: What one query may use.
        writable: Whether statements may write.
    """

    def __init__(self, image: SqliteImage, limits: SqlLimits, *, writable: bool) -> None:
        self.image = image
        self.writable = writable
        self._has_written = False
        self._digest: bytes | None = None
        self._is_certain = True  # of the newest result: whether it would come again
        self._connection: sqlite_connection.GuardedConnection | None
        self._connection = sqlite_connection.take(image, limits)
        self._connection.guard.writable = writable
        self._finalizer = weakref.finalize(self, self._connection.raw.close)

    @property
    def database(self) -> str:
        """Name of the database."""
        return self.image.name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session; what it wrote is gone. May be called twice."""
        connection, self._connection = self._connection, None  # nobody gives it back twice
        if connection is None:
            return
        if self._has_written or connection.raw.in_transaction:
            self._finalizer()
        else:
            self._finalizer.detach()
            sqlite_connection.release(connection)

    def _opened(self) -> sqlite_connection.GuardedConnection:
        if self._connection is None:
            raise EnvStateError("This SQL session is closed: open another one.")
        return self._connection

    def execute(self, sql: str) -> QueryResult:
        """Run one statement.

        Args:
            sql: Any text. Exactly one statement is run; a semicolon may end it.

        Raises:
            EnvStateError: If the session is closed.
        """
        connection = self._opened()
        if self.writable:
            return self._execute(sql)
        known = connection.memory.recall(sql)
        if known is not None:
            return known
        self._is_certain = True
        result = self._execute(sql)
        if self._is_certain:
            connection.memory.keep(sql, result)
        return result

    def _execute(self, sql: str) -> QueryResult:
        connection = self._opened()
        max_bytes = connection.guard.limits.max_sql_bytes
        if len(sql) > max_bytes:
            return QueryResult(error=f"a statement has at most {max_bytes} bytes")
        statement = one_statement(sql, "sqlite")
        if statement is None:
            return QueryResult(error=SEVERAL_STATEMENTS)
        word = first_word(statement)
        if not word:
            return QueryResult(error=NO_STATEMENT)
        if word in COMMAND_WORDS:
            with connection.own_statements():
                return run_command(statement, self.database, connection.raw)
        if self.writable and word not in _READING_WORDS:
            return self._write(without_temporary(statement), word)
        return self._run(statement, word)

    def _write(self, statement: str, word: str) -> QueryResult:
        """Run a statement whole or not at all."""
        connection = self._opened()
        raw, changes = connection.raw, connection.raw.total_changes
        before = self._has_written, self._digest
        self._has_written, self._digest = True, None  # an interrupt leaves it so, wherever it comes
        with connection.own_statements():
            if raw.in_transaction:  # left by one that was interrupted
                raw.execute("ROLLBACK")
            raw.execute("BEGIN")
        result = self._run(statement, word)
        defines = word in ("create", "drop")
        with connection.own_statements():
            if raw.in_transaction:  # some errors end it by themselves
                raw.execute("COMMIT" if result.error is None else "ROLLBACK")
            if defines and result.error is None:
                connection.guard.tables = set(table_names(raw))
        if result.error is not None:
            self._has_written, self._digest = before
        elif not defines and raw.total_changes == changes:
            self._has_written = before[0]
        return result

    def _run(self, statement: str, word: str) -> QueryResult:
        connection = self._opened()
        guard = connection.guard
        guard.begin()
        try:
            result, error = self._attempted(statement)
        except _ERRORS as raised:
            result, error = QueryResult(), raised
        # A sort that ran out of work ends in any order, and the statement may end before it is
        # asked again.
        if error is None and guard.stopped_by is None:
            return result
        self._is_certain = _is_certain(error, guard)
        if guard.stopped_by is None and _name(error) == "SQLITE_INTERRUPT":
            raise SqlEngineError(
                "A signal's handler raised an exception within a statement, and SQLite lost it."
            )
        return _failure(error, guard, word)

    def _attempted(self, statement: str) -> tuple[QueryResult, Exception | None]:
        """Run a statement; what a callback raised is raised, also where SQLite went on."""
        connection = self._opened()
        result, error = QueryResult(), None
        try:
            result = fetched(connection.raw.execute(statement), connection.guard.limits)
        except _ERRORS as raised:
            error = raised
        except SystemError as raised:  # the same, as Python finds it
            connection.guard.note(raised)
        connection.guard.reraise()
        return result, error

    def snapshot(self) -> bytes:
        """The state of the database; empty if nothing was written.

        Returns:
            32 bytes of checksum of the image, then a database file.
        """
        connection = self._opened()
        if not self._has_written:
            return b""
        with connection.own_statements():
            return bytes.fromhex(self.image.sha256) + connection.raw.serialize()

    def digest(self) -> bytes:
        """Checksum of the state of the database, the same whatever writes led there.

        Returns:
            Empty if it is the image's state.
        """
        connection = self._opened()
        if not self._has_written:
            return b""
        if self._digest is None:
            found = connection.digest()
            self._digest = b"" if found == self.image.digest else found
        return self._digest

    def restore(self, snapshot: bytes) -> None:
        """Go to the state of a snapshot of this or of another session on the same image.

        Raises:
            SnapshotError: If it is of another image, or the session is read-only and it is not
                empty.
        """
        connection = self._opened()
        self._digest = None
        if not snapshot:
            if self._has_written:
                connection.load(self.image.content)
                self._has_written = False
            return
        if not self.writable:
            raise SnapshotError(
                "A read-only session has nothing to restore: open it with writable=True."
            )
        if snapshot[:32] != bytes.fromhex(self.image.sha256):
            raise SnapshotError(
                f"The snapshot is not one of the database {self.database!r}: restore it where it "
                "was taken."
            )
        self._has_written = True
        connection.load(snapshot[32:])


def _name(error: Exception | None) -> str:
    return getattr(error, "sqlite_errorname", "")


def _is_certain(error: Exception | None, guard: Guard) -> bool:
    """Whether a statement that failed would fail again in the same way."""
    if guard.stopped_by is not None or isinstance(error, MemoryError):
        return guard.stopped_by == "work" and not isinstance(error, MemoryError)
    if guard.has_refused:
        return True
    return _name(error) in _LASTING and str(error) != _CALLBACK_FAILED


def _failure(error: Exception | None, guard: Guard, word: str) -> QueryResult:
    limits = guard.limits
    if isinstance(error, MemoryError):
        return QueryResult(error="stopped: it needs too much memory", stopped_by="memory")
    if guard.stopped_by is not None:
        bound = {
            "work": f"{limits.max_work:,} steps of work",
            "time": f"{limits.time_s:g} seconds",
        }[guard.stopped_by]
        return QueryResult(error=f"stopped after {bound}", stopped_by=guard.stopped_by)
    if guard.refusal:
        return QueryResult(error=f"not allowed: {guard.refusal}")
    if _name(error) == "SQLITE_AUTH":
        return QueryResult(error=f"not allowed: {refused(word)}")
    return QueryResult(error=str(error))
