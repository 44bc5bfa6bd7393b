"""What a signal's handler raises gets out, and leaves nothing behind for others."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator

import pytest

from budget_envs.sql import sqlite_connection
from budget_envs.sql.protocol import QueryResult, SqlEngineError, SqlLimits
from budget_envs.sql.sqlite_engine import SqliteEngine, SqliteSession
from budget_envs.sql.sqlite_image import Images, SqliteImage

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")

IMAGE = SqliteImage.from_script("d", "CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1)")
ENGINE = SqliteEngine(Images([IMAGE]), limits=SqlLimits(time_s=60, max_work=20_000_000))
MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40000) "
SLOW = {
    "steps": "SELECT count(*), max(i % 7) FROM n",
    "comparisons": "SELECT max(('k' || (i * 7919 % 40000)) COLLATE MYSQL_CI) FROM n",
    "trims": "SELECT sum(length(trim(i || '', '0'))) FROM n",
    "dates": "SELECT max(date(i)) FROM n LIMIT 4000",
}


class Stop(BaseException):
    """As KeyboardInterrupt: nobody's error."""


@pytest.fixture(autouse=True)
def every_statement_runs() -> None:
    """Here results are remembered."""


@pytest.fixture(autouse=True)
def stops() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Stop

    sqlite_connection.close_idle()
    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    sqlite_connection.close_idle()


def stopped(session: SqliteSession, sql: str, after_s: float) -> QueryResult | None:
    """The result; ``None`` if it was stopped."""
    result = None
    with contextlib.suppress(Stop):
        signal.setitimer(signal.ITIMER_REAL, after_s)
        result = session.execute(sql)
        signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return result


@pytest.mark.parametrize("kind", SLOW)
def test_a_stopped_statement_is_not_remembered(kind: str) -> None:
    with ENGINE.open("d") as session:
        expected = session._execute(MANY + SLOW[kind])
        assert expected.error is None
        got_out = 0
        for number in range(6):
            sql = f"{MANY}{SLOW[kind]} -- {number}"
            with contextlib.suppress(SqlEngineError):
                got_out += stopped(session, sql, 0.001 * (1 + number)) is None
            assert session.execute(sql) == expected
        if kind in ("steps", "comparisons"):  # nothing else is entered where it could be lost
            assert got_out >= 1


def test_a_stopped_write_is_seen_by_nobody() -> None:
    """In a process of its own: the handler may run wherever Python code does."""
    script = """
import random, signal
from budget_envs.sql.protocol import SqlEngineError
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
class Stop(BaseException): pass
def stop(*_): raise Stop
signal.signal(signal.SIGALRM, stop)
script = "CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1)"
engine = SqliteEngine(Images([SqliteImage.from_script("d", script)]))
luck, stops = random.Random(0), 0
for number in range(2000):
    session = engine.open("d", writable=True)
    try:
        signal.setitimer(signal.ITIMER_REAL, luck.uniform(1e-6, 3e-4))
        session.execute("INSERT INTO t VALUES (99)")
        signal.setitimer(signal.ITIMER_REAL, 0)
    except (Stop, SqlEngineError):
        stops += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        pass
    session.close()
    with engine.open("d") as reader:
        assert reader.execute(f"SELECT x FROM t -- {number}").rows == ((1,),)
print(stops > 100)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("where", ["begin", "run", "end", "after"])
def test_a_write_that_is_stopped_anywhere_costs_the_copy(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    session = ENGINE.open("d", writable=True)
    connection = session._opened()
    places = iter(("begin", "end"))
    plain = connection.own_statements

    @contextlib.contextmanager
    def own_statements() -> Iterator[None]:
        if next(places) == where:
            raise Stop
        with plain():
            yield
        if where == "after":
            raise Stop

    def run(*_: object) -> QueryResult:
        connection.raw.execute("INSERT INTO t VALUES (99)")
        raise Stop

    monkeypatch.setattr(connection, "own_statements", own_statements)
    if where == "run":
        monkeypatch.setattr(session, "_run", run)
    with pytest.raises(Stop):
        session.execute("INSERT INTO t VALUES (99)")
    session.close()
    assert sqlite_connection._idle == []
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.raw.execute("SELECT 1")


def test_a_session_goes_on_after_a_stopped_write(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> QueryResult:
        raise Stop

    with ENGINE.open("d", writable=True) as session:
        with monkeypatch.context() as patch:
            patch.setattr(session, "_run", run)
            with pytest.raises(Stop):
                session.execute("DELETE FROM t")
        assert session.execute("INSERT INTO t VALUES (2)").error is None
        assert session.execute("SELECT x FROM t").rows == ((1,), (2,))


def test_a_connection_is_given_back_once() -> None:
    session = ENGINE.open("d")
    session.close()
    session.close()
    assert len(sqlite_connection._idle) == 1


@pytest.mark.parametrize(
    ("sql", "is_kept"),
    [
        ("SELECT x FROM t", True),
        ("SELECT nothing FROM t", True),
        ("SELEC", True),
        ("DELETE FROM t", True),
        ("SELECT random()", True),
        ("SELECT trim(CAST(x'ff' AS TEXT), 'x')", False),
    ],
)
def test_only_what_would_come_again_is_kept(sql: str, is_kept: bool) -> None:
    with ENGINE.open("d") as session:
        result = session.execute(sql)
        assert session._opened().memory.recall(sql) == (result if is_kept else None)


def test_bytes_that_are_no_text_are_an_error_where_they_are_compared() -> None:
    values = ", ".join(f"(CAST(x'f{n}' AS TEXT))" for n in range(8))
    sql = f"WITH v(a) AS (VALUES {values}) SELECT hex(a) FROM v ORDER BY a COLLATE MYSQL_CI"
    with ENGINE.open("d") as session:
        assert session.execute(sql).error
        assert session.execute("SELECT x FROM t").rows == ((1,),)


# Memory.


def test_idle_copies_are_given_up_where_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, calls = sqlite_connection._connected, []

    def connected() -> sqlite3.Connection:
        calls.append(len(sqlite_connection._idle))
        if len(calls) == 1:
            raise SqlEngineError("no memory")
        return plain()

    ENGINE.open("d").close()
    other = SqliteEngine(Images([SqliteImage("other", IMAGE.content)]))
    monkeypatch.setattr(sqlite_connection, "_connected", connected)
    with other.open("other") as session:
        assert session.execute("SELECT x FROM t").rows == ((1,),)
    assert calls == [1, 0]


@pytest.mark.parametrize("error", [MemoryError, sqlite3.OperationalError])
def test_own_statements_that_fail_are_the_engines_fault(error: type[Exception]) -> None:
    with ENGINE.open("d", writable=True) as session:
        connection = session._opened()
        with pytest.raises(SqlEngineError, match="'d'"), connection.own_statements():
            raise error


def test_an_open_that_fails_is_the_engines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(sqlite_connection.sqlite3, "connect", connect)
    with pytest.raises(SqlEngineError, match="MemoryError"):
        ENGINE.open("d")
