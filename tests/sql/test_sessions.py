"""What every engine promises: the same tests on SQLite and on a real MariaDB."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from budget_envs.errors import EnvStateError, OptionError, SnapshotError
from budget_envs.sql.protocol import QueryResult, SqlEngine

COUNT = "SELECT COUNT(*) FROM Orders"


def count(engine: SqlEngine) -> int:
    with engine.open("shop") as session:
        ((number,),) = session.execute(COUNT).rows
        assert isinstance(number, int)
        return number


def test_a_query_has_columns_and_rows_in_the_order_it_asks_for(engine: SqlEngine) -> None:
    with engine.open("shop") as session:
        result = session.execute("SELECT id, name AS who FROM customer ORDER BY id DESC;")
    assert result == QueryResult(
        ("id", "who"), ((4, "alan"), (3, "Zoë"), (2, "Grace "), (1, "Ada")), total_rows=4
    )


def test_values_are_plain(engine: SqlEngine) -> None:
    sql = "SELECT 1, 1.5, 'x', NULL, born, credit, SUM(id) FROM customer WHERE id = 1 GROUP BY id"
    with engine.open("shop") as session:
        (row,) = session.execute(sql).rows
    assert row == (1, 1.5, "x", None, "1815-12-10", 2.5, 1)
    kinds = [int, float, str, type(None), str, float, int]
    assert [type(cell) for cell in row] == kinds


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("name = 'ada'", [1]),
        ("name = 'GRACE'", [2]),
        ("name = 'grace   '", [2]),
        ("name = 'zoe'", [3]),
        ("name IN ('ALAN', 'ada ')", [1, 4]),
        ("name > 'b'", [2, 3]),
        ('name = "alan"', [4]),
        ("born < '1900-01-01'", [1]),
    ],
)
def test_text_is_compared_without_case_accents_and_trailing_spaces(
    engine: SqlEngine, where: str, ids: list[int]
) -> None:
    with engine.open("shop") as session:
        result = session.execute(f"SELECT id FROM customer WHERE {where} ORDER BY id")
    assert [row[0] for row in result.rows] == ids


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM nothing",
        "SELECT nothing FROM customer",
        "SELEC 1",
        "SELECT (",
        "'",
        "\0",
        "💥",
    ],
)
def test_what_is_wrong_is_text_and_the_next_query_works(engine: SqlEngine, sql: str) -> None:
    with engine.open("shop") as session:
        result = session.execute(sql)
        assert result.error
        assert (result.columns, result.rows, result.total_rows) == ((), (), 0)
        assert session.execute(COUNT).rows == ((200,),)


def test_lone_surrogates_are_an_error(engine: SqlEngine) -> None:
    with engine.open("shop") as session:
        assert session.execute("SELECT '\ud800'").error
        assert session.execute("SELECT '\udc80'").error
        assert session.execute(COUNT).rows == ((200,),)


@pytest.mark.parametrize("sql", ["", "  ", ";", "-- nothing", "/* nothing */"])
def test_no_statement_is_an_error(engine: SqlEngine, sql: str) -> None:
    with engine.open("shop") as session:
        assert session.execute(sql).error == "expected one SQL statement; got none"


def test_of_several_statements_none_is_run(engine: SqlEngine) -> None:
    with engine.open("shop", writable=True) as session:
        result = session.execute("DELETE FROM Orders; SELECT 1")
        assert result.error == "expected one SQL statement; got several: send them one at a time"
        assert session.execute(COUNT).rows == ((200,),)


def test_a_long_statement_is_refused(engine: SqlEngine) -> None:
    with engine.open("shop") as session:
        result = session.execute("SELECT 1 -- " + "x" * 10_000)
        assert result.error == "a statement has at most 10000 bytes"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO customer (name) VALUES ('x')",
        "UPDATE customer SET name = 'x'",
        "DELETE FROM customer",
        "REPLACE INTO customer (id, name) VALUES (1, 'x')",
        "CREATE TABLE x (a int)",
        "CREATE TEMPORARY TABLE x (a int)",
        "DROP TABLE customer",
    ],
)
def test_a_read_only_session_refuses_to_write(engine: SqlEngine, sql: str) -> None:
    with engine.open("shop") as session:
        assert not session.writable
        result = session.execute(sql)
        assert (result.error or "").startswith("not allowed: ")
        assert "read-only" in (result.error or "")
        assert session.execute(COUNT).rows == ((200,),)
        assert session.snapshot() == b""


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE customer ADD x int",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER x AFTER INSERT ON customer FOR EACH ROW DELETE FROM Orders",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT a",
        "ANALYZE TABLE customer",
        "GRANT ALL ON *.* TO x",
        "SET @x = 1",
        "USE mysql",
        "CALL x()",
        "ATTACH '/tmp/x' AS y",
        "PRAGMA query_only = 0",
    ],
)
def test_other_statements_are_refused(engine: SqlEngine, sql: str, writable: bool) -> None:
    with engine.open("shop", writable=writable) as session:
        assert session.execute(sql).error
        assert session.execute(COUNT).rows == ((200,),)


def test_writes_are_seen_in_the_session_and_nowhere_else(engine: SqlEngine) -> None:
    with engine.open("shop", writable=True) as session:
        written = session.execute("DELETE FROM Orders WHERE number > 50")
        assert (written.error, written.affected_rows, written.rows) == (None, 150, ())
        inserted = session.execute("INSERT INTO customer (name) VALUES ('x'), ('y')")
        assert inserted.affected_rows == 2
        assert session.execute(COUNT).rows == ((50,),)
        assert session.execute("SELECT MAX(id) FROM customer").rows == ((6,),)
        assert count(engine) == 200
    assert count(engine) == 200
    with engine.open("shop", writable=True) as session:
        assert session.execute(COUNT).rows == ((200,),)
        assert session.execute("SELECT MAX(id) FROM customer").rows == ((4,),)


def test_tables_can_be_made_filled_and_dropped(engine: SqlEngine) -> None:
    with engine.open("shop", writable=True) as session:
        for table in ("TEMPORARY TABLE", "TABLE"):
            assert session.execute(f"CREATE {table} note (a int, b varchar(9))").error is None
            assert session.execute("INSERT INTO note SELECT id, 'x' FROM customer").error is None
            assert session.execute("SELECT MIN(a), MAX(b) FROM note").rows == ((1, "x"),)
            assert session.execute("DROP TABLE note").error is None
            assert session.execute("SELECT * FROM note").error


def test_a_failed_write_leaves_nothing_behind(engine: SqlEngine) -> None:
    with engine.open("shop", writable=True) as session:
        failed = session.execute("INSERT INTO Orders (number, code) VALUES (500, 'n'), (1, 'm')")
        assert failed.error
        assert session.execute(COUNT).rows == ((200,),)
        assert session.snapshot() == b""


def test_a_snapshot_brings_everything_back(engine: SqlEngine) -> None:
    with engine.open("shop", writable=True) as session:
        session.execute("DELETE FROM Orders WHERE number > 3")
        session.execute("UPDATE customer SET credit = 1.25, name = 'it''s \"é\\\\' WHERE id = 1")
        session.execute("CREATE TABLE note (a int)")
        session.execute("INSERT INTO note VALUES (NULL)")
        snapshot = pickle.loads(pickle.dumps(session.snapshot()))
        before = [session.execute(f"SELECT * FROM {t}") for t in ("Orders", "customer", "note")]
        session.execute("DROP TABLE customer")
        session.execute("DELETE FROM Orders")
        session.restore(snapshot)
        after = [session.execute(f"SELECT * FROM {t}") for t in ("Orders", "customer", "note")]
        assert after == before
        assert session.snapshot() == snapshot
    with engine.open("shop", writable=True) as other:
        other.restore(snapshot)
        assert [
            other.execute(f"SELECT * FROM {t}") for t in ("Orders", "customer", "note")
        ] == before
        other.restore(b"")
        assert other.execute(COUNT).rows == ((200,),)
        assert other.execute("SELECT * FROM note").error
        assert other.snapshot() == b""


def test_a_digest_tells_states_apart_whatever_led_there(engine: SqlEngine) -> None:
    writes = (
        "UPDATE Orders SET price = 9 WHERE number = 1",
        "UPDATE customer SET credit = 7 WHERE id = 2",
    )
    digests = []
    for order in (writes, writes[::-1], writes[:1], writes[1:]):
        with engine.open("shop", writable=True) as session:
            assert session.digest() == b""
            for sql in order:
                session.execute(sql)
            assert session.digest() == session.digest()
            digests.append(session.digest())
            session.restore(session.snapshot())
            assert session.digest() == digests[-1]
            session.restore(b"")
            assert session.digest() == b""
    assert digests[0] == digests[1]
    assert len({b"", *digests}) == 4
    with engine.open("shop") as reader:
        reader.execute(writes[0])
        assert reader.digest() == b""


def test_a_restored_session_counts_on_as_before(engine: SqlEngine) -> None:
    insert = "INSERT INTO customer (name) VALUES ('x')"
    with engine.open("shop", writable=True) as session:
        session.execute(insert)
        snapshot = session.snapshot()
        session.execute(insert)
        expected = session.execute("SELECT MAX(id) FROM customer").rows
        session.restore(snapshot)
        session.execute(insert)
        assert session.execute("SELECT MAX(id) FROM customer").rows == expected


def test_snapshots_of_others_are_refused(engine: SqlEngine) -> None:
    with engine.open("shop", writable=True) as session:
        session.execute("DELETE FROM Orders")
        snapshot = session.snapshot()
        with pytest.raises(SnapshotError, match="not one of the database 'shop'"):
            session.restore(b"something else")
        assert session.execute(COUNT).rows == ((0,),)
    with engine.open("shop") as reader:
        with pytest.raises(SnapshotError, match="open it with writable=True"):
            reader.restore(snapshot)
        reader.restore(b"")
        assert reader.execute(COUNT).rows == ((200,),)


def test_rows_beyond_the_limit_are_counted(engine: SqlEngine) -> None:
    from dataclasses import replace

    engine.limits = replace(engine.limits, max_rows=30)  # type: ignore[attr-defined]
    with engine.open("shop") as session:
        result = session.execute("SELECT number FROM Orders ORDER BY number")
        assert (len(result.rows), result.total_rows, result.truncated) == (30, 200, True)
        assert result.rows[29] == (30,)
        exact = session.execute("SELECT number FROM Orders ORDER BY number LIMIT 30")
        assert (len(exact.rows), exact.total_rows, exact.truncated) == (30, 30, False)


def test_long_texts_are_kept_up_to_a_sum(engine: SqlEngine) -> None:
    from dataclasses import replace

    engine.limits = replace(engine.limits, max_result_bytes=100)  # type: ignore[attr-defined]
    with engine.open("shop") as session:
        result = session.execute("SELECT code FROM Orders")
        assert (result.total_rows, result.truncated) == (200, True)
        assert sum(len(str(row[0])) for row in result.rows) <= 100


@pytest.mark.parametrize("writable", [False, True])
def test_a_closed_session_says_so(engine: SqlEngine, writable: bool) -> None:
    session = engine.open("shop", writable=writable)
    session.close()
    session.close()
    for call in (
        lambda: session.execute("SELECT 1"),
        session.snapshot,
        session.digest,
        lambda: session.restore(b""),
    ):
        with pytest.raises(EnvStateError, match="session is closed"):
            call()


def test_an_unknown_database_is_an_error(engine: SqlEngine) -> None:
    assert engine.databases == ("shop",)
    with pytest.raises(OptionError, match="Did you mean 'shop'"):
        engine.open("shopp")


def test_an_engine_survives_pickling_and_closing(engine: SqlEngine) -> None:
    session = engine.open("shop")
    engine.close()
    assert session.execute(COUNT).rows == ((200,),)
    session.close()
    assert count(pickle.loads(pickle.dumps(engine))) == 200


def test_sessions_that_write_at_once_are_independent(engine: SqlEngine) -> None:
    """Sixty-four of them, all open before the first one writes."""
    number = 64 if engine.dialect == "sqlite" else 12
    sessions = [engine.open("shop", writable=True) for _ in range(number)]

    def play(place: int) -> tuple[object, ...]:
        session = sessions[place]
        for step in range(5):
            session.execute(f"INSERT INTO customer (name) VALUES ('{place} {step}')")
            session.execute(f"UPDATE Orders SET price = {place} WHERE number = 1")
            session.execute(f"DELETE FROM Orders WHERE number = {200 - (place % 50) - step}")
        names = session.execute("SELECT name FROM customer WHERE id > 4 ORDER BY id").rows
        price = session.execute("SELECT price FROM Orders WHERE number = 1").rows
        return names, price, session.execute(COUNT).rows

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(play, range(number)))
    for place, result in enumerate(results):
        names = tuple((f"{place} {step}",) for step in range(5))
        assert result == (names, ((place,),), ((195,),))
    for session in sessions:
        session.close()
    assert count(engine) == 200
