from __future__ import annotations

import sqlite3
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.sql.statements import (
    first_word,
    has_executable_comment,
    one_statement,
    without_quotes,
    without_temporary,
)

Dialect = Literal["sqlite", "mysql"]
DIALECTS: tuple[Dialect, ...] = ("sqlite", "mysql")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("SELECT 1", "SELECT 1"),
        ("  SELECT 1 ;; \n; ", "SELECT 1"),
        ("SELECT ';'", "SELECT ';'"),
        ("SELECT ';';", "SELECT ';'"),
        ('SELECT "a;b" -- c;d', 'SELECT "a;b" -- c;d'),
        ("SELECT 1; -- the end", "SELECT 1"),
        ("; SELECT 1", "SELECT 1"),
        ("/* ; */ SELECT 1 /* ; */;", "/* ; */ SELECT 1 /* ; */"),
        ("SELECT `a;b`", "SELECT `a;b`"),
        ("SELECT 'it''s; so'", "SELECT 'it''s; so'"),
        ("", ""),
        (" ; ;", ""),
    ],
)
def test_one_statement(sql: str, statement: str, dialect: Dialect) -> None:
    assert one_statement(sql, dialect) == statement


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "SELECT 1;SELECT 2;",
        "SELECT ';'; x",
        "SELECT 1; 'x'",
        "SELECT 1 /*;*/; DROP TABLE t --",
    ],
)
def test_several_statements(sql: str, dialect: Dialect) -> None:
    assert one_statement(sql, dialect) is None


@pytest.mark.parametrize(
    ("sql", "sqlite", "mysql"),
    [
        (r"SELECT 'a\'; SELECT 2 --'", True, False),  # a backslash escapes in MySQL
        ("SELECT 1 # ; SELECT 2", True, False),  # a comment in MySQL
        ("SELECT 1 --; SELECT 2", False, True),  # a comment in SQLite
        ("SELECT [a;b]", False, True),  # a name in SQLite
    ],
)
def test_dialects_differ_in_quotes_and_comments(sql: str, sqlite: bool, mysql: bool) -> None:
    assert (one_statement(sql, "sqlite") is None) == sqlite
    assert (one_statement(sql, "mysql") is None) == mysql


SQL = st.lists(
    st.sampled_from(["SELECT 1", ";", " ", "'a'", '"', "'", "--", "\n", "/*", "*/", "[", "`", "x"])
).map("".join)


@given(SQL)
def test_python_agrees_that_there_is_no_second_statement(sql: str) -> None:
    """Python's own check comes too late for a good message, but is the last word."""
    statement = one_statement(sql, "sqlite")
    connection = sqlite3.connect(":memory:")
    try:
        if statement:
            connection.execute(statement)
    except sqlite3.OperationalError:
        pass  # no SQL at all
    except (sqlite3.Warning, sqlite3.ProgrammingError) as error:
        pytest.fail(f"{sql!r} -> {statement!r}: {error}")
    finally:
        connection.close()


@given(st.text(), st.sampled_from(DIALECTS))
def test_any_text_has_an_answer(sql: str, dialect: Dialect) -> None:
    statement = one_statement(sql, dialect)
    assert statement is None or statement in sql
    assert len(without_quotes(sql, dialect)) == len(sql)
    assert isinstance(first_word(sql), str)


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT 1", "select"),
        ("  -- a\n/* b */ Show tables", "show"),
        ("(SELECT 1)", "("),
        ("DESC`t`", "desc"),
        ("-- only this", ""),
        ("/* a */", ""),
        ("", ""),
        ("/*! SELECT 1 */", "/"),
        ("/*M!100 SELECT 1 */", "/"),
        ("/* open", "/"),
    ],
)
def test_first_word(sql: str, word: str) -> None:
    assert first_word(sql) == word


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT 1 /*!50000 , 2 */", True),
        ("SELECT 1 /*M!100 , 2 */", True),
        ("SELECT '/*! a */'", False),
        ("SELECT 1 /* ! */", False),
        ("SELECT 1 -- /*! a */", False),
    ],
)
def test_executable_comments_are_found(sql: str, found: bool) -> None:
    assert has_executable_comment(sql) == found


@pytest.mark.parametrize(
    ("sql", "result"),
    [
        ("CREATE TEMP TABLE t (a)", "CREATE TABLE t (a)"),
        ("create temporary  table t (a)", "create  table t (a)"),
        ("DROP TEMPORARY TABLE t", "DROP TABLE t"),
        ("CREATE TABLE temp (a)", "CREATE TABLE temp (a)"),
        ("CREATE TEMP VIEW v AS SELECT 1", "CREATE TEMP VIEW v AS SELECT 1"),
        ("INSERT INTO t VALUES ('CREATE TEMP TABLE x')",) * 2,
    ],
)
def test_temporary_tables_are_tables(sql: str, result: str) -> None:
    assert without_temporary(sql) == result
