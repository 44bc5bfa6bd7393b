import logging
import sys

import pytest

from budget_envs.errors import DependencyNotInstalled
from budget_envs.sql.gold_shape import Shape, parse_query, shape_of

pytest.importorskip("sqlglot")


@pytest.mark.parametrize("dialect", ["sqlite", "mysql"])
@pytest.mark.parametrize(
    ("sql", "ordered", "cut", "limit", "offset"),
    [
        ("SELECT a FROM t", False, False, None, 0),
        ("SELECT a FROM t ORDER BY a", True, False, None, 0),
        ("select a from t order  by a desc limit 3;", True, True, 3, 0),
        ("SELECT a FROM t LIMIT 2", False, True, 2, 0),
        ("SELECT a FROM t ORDER BY a LIMIT 2 OFFSET 4", True, True, 2, 4),
        ("SELECT a FROM t ORDER BY a LIMIT 4, 2", True, True, 2, 4),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 2) AS u", False, False, None, 0),
        ("SELECT a FROM t WHERE b = (SELECT b FROM t ORDER BY b LIMIT 1)", False, False, None, 0),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True, False, None, 0),
        ("SELECT a FROM t EXCEPT SELECT b FROM u LIMIT 5", False, True, 5, 0),
        ("WITH c AS (SELECT a FROM t ORDER BY a) SELECT a FROM c", False, False, None, 0),
        ("WITH c AS (SELECT a FROM t) SELECT a FROM c ORDER BY a", True, False, None, 0),
        ("(SELECT a FROM t ORDER BY a LIMIT 1)", True, True, 1, 0),
        ("SELECT 'order by limit' FROM t", False, False, None, 0),
        ("SELECT group_concat(a) FROM t -- limit 3", False, False, None, 0),
        ("SELECT a FROM t ORDER BY a LIMIT 1 + 1", True, True, None, 0),
    ],
)
def test_only_the_outermost_order_and_limit_count(sql, ordered, cut, limit, offset, dialect):
    shape = shape_of(sql, dialect)
    assert (shape.ordered, shape.cut, shape.limit, shape.offset) == (ordered, cut, limit, offset)


@pytest.mark.parametrize(
    ("sql", "ranked"),
    [
        (
            "SELECT a FROM t ORDER BY b DESC, c LIMIT 3",
            "SELECT a, DENSE_RANK() OVER (ORDER BY b DESC, c) AS tie_class FROM t "
            "ORDER BY b DESC, c",
        ),
        (
            "SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n LIMIT 1",
            "SELECT a, COUNT(*) AS n, DENSE_RANK() OVER (ORDER BY COUNT(*)) AS tie_class FROM t "
            "GROUP BY a ORDER BY n",
        ),
        (
            "SELECT a, b FROM t ORDER BY 2 LIMIT 1",
            "SELECT a, b, DENSE_RANK() OVER (ORDER BY b) AS tie_class FROM t ORDER BY 2",
        ),
        (
            "SELECT DISTINCT a FROM t ORDER BY a",
            "SELECT DISTINCT a, DENSE_RANK() OVER (ORDER BY a) AS tie_class FROM t ORDER BY a",
        ),
        ("SELECT a FROM t LIMIT 3", "SELECT a, 1 AS tie_class FROM t"),
        (
            "SELECT a FROM t UNION SELECT b FROM u ORDER BY a LIMIT 2",
            "SELECT *, DENSE_RANK() OVER (ORDER BY a) AS tie_class FROM "
            "(SELECT a FROM t UNION SELECT b FROM u) AS result ORDER BY tie_class",
        ),
    ],
)
def test_ranked_query_has_no_limit_and_one_more_column(sql, ranked):
    assert shape_of(sql).ranked == ranked


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t",
        "SELECT DISTINCT a FROM t ORDER BY b",  # one more column would change what is distinct
        "SELECT *, a FROM t ORDER BY 2",  # which column that is depends on the table
        "SELECT a FROM t ORDER BY 7",
        "SELECT a FROM t LIMIT ?",
        "SELECT a + 1 FROM t UNION SELECT b FROM u ORDER BY 1",
    ],
)
def test_no_ranked_query_where_none_is_needed_or_possible(sql):
    assert shape_of(sql).ranked is None


@pytest.mark.parametrize(
    "sql", ["", ";", "SELECT", "SELECT a FROM t ORDER BY", "SHOW TABLES LIMIT", "no sql limit 3",
            "SELECT 1 LIMIT 1; SELECT 2 LIMIT 1", "DELETE FROM t ORDER BY a LIMIT 1",
            "SELECT (" * 3000 + " ORDER BY limit"],
)  # fmt: skip
def test_text_that_is_not_one_query_has_no_order(sql):
    assert shape_of(sql) == Shape()


def test_statements_that_are_not_queries_leave_no_message_in_the_log(caplog):
    with caplog.at_level(logging.DEBUG):
        for sql in ("SHOW TABLES LIMIT 1", "EXPLAIN SELECT 1 LIMIT 1", "PRAGMA x", "VACUUM"):
            assert parse_query(sql) is None
    assert not caplog.records


def test_missing_parser_is_needed_only_for_queries_that_might_order(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    assert shape_of("SELECT a FROM t") == Shape()
    with pytest.raises(DependencyNotInstalled, match=r"budget-envs\[sql\]"):
        shape_of("SELECT a FROM t ORDER BY a")
