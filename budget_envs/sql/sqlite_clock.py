"""A clock that stands still: SQLite's functions of dates, as if it were always `NOW`, in UTC.

What a statement returns must not depend on when or where it runs. Servers do the same by their
session variables ``timestamp`` and ``time_zone``.

Reference: https://www.sqlite.org/lang_datefunc.html.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from budget_envs.sql.schema import Value
from budget_envs.sql.sqlite_guard import Guard

__all__ = ["NOW", "UNIX_NOW", "stop_clock"]

NOW = "2020-01-01 00:00:00"
"""The time that ``CURRENT_TIMESTAMP`` and ``'now'`` mean."""
UNIX_NOW = 1_577_836_800
"""The same, in seconds since 1970."""

_CONSTANTS = {"current_timestamp": NOW, "current_date": NOW[:10], "current_time": NOW[11:]}
# How many arguments come before a time, and how many times there may be.
_FUNCTIONS = {
    **dict.fromkeys(("date", "datetime", "julianday", "time", "unixepoch"), (0, 1)),
    "strftime": (1, 1),
    "timediff": (0, 2),
}
_SINCE = {"unixepoch": (3, 38), "timediff": (3, 43)}  # versions of SQLite
_IN_UTC = {"localtime", "utc"}  # modifiers without a meaning where all times are UTC
_SUBSECOND = {"subsec", "subsecond"}  # in the place of a time: now, with its fraction


def stop_clock(connection: sqlite3.Connection, guard: Guard) -> None:
    """Replace a connection's functions that may read the clock.

    Args:
        connection: Where statements will run.
        guard: Told what is raised in a function.
    """
    for name, text in _CONSTANTS.items():
        connection.create_function(name, 0, _constant(text), deterministic=True)
    plain: list[sqlite3.Connection] = []  # opened when it is first needed: most never need it
    for name, (before, times) in _FUNCTIONS.items():
        if sqlite3.sqlite_version_info < _SINCE.get(name, (0,)):
            continue
        function = _stopped(name, before, times, plain, guard)
        connection.create_function(name, -1, function, deterministic=True)


def _constant(text: str) -> Callable[[], str]:
    return lambda: text


def _stopped(
    name: str, before: int, times: int, plain: list[sqlite3.Connection], guard: Guard
) -> Callable[..., Value]:
    def function(*values: Value) -> Value:
        try:
            if not plain:
                plain.append(sqlite3.connect(":memory:", check_same_thread=False))
            given = _without_clock(values, before, times)
            marks = ",".join("?" * len(given))
            result: Value
            (result,) = plain[0].execute(f"SELECT {name}({marks})", given).fetchone()
        except sqlite3.Error:
            raise  # of the arguments, or there is no such function
        except BaseException as error:
            guard.note(error)
            raise
        return result

    return function


def _without_clock(values: tuple[Value, ...], before: int, times: int) -> list[Value]:
    """The arguments with the time that they mean written out."""
    head, rest = list(values[:before]), list(values[before:])
    if len(head) < before:
        return head
    if not rest and times == 1:
        rest = [NOW]
    for place, value in enumerate(rest[:times]):
        if (word := _word(value)) == "now" or (times == 2 and word in _SUBSECOND):
            rest[place] = NOW
        elif word in _SUBSECOND:
            rest.insert(place, NOW)
    return head + rest[:times] + [each for each in rest[times:] if _word(each) not in _IN_UTC]


def _word(value: Value) -> str:
    """A text as SQLite's date functions read it: up to a zero byte, in any case."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value.partition("\0")[0].lower() if isinstance(value, str) else ""
