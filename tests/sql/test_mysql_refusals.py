from __future__ import annotations

import pytest

from budget_envs.sql.mysql_refusals import refusal
from budget_envs.sql.statements import first_word


def reason(sql: str, *, writable: bool = False) -> str | None:
    return refusal(sql, first_word(sql), writable=writable)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "(SELECT 1) UNION (SELECT 2)",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "SHOW TABLES",
        "DESC t",
        "describe t",
        "EXPLAIN SELECT 1",
        "VALUES (1)",
        "SELECT 'a@b.c', \"x@y\", `e@mail`",
        "SELECT @@version",
        "SELECT '/*! x */'",
        "SELECT 1 -- @x",
    ],
)
def test_what_reads_is_let_through(sql: str) -> None:
    assert reason(sql) is None


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SET max_statement_time = 0", "SET statements"),
        ("USE mysql", "USE statements"),
        ("PREPARE x FROM 'SELECT 1'", "PREPARE statements"),
        ("KILL 1", "KILL statements"),
        ("LOAD DATA INFILE 'x' INTO TABLE t", "LOAD statements"),
        ("HANDLER t OPEN", "HANDLER statements"),
        ("DO SLEEP(5)", "DO statements"),
        ("DELETE FROM t", "DELETE statements (the database is read-only)"),
        ("/*! SET x = 1 */", "/ statements"),
        ("SELECT 1 /*!50000 INTO @x */", "comments that the server executes"),
        ("SELECT 1 /*M!100 + 1 */", "comments that the server executes"),
        ("SHOW PROCESSLIST", "to look at other sessions"),
        ("show full processlist", "to look at other sessions"),
        ("SELECT * FROM information_schema.`ProcessList`", "to look at other sessions"),
        ("SELECT * FROM information_schema.proceſſlíst", "to look at other sessions"),
        ("SELECT * FROM performance_schema.threads", "to look at other sessions"),
        ("SELECT @x := 1", "user variables (they are not part of the database)"),
        ("SELECT 1 INTO @'x'", "user variables (they are not part of the database)"),
    ],
)
def test_what_reaches_beyond_the_database_is_refused(sql: str, text: str) -> None:
    assert reason(sql) == text


def test_writes_are_let_through_where_they_may_write() -> None:
    assert reason("DELETE FROM t", writable=True) is None
    assert reason("CREATE TABLE t (a int)", writable=True) is None
    assert reason("ALTER TABLE t ADD a int", writable=True) == "ALTER statements"
