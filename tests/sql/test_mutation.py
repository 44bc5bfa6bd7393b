import itertools
import os
import sqlite3
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.sql.gold_shape import parse_query
from budget_envs.sql.mutation import Mutant, failing_query, mutants
from budget_envs.sql.results import equal, gold_result
from budget_envs.tasks.synthetic_sql import generate
from budget_envs.tasks.synthetic_sql.database import database

pytest.importorskip("sqlglot")

COLUMNS = {"Pets": {"id": "INTEGER", "Name": "VARCHAR(9)", "age": "int", "kind": "TEXT"},
           "owners": {"id": "INTEGER", "city": "TEXT"}}  # fmt: skip


def all_mutants(sql, columns=None, key=0, dialect="sqlite"):
    return {mutant.sql for mutant in mutants(sql, key, columns=columns, dialect=dialect)}


# --- Which edits there are -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE b > 1", {
            "SELECT a FROM t", "SELECT a FROM t WHERE b >= 1", "SELECT a FROM t WHERE b < 1",
            "SELECT a FROM t WHERE b > 2", "SELECT a FROM t WHERE b > 0",
            "SELECT DISTINCT a FROM t WHERE b > 1"}),
        ("SELECT DISTINCT a FROM t", {"SELECT a FROM t"}),
        ("SELECT COUNT(*) FROM t GROUP BY a HAVING COUNT(*) < 2", {
            "SELECT COUNT(*) FROM t GROUP BY a",
            "SELECT COUNT(*) FROM t GROUP BY a HAVING COUNT(*) <= 2",
            "SELECT COUNT(*) FROM t GROUP BY a HAVING COUNT(*) > 2",
            "SELECT COUNT(*) FROM t GROUP BY a HAVING COUNT(*) < 3",
            "SELECT COUNT(*) FROM t GROUP BY a HAVING COUNT(*) < 1"}),
        ("SELECT DISTINCT a FROM t ORDER BY b DESC LIMIT 1", {
            "SELECT a FROM t ORDER BY b DESC LIMIT 1",
            "SELECT DISTINCT a FROM t ORDER BY b LIMIT 1",
            "SELECT DISTINCT a FROM t ORDER BY b DESC LIMIT 2",
            "SELECT DISTINCT a FROM t ORDER BY b DESC"}),
        ("SELECT COUNT(*) FROM t", {"SELECT * FROM t", "SELECT DISTINCT COUNT(*) FROM t"}),
        ("SELECT * FROM t", {"SELECT * FROM t LIMIT 1", "SELECT DISTINCT * FROM t"}),
        ("SELECT DISTINCT a, b FROM t", {
            "SELECT a, b FROM t", "SELECT DISTINCT a FROM t", "SELECT DISTINCT b, a FROM t"}),
        ("SELECT MAX(a) FROM t GROUP BY b", {"SELECT MIN(a) FROM t GROUP BY b"}),
        ("SELECT AVG(a) FROM t GROUP BY b", {
            "SELECT SUM(a) FROM t GROUP BY b", "SELECT MAX(a) FROM t GROUP BY b"}),
        ("SELECT COUNT(DISTINCT a) FROM t GROUP BY b", {"SELECT COUNT(a) FROM t GROUP BY b"}),
        ("SELECT COUNT(a) FROM t GROUP BY b", {"SELECT COUNT(DISTINCT a) FROM t GROUP BY b"}),
        ("SELECT DISTINCT a FROM t WHERE b IS NULL OR c IN (1, 2)", {
            "SELECT a FROM t WHERE b IS NULL OR c IN (1, 2)", "SELECT DISTINCT a FROM t",
            "SELECT DISTINCT a FROM t WHERE b IS NULL",
            "SELECT DISTINCT a FROM t WHERE c IN (1, 2)",
            "SELECT DISTINCT a FROM t WHERE (b IS NULL AND c IN (1, 2))",
            "SELECT DISTINCT a FROM t WHERE NOT b IS NULL OR c IN (1, 2)",
            "SELECT DISTINCT a FROM t WHERE b IS NULL OR NOT c IN (1, 2)"}),
        ("SELECT DISTINCT a FROM t WHERE b NOT LIKE 'x%'", {
            "SELECT a FROM t WHERE b NOT LIKE 'x%'", "SELECT DISTINCT a FROM t",
            "SELECT DISTINCT a FROM t WHERE b LIKE 'x%'"}),
        ("SELECT DISTINCT a FROM t WHERE b NOT IN (1, 2)", {
            "SELECT a FROM t WHERE NOT b IN (1, 2)", "SELECT DISTINCT a FROM t",
            "SELECT DISTINCT a FROM t WHERE b IN (1, 2)"}),
        ("SELECT DISTINCT a FROM t EXCEPT SELECT DISTINCT a FROM u", {
            "SELECT a FROM t EXCEPT SELECT DISTINCT a FROM u",
            "SELECT DISTINCT a FROM t EXCEPT SELECT a FROM u",
            "SELECT DISTINCT a FROM t INTERSECT SELECT DISTINCT a FROM u",
            "SELECT DISTINCT a FROM t UNION SELECT DISTINCT a FROM u",
            "SELECT DISTINCT a FROM t", "SELECT DISTINCT a FROM u"}),
    ],
)  # fmt: skip
def test_mutants_of_a_query_are_these(sql, expected):
    # releases of sqlglot differ in how they write NOT LIKE
    assert all_mutants(sql) == {parse_query(text).sql("sqlite") for text in expected}


def test_columns_are_replaced_by_others_of_the_same_table_and_type():
    found = all_mutants("SELECT p.age FROM pets AS p GROUP BY 1", COLUMNS)
    assert found == {"SELECT p.id FROM pets AS p GROUP BY 1"}
    found = all_mutants("SELECT NAME FROM PETS GROUP BY 1", COLUMNS)
    assert found == {"SELECT kind FROM PETS GROUP BY 1"}


def test_a_column_that_might_be_of_two_tables_is_kept():
    sql = "SELECT MIN(id) FROM pets, owners"
    assert not any("age" in mutant for mutant in all_mutants(sql, COLUMNS))


def test_a_column_of_an_outer_query_or_an_unknown_table_is_kept():
    assert all_mutants("SELECT q FROM pets GROUP BY 1", COLUMNS) == set()
    assert all_mutants("SELECT x FROM birds GROUP BY 1", COLUMNS) == set()
    assert all_mutants("SELECT * FROM pets GROUP BY 1", COLUMNS) == set()


def test_without_a_schema_no_column_is_replaced():
    assert not any(mutant.kind == "column" for mutant in mutants("SELECT age FROM pets", 0))


# --- Joins are never loosened --------------------------------------------------------------------

JOINS = [
    "SELECT a.x FROM t AS a JOIN u AS b ON a.id = b.id",
    "SELECT a.x FROM t AS a JOIN u AS b ON a.id = b.id AND b.n > 3 WHERE a.n < 5",
    "SELECT a.x FROM t AS a, u AS b WHERE a.id = b.id",
    "SELECT a.x FROM t AS a, u AS b WHERE a.id = b.id AND (a.n = 3 OR b.n = 4) AND a.n <> b.n",
    "SELECT a.x FROM t AS a, u AS b WHERE NOT a.id <> b.id",
    "SELECT a.x FROM t AS a JOIN u AS b ON a.id + 1 = b.id * 2",
    "SELECT a.x FROM t AS a JOIN u AS b ON a.id BETWEEN b.id AND b.id AND a.x LIKE b.x",
    "SELECT a.x FROM t AS a JOIN u AS b ON a.id IN (b.id, b.n)",
    "SELECT a.x FROM t AS a LEFT JOIN u AS b USING (id) JOIN t AS c ON c.id = a.id",
    "SELECT a.x FROM t AS a WHERE EXISTS (SELECT 1 FROM u AS b WHERE b.id = a.id AND b.n > 1)",
    "SELECT a.x FROM t AS a INNER JOIN u AS b ON a.id = b.id LEFT OUTER JOIN t AS c ON b.id = c.id",
    "SELECT x FROM t WHERE n = (SELECT MAX(b.n) FROM u AS b WHERE b.id = t.id)",
]
JOIN_COLUMNS = {"t": {"id": "INT", "n": "INT", "x": "TEXT"},
                "u": {"id": "INT", "n": "INT", "x": "TEXT"}}  # fmt: skip


@pytest.mark.parametrize("sql", JOINS)
def test_no_mutant_is_a_product_of_tables(sql):
    connection = sqlite3.connect(":memory:")
    for table in ("t", "u"):
        connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, n INTEGER, x TEXT)")
        rows = [(i, i % 9, f"x{i}") for i in range(1500)]
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
    sizes = {
        mutant.sql: len(connection.execute(mutant.sql).fetchmany(10_000))
        for mutant in mutants(sql, 0, columns=JOIN_COLUMNS)
    }
    connection.close()
    assert len(sizes) >= 1
    assert max(sizes.values()) <= 3000, max(sizes, key=sizes.get)


@pytest.mark.parametrize("sql", JOINS[:3])
def test_the_condition_of_the_join_is_in_every_mutant(sql):
    assert all("a.id = b.id" in mutant.sql for mutant in mutants(sql, 0, columns=JOIN_COLUMNS))


def test_inner_and_left_joins_are_exchanged():
    inner = "SELECT a.x FROM t AS a JOIN u AS b ON a.id = b.id GROUP BY 1"
    assert inner.replace("JOIN", "LEFT JOIN") in all_mutants(inner)
    for left in ("LEFT JOIN", "LEFT OUTER JOIN"):
        assert inner in all_mutants(inner.replace("JOIN", left))


# --- Properties ----------------------------------------------------------------------------------

levels = st.sampled_from(["easy", "medium", "hard", "extra"])
indices = st.integers(0, 2000)
keys = st.integers(0, 2**64 - 1)


@settings(max_examples=40, deadline=None)
@given(levels, indices, keys)
def test_mutants_run_and_each_comes_once(level, index, key):
    task = generate(level, index)
    found = [mutant.sql for mutant in mutants(task.gold, key, columns=task.tables)]
    assert len(set(found)) == len(found) >= 2
    assert parse_query(task.gold).sql("sqlite") not in found
    with database(task.database).connect() as connection:
        for sql in found:
            connection.execute(sql).fetchall()


@settings(max_examples=40, deadline=None)
@given(levels, indices, keys, st.booleans())
def test_a_failing_query_is_found_for_every_gold_query(level, index, key, with_columns):
    task = generate(level, index)
    columns = task.tables if with_columns else None
    with database(task.database).connect() as connection:
        gold = gold_result(task.gold, lambda sql: connection.execute(sql).fetchall())

        def is_right(sql):
            return equal(connection.execute(sql).fetchall(), gold)

        mutant = failing_query(task.gold, is_right, key, columns=columns)
        assert mutant is not None
        assert not is_right(mutant.sql)


@settings(max_examples=30, deadline=None)
@given(levels, indices, keys)
def test_the_order_is_a_function_of_the_key_and_the_mutants_are_not(level, index, key):
    gold = generate(level, index).gold
    found = list(mutants(gold, key))
    assert found == list(mutants(gold, key))
    assert set(found) == set(mutants(gold, 0))


def test_different_keys_give_different_first_mutants():
    gold = generate("extra", 5).gold
    assert len({next(mutants(gold, key)).sql for key in range(30)}) >= 4


def test_kinds_take_turns():
    task = generate("extra", 5)
    found = [mutant.kind for mutant in mutants(task.gold, 3, columns=task.tables)]
    assert len(set(found)) >= 4
    assert len(set(found[: len(set(found))])) == len(set(found))


def test_kinds_come_first_about_equally_often():
    sql = "SELECT a, b, MAX(c) FROM t WHERE d > 1 AND e > 2 AND f > 3 GROUP BY a, b ORDER BY a"
    first = Counter(next(mutants(sql, key)).kind for key in range(400))
    assert len(first) >= 6
    assert min(first.values()) > 20


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="SELECTFROMWHRabt (),.;*'\"-1=<>", max_size=60))
def test_text_that_is_not_a_query_has_no_mutants_and_raises_nothing(text):
    assert list(mutants(text, 1)) == [] or parse_query(text) is not None


@pytest.mark.parametrize(
    "text",
    ["", "SHOW TABLES", "DROP TABLE t", "UPDATE t SET a = 1 WHERE b > 1", "DELETE FROM t",
     "SELECT a FROM t WHERE b > 1; SELECT 2", "PRAGMA table_info(t)", "submit", "SELECT",
     "WITH x AS (SELECT 1) DELETE FROM t WHERE a > 1", "SELECT " + "(" * 5000],
)  # fmt: skip
def test_only_a_single_query_has_mutants(text):
    assert list(mutants(text, 0)) == []
    assert failing_query(text, lambda sql: False, 0) is None


@pytest.mark.parametrize("dialect", ["sqlite", "mysql"])
def test_a_mutant_keeps_the_dialect(dialect):
    quote = {"sqlite": '"', "mysql": "`"}[dialect]
    sql = f"SELECT {quote}a b{quote} FROM t WHERE c > 1 GROUP BY 1"
    found = all_mutants(sql, dialect=dialect)
    assert found
    assert all(f"{quote}a b{quote}" in mutant for mutant in found)


def test_same_mutants_in_every_process_and_hash_seed():
    code = (
        "from budget_envs.sql.mutation import mutants\n"
        "from budget_envs.tasks.synthetic_sql import generate\n"
        "for level in ('medium', 'extra'):\n"
        "    task = generate(level, 3)\n"
        "    print(list(mutants(task.gold, 9, columns=task.tables)))"
    )

    def dump(hash_seed):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True,
            timeout=60,
        ).stdout  # fmt: skip

    assert dump("0") == dump("1")
    assert b"Mutant" in dump("0")


# --- The judge -----------------------------------------------------------------------------------

SQL = "SELECT a FROM t WHERE b > 1 AND c < 2 ORDER BY a LIMIT 3"


def test_the_first_wrong_mutant_is_returned():
    found = list(mutants(SQL, 4))
    assert failing_query(SQL, lambda sql: sql != found[2].sql, 4) == found[2]
    assert failing_query(SQL, lambda sql: False, 4) == found[0]


def test_mutants_that_are_right_or_do_not_run_are_passed_over():
    found = list(mutants(SQL, 4))
    verdicts = dict(zip((m.sql for m in found), [True, None, None, True, False], strict=False))
    assert failing_query(SQL, verdicts.get, 4) == found[4]


@pytest.mark.parametrize("verdict", [True, None])
def test_no_mutant_is_returned_if_none_is_wrong(verdict):
    assert failing_query(SQL, lambda sql: verdict, 4) is None


def test_the_judge_is_asked_as_often_as_allowed():
    asked = []
    assert failing_query(SQL, lambda sql: bool(asked.append(sql)) or True, 4, max_tries=3) is None
    assert asked == [mutant.sql for mutant in itertools.islice(mutants(SQL, 4), 3)]


def test_an_error_of_the_judge_passes_through():
    def judge(sql):
        raise sqlite3.OperationalError("locked")

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        failing_query(SQL, judge, 4)


@pytest.mark.parametrize("max_tries", [0, -1, True, 2.0, None])
def test_max_tries_must_be_a_positive_integer(max_tries):
    with pytest.raises(OptionError, match="positive integer"):
        failing_query(SQL, lambda sql: False, 0, max_tries)


def test_a_mutant_says_what_was_done():
    kinds = {mutant.sql: mutant.kind for mutant in mutants("SELECT a FROM t ORDER BY a", 0)}
    assert kinds == {
        "SELECT a FROM t ORDER BY a DESC": "direction",
        "SELECT DISTINCT a FROM t ORDER BY a": "duplicates",
    }
    assert Mutant("SELECT 1", "limit").kind == "limit"
