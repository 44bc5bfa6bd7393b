"""What is particular to a server: its accounts, its limits, and what is left on it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.sql import mysql_loading
from budget_envs.sql.mysql_engine import MySqlEngine
from budget_envs.sql.mysql_loading import administration, create_table
from budget_envs.sql.protocol import SqlEngineError, SqlLimits
from budget_envs.sql.schema import Column, Database, Key, Table
from budget_envs.sql.sqlite_image import Images, SqliteImage

COUNT = "SELECT COUNT(*) FROM Orders"


@pytest.fixture
def engine(mysql_url: str, shop: SqliteImage, small_limits: SqlLimits) -> Iterator[MySqlEngine]:
    """An engine with a prefix of its own, and nothing on the server."""
    made = MySqlEngine(mysql_url, Images([shop]), limits=small_limits, prefix="test_")
    made.remove()
    yield made
    made.remove()


def ours(engine: MySqlEngine) -> tuple[set[str], set[str]]:
    """Databases and accounts with the engine's prefix."""
    with administration(engine.address) as cursor:
        cursor.execute("SHOW DATABASES")
        databases = {name for (name,) in cursor.fetchall() if name.startswith(engine.prefix)}
        cursor.execute("SELECT user FROM mysql.user")
        users = {name for (name,) in cursor.fetchall() if name.startswith(engine.prefix)}
    return databases, users


def test_a_database_is_loaded_once(engine: MySqlEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    plain = mysql_loading._load

    def counted(cursor: object, schema: str, database: Database) -> None:
        loads.append(schema)
        plain(cursor, schema, database)

    monkeypatch.setattr(mysql_loading, "_load", counted)
    for _ in range(3):
        engine.open("shop").close()
    other = MySqlEngine("mysql://unused", engine.catalog, prefix="test_")
    other.address = engine.address  # as another process would find it
    other.open("shop").close()
    assert len(loads) == 1


def test_a_load_that_was_broken_off_is_done_again(
    engine: MySqlEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = mysql_loading._load

    def broken(cursor: object, schema: str, database: Database) -> None:
        plain(cursor, schema, replace(database, tables=database.tables[:1]))
        raise SqlEngineError("the process was killed")

    monkeypatch.setattr(mysql_loading, "_load", broken)
    with pytest.raises(SqlEngineError, match="killed"):
        engine.open("shop")
    monkeypatch.setattr(mysql_loading, "_load", plain)
    with engine.open("shop") as session:
        assert session.execute(COUNT).rows == ((200,),)


def test_several_that_load_at_once_agree(engine: MySqlEngine, mysql_url: str) -> None:
    engines = [MySqlEngine(mysql_url, engine.catalog, prefix="test_") for _ in range(6)]

    def play(one: MySqlEngine) -> object:
        with one.open("shop") as session:
            return session.execute(COUNT).rows

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(play, engines)) == [((200,),)] * 6


def test_writable_copies_and_their_accounts_are_dropped(engine: MySqlEngine) -> None:
    engine.open("shop").close()
    before = ours(engine)
    session = engine.open("shop", writable=True)
    session.execute("DELETE FROM Orders")
    databases, users = ours(engine)
    assert len(databases) == len(before[0]) + 1
    assert len(users) == len(before[1]) + 1
    session.close()
    assert ours(engine) == before


def test_a_forgotten_session_drops_its_copy(engine: MySqlEngine) -> None:
    engine.open("shop").close()
    before = ours(engine)
    session = engine.open("shop", writable=True)
    del session
    assert ours(engine) == before


def test_removing_leaves_nothing_of_the_prefix_and_all_else(
    engine: MySqlEngine, mysql_url: str
) -> None:
    other = MySqlEngine(mysql_url, engine.catalog, prefix="tesu_")
    other.open("shop").close()
    engine.open("shop").close()
    engine.remove()
    assert ours(engine) == (set(), set())
    with other.open("shop") as session:
        assert session.execute(COUNT).rows == ((200,),)
    other.remove()
    with engine.open("shop") as session:
        assert session.execute(COUNT).rows == ((200,),)


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM mysql.user",
        "SELECT LOAD_FILE('/etc/passwd') FROM mysql.user",
        "SELECT 1 INTO OUTFILE '/tmp/stolen'",
        "CREATE DATABASE x",
        "DROP DATABASE mysql",
        "CREATE USER x",
        "CREATE PROCEDURE x() SELECT 1",
        "SHOW PROCESSLIST",
        "SET SESSION max_statement_time = 0",
        "SELECT 1; DROP TABLE Orders",
    ],
)
def test_an_account_reaches_its_own_database_only(
    engine: MySqlEngine, sql: str, writable: bool
) -> None:
    with engine.open("shop", writable=writable) as session:
        assert session.execute(sql).error
        assert session.execute(COUNT).rows == ((200,),)


def test_files_of_the_server_cannot_be_read(engine: MySqlEngine) -> None:
    with engine.open("shop") as session:
        assert session.execute("SELECT LOAD_FILE('/etc/passwd')").rows == ((None,),)


def test_a_session_sees_no_other_database(engine: MySqlEngine) -> None:
    other = SqliteImage.from_script("other", "CREATE TABLE t (a int)")
    engine.catalog = Images([engine.catalog.image("shop"), other])
    with engine.open("other"), engine.open("shop") as session:
        names = {name for (name,) in session.execute("SHOW DATABASES").rows}
        assert len(names - {"information_schema"}) == 1
        (hidden,) = {engine._loaded["other"]}
        assert session.execute(f"SELECT * FROM {hidden}.t").error


def test_names_of_databases_on_the_server_stay_out_of_sight(engine: MySqlEngine) -> None:
    with engine.open("shop") as session:
        assert session.execute("SHOW TABLES").columns == ("Tables_in_shop",)
        assert session.execute("SELECT * FROM x").error == "Table 'shop.x' doesn't exist"


def test_a_slow_query_is_stopped_and_the_next_works(engine: MySqlEngine) -> None:
    engine.limits = SqlLimits(time_s=0.2)
    with engine.open("shop") as session:
        result = session.execute("SELECT SLEEP(60) FROM Orders")
        assert (result.error, result.stopped_by) == ("stopped after 0.2 seconds", "time")
        assert session.execute(COUNT).rows == ((200,),)


def test_a_cross_join_is_refused_for_its_size(engine: MySqlEngine) -> None:
    with engine.open("shop") as session:
        result = session.execute("SELECT COUNT(*) FROM Orders a, Orders b, Orders c, Orders d")
        assert result.stopped_by == "work"
        assert session.execute(COUNT).rows == ((200,),)


def test_memory_of_a_connection_is_bounded(engine: MySqlEngine) -> None:
    engine.limits = SqlLimits(max_memory_bytes=1_000_000)
    with engine.open("shop") as session:
        result = session.execute(
            "SELECT COUNT(*) FROM (SELECT REPEAT(a.code, 100) AS x FROM Orders a, Orders b "
            "GROUP BY x, a.number, b.number) t"
        )
        assert (result.stopped_by, result.rows) == ("memory", ())
        assert session.execute(COUNT).rows == ((200,),)


def test_a_lost_connection_is_an_engine_error(engine: MySqlEngine) -> None:
    session = engine.open("shop")
    with administration(engine.address) as cursor:
        cursor.execute("SHOW PROCESSLIST")
        for number, user, *_ in cursor.fetchall():
            if user.startswith("test_"):
                cursor.execute(f"KILL {number}")
    with pytest.raises(SqlEngineError, match="connection to the server is lost"):
        session.execute("SELECT 1")
    session.close()


def test_a_server_that_tells_cases_apart_is_refused(
    engine: MySqlEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CaseSensitive:
        def execute(self, sql: str) -> None:
            assert "lower_case_table_names" in sql

        def fetchone(self) -> tuple[int]:
            return (0,)

    with pytest.raises(UnsupportedError, match="--lower-case-table-names=1"):
        mysql_loading._check_name_case(CaseSensitive())


@pytest.mark.parametrize("prefix", ["", "A", "1x", "a-b", "a" * 16])
def test_a_prefix_is_a_short_name(mysql_url: str, prefix: str) -> None:
    with pytest.raises(OptionError, match="prefix is 1 to 15"):
        MySqlEngine(mysql_url, Images([]), prefix=prefix)


def test_a_definition_says_what_mysql_needs() -> None:
    table = Table(
        "a`b",
        (
            Column("id", "int", nullable=False, auto_increment=True),
            Column("t", "text", default="'x'"),
            Column("v", "varchar", nullable=False, default="'y'"),
            Column("d", "decimal"),
            Column("e", "enum('a','b')"),
            Column("at", "timestamp"),
        ),
        (Key("primary", ("id",)), Key("unique", ("v",)), Key("index", ("t", "d"))),
    )
    assert create_table(table) == (
        "CREATE TABLE `a``b` (\n"
        "  `id` int NOT NULL AUTO_INCREMENT,\n"
        "  `t` text,\n"
        "  `v` varchar(255) NOT NULL DEFAULT 'y',\n"
        "  `d` double,\n"
        "  `e` enum('a','b'),\n"
        "  `at` timestamp NULL DEFAULT NULL,\n"
        "  PRIMARY KEY (`id`),\n"
        "  UNIQUE KEY (`v`),\n"
        "  KEY (`t`(255), `d`)\n"
        ")"
    )


def test_all_kinds_of_values_arrive(engine: MySqlEngine) -> None:
    table = Table(
        "t",
        (
            Column("i", "bigint"),
            Column("f", "double"),
            Column("s", "text"),
            Column("b", "blob"),
            Column("d", "datetime"),
            Column("y", "time"),
            Column("n", "decimal(20,4)"),
        ),
        rows=(
            (
                -(2**63),
                1e-300,
                "é'\"\\\n%s 💥",
                b"\0\xff'",
                "2020-02-29 23:59:59",
                "-10:00:01",
                1.5,
            ),
            (None, None, None, None, None, None, None),
            (1, -0.1, "", b"", "0000-00-00 00:00:00", "00:00:00", 2),
        ),
    )
    image = SqliteImage.from_database(Database("d", (table,)))
    engine.catalog = Images([image])
    with engine.open("d") as session:
        assert session.execute("SELECT * FROM t").rows == table.rows
