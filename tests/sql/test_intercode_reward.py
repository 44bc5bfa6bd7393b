import math
import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.sql.intercode_reward import intercode_reward, kendall_tau_b

ABC = [("a",), ("b",), ("c",)]
rows = st.lists(st.tuples(st.sampled_from([1, 2, 3, "a", "b", 1.0, None])), max_size=8)
texts = st.lists(
    st.tuples(st.sampled_from("abcdé (1,)"), st.sampled_from("abcdé (1,)")), max_size=9
)


def of(values):
    return [(value,) for value in values]


@pytest.mark.parametrize(
    ("got", "gold", "reward"),
    [
        pytest.param(of([1, 2, 3]), of([1, 2, 3]), 1.0, id="same"),
        pytest.param(of([3, 2, 1]), of([1, 2, 3]), -1.0, id="reversed"),
        pytest.param(of([1]), of([1, 2]), 0.5, id="subset"),
        pytest.param(of([1, 1]), of([1]), 0.5, id="duplicate"),
        pytest.param(of([1.0]), of([1]), 0.0, id="1.0 for 1"),
        pytest.param(of([2, 1, 3]), of([1, 2, 3]), 0.33, id="two of three swapped"),
        pytest.param([], [], 1.0, id="both empty"),
        pytest.param([], of([1]), 0.0, id="nothing for something"),
        pytest.param(of([1]), [], 0.0, id="something for nothing"),
        pytest.param("Error executing query: x", of([1]), 0.0, id="error"),
        pytest.param("Error executing query: x", [], 0.0, id="error for nothing"),
        pytest.param(None, [], 0.0, id="statement without a result"),
        pytest.param(of([1, 2]), of([1, 2, 3]), 0.67, id="rounded, since tau is 1"),
        pytest.param(of([1]), of([1, 2, 3]), 1 / 3, id="not rounded, since tau is undefined"),
        pytest.param(of([5, 5, 5]), of([5, 5]), 2 / 3, id="all common rows equal"),
        pytest.param(of([2, 1, 9]), of([1, 2]), -0.67, id="overlap 2/3 times tau -1"),
        pytest.param(of([Decimal("1")]), of([1]), 0.0, id="decimal for integer"),
        pytest.param(of(["1"]), of([1]), 0.0, id="text for integer"),
        pytest.param(of([None]), of([None]), 1.0, id="null"),
        pytest.param([(1, 2)], [(2, 1)], 0.0, id="columns swapped"),
        pytest.param([[1, 2]], [(1, 2)], 1.0, id="a list for a tuple"),
        pytest.param(of([10, 9]), of([9, 10]), -1.0, id="ranked as text"),
    ],
)
def test_table_of_hand_computed_rewards(got, gold, reward):
    assert intercode_reward(got, gold) == reward


def test_what_a_swap_costs_depends_on_how_the_rows_sort_as_text():
    b, a, c = ABC[1], ABC[0], ABC[2]
    assert intercode_reward([c, b, a], [a, b, c]) == -1.0
    assert intercode_reward([c, a, b], [b, a, c]) == 0.33  # the same reversal
    assert intercode_reward([b, a, c], [b, a, c]) == 1.0


def test_common_rows_are_the_first_occurrences():
    # of the three 1s one is common, and it is the one at the start
    assert intercode_reward(of([1, 2, 1, 1]), of([1, 2])) == 0.5
    assert intercode_reward(of([1, 1, 2, 1]), of([2, 1])) == -0.5


@given(rows)
def test_the_same_rows_earn_one(gold):
    assert intercode_reward(gold, gold) == 1.0


@given(rows, rows)
def test_reward_is_between_minus_one_and_one_and_symmetric(got, gold):
    reward = intercode_reward(got, gold)
    assert -1.0 <= reward <= 1.0
    assert reward == intercode_reward(gold, got)
    assert type(reward) is float


@given(st.lists(st.integers(0, 9).map(lambda x: (x,)), min_size=2, unique=True))
def test_sorted_distinct_rows_reversed_earn_minus_one(gold):
    assert intercode_reward(sorted(gold, reverse=True), sorted(gold)) == -1.0


# --- Against SciPy, which InterCode calls ----------------------------------------------------


def scipy_tau(left, right):
    stats = pytest.importorskip("scipy.stats", reason="SciPy is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stats.kendalltau(left, right, nan_policy="omit").statistic


@settings(max_examples=300, deadline=None)
@given(texts)
def test_kendall_tau_is_that_of_scipy_bit_for_bit(pairs):
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    tau, expected = kendall_tau_b(left, right), scipy_tau(left, right)
    assert (math.isnan(tau) and math.isnan(expected)) or tau == expected


def scipy_reward(got, gold):
    """The formula in SciPy's and NumPy's terms, for results that share rows."""
    agent, expected = [str(r) for r in got], [str(r) for r in gold]
    common = {t: min(agent.count(t), expected.count(t)) for t in {*agent} & {*expected}}
    union = sum(max(agent.count(t), expected.count(t)) for t in {*agent} | {*expected})
    over_union = sum(common.values()) * 1.0 / union

    def shared(texts):
        return [t for i, t in enumerate(texts) if texts[:i].count(t) < common.get(t, 0)]

    tau = scipy_tau(shared(agent), shared(expected))
    return over_union if np.isnan(tau) else round(tau * over_union, 2)


@settings(max_examples=300, deadline=None)
@given(rows, rows)
def test_reward_is_the_formula_in_terms_of_scipy(got, gold):
    if set(map(str, got)) & set(map(str, gold)):
        assert intercode_reward(got, gold) == scipy_reward(got, gold)


@pytest.mark.parametrize("size", [40, 700])
def test_large_results_agree_with_scipy_too(size):
    gold = of(range(size))
    got = of([(i * 37) % size for i in range(size)][: size - 9])
    assert intercode_reward(got, gold) == scipy_reward(got, gold)


def test_kendall_tau_is_undefined_without_variation():
    assert math.isnan(kendall_tau_b([], []))
    assert math.isnan(kendall_tau_b(["a"], ["a"]))
    assert math.isnan(kendall_tau_b(["a", "a"], ["a", "b"]))
    assert math.isnan(kendall_tau_b(["a", "b"], ["a", "a"]))


def test_kendall_tau_of_a_hand_computed_case_with_ties():
    # of 6 pairs 4 agree, one is tied on the left and another on the right: 4 / sqrt(5) / sqrt(5)
    assert kendall_tau_b(["a", "a", "b", "c"], ["x", "y", "y", "z"]) == pytest.approx(4 / 5)
