import itertools
import pickle
import sqlite3
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.sql.results import GoldResult, agreement, degenerate, equal, gold_result
from budget_envs.sql.row_bags import same_row

pytest.importorskip("sqlglot")

TABLE = """
CREATE TABLE pets (id INTEGER, name TEXT COLLATE NOCASE, kind TEXT, weight REAL, age INTEGER);
INSERT INTO pets VALUES
  (1, 'Rex', 'dog', 12.5, 3), (2, 'rex', 'dog', 8.0, 3), (3, 'Tom', 'cat', 4.25, 3),
  (4, 'Ada', 'cat', 4.25, 9), (5, 'Bo', 'dog', NULL, 1), (6, 'Bo', 'cat', 3.0, 12);
"""


@pytest.fixture(scope="module")
def run():
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLE)
    return lambda sql: connection.execute(sql).fetchall()


def plain(rows, ordered=False):
    """The result of a gold query without ties."""
    rows = tuple(rows)
    return GoldResult(rows, ordered, None, tuple((r,) for r in rows) if ordered else (rows,))


# --- Without an order ------------------------------------------------------------------------


def test_a_permutation_is_equal_where_the_gold_query_does_not_order(run):
    gold = gold_result("SELECT name, age FROM pets", run)
    assert not gold.ordered
    assert equal(gold.rows[::-1], gold)


def test_duplicates_count(run):
    gold = gold_result("SELECT kind FROM pets", run)
    assert equal(gold.rows, gold)
    assert not equal([("dog",), ("cat",)], gold)
    assert not equal([("dog",)] * 4 + [("cat",)] * 2, gold)
    assert not equal([], gold)


def test_a_missing_or_additional_row_is_not_equal(run):
    gold = gold_result("SELECT id FROM pets", run)
    assert not equal(gold.rows[1:], gold)
    assert not equal([*gold.rows, (1,)], gold)


def test_numbers_are_equal_across_types_and_text_is_not():
    gold = plain([(1, 2.5, None, "3")])
    assert equal([(1.0, Decimal("2.5"), None, "3")], gold)
    assert not equal([("1", 2.5, None, "3")], gold)
    assert not equal([(1, 2.5, None, 3)], gold)
    assert not equal([(1, 2.5, 0, "3")], gold)


def test_column_order_counts():
    assert not equal([(2, 1)], plain([(1, 2)]))


def test_a_permutation_of_columns_that_differs_from_row_to_row_is_not_equal():
    assert not equal([(1, 2), (4, 3)], plain([(1, 2), (3, 4)]))


def test_an_error_is_never_equal_not_even_to_nothing():
    assert not equal(None, plain([]))
    assert agreement(None, plain([])) == 0.0


def test_nothing_equals_nothing():
    assert equal([], plain([]))
    assert agreement([], plain([])) == 1.0
    assert not equal([(None,)], plain([]))


# --- With an order ---------------------------------------------------------------------------


def test_reversed_rows_are_not_equal_where_the_gold_query_orders(run):
    gold = gold_result("SELECT id FROM pets ORDER BY id", run)
    assert gold.ordered
    assert equal(gold.rows, gold)
    assert not equal(gold.rows[::-1], gold)


def test_order_of_a_subquery_does_not_count(run):
    gold = gold_result("SELECT id FROM (SELECT id FROM pets ORDER BY id)", run)
    assert equal(gold.rows[::-1], gold)


def test_rows_that_sort_alike_may_come_in_any_order(run):
    gold = gold_result("SELECT id FROM pets ORDER BY age", run)
    assert equal([(5,), (3,), (1,), (2,), (4,), (6,)], gold)
    assert not equal([(3,), (5,), (1,), (2,), (4,), (6,)], gold)


def test_any_choice_among_rows_that_a_limit_cuts_is_right(run):
    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 2", run)
    assert gold.rows[0] == (5,)
    for third in (1, 2, 3):
        assert equal([(5,), (third,)], gold)
    assert not equal([(1,), (5,)], gold)
    assert not equal([(5,), (4,)], gold)
    assert not equal([(5,), (1,), (2,)], gold)


def test_offset_cuts_ties_at_the_start(run):
    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 3 OFFSET 2", run)
    assert equal([(1,), (3,), (4,)], gold)
    assert equal([(3,), (2,), (4,)], gold)
    assert not equal([(2,), (2,), (4,)], gold)
    assert not equal([(5,), (2,), (4,)], gold)


def test_a_window_inside_one_class_accepts_any_rows_of_it(run):
    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 1 OFFSET 2", run)
    assert [equal([(i,)], gold) for i in range(1, 7)] == [True, True, True, False, False, False]


def test_a_limit_without_order_accepts_any_rows(run):
    gold = gold_result("SELECT id FROM pets LIMIT 2", run)
    assert (gold.ordered, gold.limit) == (False, 2)
    assert equal([(6,), (3,)], gold)
    assert not equal([(6,), (6,)], gold)
    assert not equal([(6,), (7,)], gold)


def test_a_limit_of_zero_accepts_nothing_else(run):
    gold = gold_result("SELECT id FROM pets ORDER BY id LIMIT 0", run)
    assert equal([], gold)
    assert not equal([(1,)], gold)


def test_a_limit_beyond_the_end_cuts_nothing(run):
    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 100", run)
    assert equal([(5,), (3,), (1,), (2,), (4,), (6,)], gold)


def test_ties_follow_the_collation_of_the_engine(run):
    gold = gold_result("SELECT id FROM pets ORDER BY name", run)
    assert equal([(4,), (6,), (5,), (2,), (1,), (3,)], gold)


def test_null_ties_with_null(run):
    gold = gold_result("SELECT kind FROM pets ORDER BY CASE WHEN age > 2 THEN NULL END", run)
    assert len(gold.classes) == 1


def test_ties_of_groups(run):
    gold = gold_result("SELECT kind FROM pets GROUP BY kind ORDER BY COUNT(*) DESC LIMIT 1", run)
    assert equal([("dog",)], gold)
    assert equal([("cat",)], gold)
    assert not equal([("cow",)], gold)


def test_ties_of_an_alias_a_position_and_a_set_operation(run):
    for sql in (
        "SELECT id AS a, age AS b FROM pets ORDER BY b",
        "SELECT id, age FROM pets ORDER BY 2",
        "SELECT * FROM (SELECT id, age FROM pets) ORDER BY age",
        "SELECT id, age FROM pets UNION SELECT id, age FROM pets ORDER BY age",
        "WITH p AS (SELECT id, age FROM pets) SELECT id, age FROM p ORDER BY age",
    ):
        gold = gold_result(sql, run)
        swapped = [(5, 1), (3, 3), (1, 3), (2, 3), (4, 9), (6, 12)]
        assert gold.tie_aware, sql
        assert equal(swapped, gold), sql


def test_where_ties_cannot_be_found_out_the_order_of_the_engine_is_the_right_one(run):
    gold = gold_result("SELECT DISTINCT kind FROM pets ORDER BY age", run)
    assert not gold.tie_aware
    assert equal(gold.rows, gold)
    assert not equal(gold.rows[::-1], gold)


def test_an_engine_that_refuses_the_rewritten_query_gives_a_strict_result(run):
    def old_engine(sql):
        if "DENSE_RANK" in sql:
            raise sqlite3.OperationalError("no such function")
        return run(sql)

    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 2", old_engine)
    assert not gold.tie_aware
    assert equal(gold.rows, gold)
    assert not equal([(5,), (3,)], gold) or gold.rows == ((5,), (3,))


def test_an_engine_that_reads_the_rewritten_query_otherwise_gives_a_strict_result(run):
    def odd_engine(sql):
        return [(99, 1)] if "DENSE_RANK" in sql else run(sql)

    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 2", odd_engine)
    assert not gold.tie_aware
    assert equal(gold.rows, gold)


def test_a_gold_query_that_fails_passes_its_error_on(run):
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        gold_result("SELECT 1 FROM birds ORDER BY 1", run)


def test_a_query_without_order_runs_once_and_one_with_order_twice(run):
    asked = []

    def counting(sql):
        asked.append(sql)
        return run(sql)

    gold_result("SELECT id FROM pets", counting)
    assert len(asked) == 1
    gold_result("SELECT id FROM pets ORDER BY id", counting)
    assert len(asked) == 3


def test_rows_are_frozen_and_the_result_pickles(run):
    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 2", lambda q: map_lists(run(q)))
    assert isinstance(gold.rows[0], tuple)
    assert pickle.loads(pickle.dumps(gold)) == gold


def map_lists(rows):
    return [list(row) for row in rows]


@pytest.mark.parametrize(
    ("sql", "cuts"),
    [
        ("SELECT id FROM pets ORDER BY age LIMIT 2", True),
        ("SELECT id FROM pets ORDER BY age LIMIT 3 OFFSET 2", True),
        ("SELECT id FROM pets LIMIT 2", True),
        ("SELECT id FROM pets ORDER BY age LIMIT 4", False),
        ("SELECT id FROM pets ORDER BY age", False),
        ("SELECT id FROM pets ORDER BY id LIMIT 2", False),
        ("SELECT id FROM pets", False),
    ],
)
def test_a_gold_query_that_chooses_among_ties_is_flagged(run, sql, cuts):
    assert gold_result(sql, run).cuts_ties == cuts


# --- Against every result that an engine might give ------------------------------------------

NEAR = [1.0, 1.0000008, 1.0000016]
tables = st.lists(st.tuples(st.sampled_from([*NEAR, 2, None, "1"]), st.integers(0, 2)), max_size=5)


def engine_results(table, limit, offset):
    """Every sequence of values that ``ORDER BY key LIMIT ... OFFSET ...`` may return."""
    for rows in itertools.permutations(table):
        ordered = sorted(rows, key=lambda row: row[1])
        yield tuple((value,) for value, _ in ordered[offset : offset + limit])


@settings(max_examples=150, deadline=None)
@given(tables, st.integers(0, 5), st.integers(0, 3), st.data())
def test_equal_iff_some_engine_could_return_these_rows(table, limit, offset, data):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (value, key INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", table)
    sql = f"SELECT value FROM t ORDER BY key LIMIT {limit} OFFSET {offset}"
    gold = gold_result(sql, lambda q: connection.execute(q).fetchall())
    connection.close()
    assert gold.tie_aware
    valid = set(engine_results(table, limit, offset))
    values = st.sampled_from([*NEAR, 2, None, "1"])
    size = st.just(len(gold.rows)) | st.integers(0, 5)
    got = data.draw(
        st.sampled_from(sorted(valid, key=repr))
        | size.flatmap(lambda n: st.tuples(*[st.tuples(values)] * n))
    )
    expected = any(len(got) == len(rows) and all(map(same_row, got, rows)) for rows in valid)
    assert equal(got, gold) == expected
    assert (agreement(got, gold) == 1.0) == expected
    assert 0.0 <= agreement(got, gold) <= 1.0


@settings(max_examples=150, deadline=None)
@given(tables, st.integers(0, 5), st.data())
def test_limit_without_order_is_equal_iff_some_engine_could_return_these_rows(table, limit, data):
    gold = GoldResult(
        tuple((v,) for v, _ in table[:limit]), False, limit, (tuple((v,) for v, _ in table),)
    )
    got = data.draw(st.lists(st.tuples(st.sampled_from([*NEAR, 2, None, "1"])), max_size=5))
    expected = len(got) == len(gold.rows) and any(
        all(map(same_row, got, chosen))
        for chosen in itertools.permutations(gold.classes[0] if table else (), len(got))
    )
    assert equal(got, gold) == expected
    assert (agreement(got, gold) == 1.0) == expected


# --- Agreement -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "expected", "value"),
    [
        ([(1,), (2,), (3,)], [(3,), (2,), (1,)], 1.0),
        ([(1,)], [(1,), (2,)], 1 / 2),
        ([(1,), (1,)], [(1,)], 1 / 2),
        ([(1,), (2,), (4,)], [(1,), (2,), (3,)], 2 / 4),
        ([(7,)], [(1,)], 0.0),
        ([], [(1,)], 0.0),
        ([(1,)], [], 0.0),
        ([(1, 2)], [(1,)], 0.0),
    ],
)
def test_agreement_of_bags_is_intersection_over_union(got, expected, value):
    assert agreement(got, plain(expected)) == value


@pytest.mark.parametrize(
    ("got", "value"),
    [
        ([(1,), (2,), (3,)], 1.0),
        ([(3,), (2,), (1,)], (1 + 1 / 3) / 2),
        ([(2,), (3,), (1,)], (1 + 0) / 2),
        ([(1,), (2,)], (2 / 3 + 2 / 3) / 2),
        ([(2,), (3,)], (2 / 3 + 0) / 2),
        ([(1,), (2,), (3,), (4,)], (3 / 4 + 3 / 4) / 2),
        ([(9,)], 0.0),
    ],
)
def test_agreement_with_ordered_rows_also_counts_places(got, value):
    assert agreement(got, plain([(1,), (2,), (3,)], ordered=True)) == pytest.approx(value)


def test_agreement_breaks_ties_in_favour_of_the_rows_given(run):
    gold = gold_result("SELECT id FROM pets ORDER BY age LIMIT 3", run)
    assert all(
        agreement([(5,), (a,), (b,)], gold) == 1.0 for a, b in itertools.permutations((1, 2, 3), 2)
    )
    assert agreement([(9,), (2,), (3,)], gold) == pytest.approx((2 / 4 + 2 / 3) / 2)
    assert agreement([(9,), (3,), (1,)], gold) == pytest.approx((2 / 4 + 2 / 3) / 2)


# --- Degenerate results ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "empty"),
        ([(0,)], "all zero or null"),
        ([(None, 0.0), (Decimal("0.00"), None)], "all zero or null"),
        ([(0, 1)], None),
        ([("",)], None),
        ([("0",)], None),
        ([(b"",)], None),
        ([(0,), ("a",)], None),
    ],
)
def test_degenerate_results_are_named(rows, reason):
    assert degenerate(rows) == reason
