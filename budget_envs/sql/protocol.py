"""What an engine promises: `SqlEngine` opens `SqlSession` objects that answer with `QueryResult`.

One session is one episode's view of one database. Sessions are independent: nothing that happens
in one can be seen in another, and a read-only session cannot change anything at all. What an agent
writes is never an exception: what is wrong, refused or too expensive is text in
``QueryResult.error``, and the next query works. Only an engine that is itself broken raises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Literal, Protocol, Self

from budget_envs.errors import BudgetEnvsError, OptionError
from budget_envs.sql.schema import Value

__all__ = ["QueryResult", "SqlEngine", "SqlEngineError", "SqlLimits", "SqlSession", "StoppedBy"]

StoppedBy = Literal["work", "time", "memory"]


class SqlEngineError(BudgetEnvsError, ConnectionError):
    """The engine itself failed (the server is gone): nobody's answer, so nobody's fault."""


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Bounds of one query, and of one session's database.

    Args:
        time_s: Wall-clock seconds. A backstop: on a loaded machine the same query may or may not
            pass it, so ``max_work`` should bind first.
        max_work: Steps of SQLite's virtual machine (about ten a row) plus comparisons by Python;
            the same on every machine. MySQL: row combinations the optimizer expects to examine.
        max_rows: Rows kept of a result; all are counted.
        max_result_bytes: Bytes of text kept of a result.
        max_value_bytes: Length of one text, blob or row. Some functions take time that grows
            with its square and cannot be interrupted. SQLite only.
        max_sql_bytes: Length of a statement.
        max_memory_bytes: Memory of SQLite's own allocations **in the whole process**: SQLite has
            no other limit. Set by the first session, unless the process has set one. MySQL: of
            one connection.
        max_database_bytes: Size up to which a writable SQLite session may grow its database.

    Raises:
        OptionError: If a limit is not positive, or not an integer where it counts.
    """

    time_s: float = 5.0
    max_work: int = 2_000_000
    max_rows: int = 10_000
    max_result_bytes: int = 4_000_000
    max_value_bytes: int = 10_000
    max_sql_bytes: int = 10_000
    max_memory_bytes: int = 256_000_000
    max_database_bytes: int = 64_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kind = int | float if field.name == "time_s" else int
            if isinstance(value, bool) or not isinstance(value, kind) or not 0 < value < math.inf:
                raise OptionError(
                    f"SqlLimits: {field.name} is a positive "
                    f"{'number' if field.name == 'time_s' else 'integer'}; got {value!r}."
                )


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What came of one statement.

    Args:
        columns: Headers; empty for a statement that returns no rows.
        rows: The first rows, in the order of the engine.
        total_rows: How many rows there are.
        truncated: Whether ``rows`` lacks some of them.
        error: What was wrong, or ``None``. With an error there are no columns and no rows.
        stopped_by: The limit that ended the query, if one did. ``"time"`` and ``"memory"`` depend
            on the machine and on its load.
        affected_rows: How many rows a statement wrote; ``None`` where rows came back, and with an
            error.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    total_rows: int = 0
    truncated: bool = False
    error: str | None = None
    stopped_by: StoppedBy | None = None
    affected_rows: int | None = None


class SqlSession(Protocol):
    """One episode on one database. Not for use by two threads at once."""

    @property
    def database(self) -> str:
        """Name of the database."""
        ...

    @property
    def writable(self) -> bool:
        """Whether statements may write. What they write ends with the session."""
        ...

    def execute(self, sql: str) -> QueryResult:
        """Run one statement.

        Args:
            sql: Any text. Exactly one statement is run; a semicolon may end it. Several are
                refused, and none of them is run.

        Raises:
            EnvStateError: If the session is closed.
            SqlEngineError: If the engine failed.
        """
        ...

    def snapshot(self) -> bytes:
        """The state of the database, to be restored here or in another session on it.

        Returns:
            Empty if nothing was written.
        """
        ...

    def digest(self) -> bytes:
        """Checksum of the state of the database, the same whatever writes led there.

        Returns:
            Empty if nothing was written.
        """
        ...

    def restore(self, snapshot: bytes) -> None:
        """Go back, or forth, to a snapshot.

        Raises:
            SnapshotError: If it is not one of this database's, or the session is read-only and
                the snapshot is not empty.
        """
        ...

    def close(self) -> None:
        """End the session; what it wrote is gone. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class SqlEngine(Protocol):
    """Opens sessions. Picklable: connections belong to sessions, or to the process."""

    @property
    def dialect(self) -> Literal["sqlite", "mysql"]:
        """The dialect that its statements are in."""
        ...

    @property
    def databases(self) -> tuple[str, ...]:
        """Names of the databases."""
        ...

    def open(self, database: str, *, writable: bool = False) -> SqlSession:
        """Begin a session on a fresh copy of a database.

        Args:
            database: One of ``databases``.
            writable: Allow INSERT, UPDATE, DELETE, CREATE TABLE and DROP TABLE.

        Raises:
            OptionError: If there is no such database.
            SqlEngineError: If the engine failed.
        """
        ...

    def close(self) -> None:
        """Let go of what the engine holds. Open sessions stay usable."""
        ...
