import pytest

from budget_envs.tasks.synthetic_sql.query import Condition, Query, SetOperation

FULL = Query(
    select=("kind", "COUNT(*)"),
    source="pets",
    where=(Condition("a > 1", slips=("a < 1",)), Condition("b IN (1, 2)", weaker=("b = 1",))),
    group=("kind",),
    having=(Condition("COUNT(*) > 2", slips=("COUNT(*) > 3",)),),
    order=("COUNT(*) DESC", "kind"),
    limit=3,
    distinct=True,
    other_selects=(("kind", "COUNT(a)"),),
    weaker_sources=("cats",),
)


def test_a_full_query_is_written_in_the_order_of_sql():
    assert FULL.sql == (
        "SELECT DISTINCT kind, COUNT(*) FROM pets WHERE a > 1 AND b IN (1, 2) GROUP BY kind "
        "HAVING COUNT(*) > 2 ORDER BY COUNT(*) DESC, kind LIMIT 3"
    )


def test_a_short_query_has_no_empty_clauses():
    assert Query(("a",), "t").sql == "SELECT a FROM t"
    assert Query(("a",), "t", limit=0).sql == "SELECT a FROM t LIMIT 0"


def test_every_part_is_left_out_once():
    def without(text, replacement=""):
        assert text in FULL.sql
        return FULL.sql.replace(text, replacement)

    assert set(FULL.weaker()) == {
        without("a > 1 AND "),
        without(" AND b IN (1, 2)"),
        without("b IN (1, 2)", "b = 1"),
        without(" HAVING COUNT(*) > 2"),
        without("pets", "cats"),
        without("DISTINCT "),
        without(" LIMIT 3"),
    }


def test_slips_change_one_thing():
    assert set(FULL.slips()) == {
        FULL.sql.replace("COUNT(*) FROM", "COUNT(a) FROM"),
        FULL.sql.replace("a > 1", "a < 1"),
        FULL.sql.replace("COUNT(*) > 2", "COUNT(*) > 3"),
        FULL.sql.replace("COUNT(*) DESC", "COUNT(*)"),
        FULL.sql.replace("LIMIT 3", "LIMIT 4"),
    }


def test_a_rising_order_is_reversed_to_a_falling_one():
    assert list(Query(("a",), "t", order=("a", "b")).slips()) == [
        "SELECT a FROM t ORDER BY a DESC, b"
    ]


def test_sort_keys_are_selected_without_limit_and_distinct():
    assert FULL.sort_keys.sql == (
        "SELECT COUNT(*), kind FROM pets WHERE a > 1 AND b IN (1, 2) GROUP BY kind "
        "HAVING COUNT(*) > 2 ORDER BY COUNT(*) DESC, kind"
    )


@pytest.mark.parametrize("operator", ["UNION", "INTERSECT", "EXCEPT"])
def test_set_operations_are_weakened_to_an_operand_and_slip_to_another_operator(operator):
    left = Query(("a",), "t", (Condition("a > 1", slips=("a < 1",)),))
    both = SetOperation(operator, left, Query(("b",), "u"))
    assert both.sql == f"SELECT a FROM t WHERE a > 1 {operator} SELECT b FROM u"
    assert list(both.weaker()) == [
        "SELECT DISTINCT a FROM t WHERE a > 1",
        "SELECT DISTINCT b FROM u",
    ]
    others = {"UNION", "INTERSECT", "EXCEPT"} - {operator}
    slips = set(both.slips())
    assert {both.sql.replace(operator, other) for other in others} <= slips
    assert f"SELECT a FROM t WHERE a < 1 {operator} SELECT b FROM u" in slips
    assert (f"SELECT b FROM u {operator} SELECT a FROM t WHERE a > 1" in slips) == (
        operator == "EXCEPT"
    )
    assert not both.ordered
