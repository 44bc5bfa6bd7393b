"""A statement's result does not depend on when and where it runs."""

from __future__ import annotations

import sqlite3
import time

import pytest

from budget_envs.sql.protocol import SqlEngine
from budget_envs.sql.sqlite_clock import NOW, UNIX_NOW
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage

NEW_ENOUGH = sqlite3.sqlite_version_info >= (3, 38)

NOWS = [
    ("CURRENT_TIMESTAMP", NOW),
    ("current_date", "2020-01-01"),
    ("CURRENT_TIME", "00:00:00"),
    ("DATE('now')", "2020-01-01"),
    ("date('no' || 'w')", "2020-01-01"),
    ("date(x'6e6f77')", "2020-01-01"),
    ("date('now' || char(0) || 'x')", "2020-01-01"),
    ("datetime()", NOW),
    ("datetime('now', '+1 day')", "2020-01-02 00:00:00"),
    ("datetime('now', 'localtime')", NOW),
    ("datetime('now', 'UTC')", NOW),
    ("time('NOW')", "00:00:00"),
    ("julianday('now')", 2458849.5),
    ("strftime('%s', 'now')", str(UNIX_NOW)),
    pytest.param("unixepoch()", UNIX_NOW, marks=pytest.mark.skipif(not NEW_ENOUGH, reason="new")),
]
FIXED = [
    "date('2021-02-03')",
    "datetime('2021-02-03 04:05:06', '+1 month', 'start of month')",
    "datetime(1092941466, 'unixepoch')",
    "datetime(2458849.5)",
    "julianday('2021-02-03')",
    "strftime('%Y-%m %j', '2021-02-03')",
    "strftime(NULL, '2021-02-03')",
    "strftime()",
    "date(NULL)",
    "date('nonsense')",
    "date('2021-02-03', 'nonsense')",
    "time('12:00', NULL)",
]


@pytest.mark.parametrize(("expression", "expected"), NOWS)
def test_now_is_always_the_same(
    sqlite_engine: SqliteEngine, expression: str, expected: object
) -> None:
    with sqlite_engine.open("shop") as session:
        assert session.execute(f"SELECT {expression}").rows == ((expected,),)


@pytest.mark.parametrize("expression", FIXED)
def test_other_times_are_as_in_sqlite(sqlite_engine: SqliteEngine, expression: str) -> None:
    plain = sqlite3.connect(":memory:")
    expected = plain.execute(f"SELECT {expression}").fetchall()
    plain.close()
    with sqlite_engine.open("shop") as session:
        assert list(session.execute(f"SELECT {expression}").rows) == expected


def test_the_zone_of_the_machine_makes_no_difference(
    sqlite_engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with sqlite_engine.open("shop") as session:
            sql = "SELECT datetime('2021-02-03 04:05:06', 'LocalTime')"
            assert session.execute(sql).rows == (("2021-02-03 04:05:06",),)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_default_is_the_same_time() -> None:
    script = "CREATE TABLE t (a, b DEFAULT CURRENT_TIMESTAMP)"
    with SqliteEngine(Images([SqliteImage.from_script("d", script)])).open(
        "d", writable=True
    ) as session:
        session.execute("INSERT INTO t (a) VALUES (1)")
        assert session.execute("SELECT b FROM t").rows == ((NOW,),)


def test_engines_agree_on_the_time(engine: SqlEngine) -> None:
    with engine.open("shop") as session:
        sql = "SELECT CURRENT_TIMESTAMP, CURRENT_DATE, CURRENT_TIME"
        assert session.execute(sql).rows == ((NOW, NOW[:10], NOW[11:]),)
