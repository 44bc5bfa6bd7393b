"""How SQLite sessions share what is immutable, and nothing else."""

from __future__ import annotations

import gc
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from budget_envs.sql import sqlite_connection
from budget_envs.sql.protocol import SqlEngineError, SqlLimits
from budget_envs.sql.sqlite_connection import GuardedConnection
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage

COUNT = "SELECT COUNT(*) FROM Orders"


@pytest.fixture(autouse=True)
def no_idle_connections() -> Iterator[None]:
    sqlite_connection.close_idle()
    yield
    sqlite_connection.close_idle()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[SqliteImage]:
    """The images that connections were made of, one per connection."""
    images: list[SqliteImage] = []
    plain = GuardedConnection.__init__

    def counted(self: GuardedConnection, image: SqliteImage, limits: SqlLimits) -> None:
        images.append(image)
        plain(self, image, limits)

    monkeypatch.setattr(GuardedConnection, "__init__", counted)
    return images


def test_a_read_only_copy_is_used_again(
    sqlite_engine: SqliteEngine, made: list[SqliteImage]
) -> None:
    for _ in range(10):
        with sqlite_engine.open("shop") as session:
            session.execute("SELECT * FROM Orders")
            session.execute("not SQL")
            session.execute("SELECT COUNT(*) FROM Orders a, Orders b, Orders c, Orders d")
    assert len(made) == 1


def test_engines_share_copies_of_equal_images(made: list[SqliteImage], shop: SqliteImage) -> None:
    for _ in range(3):
        again = pickle.loads(pickle.dumps(shop))
        with SqliteEngine(Images([again])).open("shop") as session:
            session.execute(COUNT)
    assert len(made) == 1


def test_a_copy_that_was_written_to_is_not_used_again(
    sqlite_engine: SqliteEngine, made: list[SqliteImage]
) -> None:
    for _ in range(3):
        with sqlite_engine.open("shop", writable=True) as session:
            assert session.execute(COUNT).rows == ((200,),)
            session.execute("DELETE FROM Orders")
    assert len(made) == 3


def test_a_writable_copy_that_nobody_wrote_to_is_used_again_read_only(
    sqlite_engine: SqliteEngine, made: list[SqliteImage]
) -> None:
    with sqlite_engine.open("shop", writable=True) as session:
        session.execute("INSERT INTO Orders (number) VALUES (1)")  # fails: there is one
        session.execute("UPDATE Orders SET price = 1 WHERE number = 999")  # finds nothing
    with sqlite_engine.open("shop") as session:
        assert session.execute("DELETE FROM Orders").error
    assert len(made) == 1


def test_open_sessions_have_copies_of_their_own(
    sqlite_engine: SqliteEngine, made: list[SqliteImage]
) -> None:
    sessions = [sqlite_engine.open("shop") for _ in range(4)]
    assert len(made) == 4
    for session in sessions:
        session.close()


def test_a_bounded_number_of_copies_is_kept(
    sqlite_engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "_MAX_IDLE", 3)
    for session in [sqlite_engine.open("shop") for _ in range(8)]:
        session.close()
    assert len(sqlite_connection._idle) == 3


def test_the_image_never_changes(sqlite_engine: SqliteEngine, shop: SqliteImage) -> None:
    before = bytes(bytearray(shop.content))
    with sqlite_engine.open("shop", writable=True) as session:
        session.execute("DELETE FROM Orders")
        session.execute("CREATE TABLE x (a)")
    assert shop.content == before


def test_a_session_that_is_forgotten_closes_its_connection(sqlite_engine: SqliteEngine) -> None:
    session = sqlite_engine.open("shop", writable=True)
    session.execute("DELETE FROM Orders")
    connection = session._opened().raw
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_sessions_move_between_threads(sqlite_engine: SqliteEngine) -> None:
    session = sqlite_engine.open("shop")
    results: list[object] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: results.append(session.execute(COUNT).rows))
        thread.start()
        thread.join()
    session.close()
    assert results == [((200,),)] * 3


def test_many_threads_open_read_and_close_at_once(sqlite_engine: SqliteEngine) -> None:
    def play(place: int) -> object:
        with sqlite_engine.open("shop", writable=place % 3 == 0) as session:
            session.execute("DELETE FROM Orders WHERE number > 100")
            session.execute("SELECT * FROM Orders, customer")
            return session.execute(COUNT).rows

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(play, range(200)))
    assert results == [((100,) if place % 3 == 0 else (200,),) for place in range(200)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_forked_child_uses_copies_of_its_own() -> None:
    """In a fresh process: this one may have threads."""
    script = """
import os
from budget_envs.sql import sqlite_connection
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
engine = SqliteEngine(Images([SqliteImage.from_script("d", "CREATE TABLE t (a)")]))
engine.open("d").close()
assert len(sqlite_connection._idle) == 1
sqlite_connection._lock.acquire()  # as if another thread were at it
if (child := os.fork()) == 0:
    assert sqlite_connection._idle == []
    with engine.open("d", writable=True) as session:
        assert session.execute("INSERT INTO t VALUES (1)").error is None
    engine.open("d").close()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
sqlite_connection._lock.release()
with engine.open("d") as session:
    assert session.execute("SELECT * FROM t").rows == ()
print("both")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("both\n", 0), done.stderr


def test_a_process_ends_quietly_with_sessions_open() -> None:
    script = """
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
engine = SqliteEngine(Images([SqliteImage.from_script("d", "CREATE TABLE t (a)")]))
engine.open("d").close()
session = engine.open("d", writable=True)
session.execute("INSERT INTO t VALUES (1)")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_damaged_image_is_an_engine_error(shop: SqliteImage) -> None:
    damaged = SqliteImage("shop", shop.content[:16] + b"\xff" * 5000)
    with pytest.raises(SqlEngineError, match="'shop' cannot be opened"):
        SqliteEngine(Images([damaged])).open("shop")


def test_the_limit_of_the_process_is_left_alone_where_it_has_one() -> None:
    script = """
import sqlite3
from budget_envs.sql.protocol import SqlLimits
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
own = sqlite3.connect(":memory:")
own.execute("PRAGMA hard_heap_limit = 100000000")
image = SqliteImage.from_script("d", "CREATE TABLE t (a)")
SqliteEngine(Images([image]), limits=SqlLimits(max_memory_bytes=50_000_000)).open("d")
print(*own.execute("PRAGMA hard_heap_limit").fetchone())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "100000000\n", done.stderr


def test_double_quotes_are_a_name_or_else_a_text(sqlite_engine: SqliteEngine) -> None:
    with sqlite_engine.open("shop") as session:
        assert session.execute('SELECT "id", "no such" FROM customer').rows[0] == (1, "no such")


def test_the_catalogue_may_be_read(sqlite_engine: SqliteEngine) -> None:
    with sqlite_engine.open("shop") as session:
        names = session.execute("SELECT name FROM sqlite_master WHERE type = 'table'").rows
    assert names == (("customer",), ("Orders",))


@pytest.mark.parametrize("table", ["Orders", "ORDERS", "orders", "main.orders", '"oRDERS"'])
def test_tables_are_found_in_any_case(sqlite_engine: SqliteEngine, table: str) -> None:
    with sqlite_engine.open("shop") as session:
        assert session.execute(f"SELECT COUNT(*), MAX(number) FROM {table}").rows == ((200, 200),)
        assert session.execute(f"SELECT COUNT(*) FROM {table}").rows == ((200,),)


def test_common_table_expressions_and_subqueries_are_not_tables_to_be_allowed(
    sqlite_engine: SqliteEngine,
) -> None:
    sql = (
        "WITH few(n) AS (SELECT number FROM Orders LIMIT 5), more AS (SELECT * FROM few, few b) "
        "SELECT (SELECT COUNT(*) FROM few), COUNT(*), (SELECT COUNT(*) FROM (SELECT 1)) FROM more"
    )
    with sqlite_engine.open("shop") as session:
        assert session.execute(sql).rows == ((5, 25, 1),)


def test_rows_that_a_write_returns_are_rows(sqlite_engine: SqliteEngine) -> None:
    with sqlite_engine.open("shop", writable=True) as session:
        result = session.execute("DELETE FROM Orders WHERE number < 3 RETURNING number")
        assert (result.columns, result.rows) == (("number",), ((1,), (2,)))
        assert session.execute(COUNT).rows == ((198,),)


def test_what_sqlite_could_not_decode_is_an_error(sqlite_engine: SqliteEngine) -> None:
    with sqlite_engine.open("shop") as session:
        assert "decode" in (session.execute("SELECT CAST(x'ff' AS TEXT)").error or "")
        assert session.execute("SELECT x'ff', 9e999").rows == ((b"\xff", float("inf")),)
