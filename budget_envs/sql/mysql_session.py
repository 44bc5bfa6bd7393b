"""One episode on a MySQL or MariaDB server: a connection, its limits and what it may say."""

from __future__ import annotations

import hashlib
import json
import logging
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from budget_envs.errors import EnvStateError, SnapshotError, require
from budget_envs.sql.fetching import fetched
from budget_envs.sql.mysql_address import MySqlAddress
from budget_envs.sql.mysql_loading import drop_schema, make_copy, quoted
from budget_envs.sql.mysql_refusals import refusal
from budget_envs.sql.protocol import QueryResult, SqlEngineError, SqlLimits, StoppedBy
from budget_envs.sql.sqlite_clock import UNIX_NOW
from budget_envs.sql.sqlite_image import SqliteImage
from budget_envs.sql.statements import (
    NO_STATEMENT,
    SEVERAL_STATEMENTS,
    WRITING_WORDS,
    first_word,
    one_statement,
    without_temporary,
)

__all__ = ["MySqlSession"]

_log = logging.getLogger(__name__)

_STOPPED: dict[int, StoppedBy] = {
    1969: "time",  # MariaDB: max_statement_time
    3024: "time",  # MySQL: max_execution_time
    1104: "work",  # max_join_size
    1290: "memory",  # MariaDB: max_session_mem_used
    1037: "memory",
    1038: "memory",
    1041: "memory",
    1114: "memory",  # a temporary table is full
}
_CONNECTION_ERRORS = {1053, 1077, 1079, 1080, 1927, 2003, 2006, 2013, 2014, 2055}

# No ONLY_FULL_GROUP_BY: published gold queries select columns that they do not group by.
_SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
_ROWS_PER_INSERT = 500
_SPARE_S = 30  # beyond the server's own time limit, for a server that does not answer at all


class MySqlSession:
    """One episode on a database of a server; see `budget_envs.sql.protocol.SqlSession`.

    Args:
        address: The server, with the administrator's account.
        schema: The database there, and the account that may use it.
        image: What it was loaded from.
        limits: What one query may use.
        copy_of: The database that ``schema`` is a copy of, for this session to write to and to
            drop at its end; ``None`` for a read-only session.
    """

    def __init__(
        self,
        address: MySqlAddress,
        schema: str,
        image: SqliteImage,
        limits: SqlLimits,
        *,
        copy_of: str | None = None,
    ) -> None:
        self.image = image
        self.limits = limits
        self.writable = copy_of is not None
        self._address = address
        self._schema = schema
        self._copy_of = copy_of
        self._has_written = False
        self._errors = require("pymysql", "sql").err
        account = address.as_user(schema)
        self._connection: Any = _connection(account, schema, limits, writable=self.writable)
        self._finalizer = weakref.finalize(
            self, _end, self._connection, address, schema, drop=self.writable
        )

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
        self._connection = None
        self._finalizer()  # runs once

    def _opened(self) -> Any:
        if self._connection is None:
            raise EnvStateError("This SQL session is closed: open another one.")
        return self._connection

    def execute(self, sql: str) -> QueryResult:
        """Run one statement.

        Args:
            sql: Any text. Exactly one statement is run; a semicolon may end it.

        Raises:
            EnvStateError: If the session is closed.
            SqlEngineError: If the server is gone.
        """
        connection = self._opened()
        if len(sql) > self.limits.max_sql_bytes:
            return QueryResult(error=f"a statement has at most {self.limits.max_sql_bytes} bytes")
        statement = one_statement(sql, "mysql")
        if statement is None:
            return QueryResult(error=SEVERAL_STATEMENTS)
        word = first_word(statement)
        if not word:
            return QueryResult(error=NO_STATEMENT)
        if reason := refusal(statement, word, writable=self.writable):
            return QueryResult(error=f"not allowed: {reason}")
        result = self._run(connection, without_temporary(statement))
        self._has_written |= word in WRITING_WORDS and result.error is None
        return result

    def _run(self, connection: Any, statement: str) -> QueryResult:
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                result = fetched(cursor, self.limits)
        except ValueError as error:  # text that has no UTF-8
            return QueryResult(error=str(error))
        except self._errors.MySQLError as error:
            return self._failure(error)
        columns = tuple(name.replace(self._schema, self.database) for name in result.columns)
        return replace(result, columns=columns)

    def _failure(self, error: Exception) -> QueryResult:
        number, message = (*error.args, "")[:2]
        if number in _CONNECTION_ERRORS or isinstance(error, self._errors.InterfaceError):
            raise SqlEngineError(f"The connection to the server is lost: {error}.") from error
        stopped_by = _STOPPED.get(number)
        text = f"{message or error}".replace(self._schema, self.database)
        if stopped_by == "time":
            text = f"stopped after {self.limits.time_s:g} seconds"
        return QueryResult(error=text, stopped_by=stopped_by)

    def snapshot(self) -> bytes:
        """The state of the database; empty if nothing was written.

        Returns:
            JSON: the image's checksum and the statements that make the tables and fill them.
        """
        connection = self._opened()
        if not self._has_written:
            return b""
        with self._own_statements(connection) as cursor:
            statements = list(_dump(cursor))
        return json.dumps({"image": self.image.sha256, "statements": statements}).encode()

    def digest(self) -> bytes:
        """Checksum of the state of the database, the same whatever writes led there.

        Returns:
            Empty if nothing was written.
        """
        snapshot = self.snapshot()
        return hashlib.blake2b(snapshot, digest_size=16).digest() if snapshot else b""

    def restore(self, snapshot: bytes) -> None:
        """Go to the state of a snapshot of this or of another session on the same database.

        Raises:
            SnapshotError: If it is of another database, or the session is read-only and it is not
                empty.
        """
        connection = self._opened()
        if snapshot and not self.writable:
            raise SnapshotError(
                "A read-only session has nothing to restore: open it with writable=True."
            )
        if snapshot:
            statements = _statements(snapshot, self.image)
            with self._own_statements(connection) as cursor:
                for table in _tables(cursor):
                    cursor.execute(f"DROP TABLE {quoted(table)}")
                for statement in statements:
                    cursor.execute(statement)
        elif self._has_written and self._copy_of is not None:
            make_copy(self._address, self._copy_of, self._schema)
            with self._own_statements(connection) as cursor:
                cursor.execute(f"USE {quoted(self._schema)}")
        self._has_written = bool(snapshot)

    @contextmanager
    def _own_statements(self, connection: Any) -> Iterator[Any]:
        """A cursor for statements that are not the agent's: if one fails, so did the engine."""
        try:
            with connection.cursor() as cursor:
                yield cursor
        except self._errors.MySQLError as error:
            raise SqlEngineError(
                f"The server refuses a statement of the engine: {error}."
            ) from error


def _statements(snapshot: bytes, image: SqliteImage) -> list[str]:
    try:
        content = json.loads(snapshot)
        if content["image"] == image.sha256:
            return list(content["statements"])
    except (ValueError, TypeError, KeyError):
        pass
    raise SnapshotError(
        f"The snapshot is not one of the database {image.name!r}: restore it where it was taken."
    )


def _tables(cursor: Any) -> list[str]:
    cursor.execute("SHOW TABLES")
    return [name for (name,) in cursor.fetchall()]


def _dump(cursor: Any) -> Iterator[str]:
    for table in _tables(cursor):
        cursor.execute(f"SHOW CREATE TABLE {quoted(table)}")
        yield cursor.fetchone()[1]
        cursor.fetchall()
        cursor.execute(f"SHOW COLUMNS FROM {quoted(table)}")
        columns = ", ".join(_exactly(name, kind) for name, kind, *_ in cursor.fetchall())
        cursor.execute(f"SELECT {columns} FROM {quoted(table)}")
        while rows := cursor.fetchmany(_ROWS_PER_INSERT):
            marks = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
            values = ", ".join(cursor.mogrify(marks, row) for row in rows)
            yield f"INSERT INTO {quoted(table)} VALUES {values}"


def _exactly(column: str, kind: str) -> str:
    """A column with all its digits: MySQL prints six of a float."""
    return f"{quoted(column)} + 0e0" if kind.startswith("float") else quoted(column)


def _connection(account: MySqlAddress, schema: str, limits: SqlLimits, *, writable: bool) -> Any:
    cursors = require("pymysql.cursors", "sql")
    connection = account.connect(
        schema,
        cursorclass=cursors.SSCursor,  # rows come one by one, not all into memory
        conv=_converters(),
        read_timeout=int(limits.time_s) + _SPARE_S,
        sql_mode=_SQL_MODE,
    )
    settings = {"time_zone": "'+00:00'", "timestamp": UNIX_NOW, "max_join_size": limits.max_work}
    if "MariaDB" in connection.get_server_info():
        settings["max_statement_time"] = limits.time_s
        settings["max_session_mem_used"] = limits.max_memory_bytes
    else:
        settings["max_execution_time"] = int(limits.time_s * 1000)
    with connection.cursor() as cursor:
        cursor.execute(
            "SET " + ", ".join(f"SESSION {name} = {settings[name]}" for name in settings)
        )
        cursor.execute(f"SET SESSION TRANSACTION READ {'WRITE' if writable else 'ONLY'}")
    return connection


def _converters() -> dict[Any, Any]:
    """Plain values: numbers as numbers, times as the text that MySQL prints."""
    kinds = require("pymysql.constants.FIELD_TYPE", "sql")
    encoders: dict[Any, Any] = dict(require("pymysql.converters", "sql").encoders)
    integers = (kinds.TINY, kinds.SHORT, kinds.INT24, kinds.LONG, kinds.LONGLONG, kinds.YEAR)
    return {
        **encoders,
        **dict.fromkeys(integers, int),
        **dict.fromkeys((kinds.FLOAT, kinds.DOUBLE), float),
        **dict.fromkeys((kinds.DECIMAL, kinds.NEWDECIMAL), _number),
    }


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _end(connection: Any, address: MySqlAddress, schema: str, *, drop: bool) -> None:
    connection.close()
    if drop:
        try:
            drop_schema(address, schema)
        except SqlEngineError as error:  # the copy stays; MySqlEngine.remove finds it
            _log.warning("%s was not dropped: %s", schema, error)
