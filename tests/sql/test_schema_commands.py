from __future__ import annotations

import pytest

from budget_envs.sql.mysql_engine import MySqlEngine
from budget_envs.sql.protocol import SqlSession
from budget_envs.sql.sqlite_engine import SqliteEngine

HEADERS = ("Field", "Type", "Null", "Key", "Default", "Extra")
CUSTOMER = (
    ("id", "int", "NO", "PRI", None, "auto_increment"),
    ("name", "varchar(40)", "NO", "MUL", "", ""),
    ("born", "date", "YES", "", None, ""),
    ("credit", "double", "YES", "", None, ""),
)
ORDERS = (
    ("number", "int", "NO", "PRI", None, ""),
    ("customer_id", "int", "YES", "MUL", None, ""),
    ("code", "char(5)", "YES", "UNI", None, ""),
    ("price", "decimal(8,2)", "NO", "", "0.50", ""),
)


@pytest.fixture
def session(sqlite_engine: SqliteEngine) -> SqlSession:
    return sqlite_engine.open("shop")


@pytest.mark.parametrize(
    "command", ["SHOW TABLES", "show tables;", " SHOW\n TABLES ", "SHOW TABLES FROM shop"]
)
def test_show_tables(session: SqlSession, command: str) -> None:
    result = session.execute(command)
    assert result.columns == ("Tables_in_shop",)
    assert result.rows == (("Orders",), ("customer",))
    assert result.total_rows == 2


@pytest.mark.parametrize(
    "command",
    [
        "DESC customer",
        "describe customer;",
        "DESC `customer`",
        "DESC`customer`",
        'DESC "customer"',
        "DESC shop.customer",
        "SHOW COLUMNS FROM customer",
        "show fields in CUSTOMER",
        "-- what is in it\nDESC customer -- ?",
        "/* a */ DESC /* b */ customer",
    ],
)
def test_the_columns_of_a_table(session: SqlSession, command: str) -> None:
    result = session.execute(command)
    assert (result.error, result.columns) == (None, HEADERS)
    assert result.rows == CUSTOMER


def test_keys_and_defaults(session: SqlSession) -> None:
    assert session.execute("DESC orders").rows == ORDERS


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("DESC nothing", "no such table: nothing"),
        ("DESC sqlite_master", "no such table: sqlite_master"),
        ("SHOW TABLES FROM other", "unknown database: other (this one is shop)"),
        ("DESC other.customer", "unknown database: other (this one is shop)"),
        ("SHOW DATABASES", "SHOW and DESC mean one of"),
        ("SHOW CREATE TABLE customer", "SHOW and DESC mean one of"),
        ("DESC", "SHOW and DESC mean one of"),
        ("DESCRIBE customer name", "SHOW and DESC mean one of"),
        ("DESC customer; DROP TABLE customer", "got several"),
    ],
)
def test_other_commands_say_what_is_expected(session: SqlSession, command: str, error: str) -> None:
    result = session.execute(command)
    assert error in (result.error or "")
    assert result.rows == ()


def test_a_table_made_in_the_session_is_shown(sqlite_engine: SqliteEngine) -> None:
    session = sqlite_engine.open("shop", writable=True)
    session.execute("CREATE TABLE note (a INTEGER PRIMARY KEY, b VARCHAR(9) DEFAULT 'x', c)")
    assert session.execute("SHOW TABLES").rows == (("Orders",), ("customer",), ("note",))
    assert session.execute("DESC note").rows == (
        ("a", "int", "NO", "PRI", None, "auto_increment"),
        ("b", "varchar(9)", "YES", "", "x", ""),
        ("c", "", "YES", "", None, ""),
    )


@pytest.mark.parametrize("command", ["SHOW TABLES", "DESC customer", "SHOW COLUMNS FROM Orders"])
def test_a_real_server_shows_the_same(
    session: SqlSession, mysql_engine: MySqlEngine, command: str
) -> None:
    """But for the width of integers, which MariaDB shows, and the case of names of tables."""
    with mysql_engine.open("shop") as there:
        theirs, ours = there.execute(command), session.execute(command)
    assert theirs.columns == ours.columns
    rows = [tuple(str(cell).replace("int(11)", "int").lower() for cell in r) for r in theirs.rows]
    assert sorted(rows) == sorted(tuple(str(cell).lower() for cell in r) for r in ours.rows)


@pytest.mark.parametrize("filler", [" ", "/*", "/**/", "/* ", "`", "a", "\t\n"])
def test_long_commands_are_read_in_linear_time(sqlite_engine: SqliteEngine, filler: str) -> None:
    """Many at once: a rule that goes back over blanks takes a second for each, and is noticed."""
    start = "DESC customer " + filler * (9_000 // len(filler))
    with sqlite_engine.open("shop") as session:
        for number in range(20):
            assert session.execute(f"{start}{number} )").error or filler in ("/*", "/* ")


@pytest.mark.parametrize("command", ["DESC/**/customer /* open", "SHOW -- x\n TABLES -- y"])
def test_comments_may_stand_anywhere(sqlite_engine: SqliteEngine, command: str) -> None:
    with sqlite_engine.open("shop") as session:
        assert session.execute(command).error is None
