"""Statements that try to get out, to stay, or to use up the machine."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.sql.protocol import SqlLimits
from budget_envs.sql.sqlite_engine import SqliteEngine, SqliteSession
from budget_envs.sql.sqlite_guard import FUNCTIONS
from budget_envs.sql.sqlite_image import Images, SqliteImage

ORDERS = "SELECT COUNT(*), SUM(price) FROM Orders"
LONG = "replace(printf('%9000d', 1), ' ', 'x')"  # 9,000 characters


@pytest.fixture(params=[False, True], ids=["read-only", "writable"])
def session(request: pytest.FixtureRequest, sqlite_engine: SqliteEngine) -> Iterator[SqliteSession]:
    with sqlite_engine.open("shop", writable=request.param) as opened:
        yield opened


def assert_unharmed(session: SqliteSession) -> None:
    result = session.execute(ORDERS)
    assert (result.error, result.rows) == (None, ((200, 5025.0),))


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'stolen.db' AS x",
        "ATTACH ':memory:' AS x",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'stolen.db'",
        "VACUUM main INTO 'stolen.db'",
        "PRAGMA query_only = 0",
        "PRAGMA writable_schema = ON",
        "PRAGMA table_info(Orders)",
        "PRAGMA hard_heap_limit = 1",
        "PRAGMA journal_mode = WAL",
        "SELECT * FROM pragma_table_info('Orders')",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('evil')",
        "SELECT writefile('stolen.db', 'x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT edit('x')",
        "SELECT fts3_tokenizer('x')",
        "SELECT * FROM sqlite_stmt",
        "SELECT * FROM dbstat",
        "SELECT * FROM json_each('[1]')",
        "SELECT json_array(1)",
        "SELECT randomblob(10)",
        "SELECT zeroblob(10)",
        "SELECT random()",
        "SELECT * FROM Orders ORDER BY RANDOM()",
        "SELECT last_insert_rowid()",
        "SELECT changes(), total_changes()",
        "SELECT sqlite_source_id()",
        "BEGIN EXCLUSIVE",
        "SAVEPOINT a",
        "ANALYZE",
        "REINDEX x",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
        "CREATE VIRTUAL TABLE x USING csv(filename='/etc/passwd')",
        "CREATE TRIGGER x AFTER INSERT ON Orders BEGIN DELETE FROM Orders; END",
        "CREATE VIEW x AS SELECT 1",
        "CREATE TEMP VIEW x AS SELECT 1",
        "ALTER TABLE Orders RENAME TO x",
        "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x (a)')",
        "DELETE FROM sqlite_master",
        "UPDATE sqlite_master SET sql = 'x'",
        "EXPLAIN ATTACH 'stolen.db' AS x",
        "WITH x AS (SELECT load_extension('evil')) SELECT * FROM x",
        "SELECT (SELECT writefile('stolen.db', 'x'))",
    ],
)
def test_what_is_not_allowed_is_refused_as_text(
    session: SqliteSession, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = session.execute(sql)
    assert result.error
    assert result.rows == ()
    assert_unharmed(session)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("ATTACH 'x' AS y", "not allowed: ATTACH statements"),
        ("PRAGMA query_only = 0", "not allowed: PRAGMA statements"),
        ("SELECT load_extension('x')", "not allowed: the function load_extension is not available"),
        ("SELECT key FROM json_each('[1]')", "not allowed: the table json_each cannot be read"),
        ("DELETE FROM Orders", "not allowed: DELETE statements (the database is read-only)"),
        (
            "WITH x AS (SELECT 1) DELETE FROM Orders",
            "not allowed: WITH statements (the database is read-only)",
        ),
    ],
)
def test_a_refusal_says_what_is_refused(sqlite_engine: SqliteEngine, sql: str, error: str) -> None:
    with sqlite_engine.open("shop") as session:
        assert session.execute(sql).error == error


def test_a_virtual_table_stays_closed_behind_a_table_of_its_name(
    sqlite_engine: SqliteEngine,
) -> None:
    with sqlite_engine.open("shop", writable=True) as session:
        for sql in ("CREATE TABLE json_each (a)", "DROP TABLE json_each"):
            assert session.execute(sql).error is None
        assert session.execute("SELECT * FROM json_each('[1]')").error


def chain(body: str, links: int) -> str:
    """Common table expressions that each use the one before."""
    parts = ["c0(x) AS (SELECT 'aaaa')"]
    parts += [f"c{n}(x) AS (SELECT {body.format(f'c{n - 1}')})" for n in range(1, links)]
    return f"WITH {', '.join(parts)} SELECT * FROM c{links - 1}"


BOMBS = {
    "cross join": "SELECT COUNT(*) FROM Orders a, Orders b, Orders c, Orders d",
    "rows of a cross join": "SELECT * FROM Orders a, Orders b, Orders c, Orders d",
    "recursion": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT COUNT(*) FROM c",
    "rows of a recursion": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT * FROM c",
    "growing recursion": "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) "
    "SELECT * FROM c",
    "sort": "SELECT a.code FROM Orders a, Orders b, Orders c ORDER BY b.code || a.code",
    "sort by a slow collation": "SELECT a.code FROM Orders a, Orders b, Orders c "
    "ORDER BY b.code || a.code || c.code COLLATE MYSQL_CI",
    "sort of long texts": f"SELECT {LONG} || a.code || b.code FROM Orders a, Orders b "
    "ORDER BY 1 COLLATE MYSQL_CI",
    "groups": "SELECT COUNT(*) FROM Orders a, Orders b, Orders c GROUP BY a.code || b.code",
    "distinct rows": "SELECT DISTINCT a.code || b.code || c.code FROM Orders a, Orders b, Orders c",
    "slow steps": f"SELECT COUNT(*) FROM Orders a, Orders b, Orders c "
    f"WHERE instr({LONG} || a.code, substr({LONG}, 1, 4500) || b.code)",
    "long concatenation": "SELECT GROUP_CONCAT(a.code) FROM Orders a, Orders b, Orders c",
    "windows": "SELECT GROUP_CONCAT(code) OVER (ORDER BY number) FROM Orders, customer, customer b",
    "multiplied expressions": chain("x || x || x || x FROM {0}", 40),
    "multiplied subqueries": chain("p.x FROM {0} p, {0} q", 26),
    "multiplied columns": chain("*, * FROM {0}", 26),
    "nested parentheses": "SELECT " + "(" * 4000 + "1" + ")" * 4000,
    "nested negations": "SELECT " + "- " * 4000 + "1",
    "long sum": "SELECT 1" + "+1" * 4000,
    "nested subqueries": "SELECT " + "(SELECT " * 400 + "1" + ")" * 400,
    "many unions": "SELECT 1" + " UNION SELECT 1" * 500,
    "many columns": "SELECT " + ",".join("1" for _ in range(1000)),
    "long list": f"SELECT 1 WHERE 1 IN ({','.join(map(str, range(9000)))})",
    "many joins": "SELECT 1 FROM " + ",".join(f"Orders t{n}" for n in range(70)),
    "huge text": "SELECT printf('%1000000000d', 1) || 'x' FROM Orders a, Orders b, Orders c",
    "long pattern": f"SELECT {LONG} LIKE '{'%x' * 60}'",
    "long glob": f"SELECT {LONG} GLOB '{'*x' * 60}'",
    "replaced text": f"SELECT replace({LONG}, 'x', {LONG})",
    "hexadecimal": f"SELECT hex(hex({LONG}))",
}


@pytest.mark.parametrize("sql", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_stopped_and_the_next_query_works(session: SqliteSession, sql: str) -> None:
    result = session.execute(sql)
    assert result.error
    assert result.rows == ()
    assert_unharmed(session)
    assert session.snapshot() == b""


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO Orders (number) SELECT a.number + 1000 * b.number + 1000000 * c.number "
        "FROM Orders a, Orders b, Orders c",
        "UPDATE customer SET name = (SELECT GROUP_CONCAT(a.code) FROM Orders a, Orders b)",
        "DELETE FROM Orders WHERE (SELECT COUNT(*) FROM Orders a, Orders b, Orders c) > number",
        "CREATE TABLE big AS SELECT a.* FROM Orders a, Orders b, Orders c",
        "INSERT INTO customer (name) WITH RECURSIVE c(x) AS (SELECT 'x' UNION ALL SELECT x || 'x' "
        "FROM c) SELECT x FROM c ORDER BY x COLLATE MYSQL_CI",
    ],
)
def test_a_write_that_is_stopped_leaves_nothing_behind(
    sqlite_engine: SqliteEngine, sql: str
) -> None:
    with sqlite_engine.open("shop", writable=True) as session:
        result = session.execute(sql)
        assert result.error
        assert result.stopped_by in ("work", None)
        assert_unharmed(session)
        assert session.execute("SHOW TABLES").total_rows == 2
        assert session.snapshot() == b""
        assert session.execute("INSERT INTO Orders (number) VALUES (1000)").error is None


def test_a_database_cannot_grow_beyond_its_bound(shop: SqliteImage) -> None:
    limits = SqlLimits(max_database_bytes=200_000)
    with SqliteEngine(Images([shop]), limits=limits).open("shop", writable=True) as session:
        session.execute("CREATE TABLE big (a)")
        errors = [session.execute(f"INSERT INTO big VALUES ({LONG})").error for _ in range(40)]
        assert "full" in (errors[-1] or "")
        assert len(session.snapshot()) <= 200_032
        assert_unharmed(session)


def test_work_is_measured_and_the_limit_named(shop: SqliteImage) -> None:
    with SqliteEngine(Images([shop]), limits=SqlLimits(max_work=10_000)).open("shop") as session:
        result = session.execute(BOMBS["cross join"])
    assert (result.error, result.stopped_by) == ("stopped after 10,000 steps of work", "work")


def test_time_is_measured_and_the_limit_named(shop: SqliteImage) -> None:
    limits = SqlLimits(time_s=0.05, max_work=10**12)
    with SqliteEngine(Images([shop]), limits=limits).open("shop") as session:
        for name in ("cross join", "slow steps", "recursion"):
            result = session.execute(BOMBS[name])
            assert (result.error, result.stopped_by) == ("stopped after 0.05 seconds", "time")
            assert_unharmed(session)


def test_a_sort_by_a_collation_counts_as_work(shop: SqliteImage) -> None:
    """A sort is one step: without the meter of the collation it would end before it is stopped."""
    sql = "SELECT code || number AS a FROM Orders ORDER BY a COLLATE MYSQL_CI"
    enough = SqliteEngine(Images([shop]), limits=SqlLimits(max_work=10_000)).open("shop")
    little = SqliteEngine(Images([shop]), limits=SqlLimits(max_work=2_000)).open("shop")
    assert enough.execute(sql).error is None
    assert little.execute(sql.replace(" COLLATE MYSQL_CI", "")).error is None
    assert little.execute(sql).stopped_by == "work"


@pytest.mark.parametrize("limit", [20_000, 23_000, 26_000])
def test_a_query_at_the_limit_always_ends_the_same_way(shop: SqliteImage, limit: int) -> None:
    engine = SqliteEngine(Images([shop]), limits=SqlLimits(max_work=limit))
    sql = "SELECT COUNT(*) FROM Orders a, customer b, customer c WHERE a.number > b.id"
    outcomes = set()
    with engine.open("shop") as first, engine.open("shop") as second:
        for session in [first, second] * 10:
            session.execute(BOMBS["cross join"])
            outcomes.add(session.execute(sql))
    assert len(outcomes) == 1


def test_the_limits_of_one_session_are_not_those_of_another(shop: SqliteImage) -> None:
    images = Images([shop])
    small = SqlLimits(max_work=10_000)
    sql = "SELECT COUNT(*) FROM Orders a, Orders b"
    for _ in range(3):
        with SqliteEngine(images, limits=small).open("shop") as session:
            assert session.execute(sql).stopped_by == "work"
        with SqliteEngine(images, limits=replace(small, max_work=10**6)).open("shop") as session:
            assert session.execute(sql).rows == ((40_000,),)


MEMORY = """
import resource, sys
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
image = SqliteImage.from_script("d", "CREATE TABLE t (a); INSERT INTO t WITH RECURSIVE "
    "c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) SELECT x FROM c;")
session = SqliteEngine(Images([image])).open("d")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
outcomes = []
for sql in sys.stdin.read().split("\\n"):
    outcomes.append(session.execute(sql).stopped_by)
    assert session.execute("SELECT COUNT(*) FROM t").rows == ((1000,),)
print(outcomes, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in the units of Linux")
def test_memory_is_bounded() -> None:
    """In a process of its own: the bound is the process's."""
    long = "replace(printf('%9900d', 1), ' ', 'x')"
    bombs = [
        f"SELECT COUNT(*) FROM (SELECT {long} || x.a AS s FROM t x, t y ORDER BY s)",
        chain("p.x FROM {0} p, {0} q", 40),
        chain("x || x || x || x FROM {0}", 40),
        f"SELECT {long} || x.a FROM t x, t y",
        f"SELECT DISTINCT {long} || x.a || y.a FROM t x, t y",
    ]
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], input="\n".join(bombs), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    outcomes, megabytes = done.stdout.rsplit(maxsplit=1)
    assert outcomes == "['memory', 'memory', 'memory', 'work', 'memory']"
    assert int(megabytes) < 400


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files as Linux shows them")
def test_nothing_of_the_process_is_used_up_by_many_refusals(session: SqliteSession) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        session.execute("ATTACH 'x' AS y")
        session.execute(BOMBS["nested subqueries"])
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("trim('xxaxx', 'x')", "a"),
        ("ltrim('xyab', 'yx')", "ab"),
        ("rtrim('abyx', 'xy')", "ab"),
        ("trim('  a ')", "a"),
        ("trim(NULL, 'a')", None),
        ("trim('a', NULL)", None),
        ("trim('aba', '')", "aba"),
        ("trim(1.5, '1')", ".5"),
        ("trim(100000000000000000000.0, '0')", "1.0e+2"),
        ("trim(2.0, '2')", ".0"),
        ("trim(1221, 1)", "22"),
        ("trim(x'6162', 'a')", "b"),
    ],
)
def test_the_safe_trim_does_what_trim_does(
    sqlite_engine: SqliteEngine, sql: str, value: str | None
) -> None:
    plain = sqlite3.connect(":memory:")
    assert plain.execute(f"SELECT {sql}").fetchone() == (value,)
    plain.close()
    with sqlite_engine.open("shop") as session:
        assert session.execute(f"SELECT {sql}").rows == ((value,),)


def test_the_functions_that_are_allowed_are_known_to_some_sqlite() -> None:
    connection = sqlite3.connect(":memory:")
    known = {name for (name,) in connection.execute("SELECT name FROM pragma_function_list")}
    connection.close()
    later = {"concat", "concat_ws", "if", "octet_length", "string_agg", "timediff", "unhex"}
    assert FUNCTIONS - known <= later
    dangerous = {"load_extension", "readfile", "writefile", "edit", "zeroblob", "randomblob"}
    assert not FUNCTIONS & dangerous


WORDS = """
SELECT FROM WHERE ( ) * , ; ' " ` [ ] -- /* */ customer Orders id name 1 NULL = UNION ALL WITH
RECURSIVE AS VALUES CREATE TABLE INSERT INTO DELETE UPDATE SET DROP ATTACH PRAGMA VACUUM EXPLAIN
ORDER BY LIMIT load_extension count DESC SHOW TABLES BEGIN COMMIT \0 é
"""


@given(st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_leaves_a_read_only_session_as_it_was(sql: str) -> None:
    with SqliteEngine(Images([TINY]), limits=SqlLimits(max_work=100_000)).open("d") as session:
        result = session.execute(sql)
        assert (result.error is None) or (result.rows == () and result.error != "")
        assert session.snapshot() == b""
        assert session.execute("SELECT * FROM customer").rows == ((1, "a"),)


TINY = SqliteImage.from_script(
    "d", "CREATE TABLE customer (id, name); INSERT INTO customer VALUES (1, 'a');"
)
