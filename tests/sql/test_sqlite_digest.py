from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from budget_envs.sql.sqlite_digest import content_digest
from budget_envs.sql.sqlite_engine import SqliteEngine, SqliteSession
from budget_envs.sql.sqlite_image import Images, SqliteImage

TWO_TABLES = "CREATE TABLE a (x, y); CREATE TABLE b (x, y);"


def digest(script: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(script)
        return content_digest(connection, {})
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", TWO_TABLES + "DROP TABLE b; DROP TABLE a;"),
        (TWO_TABLES, TWO_TABLES + "INSERT INTO a VALUES (1, 2); DELETE FROM a;"),
        (
            TWO_TABLES + "INSERT INTO a VALUES (1, 2); INSERT INTO b VALUES (3, 4);",
            TWO_TABLES + "INSERT INTO b VALUES (3, 4); INSERT INTO a VALUES (1, 2);",
        ),
        (
            TWO_TABLES + "INSERT INTO a VALUES (1, 2), (3, 4);",
            TWO_TABLES + "INSERT INTO a VALUES (1, 9), (3, 4), (0, 0);"
            "UPDATE a SET y = 2 WHERE y = 9; DELETE FROM a WHERE x = 0;",
        ),
        (
            TWO_TABLES + "CREATE INDEX i ON a (x); INSERT INTO a VALUES (1, 2);",
            TWO_TABLES + "INSERT INTO a VALUES (1, 2); CREATE INDEX i ON a (x);",
        ),
    ],
)
def test_how_it_was_written_makes_no_difference(one: str, other: str) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TWO_TABLES, "CREATE TABLE b (x, y); CREATE TABLE a (x, y);"),
        (
            TWO_TABLES + "INSERT INTO a VALUES (1, 2), (3, 4);",
            TWO_TABLES + "INSERT INTO a VALUES (1, 2), (0, 0), (3, 4); DELETE FROM a WHERE x = 0;",
        ),
        *(
            (
                f"CREATE TABLE a ({columns}); INSERT INTO a VALUES (1, 2), (3, 4);",
                f"CREATE TABLE a ({columns}); INSERT INTO a VALUES (1, 2), (0, 0), (3, 4);"
                "DELETE FROM a WHERE _rowid_ = 2;",
            )
            for columns in ("rowid, oid", "ROWID, x", "OID, x")
        ),
    ],
)
def test_what_a_query_can_tell_apart_makes_one(one: str, other: str) -> None:
    assert digest(one) != digest(other)


def test_a_table_that_hides_all_names_of_its_numbers_is_read_without_them() -> None:
    table = "CREATE TABLE a (rowid, oid, _rowid_); INSERT INTO a VALUES (1, 1, 1), (2, 2, 2);"
    gap = "INSERT INTO a VALUES (9, 9, 9), (3, 3, 3); DELETE FROM a WHERE oid = 9;"
    assert digest(table + "INSERT INTO a VALUES (3, 3, 3);") == digest(table + gap)
    assert digest(table) != digest(table + gap)


VALUES = (
    *("NULL", "0", "1", "1.5", "-1.5", "''", "'1'", "'1.5'", "'x'", "'X'", "'x '", "'1'''", "'é'"),
    *("'\n'", "'\\n'", "'\\udcff'", "x''", "x'31'", "x'0a'", "x'ff'"),
    *("CAST(x'ff' AS TEXT)", "CAST(x'fe' AS TEXT)"),
)


def test_every_difference_in_what_it_holds_makes_one() -> None:
    scripts = ["", "CREATE TABLE a (x, y);", "CREATE TABLE b (x, y);", TWO_TABLES]
    scripts += ["CREATE TABLE a (x, y); CREATE INDEX i ON a (x);", "CREATE TABLE a (x TEXT, y);"]
    rows = ("(1, 2), (3, 4)", "(3, 4), (1, 2)", "(1, 2), (1, 2)", "(1, 2), (3, 4), (1, 2)")
    scripts += [TWO_TABLES + f"INSERT INTO a VALUES {some};" for some in rows]
    for value in VALUES:
        scripts.append(TWO_TABLES + f"INSERT INTO a VALUES (7, {value});")
        scripts.append(TWO_TABLES + f"INSERT INTO b VALUES (7, {value});")
        scripts.append(TWO_TABLES + f"INSERT INTO a VALUES ({value}, 7);")
    assert len({digest(script) for script in scripts}) == len(scripts) == 10 + 3 * len(VALUES)


def test_a_row_that_looks_like_a_definition_is_a_row() -> None:
    """Definitions and rows are told apart, whatever rows hold."""
    three = "CREATE TABLE a (x, y, z);"
    other = "CREATE TABLE b (x)"
    row = f"INSERT INTO a VALUES ('table', 'b', '{other}');"
    assert len({digest(three), digest(three + row), digest(f"{three}{other};")}) == 3


def test_all_kinds_of_tables_are_read() -> None:
    kinds = (
        "CREATE TABLE a (x PRIMARY KEY, y) WITHOUT ROWID; INSERT INTO a VALUES (2, {0}), (1, 0);",
        "CREATE TABLE a (x INTEGER PRIMARY KEY AUTOINCREMENT, y); INSERT INTO a VALUES (9, {0});",
        'CREATE TABLE "a ""b" (x UNIQUE, y); INSERT INTO "a ""b" VALUES (2, {0}), (1, 0);',
        "CREATE TABLE a (rowid, x AS (rowid + 1)); INSERT INTO a VALUES ({0});",
    )
    for kind in kinds:
        assert digest(kind.format(3)) == digest(kind.format(3)) != digest(kind.format(4))


def test_rows_come_in_the_order_of_the_table_where_an_index_holds_them_too() -> None:
    script = "CREATE TABLE a (x); CREATE INDEX i ON a (x); INSERT INTO a VALUES {};"
    assert digest(script.format("(2), (1)")) != digest(script.format("(1), (2)"))


def test_texts_are_read_by_others_as_before() -> None:
    connection = sqlite3.connect(":memory:")
    content_digest(connection, {})
    assert connection.text_factory is str
    connection.close()


# Against a model, through sessions.

WRITES = (
    "INSERT INTO t VALUES (1, 'a')",
    "INSERT INTO t VALUES (2, 'b')",
    "UPDATE t SET b = 'a'",
    "UPDATE t SET a = 3 - a WHERE a < 3",
    "DELETE FROM t WHERE a = 1",
    "DELETE FROM t",
    "CREATE TABLE u (n)",
    "INSERT INTO u SELECT a FROM t",
    "CREATE TABLE u AS SELECT a AS n FROM t",
    "CREATE TABLE u (n INTEGER PRIMARY KEY AUTOINCREMENT)",
    "CREATE INDEX i ON t (a)",
    "INSERT OR REPLACE INTO u VALUES (7)",
    "DROP TABLE u",
    "INSERT INTO nothing VALUES (1)",
    "SELECT * FROM t",
)
IMAGE = SqliteImage.from_script("d", "CREATE TABLE t (a INTEGER, b TEXT COLLATE MYSQL_CI)")
ENGINE = SqliteEngine(Images([IMAGE]))


def written(session: SqliteSession, writes: list[str]) -> tuple[bytes, Any]:
    for place, sql in enumerate(writes):
        session.execute(sql)
        if place % 2:
            session.digest()  # what is known from then on must not be taken for news
    raw = session._opened().raw
    with session._opened().guard.trusted():
        schema = raw.execute("SELECT name, sql FROM sqlite_master ORDER BY rowid").fetchall()
        tables = [name for name, sql in schema if (sql or "").startswith("CREATE TABLE")]
        rows = [
            raw.execute(f"SELECT rowid, * FROM {table} NOT INDEXED").fetchall() for table in tables
        ]
    return session.digest(), (schema, rows)


@given(*[st.lists(st.sampled_from(WRITES), max_size=6)] * 2)
@example([], [WRITES[0], "DELETE FROM t"])
@example(["CREATE TABLE u (n)"], [WRITES[0], "CREATE TABLE u (n)", "DELETE FROM t"])
@example([WRITES[0], WRITES[1]], [WRITES[1], WRITES[0]])
@example([WRITES[0], "CREATE TABLE u (n)", "INSERT INTO u SELECT a FROM t"], [WRITES[0]])
def test_digests_are_equal_exactly_where_the_contents_are(one: list[str], other: list[str]) -> None:
    with ENGINE.open("d", writable=True) as left, ENGINE.open("d", writable=True) as right:
        (first, rows), (second, other_rows) = written(left, one), written(right, other)
    assert (first == second) == (rows == other_rows)


def test_a_digest_is_made_once_for_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    from budget_envs.sql import sqlite_connection

    calls: list[object] = []

    def counted(connection: sqlite3.Connection, rows: dict[str, bytes]) -> bytes:
        calls.append(sorted(rows))
        return content_digest(connection, rows)

    monkeypatch.setattr(sqlite_connection, "content_digest", counted)
    with ENGINE.open("d", writable=True) as session:
        assert session.digest() == b""
        assert not calls
        session.execute(WRITES[0])
        first = session.digest()
        session.execute("SELECT * FROM t")
        session.execute("INSERT INTO nothing VALUES (1)")
        assert (session.digest(), len(calls)) == (first, 1)
        saved = session.snapshot()
        session.execute(WRITES[1])
        assert session.digest() != first
        session.restore(saved)
        assert (session.digest(), len(calls)) == (first, 3)
        session.restore(b"")
        assert (session.digest(), len(calls)) == (b"", 3)


def test_only_tables_that_were_written_to_are_read_again() -> None:
    image = SqliteImage.from_script(
        "d", TWO_TABLES + "INSERT INTO a VALUES (1, 2); INSERT INTO b VALUES (3, 4)"
    )
    assert sorted(image.row_digests) == ["a", "b"]
    with SqliteEngine(Images([image])).open("d", writable=True) as session:
        session.execute("UPDATE a SET x = 5")
        first = session.digest()
        connection = session._opened()
        assert connection._row_digests is not None
        assert connection._row_digests["b"] == image.row_digests["b"]
        assert connection._row_digests["a"] != image.row_digests["a"]
        connection._row_digests["b"] = b"not looked at again"
        session.execute("UPDATE A SET x = 6")
        session.execute("UPDATE a SET x = 5")
        assert session.digest() != first
        session.execute("INSERT INTO B VALUES (1, 1)")
        session.execute("DELETE FROM b WHERE x = 1")
        assert session.digest() == first


def test_texts_longer_than_statements_may_make_are_read() -> None:
    image = SqliteImage.from_script(
        "d", f"CREATE TABLE t (a, b); INSERT INTO t VALUES (1, '{'x' * 30_000}')"
    )
    with SqliteEngine(Images([image])).open("d", writable=True) as session:
        session.execute("INSERT INTO t VALUES (2, '')")
        assert len(session.digest()) == 16
        assert session.execute("SELECT length(b) FROM t").error
        session.execute("DELETE FROM t WHERE a = 2")
        assert session.digest() == b""
