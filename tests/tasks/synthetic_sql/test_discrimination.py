import sqlite3
from dataclasses import replace

import pytest

from budget_envs.tasks.synthetic_sql.discrimination import MOST_ROWS, is_discriminating
from budget_envs.tasks.synthetic_sql.query import Condition, Query, SetOperation


@pytest.fixture(scope="module")
def connection():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER, n INTEGER, kind TEXT, gap INTEGER)")
    rows = [(i, i % 5, "ab"[i % 2], None if i % 3 else 0) for i in range(100)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    yield connection
    connection.close()


GOOD = Query(
    ("id",),
    "t",
    (Condition("n > 2", slips=("n < 2",)), Condition("id < 30", slips=("id > 30",))),
)


def over(sql, *slips):
    return Condition(sql, slips=slips)


def test_a_query_whose_parts_matter_makes_a_task(connection):
    assert is_discriminating(connection, GOOD)


@pytest.mark.parametrize(
    ("reason", "query"),
    [
        ("empty", replace(GOOD, where=(over("n > 9"),))),
        ("all null", replace(GOOD, select=("gap",))),
        ("all zero", Query(("SUM(gap)",), "t", (over("n > 2", "n < 2", "n = 9"),))),
        ("the number one", Query(("COUNT(*)",), "t", (over("id = 3", "id > 3", "id < 3"),))),
        ("too long", replace(GOOD, where=(over("n > 2", "n < 2"), over("id < 200", "id > 50")))),
        ("a pointless condition", replace(GOOD, where=(*GOOD.where, over("id < 40", "id > 9")))),
        ("a pointless weaker form",
         replace(GOOD, where=(*GOOD.where, Condition("kind = 'a'", weaker=("kind <> 'b'",))))),
        ("a pointless distinct", replace(GOOD, distinct=True)),
        ("a pointless limit", replace(GOOD, order=("id",), limit=90)),
        ("a pointless join", replace(GOOD, weaker_sources=("t AS u",))),
        ("ties in the order", replace(GOOD, order=("n",))),
        ("ties at the limit", replace(GOOD, order=("n",), limit=4)),
        ("no near miss", Query(("id",), "t", (over("id < 9"),))),
        ("near misses alike", Query(("id",), "t", (over("id < 9", "id <= 8", "8 >= id"),))),
        ("a pointless operand",
         SetOperation("UNION", replace(GOOD, where=GOOD.where[:1]), GOOD)),
    ],
)  # fmt: skip
def test_a_query_is_no_task_for(connection, reason, query):
    assert not is_discriminating(connection, query), reason


@pytest.mark.parametrize(
    "query",
    [
        replace(GOOD, order=("id",)),
        replace(GOOD, order=("id DESC",), limit=4),
        replace(GOOD, order=("kind", "id DESC"), limit=4),
        Query(("kind",), "t", (over("id < 9 AND n > 0", "id > 9 AND n > 9"),), distinct=False),
        Query(("COUNT(*)",), "t", (over("id < 9", "id > 9"),)),
        SetOperation(
            "EXCEPT",
            Query(("n",), "t", (over("id < 4", "id > 90"),)),
            Query(("n",), "t", (over("id IN (1, 9)"),)),
        ),
    ],
    ids=lambda query: query.sql,
)
def test_a_query_is_a_task(connection, query):
    assert is_discriminating(connection, query)


def test_ties_behind_the_limit_do_not_matter(connection):
    query = Query(("id",), "t", (over("id > 3", "id < 3"),), order=("MIN(id, 8)",), limit=3)
    assert is_discriminating(connection, query)


def test_the_longest_result_has_forty_rows(connection):
    def first(count):
        return Query(("id",), "t", (over(f"id < {count}", f"id > {count}"),))

    assert MOST_ROWS == 40
    assert is_discriminating(connection, first(40))
    assert not is_discriminating(connection, first(41))
