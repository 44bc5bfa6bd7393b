import doctest
import importlib
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.evaluation.outcomes import NEVER, VOID, Outcomes, SuccessCounts, join_task_ids
from budget_envs.evaluation.pass_kt import estimate, pass_at_k, pass_kt, task_pass_kt

quick = settings(max_examples=60, deadline=None)

# One task: its episodes' entries, and how many more were requested but never recorded.
entries = st.one_of(st.integers(1, 5), st.none(), st.just(VOID), st.just(0))
tasks = st.tuples(st.lists(entries, max_size=5), st.integers(0, 2))
suites = st.lists(tasks, min_size=1, max_size=5)


def read(suite):
    episodes = {f"t{i}": listed for i, (listed, _) in enumerate(suite)}
    requested = {f"t{i}": len(listed) + lost for i, (listed, lost) in enumerate(suite)}
    return Outcomes.from_episodes(episodes, requested=requested)


def by_subsets(flags, k):
    """Share of all K-subsets of the trajectories with at least one success, exactly."""
    subsets = list(combinations(flags, k))
    return Fraction(sum(map(any, subsets)), len(subsets)) if subsets else None


def by_definition(suite, k, budget, rate):
    """Each task's exact value, by subsets; None where it has fewer than K episodes."""
    values = []
    for listed, lost in suite:
        kept = [e for e in [*listed, *[None] * lost] if e != 0 and (e != VOID or rate == "strict")]
        flags = [isinstance(e, int) and e <= budget for e in kept]
        values.append((by_subsets(flags, k), len(kept)))
    return values


# --- the estimator ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 8))
def test_estimator_equals_the_share_of_successful_subsets(n):
    table = pass_at_k([n] * (n + 1), range(n + 1), range(1, n + 1))
    for c in range(n + 1):
        flags = [True] * c + [False] * (n - c)
        expected = [float(by_subsets(flags, k)) for k in range(1, n + 1)]
        assert table[c] == pytest.approx(expected, abs=1e-15)


@quick
@given(st.data())
def test_estimator_equals_the_binomial_formula(data):
    n = data.draw(st.integers(1, 600))
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    assert abs(Fraction(pass_at_k([n], [c], [k])[0, 0]) - exact) < Fraction(1, 10**14)


def test_estimator_is_accurate_for_thousands_of_trajectories():
    n, rng = 4096, np.random.default_rng(0)
    cs = np.r_[1, 2, 63, 64, n - 1, rng.integers(1, n, 15)]
    ks = np.unique(np.r_[1, 2, 63, 64, 65, n // 2, n - 1, n, rng.integers(1, n, 15)])
    table = pass_at_k([n] * len(cs), cs, ks)
    for row, c in zip(table, cs.tolist(), strict=True):
        for value, k in zip(row, ks.tolist(), strict=True):
            exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
            assert abs(Fraction(value) - exact) < Fraction(1, 10**13), (c, k)


@quick
@given(st.integers(1, 40), st.floats(0, 1))
def test_estimator_is_unbiased(n, p):
    chance = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    expected = chance @ pass_at_k([n] * (n + 1), range(n + 1), range(1, n + 1))
    assert expected == pytest.approx(1 - (1 - p) ** np.arange(1, n + 1), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 17, 256, 1000])
def test_estimator_is_exact_at_its_edges(n):
    cs, ks = np.arange(n + 1), np.arange(1, n + 1)
    table = pass_at_k([n] * (n + 1), cs, ks)
    assert (table[0] == 0.0).all()
    assert (table[n] == 1.0).all()
    assert (table[n - cs[:, None] < ks] == 1.0).all()
    assert table[:, 0] == pytest.approx(cs / n, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 17, 256, 1000])
def test_estimator_is_monotone_in_k_and_c_and_stays_in_range(n):
    table = pass_at_k([n] * (n + 1), range(n + 1), range(1, n + 1))
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()
    assert table.min() >= 0.0
    assert table.max() <= 1.0


def test_estimator_is_undefined_beyond_n():
    table = pass_at_k([0, 1, 3], [0, 1, 1], [1, 2, 3, 9])
    assert np.isnan(table).tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, False, False, True],
    ]


def test_a_chosen_list_of_k_gives_the_same_numbers_as_all_of_them():
    n, ks = np.array([5, 30, 64]), [1, 4, 30, 64]
    every = pass_at_k(n, n // 3, range(1, 65))
    np.testing.assert_array_equal(pass_at_k(n, n // 3, ks), every[:, np.array(ks) - 1])


@pytest.mark.parametrize(
    ("n", "c", "ks"),
    [
        ([3], [4], [1]),
        ([3], [-1], [1]),
        ([3, 3], [1], [1]),
        ([3], [1], [0]),
        ([3], [1], [2, 1]),
        ([3], [1], [1, 1]),
        ([3], [1], []),
        ([3], [1], [1.5]),
        ([3], [1], [True]),
        (3, 1, [1]),
    ],
)
def test_estimator_refuses_what_is_not_a_count(n, c, ks):
    with pytest.raises(OptionError):
        pass_at_k(n, c, ks)


# --- outcomes --------------------------------------------------------------------------------


def test_zero_in_an_array_is_refused_as_ambiguous():
    with pytest.raises(OptionError, match="solved at reset"):
        Outcomes.from_array([[0, 3]])


@pytest.mark.parametrize(
    "turns",
    [
        [1, 2, 3],  # tasks fed as samples
        [[True, False]],  # flags, not turns
        [[1.0, np.inf]],
        [[1, 2], [3]],  # ragged
        [[1, -2]],
        [["1"]],
    ],
)
def test_what_is_not_a_table_of_turns_is_refused(turns):
    with pytest.raises(OptionError):
        Outcomes.from_array(turns)


def test_a_void_episode_with_a_verified_success_is_refused():
    with pytest.raises(OptionError, match="has a verdict"):
        Outcomes.from_array([[1, NEVER]], void=[[True, False]])


@pytest.mark.parametrize(
    "keywords",
    [
        {"void": [[False]]},
        {"void": [[0, 1]]},
        {"requested": [3]},
        {"requested": [-1]},
        {"requested": [1, 1]},
        {"requested": [1.0]},
        {"task_ids": ["a", "b"]},
    ],
)
def test_an_array_setting_that_does_not_fit_is_refused(keywords):
    with pytest.raises(OptionError):
        Outcomes.from_array([[NEVER, NEVER]], **keywords)


@pytest.mark.parametrize(
    ("turns", "void"), [([[1, 2]], [[False, False]]), ([[1, NEVER]], [[False, True]])]
)
def test_an_outcome_past_the_requested_number_is_refused(turns, void):
    with pytest.raises(OptionError, match="not asked for"):
        Outcomes.from_array(turns, void=void, requested=[1])


def test_task_ids_must_be_distinct():
    with pytest.raises(OptionError, match="distinct"):
        Outcomes.from_array([[1], [2]], task_ids=["a", "a"])


def test_episodes_that_were_never_recorded_are_failures():
    episodes = {"a": [1] * 40 + [None] * 40}
    outcomes = Outcomes.from_episodes(episodes, requested=100)
    assert estimate(SuccessCounts.truncate(outcomes, [1]), [1]).mean.item() == 0.4


def test_a_task_without_any_recorded_episode_keeps_its_place():
    outcomes = Outcomes.from_episodes({"a": [1, 1]}, requested={"a": 2, "b": 2})
    result = estimate(SuccessCounts.truncate(outcomes, [1]))
    assert outcomes.task_ids == ("a", "b")
    assert result.mean.tolist() == [[0.5], [0.5]]


def test_more_episodes_than_requested_are_refused():
    with pytest.raises(OptionError, match="2 episodes, but 1"):
        Outcomes.from_episodes({"a": [1, 2]}, requested=1)


def test_a_task_that_was_not_requested_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Did you mean 'lake/12'"):
        Outcomes.from_episodes({"lake/l2": [1]}, requested={"lake/12": 1})


@pytest.mark.parametrize("entry", [True, -2, 1.5, "fail", "1", np.True_, [1]])
def test_an_entry_that_is_no_outcome_is_refused(entry):
    with pytest.raises(OptionError, match="task 'a'"):
        Outcomes.from_episodes({"a": [entry]}, requested=1)


@pytest.mark.parametrize("requested", [-1, 1.5, "2", True, {"a": None}])
def test_a_requested_number_that_is_no_count_is_refused(requested):
    with pytest.raises(OptionError):
        Outcomes.from_episodes({"a": []}, requested=requested)


def test_an_episode_solved_at_reset_is_left_out_and_reported():
    outcomes = Outcomes.from_episodes({"a": [0, 1, None], "b": [0, 0]}, requested=3)
    result = estimate(SuccessCounts.truncate(outcomes, [1, 2]), [1])
    assert result.conditional.num_episodes.tolist() == [[3, 3]]
    assert result.mean.tolist() == [[0.25, 0.25]]  # a: 1 of 2, b: 0 of 1
    assert result.strict.mean.tolist() == [[0.25, 0.25]]
    assert result.num_solved_at_reset.tolist() == [3, 3]


def test_repeating_the_row_of_an_episode_changes_nothing():
    rows = [("a", 0, 2), ("a", 1, None), ("b", 0, VOID)]
    per_turn = [row for row in rows for _ in range(5)]
    once, often = (Outcomes.from_rows(r, requested=2) for r in (rows, per_turn))
    assert once.success_turns.tolist() == [[2, NEVER], [NEVER, NEVER]]
    assert once.void.tolist() == [[False, False], [True, False]]
    assert often.success_turns.tolist() == once.success_turns.tolist()
    assert often.void.tolist() == once.void.tolist()


def test_two_outcomes_for_one_episode_are_refused():
    with pytest.raises(OptionError, match="episode 7 of task 'a'"):
        Outcomes.from_rows([("a", 7, 2), ("a", 7, None)], requested=2)


# --- counts ----------------------------------------------------------------------------------


@quick
@given(suites, st.sets(st.integers(1, 7), min_size=1))
def test_counts_equal_a_count_by_hand(suite, budgets):
    counts = SuccessCounts.truncate(read(suite), sorted(budgets))
    for i, (listed, lost) in enumerate(suite):
        for j, budget in enumerate(sorted(budgets)):
            solved = [e for e in listed if isinstance(e, int) and 1 <= e <= budget]
            assert counts.successes[i, j] == len(solved)
            assert counts.void[i, j] == listed.count(VOID)
            assert counts.solved_at_reset[i, j] == listed.count(0)
            judged = len(listed) + lost - listed.count(VOID) - listed.count(0)
            assert counts.judged[i, j] == judged


@pytest.mark.parametrize("budgets", [[0, 1], [2, 1], [1, 1], [], [1.5], [True], [-1], [[1]], 3])
def test_budgets_that_are_not_increasing_positive_integers_are_refused(budgets):
    with pytest.raises(OptionError, match="budgets"):
        SuccessCounts.truncate(Outcomes.from_array([[1]]), budgets)


def test_a_success_on_the_last_turn_of_the_budget_counts():
    assert pass_kt([[4]], budgets=[3, 4, 5]).mean.tolist() == [[0.0, 1.0, 1.0]]


def test_reruns_are_joined_by_task_id():
    short = Outcomes.from_array([[1], [NEVER]], task_ids=["a", "b"])
    long = Outcomes.from_array([[NEVER], [2]], task_ids=["b", "a"])
    counts = SuccessCounts.rerun({2: long, 1: short})
    assert counts.task_ids == ("a", "b")
    assert counts.budgets.tolist() == [1, 2]
    assert counts.successes.tolist() == [[1, 1], [0, 0]]


def test_reruns_on_other_tasks_are_refused():
    with pytest.raises(OptionError, match="'c'"):
        SuccessCounts.rerun(
            {
                1: Outcomes.from_array([[1], [1]], task_ids=["a", "b"]),
                2: Outcomes.from_array([[1], [1], [1]], task_ids=["a", "b", "c"]),
            }
        )


def test_a_rerun_that_succeeds_after_its_budget_is_refused():
    with pytest.raises(OptionError, match="truncate"):
        SuccessCounts.rerun({2: Outcomes.from_array([[3]])})


def test_reruns_may_differ_in_episodes_between_budgets():
    few = Outcomes.from_array([[1]])
    many = Outcomes.from_array([[1, NEVER, NEVER]])
    result = estimate(SuccessCounts.rerun({1: few, 2: many}))
    assert result.conditional.num_episodes.tolist() == [[1, 3], [0, 3], [0, 3]]
    np.testing.assert_allclose(result.mean, [[1, 1 / 3], [np.nan, 2 / 3], [np.nan, 1]])


def test_a_rate_that_does_not_exist_is_refused_with_the_nearest_name():
    counts = SuccessCounts.truncate(Outcomes.from_array([[1]]), [1])
    with pytest.raises(OptionError, match="Did you mean 'strict'"):
        counts.trials("strickt")


def test_joining_returns_positions_in_the_other_listing():
    assert join_task_ids(["b", "a"], ["a", "b"]).tolist() == [1, 0]


@pytest.mark.parametrize(("wanted", "available"), [(["a", "b"], ["a"]), (["a"], ["a", "b"])])
def test_joining_names_a_task_that_only_one_side_has(wanted, available):
    with pytest.raises(OptionError, match="'b'"):
        join_task_ids(wanted, available)


# --- estimates -------------------------------------------------------------------------------


@quick
@given(suites)
def test_every_cell_of_both_rates_equals_the_definition(suite):
    counts = SuccessCounts.truncate(read(suite), [1, 2, 4])
    result = estimate(counts, [1, 2, 3, 9])
    for rate, cells in (("conditional", result.conditional), ("strict", result.strict)):
        table = task_pass_kt(counts, [1, 2, 3, 9], rate=rate)
        for i, k in enumerate(result.ks.tolist()):
            for j, budget in enumerate(result.budgets.tolist()):
                pairs = by_definition(suite, k, budget, rate)
                values = [np.nan if value is None else float(value) for value, _ in pairs]
                defined = [value for value, _ in pairs if value is not None]
                mean = float(sum(defined) / len(defined)) if defined else np.nan
                np.testing.assert_allclose(table[:, i, j], values, atol=1e-14)
                np.testing.assert_allclose(cells.mean[i, j], mean, atol=1e-14)
                assert cells.num_tasks[i, j] == len(defined)
                assert cells.num_episodes[i, j] == sum(n for v, n in pairs if v is not None)


@quick
@given(suites)
def test_means_stay_between_zero_and_one(suite):
    result = estimate(SuccessCounts.truncate(read(suite), [1, 3, 5]))
    for cells in (result.conditional, result.strict):
        known = cells.mean[cells.num_tasks > 0]
        assert ((known >= 0) & (known <= 1)).all()
        assert np.isnan(cells.mean[cells.num_tasks == 0]).all()


@quick
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**32))
def test_truncated_means_are_monotone_in_k_and_in_t(num_tasks, n, seed):
    rng = np.random.default_rng(seed)
    turns = rng.integers(1, 12, (num_tasks, n))
    turns[turns > 8] = NEVER
    mean = pass_kt(turns, range(1, 10)).mean
    assert (np.diff(mean, axis=0) >= 0).all()  # exactly
    assert (np.diff(mean, axis=1) >= -1e-14).all()


@quick
@given(suites)
def test_each_task_is_monotone_in_k_and_t_and_strict_is_never_above_conditional(suite):
    counts = SuccessCounts.truncate(read(suite), [1, 2, 3, 4, 5])
    conditional, strict = (task_pass_kt(counts, rate=rate) for rate in ("conditional", "strict"))
    for table in (conditional, strict):
        assert not (np.diff(table, axis=1) < 0).any()
        assert not (np.diff(table, axis=2) < 0).any()
    assert not (strict > conditional).any()


def test_rerun_estimates_need_not_be_monotone_in_t():
    turns = [[[1, 1], [NEVER, NEVER]]]
    result = pass_kt(turns, [1, 2], protocol="rerun")
    assert result.protocol == "rerun"
    assert result.mean.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_rerun_arrays_equal_one_truncated_table_per_budget():
    rng = np.random.default_rng(3)
    budgets = [2, 5]
    turns = np.stack([rng.integers(1, b + 1, (6, 4)) for b in budgets], axis=1)
    void = rng.random(turns.shape) < 0.2
    turns[void] = NEVER
    result = pass_kt(turns, budgets, protocol="rerun", void=void)
    for j, budget in enumerate(budgets):
        alone = pass_kt(turns[:, j], [budget], void=void[:, j])
        np.testing.assert_array_equal(result.mean[:, j], alone.mean[:, 0])
        np.testing.assert_array_equal(result.strict.mean[:, j], alone.strict.mean[:, 0])
        assert result.num_void[j] == alone.num_void[0]


def test_void_leaves_the_conditional_rate_and_fails_in_the_strict_one():
    result = pass_kt([[1, NEVER, NEVER]], [1], [1], void=[[False, False, True]])
    assert result.conditional.mean.item() == 0.5
    assert result.strict.mean.item() == pytest.approx(1 / 3)
    assert result.conditional.num_episodes.item() == 2
    assert result.strict.num_episodes.item() == 3
    assert result.num_void.tolist() == [1]


def test_one_judged_run_among_voids_does_not_speak_for_all_requested_ones():
    turns, void = [[1, NEVER, NEVER, NEVER]], [[False, True, True, True]]
    result = pass_kt(turns, [1], void=void)
    np.testing.assert_array_equal(result.mean[:, 0], [1.0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(result.strict.mean[:, 0], [0.25, 0.5, 0.75, 1.0])


def test_a_task_with_only_voids_stays_in_the_table():
    outcomes = Outcomes.from_array([[1, 1], [NEVER, NEVER]], void=[[False, False], [True, True]])
    counts = SuccessCounts.truncate(outcomes, [1])
    result = estimate(counts)
    assert result.total_tasks == 2
    assert result.conditional.num_tasks.tolist() == [[1], [1]]
    np.testing.assert_array_equal(task_pass_kt(counts)[:, :, 0], [[1, 1], [np.nan, np.nan]])
    assert result.strict.mean.tolist() == [[0.5], [0.5]]


def test_without_voids_both_rates_are_equal():
    result = pass_kt([[1, 3, NEVER], [2, NEVER, NEVER]], [1, 2, 3])
    np.testing.assert_array_equal(result.conditional.mean, result.strict.mean)
    np.testing.assert_array_equal(result.conditional.num_tasks, result.strict.num_tasks)


def test_a_task_set_that_shrinks_with_k_is_visible_in_every_cell():
    outcomes = Outcomes.from_episodes({"a": [1, None], "b": [1]}, requested={"a": 2, "b": 1})
    result = estimate(SuccessCounts.truncate(outcomes, [1]))
    assert result.conditional.num_tasks.tolist() == [[2], [1]]
    assert result.conditional.num_episodes.tolist() == [[3], [2]]


def test_one_sample_has_no_pass_at_two():
    turns = np.where(np.arange(100) < 30, 1, NEVER)[:, None]
    result = pass_kt(turns, [1], [1, 2])
    assert result.mean[0, 0] == pytest.approx(0.3)
    assert np.isnan(result.mean[1, 0])
    assert result.conditional.num_tasks.tolist() == [[100], [0]]


@pytest.mark.parametrize(("ks", "shape"), [(None, (1, 2)), ([1, 4], (2, 2))])
def test_no_tasks_give_nan_and_zero_counts(ks, shape):
    outcomes = Outcomes.from_episodes({}, requested=8)
    result = estimate(SuccessCounts.truncate(outcomes, [1, 2]), ks)
    assert result.mean.shape == shape
    assert np.isnan(result.mean).all()
    assert np.isnan(result.strict.mean).all()
    assert not result.conditional.num_tasks.any()
    assert result.total_tasks == 0


def test_tasks_without_episodes_give_nan_and_keep_their_count():
    outcomes = Outcomes.from_episodes({"a": [], "b": []}, requested=0)
    result = estimate(SuccessCounts.truncate(outcomes, [1]))
    assert np.isnan(result.mean).all()
    assert result.total_tasks == 2


@quick
@given(suites, st.randoms(use_true_random=False))
def test_the_order_of_tasks_and_episodes_is_irrelevant(suite, random):
    shuffled = [(random.sample(listed, len(listed)), lost) for listed, lost in suite]
    random.shuffle(shuffled)
    first, second = (estimate(SuccessCounts.truncate(read(s), [1, 3])) for s in (suite, shuffled))
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.strict.mean, second.strict.mean)
    np.testing.assert_array_equal(first.conditional.num_episodes, second.conditional.num_episodes)


def test_padding_with_a_smaller_requested_number_changes_nothing():
    padded = pass_kt([[1, NEVER, NEVER], [1, 2, NEVER]], [1, 2], requested=[2, 3])
    ragged = Outcomes.from_episodes({"a": [1, None], "b": [1, 2]}, requested={"a": 2, "b": 3})
    expected = estimate(SuccessCounts.truncate(ragged, [1, 2]))
    np.testing.assert_array_equal(padded.mean, expected.mean)
    np.testing.assert_array_equal(padded.conditional.num_tasks, expected.conditional.num_tasks)


def test_the_input_arrays_are_left_as_they_were():
    turns, void = np.array([[1, NEVER]]), np.array([[False, True]])
    pass_kt(turns, [1], void=void)
    assert turns.tolist() == [[1, NEVER]]
    assert void.tolist() == [[False, True]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64])
def test_integers_of_any_type_are_read_as_int64(dtype):
    turns, requested = np.full((300, 120), 1, dtype), np.full(300, 120, dtype=dtype)
    result = pass_kt(turns, [1, 100], [1], requested=requested)
    assert result.conditional.num_episodes.dtype == np.int64
    assert result.conditional.num_episodes.tolist() == [[36000, 36000]]


def test_a_protocol_that_does_not_exist_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Did you mean 'rerun'"):
        pass_kt([[1]], [1], protocol="re-run")


@pytest.mark.parametrize("void", [None, [[False]]])
def test_rerun_arrays_need_one_axis_per_budget(void):
    with pytest.raises(OptionError, match="budgets, n"):
        pass_kt([[[1], [1]]], [1, 2, 3] if void is None else [1, 2], protocol="rerun", void=void)


def test_the_documented_example_is_true():
    # The package has a function of the module's name, so attribute look-up would find that.
    results = doctest.testmod(importlib.import_module("budget_envs.evaluation.pass_kt"))
    assert results.attempted > 0
    assert results.failed == 0
