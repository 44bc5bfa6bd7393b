"""Guarded in-memory connections, and the idle ones that a process keeps for its next sessions."""

from __future__ import annotations

import atexit
import math
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from budget_envs.sql.collation import MYSQL_CI, collation
from budget_envs.sql.protocol import SqlEngineError, SqlLimits
from budget_envs.sql.result_memory import ResultMemory
from budget_envs.sql.schema import Value
from budget_envs.sql.sqlite_clock import stop_clock
from budget_envs.sql.sqlite_digest import content_digest
from budget_envs.sql.sqlite_guard import STEPS_PER_TICK, Guard
from budget_envs.sql.sqlite_image import SqliteImage
from budget_envs.sql.sqlite_schema import table_names

__all__ = ["GuardedConnection", "close_idle", "release", "take"]

_MAX_IDLE = 64  # connections; an idle one costs its image and about 100 KB

# Bounds on what compiling a statement and one step of it can cost. The published gold queries need
# less than a tenth of each.
_FIXED_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class GuardedConnection:
    """An in-memory copy of an image behind a `Guard`.

    Attributes:
        memory: Results on the untouched image, shared by all its copies.

    Args:
        image: What it starts as.
        limits: What one statement may use.

    Raises:
        SqlEngineError: If the copy cannot be made.
    """

    def __init__(self, image: SqliteImage, limits: SqlLimits) -> None:
        self.image = image
        self.guard = Guard(limits)
        self._row_digests: dict[str, bytes] | None  # of tables not written to; None: the image's
        self.memory = _memories.setdefault((image.name, image.sha256, limits), ResultMemory())
        # Without a cache of statements every run of a statement starts at step 0, so the work
        # limit stops it at the same row each time.
        self.raw = _connected()
        try:
            with self.own_statements():
                self._add_functions()
                self._set_limits(limits)
            self.load(image.content)
        except SqlEngineError:
            self.raw.close()
            raise
        self.raw.set_authorizer(self.guard.authorize)
        self.raw.set_progress_handler(self.guard.ticks.__next__, STEPS_PER_TICK)

    def _add_functions(self) -> None:
        self.raw.create_collation(MYSQL_CI, collation(self.guard))
        for name, strip in (("trim", str.strip), ("ltrim", str.lstrip), ("rtrim", str.rstrip)):
            self.raw.create_function(name, 2, _trim(strip, self.guard), deterministic=True)
        stop_clock(self.raw, self.guard)

    def _set_limits(self, limits: SqlLimits) -> None:
        for category, limit in _FIXED_LIMITS.items():
            self.raw.setlimit(category, limit)
        self.raw.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, limits.max_sql_bytes)
        self.raw.execute("PRAGMA temp_store = MEMORY")  # nothing is ever written to a disk
        if self.raw.execute("PRAGMA hard_heap_limit").fetchone() == (0,):
            self.raw.execute(f"PRAGMA hard_heap_limit = {limits.max_memory_bytes}")
        set_option = getattr(self.raw, "setconfig", None)  # from Python 3.12 on
        if set_option is not None:
            # As MySQL does, take "France" for text: most builds do so without being told.
            set_option(vars(sqlite3)["SQLITE_DBCONFIG_DQS_DML"], True)
            set_option(vars(sqlite3)["SQLITE_DBCONFIG_DEFENSIVE"], True)

    def load(self, content: bytes) -> None:
        """Replace the database by a copy of ``content``.

        Raises:
            SqlEngineError: If it is no database, or there is no memory for it.
        """
        self._row_digests = {}  # until all is done
        with self.own_statements():
            self.raw.deserialize(content)
            (page_bytes,) = self.raw.execute("PRAGMA page_size").fetchone()
            pages = self.guard.limits.max_database_bytes // page_bytes
            self.raw.execute(f"PRAGMA max_page_count = {pages}")
            self.guard.tables = set(table_names(self.raw))
            self.guard.written.clear()
        self._row_digests = None if content is self.image.content else {}

    def digest(self) -> bytes:
        """A checksum of what the database holds; see `sqlite_digest.content_digest`."""
        with self.own_statements():
            if self._row_digests is None:
                self._row_digests = dict(self.image.row_digests)
            for table in self.guard.written:
                self._row_digests.pop(table, None)
            self.guard.written.clear()
            return content_digest(self.raw, self._row_digests)

    @contextmanager
    def own_statements(self) -> Iterator[None]:
        """Neither refused nor metered, and for texts longer than statements may make.

        Raises:
            SqlEngineError: If one fails, or there is no memory for it.
        """
        self.raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000_000)
        try:
            with self.guard.trusted():
                yield
        except (sqlite3.Error, MemoryError) as error:
            raise SqlEngineError(
                f"The database {self.image.name!r} cannot be opened or used: {error!r}."
            ) from error
        finally:
            self.raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self.guard.limits.max_value_bytes)


def _connected() -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=0
        )
    except (sqlite3.Error, MemoryError) as error:
        raise SqlEngineError(f"SQLite cannot be opened: {error!r}.") from error


def _trim(strip: Callable[[str, str], str], guard: Guard) -> Callable[[Value, Value], str | None]:
    """A two-argument trim in linear time; SQLite's own is quadratic and cannot be interrupted."""

    def trimmed(value: Value, characters: Value) -> str | None:
        try:
            if value is None or characters is None:
                return None
            return strip(_as_text(value), _as_text(characters))
        except BaseException as error:
            guard.note(error)
            raise

    return trimmed


def _as_text(value: Value) -> str:
    """A value as SQLite casts it to text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and math.isfinite(value):
        mantissa, e, exponent = f"{value:.15g}".partition("e")
        return mantissa + ("" if "." in mantissa else ".0") + e + exponent
    return str(value)


_idle: list[GuardedConnection] = []
_memories: WeakValueDictionary[tuple[str, str, SqlLimits], ResultMemory] = WeakValueDictionary()
_lock = threading.Lock()


def take(image: SqliteImage, limits: SqlLimits) -> GuardedConnection:
    """A connection on a pristine copy of an image: an idle one of this process, or a new one."""
    with _lock:
        for place in range(len(_idle) - 1, -1, -1):
            idle = _idle[place]
            found = idle.image.sha256, idle.image.name, idle.guard.limits
            if found == (image.sha256, image.name, limits):  # SHOW TABLES tells names apart
                del _idle[place]
                return idle
    try:
        return GuardedConnection(image, limits)
    except SqlEngineError:  # the bound on memory is the process's, and idle copies count
        close_idle()
        return GuardedConnection(image, limits)


def release(connection: GuardedConnection) -> None:
    """Keep a connection on a pristine copy for the next session."""
    with _lock:
        _idle.append(connection)
        oldest = _idle.pop(0) if len(_idle) > _MAX_IDLE else None
    if oldest is not None:
        oldest.raw.close()


def _forget() -> None:
    """A forked child leaves the parent's connections alone."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


@atexit.register
def close_idle() -> None:
    """Close the idle connections; what is known of their images goes with the last copy of each."""
    with _lock:
        idle = _idle[:]
        _idle.clear()
    for connection in idle:
        connection.raw.close()


os.register_at_fork(after_in_child=_forget)
