"""What a statement may do on an SQLite connection, and how much: one `Guard` per connection.

Three things stop a statement. The *authorizer* is asked while SQLite compiles it and allows named
actions, tables and functions only: what is not listed is refused, so a function that a later
SQLite adds is refused too. (``PRAGMA query_only`` would not do: a statement can switch it off.)
The *progress handler* is asked every thousand steps of the virtual machine, and the guard every
hundred comparisons of text. *Limits* on lengths bound what a single step can cost, because nothing
can stop a step.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from time import monotonic

from budget_envs.sql.protocol import SqlLimits, StoppedBy

__all__ = ["FUNCTIONS", "STEPS_PER_TICK", "Guard"]

STEPS_PER_TICK = 1000
"""Steps of the virtual machine between two calls of the progress handler."""
COMPARISONS_PER_TICK = 100
"""Comparisons of text by Python between two looks at the limits; long texts take a while each."""

# fmt: off
FUNCTIONS = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg", "ceil", "ceiling",
    "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count", "cume_dist", "current_date",
    "current_time", "current_timestamp", "date", "datetime", "degrees", "dense_rank", "exp",
    "first_value", "floor", "format", "glob", "group_concat", "hex", "if", "ifnull", "iif", "instr",
    "julianday", "lag", "last_value", "lead", "length", "like", "likelihood", "likely", "ln", "log",
    "log10", "log2", "lower", "ltrim", "max", "min", "mod", "nth_value", "ntile", "nullif",
    "octet_length", "percent_rank", "pi", "pow", "power", "printf", "quote", "radians", "rank",
    "replace", "round", "row_number", "rtrim", "sign", "sin", "sinh", "soundex", "sqrt", "strftime",
    "string_agg", "substr", "substring", "sum", "tan", "tanh", "time", "timediff", "total", "trim",
    "trunc", "typeof", "unhex", "unicode", "unixepoch", "unlikely", "upper",
})
# fmt: on
"""Functions that a statement may call.

Not among them: what reads or writes files or loads code, what makes large values from small text
(``zeroblob``), what differs from run to run (``random``), what tells of earlier statements
(``changes``), and JSON.
"""
_READ_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
# CREATE TABLE and DROP TABLE also write to SQLite's catalogue, in the name of the statement;
# SQLite itself refuses a statement that names the catalogue.
_WRITE_ACTIONS = {
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_CREATE_TABLE,
    sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_REINDEX,
}
_CATALOGUE = {"sqlite_master", "sqlite_schema"}


def _allowance() -> Iterator[None]:
    return repeat(None, COMPARISONS_PER_TICK - 1)  # the next one renews it


class Guard:
    """Permissions and meters of one connection.

    Args:
        limits: What one statement may use.
    """

    def __init__(self, limits: SqlLimits) -> None:
        self.limits = limits
        self.writable = False
        self.tables: set[str] = set()
        self.written: set[str] = set()  # tables whose rows may have changed, until it is cleared
        self.refusal = ""
        self.has_refused = False
        self.stopped_by: StoppedBy | None = None
        self.allowance = _allowance()
        self.ticks = self._ticks()
        self._raised: BaseException | None = None
        self._trusted = False
        self._work = 0
        self._deadline = math.inf

    def begin(self) -> None:
        """Set the meters to zero: a statement follows."""
        self.refusal = ""
        self.has_refused = False
        self.stopped_by = None
        self.allowance = _allowance()
        self._raised = None
        self._trusted = False
        self._work = 0
        self._deadline = monotonic() + self.limits.time_s

    @contextmanager
    def trusted(self) -> Iterator[None]:
        """Let the engine's own statements pass, unmetered."""
        self._trusted = True
        try:
            yield
        finally:
            self._trusted = False
            self.reraise()

    def note(self, error: BaseException) -> None:
        """Keep what was raised in a callback: SQLite would drop it. The first one counts."""
        if isinstance(error, SystemError) and error.__cause__ is not None:
            error = error.__cause__  # left behind by an earlier callback, found by this one
        self._raised = self._raised or error

    def reraise(self) -> None:
        """Raise what was noted, once."""
        error, self._raised = self._raised, None
        if error is not None:
            raise error

    def _ticks(self) -> Iterator[bool]:
        """Progress handler, an item a call: whether to interrupt the statement.

        A signal's handler runs where Python code is entered. A function is entered before any
        ``try`` of its own, and what the handler raises there is lost; a generator goes on inside.
        """
        while True:
            try:
                self._work += STEPS_PER_TICK
                yield self._is_over()
            except GeneratorExit:
                raise
            except BaseException as error:
                self.note(error)

    def renew(self) -> bool:
        """Allow more comparisons, unless the statement is over; see `collation.Meter`."""
        if self.stopped_by is None:
            self._work += COMPARISONS_PER_TICK
        if self._is_over():
            return False
        self.allowance = _allowance()
        return True

    def _is_over(self) -> bool:
        now = monotonic()
        if self._trusted:
            return False
        if self.stopped_by is None:
            if self._work > self.limits.max_work:
                self.stopped_by = "work"
            elif now > self._deadline:
                self.stopped_by = "time"
        return self.stopped_by is not None or self._raised is not None

    def authorize(
        self, action: int, first: str | None, second: str | None, schema: str | None, by: str | None
    ) -> int:
        """Authorizer: ``SQLITE_OK`` for what is listed, ``SQLITE_DENY`` for all else."""
        if self._trusted or action in _READ_ACTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            # No column: only that there are rows. SQLite then gives the name as it was written,
            # which may be that of a common table expression.
            if first in _CATALOGUE and second == "rootpage":
                return sqlite3.SQLITE_IGNORE  # reads as NULL: where it is stored is not what it is
            if first in self.tables or first in _CATALOGUE or not second:
                return sqlite3.SQLITE_OK
            self.refusal = f"the table {first} cannot be read"
        elif action == sqlite3.SQLITE_FUNCTION:
            if second in FUNCTIONS:
                return sqlite3.SQLITE_OK
            self.refusal = f"the function {second} is not available"
        elif self.writable and action in _WRITE_ACTIONS:
            self.written.add(first or "")
            return sqlite3.SQLITE_OK
        self.has_refused = True
        return sqlite3.SQLITE_DENY
