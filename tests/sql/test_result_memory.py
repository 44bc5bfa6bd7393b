from __future__ import annotations

import gc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.sql import result_memory, sqlite_connection
from budget_envs.sql.protocol import QueryResult, SqlLimits
from budget_envs.sql.result_memory import ResultMemory
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage

COUNT = "SELECT COUNT(*) FROM Orders"
STATEMENTS = (
    COUNT,
    COUNT + " ",
    "SELECT * FROM customer",
    "SELECT * FROM customer ORDER BY name",
    "SELECT code FROM Orders WHERE number > 190",
    "SELECT name FROM customer WHERE name = 'GRACE'",
    "SELECT nothing",
    "DELETE FROM Orders",
    "SHOW TABLES",
    "DESC customer",
    "SELECT 1; SELECT 2",
    "",
    "SELECT COUNT(*) FROM Orders a, Orders b, Orders c, Orders d",
)


@pytest.fixture(autouse=True)
def every_statement_runs() -> None:
    """Here they are remembered, as outside of the tests."""
    sqlite_connection.close_idle()
    gc.collect()


def result(rows: int = 1, text: str = "x") -> QueryResult:
    return QueryResult(("a",), ((text,),) * rows, rows)


def test_results_are_found_by_their_statement_to_the_letter() -> None:
    memory = ResultMemory()
    memory.keep("SELECT 1", result())
    assert memory.recall("SELECT 1") == result()
    assert memory.recall("select 1") is None


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 90)), max_size=30))
def test_what_is_kept_is_bounded(sizes: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_memory, "_MAX_SIZE", 4_000)
        patch.setattr(result_memory, "_LARGEST", 1_000)
        memory = ResultMemory()
        for number, (rows, length) in enumerate(sizes):
            statement, one = f"SELECT {number}", result(rows, "x" * length)
            memory.keep(statement, one)
            known = [memory.recall(f"SELECT {n}") for n in range(number + 1)]
            total = sum(len(r.rows) * (40 + len(r.rows[0][0])) for r in known if r and r.rows)
            assert total <= 4_000
            assert (known[-1] is one) == (result_memory._size(one) + len(statement) <= 1_000)


@pytest.mark.parametrize(
    "one",
    [
        result(100_000),
        result(text="x" * 200_000),
        QueryResult(("a",), ((b"x" * 200_000,),), 1),
        QueryResult(("x" * 200_000,), (), 0),
        QueryResult(error="x" * 200_000),
    ],
)
def test_a_large_result_is_not_kept(one: QueryResult) -> None:
    memory = ResultMemory()
    memory.keep("SELECT 1", result())
    memory.keep("SELECT 2", one)
    memory.keep("SELECT '" + "x" * 200_000 + "'", result())
    assert list(memory._results) == ["SELECT 1"]


@given(st.lists(st.sampled_from(STATEMENTS), max_size=12))
def test_sessions_answer_as_if_they_had_no_memory(statements: list[str]) -> None:
    image = SHOP_OF["image"]
    limits = SqlLimits(time_s=30, max_work=50_000)
    with SqliteEngine(Images([image]), limits=limits).open("shop") as session:
        answers = [session.execute(sql) for sql in statements]
        assert answers == [session._execute(sql) for sql in statements]


SHOP_OF: dict[str, SqliteImage] = {}


@pytest.fixture(autouse=True, scope="module")
def _shop(shop: SqliteImage) -> None:
    SHOP_OF["image"] = shop


def test_sessions_on_equal_images_share_what_they_know(shop: SqliteImage) -> None:
    engine = SqliteEngine(Images([shop]))
    other = SqliteEngine(Images([SqliteImage("shop", bytes(bytearray(shop.content)))]))
    with engine.open("shop") as first, other.open("shop") as second:
        assert second.execute(COUNT) is first.execute(COUNT)
    with engine.open("shop") as third:
        assert third.execute(COUNT) is third.execute(COUNT)


def test_other_limits_and_other_images_share_nothing(shop: SqliteImage) -> None:
    sql = "SELECT code FROM Orders"
    limits = SqlLimits(max_rows=5)
    other = SqliteImage.from_script("shop", "CREATE TABLE Orders (code TEXT)")
    results = []
    for image, limit in ((shop, limits), (shop, replace(limits, max_rows=6)), (other, limits)):
        with SqliteEngine(Images([image]), limits=limit).open("shop") as session:
            results.append(len(session.execute(sql).rows))
    assert results == [5, 6, 0]


def test_a_session_that_may_write_neither_asks_nor_tells(sqlite_engine: SqliteEngine) -> None:
    with sqlite_engine.open("shop") as reader:
        assert "read-only" in (reader.execute("DELETE FROM Orders").error or "")
        with sqlite_engine.open("shop", writable=True) as writer:
            assert writer.execute("SELECT MAX(number) FROM Orders").rows == ((200,),)
            assert writer.execute("DELETE FROM Orders").error is None
            assert writer.execute(COUNT).rows == ((0,),)
            assert reader.execute(COUNT).rows == ((200,),)
            assert writer.execute(COUNT).rows == ((0,),)
        assert reader._opened().memory.recall("SELECT MAX(number) FROM Orders") is None


def test_databases_of_equal_content_and_different_names_share_nothing(shop: SqliteImage) -> None:
    twin = SqliteImage("twin", shop.content)
    engine = SqliteEngine(Images([shop, twin]))
    for name in ("shop", "twin", "shop"):
        with engine.open(name) as session:
            assert session.execute("SHOW TABLES").columns == (f"Tables_in_{name}",)
            assert session.execute(f"SHOW TABLES FROM {name}").error is None
            other = {"shop": "twin", "twin": "shop"}[name]
            assert "unknown database" in (session.execute(f"SHOW TABLES FROM {other}").error or "")


def test_only_the_limit_that_binds_everywhere_alike_is_kept(shop: SqliteImage) -> None:
    bomb = "SELECT COUNT(*) FROM Orders a, Orders b, Orders c, Orders d"
    for limits, is_kept in (
        (SqlLimits(max_work=100_000), True),
        (SqlLimits(max_work=10**9, time_s=0.01), False),
    ):
        with SqliteEngine(Images([shop]), limits=limits).open("shop") as session:
            stopped = session.execute(bomb)
            assert stopped.stopped_by == ("work" if is_kept else "time")
            assert session._opened().memory.recall(bomb) is (stopped if is_kept else None)


def test_it_is_forgotten_with_the_last_copy_of_the_image(sqlite_engine: SqliteEngine) -> None:
    with sqlite_engine.open("shop") as session:
        session.execute(COUNT)
    assert len(sqlite_connection._memories) == 1
    del session
    sqlite_connection.close_idle()
    gc.collect()
    assert len(sqlite_connection._memories) == 0
