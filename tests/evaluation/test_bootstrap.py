import importlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import DependencyNotInstalled, OptionError
from budget_envs.evaluation import cell_intervals
from budget_envs.evaluation.bootstrap import (
    mean_interval,
    paired_difference_interval,
    wilson_interval,
)
from budget_envs.evaluation.cell_intervals import pass_kt_difference_intervals, pass_kt_intervals
from budget_envs.evaluation.outcomes import NEVER, VOID, Outcomes, SuccessCounts
from budget_envs.evaluation.pass_kt import estimate, task_pass_kt

quick = settings(max_examples=40, deadline=None)
entries = st.one_of(st.integers(1, 4), st.none(), st.just(VOID))
suites = st.lists(st.lists(entries, max_size=4), min_size=1, max_size=7)
rates = st.sampled_from(["conditional", "strict"])
episode_values = st.lists(st.floats(-1e6, 1e6), max_size=4)
named_values = st.dictionaries(st.text(max_size=3), episode_values, min_size=1, max_size=8)


def count(suite, budgets=(1, 2, 3)):
    episodes = {f"t{i}": listed for i, listed in enumerate(suite)}
    requested = {task_id: len(listed) for task_id, listed in episodes.items()}
    return SuccessCounts.truncate(Outcomes.from_episodes(episodes, requested=requested), budgets)


def random_counts(num_tasks=30, n=6, seed=0, skill=0.5, void_share=0.0):
    rng = np.random.default_rng(seed)
    is_success = rng.random((num_tasks, n)) < skill * rng.random((num_tasks, 1)) * 2
    turns = np.where(is_success, rng.integers(1, 6, (num_tasks, n)), NEVER)
    void = (turns == NEVER) & (rng.random(turns.shape) < void_share)
    return SuccessCounts.truncate(Outcomes.from_array(turns, void=void), [1, 2, 4, 5])


def draws(seed, num_resamples, num_tasks):
    """The documented resamples: one stream for each, from (seed, index)."""
    for index in range(num_resamples):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
        yield rng.integers(0, num_tasks, num_tasks)


def slow_mean(values):
    """Mean over the tasks that have a value, cell by cell."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def slow_percentiles(replicates, level):
    """Percentiles over the resamples in which the cell has a value."""
    low, high = np.full((2, *replicates.shape[1:]), np.nan)
    for cell in np.ndindex(low.shape):
        known = replicates[(slice(None), *cell)]
        known = known[~np.isnan(known)]
        if known.size:
            low[cell], high[cell] = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return low, high


# --- Pass@(K,T) ------------------------------------------------------------------------------


@quick
@given(suites, rates, st.sampled_from([0.5, 0.9, 0.95]), st.integers(0, 2**40))
def test_intervals_equal_a_loop_over_resampled_task_tables(suite, rate, level, seed):
    counts = count(suite)
    result = pass_kt_intervals(
        counts, [1, 2, 4], rate=rate, level=level, num_resamples=25, seed=seed
    )
    table = task_pass_kt(counts, [1, 2, 4], rate=rate)
    replicates = np.array([slow_mean(table[drawn]) for drawn in draws(seed, 25, len(suite))])
    low, high = slow_percentiles(replicates, level)
    np.testing.assert_allclose(result.low, low, atol=1e-12)
    np.testing.assert_allclose(result.high, high, atol=1e-12)
    np.testing.assert_allclose(result.estimate, slow_mean(table), atol=1e-12)
    np.testing.assert_array_equal(result.num_tasks, (~np.isnan(table)).sum(axis=0))


@quick
@given(st.data(), rates, st.integers(0, 2**40))
def test_difference_intervals_equal_a_loop_over_resampled_task_tables(data, rate, seed):
    sizes = data.draw(st.integers(1, 6))
    suite = st.lists(st.lists(entries, max_size=4), min_size=sizes, max_size=sizes)
    policy, baseline = count(data.draw(suite)), count(data.draw(suite))
    result = pass_kt_difference_intervals(
        policy, baseline, [1, 2, 4], rate=rate, num_resamples=25, seed=seed
    )
    tables = [task_pass_kt(side, [1, 2, 4], rate=rate) for side in (policy, baseline)]
    difference = tables[0] - tables[1]  # NaN where either side has too few episodes
    replicates = np.array([slow_mean(difference[drawn]) for drawn in draws(seed, 25, sizes)])
    low, high = slow_percentiles(replicates, 0.95)
    np.testing.assert_allclose(result.low, low, atol=1e-12)
    np.testing.assert_allclose(result.high, high, atol=1e-12)
    np.testing.assert_allclose(result.estimate, slow_mean(difference), atol=1e-12)
    np.testing.assert_array_equal(result.num_tasks, (~np.isnan(difference)).sum(axis=0))


def test_intervals_agree_with_scipy_up_to_resampling_noise():
    pytest.importorskip("scipy", minversion="1.15", reason="scipy >= 1.15 (rng=) is not installed")
    stats = pytest.importorskip("scipy.stats")
    counts = random_counts(num_tasks=60, n=8)
    result = pass_kt_intervals(counts, [1, 4], num_resamples=8000, seed=0)
    table = task_pass_kt(counts, [1, 4])
    for cell in np.ndindex(2, 4):
        theirs = stats.bootstrap(
            (table[(slice(None), *cell)],),
            np.mean,
            method="percentile",
            n_resamples=8000,
            rng=np.random.default_rng(1),
        ).confidence_interval
        assert result.low[cell] == pytest.approx(theirs.low, abs=0.006)
        assert result.high[cell] == pytest.approx(theirs.high, abs=0.006)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng, covered, truth = np.random.default_rng(5), 0, 0.5
    for trial in range(200):
        skill = rng.random((80, 1))  # mean 1/2: Pass@1 is 0.5
        turns = np.where(rng.random((80, 4)) < skill, 1, NEVER)
        counts = SuccessCounts.truncate(Outcomes.from_array(turns), [1])
        result = pass_kt_intervals(counts, [1], level=0.9, num_resamples=300, seed=trial)
        covered += result.low.item() <= truth <= result.high.item()
    assert 0.84 < covered / 200 < 0.96


def test_the_estimate_is_that_of_the_counts_and_lies_inside():
    counts = random_counts(void_share=0.1)
    result = pass_kt_intervals(counts, seed=0)
    expected = estimate(counts)
    np.testing.assert_allclose(result.estimate, expected.mean, rtol=1e-14)
    np.testing.assert_array_equal(result.num_tasks, expected.conditional.num_tasks)
    np.testing.assert_array_equal(result.ks, expected.ks)
    np.testing.assert_array_equal(result.budgets, expected.budgets)
    known = expected.conditional.num_tasks > 0
    assert (result.low <= result.estimate)[known].all()
    assert (result.estimate <= result.high)[known].all()


def test_the_strict_rate_counts_voids_as_failures():
    counts = random_counts(void_share=0.5)
    result = pass_kt_intervals(counts, [1, 2], rate="strict", num_resamples=50, seed=0)
    assert result.rate == "strict"
    np.testing.assert_allclose(result.estimate, estimate(counts, [1, 2]).strict.mean, rtol=1e-14)
    assert (result.high < pass_kt_intervals(counts, [1, 2], seed=0).high).any()


def test_clusters_are_tasks_and_not_trajectories():
    turns = np.where(np.arange(20)[:, None] < 10, 1, NEVER) * np.ones((1, 50), dtype=int)
    counts = SuccessCounts.truncate(Outcomes.from_array(turns), [1])
    result = pass_kt_intervals(counts, [1], seed=0)  # 20 coins, however often each is tossed
    assert (result.high - result.low).item() == pytest.approx(4 * math.sqrt(0.25 / 20), rel=0.15)


@pytest.mark.parametrize(("turn", "value"), [(1, 1.0), (NEVER, 0.0)])
def test_an_interval_of_equal_episodes_is_a_point_and_not_nan(turn, value):
    counts = SuccessCounts.truncate(Outcomes.from_array(np.full((9, 4), turn)), [1, 2])
    result = pass_kt_intervals(counts, seed=0, num_resamples=50)
    for ends in (result.low, result.estimate, result.high):
        np.testing.assert_array_equal(ends, np.full((4, 2), value))


def test_a_wider_level_gives_wider_intervals():
    counts = random_counts()
    narrow, wide = (pass_kt_intervals(counts, seed=0, level=level) for level in (0.5, 0.99))
    assert (wide.low <= narrow.low).all()
    assert (wide.high >= narrow.high).all()
    assert (wide.high - wide.low > narrow.high - narrow.low).any()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not():
    counts = random_counts()
    first, again, other = (pass_kt_intervals(counts, seed=s, num_resamples=99) for s in (7, 7, 8))
    assert first.low.tobytes() == again.low.tobytes()
    assert first.high.tobytes() == again.high.tobytes()
    assert first.low.tobytes() != other.low.tobytes()


@pytest.mark.parametrize("block_bytes", [1, 1000, 10**9])
def test_the_size_of_the_working_blocks_does_not_change_a_byte(monkeypatch, block_bytes):
    counts = random_counts(void_share=0.2)
    expected = pass_kt_intervals(counts, seed=3, num_resamples=101)
    monkeypatch.setattr(cell_intervals, "_WEIGHTS_BYTES", block_bytes)
    result = pass_kt_intervals(counts, seed=3, num_resamples=101)
    assert result.low.tobytes() == expected.low.tobytes()
    assert result.high.tobytes() == expected.high.tobytes()


def test_the_order_of_the_tasks_does_not_change_a_byte():
    counts = random_counts(void_share=0.2)
    shuffled = counts.align(sorted(counts.task_ids, key=lambda name: name[::-1]))
    assert shuffled.task_ids != counts.task_ids
    first, second = (pass_kt_intervals(c, seed=3, num_resamples=50) for c in (counts, shuffled))
    assert first.low.tobytes() == second.low.tobytes()
    assert first.high.tobytes() == second.high.tobytes()


def test_another_process_with_another_hash_seed_gives_the_same_bytes():
    script = (
        "from budget_envs.evaluation.bootstrap import mean_interval\n"
        "from budget_envs.evaluation.cell_intervals import pass_kt_intervals\n"
        "from budget_envs.evaluation.outcomes import Outcomes, SuccessCounts\n"
        "e = {f'task {i}': [1 + i % 3, None, 2] for i in range(20)}\n"
        "c = SuccessCounts.truncate(Outcomes.from_episodes(e, requested=3), [1, 2, 3])\n"
        "r = pass_kt_intervals(c, seed=11, num_resamples=64)\n"
        "m = mean_interval({k: [len(k)] for k in e}, seed=11, num_resamples=64)\n"
        "import sys; sys.stdout.write(r.low.tobytes().hex() + r.high.tobytes().hex() + repr(m))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 100


def test_the_global_random_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    pass_kt_intervals(random_counts(), seed=0, num_resamples=20)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_no_tasks_give_nan_and_zero_counts():
    result = pass_kt_intervals(count([]), [1, 2], seed=0, num_resamples=10)
    for ends in (result.low, result.estimate, result.high):
        assert ends.shape == (2, 3)
        assert np.isnan(ends).all()
    assert not result.num_tasks.any()


def test_only_voids_give_nan_conditionally_and_zero_strictly():
    counts = count([[VOID, VOID], [VOID]])
    conditional = pass_kt_intervals(counts, [1], seed=0, num_resamples=10)
    strict = pass_kt_intervals(counts, [1], rate="strict", seed=0, num_resamples=10)
    assert np.isnan(conditional.low).all()
    assert np.isnan(conditional.high).all()
    assert strict.high.tolist() == [[0.0, 0.0, 0.0]]


def test_a_cell_that_one_task_carries_is_that_tasks_value():
    counts = count([[1, None], [2], [1], [None]])
    result = pass_kt_intervals(counts, [1, 2], seed=0, num_resamples=200)
    assert result.num_tasks[1].tolist() == [1, 1, 1]
    assert result.low[1].tolist() == result.high[1].tolist() == [1.0, 1.0, 1.0]


def test_more_tasks_than_16_bits_can_count_are_counted():
    turns = np.where(np.arange(90_000)[:, None] % 10, 1, NEVER)
    counts = SuccessCounts.truncate(Outcomes.from_array(turns), [1, 2])
    result = pass_kt_intervals(counts, seed=0, num_resamples=5)
    assert result.estimate == pytest.approx(0.9)
    assert result.low == pytest.approx(0.9, abs=0.01)
    assert result.high == pytest.approx(0.9, abs=0.01)


def test_rerun_counts_are_bootstrapped_budget_by_budget():
    by_budget = {b: Outcomes.from_array([[1], [NEVER], [b]]) for b in (1, 3)}
    counts = SuccessCounts.rerun(by_budget)
    result = pass_kt_intervals(counts, seed=0, num_resamples=50)
    assert result.protocol == "rerun"
    assert result.estimate == pytest.approx(np.array([[2 / 3, 2 / 3]]))
    np.testing.assert_array_equal(result.low[:, 0], result.low[:, 1])  # shared resamples


def test_a_policy_does_not_differ_from_itself():
    counts = random_counts(void_share=0.2)
    result = pass_kt_difference_intervals(counts, counts, seed=0, num_resamples=50)
    known = result.num_tasks > 0
    for ends in (result.low, result.estimate, result.high):
        assert (ends[known] == 0.0).all()
        assert np.isnan(ends[~known]).all()


def test_swapping_the_policies_mirrors_the_difference():
    strong, weak = random_counts(skill=0.9, seed=1), random_counts(skill=0.2, seed=2)
    ours = pass_kt_difference_intervals(strong, weak, seed=0)
    theirs = pass_kt_difference_intervals(weak, strong, seed=0)
    np.testing.assert_array_equal(ours.estimate, -theirs.estimate)
    np.testing.assert_allclose(ours.low, -theirs.high, atol=1e-14)
    assert (ours.low[0] > 0).all()


def test_pairing_narrows_the_interval_of_policies_that_solve_the_same_tasks():
    turns = np.where(np.arange(40)[:, None] % 2, 1, NEVER) * np.ones((1, 4), dtype=int)
    better = turns.copy()
    better[0, 0] = 1
    ours, theirs = (
        SuccessCounts.truncate(Outcomes.from_array(table), [1]) for table in (better, turns)
    )
    paired = pass_kt_difference_intervals(ours, theirs, [1], seed=0)
    alone = pass_kt_intervals(ours, [1], seed=0)
    assert paired.high - paired.low < 0.1 * (alone.high - alone.low)


def test_differences_join_on_task_ids_and_not_on_positions():
    counts = random_counts()
    reversed_rows = counts.align(counts.task_ids[::-1])
    result = pass_kt_difference_intervals(counts, reversed_rows, seed=0, num_resamples=20)
    assert (result.estimate == 0.0).all()
    assert (result.low == 0.0).all()


def test_a_difference_over_different_tasks_is_refused():
    with pytest.raises(OptionError, match="'t2'"):
        pass_kt_difference_intervals(count([[1]] * 2), count([[1]] * 3), seed=0)


def test_a_difference_over_different_budgets_is_refused():
    with pytest.raises(OptionError, match="same protocol and budgets"):
        pass_kt_difference_intervals(count([[1]], [1, 2]), count([[1]], [1, 3]), seed=0)


def test_a_difference_over_different_protocols_is_refused():
    outcomes = Outcomes.from_array([[1]])
    truncated, rerun = SuccessCounts.truncate(outcomes, [1]), SuccessCounts.rerun({1: outcomes})
    with pytest.raises(OptionError, match="'rerun'"):
        pass_kt_difference_intervals(truncated, rerun, seed=0)


def test_a_difference_goes_up_to_the_smaller_number_of_episodes():
    result = pass_kt_difference_intervals(count([[1] * 3]), count([[1] * 5]), seed=0)
    assert result.ks.tolist() == [1, 2, 3]


BAD_SETTINGS = [
    {"level": 0.0},
    {"level": 1.0},
    {"level": 95},
    {"level": math.nan},
    {"num_resamples": 0},
    {"num_resamples": -1},
    {"num_resamples": True},
    {"num_resamples": 10.0},
    {"seed": -1},
    {"seed": None},
    {"seed": True},
    {"seed": 0.0},
]


@pytest.mark.parametrize("wrong", BAD_SETTINGS, ids=str)
def test_settings_out_of_range_are_refused_everywhere(wrong):
    counts, values, keywords = count([[1]]), {"a": [1.0]}, {"seed": 0, **wrong}
    for call, arguments in (
        (pass_kt_intervals, (counts,)),
        (pass_kt_difference_intervals, (counts, counts)),
        (mean_interval, (values,)),
        (paired_difference_interval, (values, values)),
    ):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            call(*arguments, **keywords)


def test_a_rate_or_k_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="rate"):
        pass_kt_intervals(count([[1]]), seed=0, rate="all")
    with pytest.raises(OptionError, match="ks"):
        pass_kt_intervals(count([[1]]), [0], seed=0)


# --- any quantity ----------------------------------------------------------------------------


@quick
@given(named_values, st.integers(0, 2**40))
def test_mean_interval_equals_a_loop_over_resampled_tasks(values, seed):
    result = mean_interval(values, seed=seed, level=0.8, num_resamples=30)
    means = np.array([np.mean(values[key]) for key in sorted(values) if values[key]])
    assert result.num_tasks == len(means)
    assert result.num_empty_tasks == len(values) - len(means)
    assert result.num_episodes == sum(map(len, values.values()))
    if not len(means):
        assert math.isnan(result.estimate)
        return
    replicates = [means[drawn].mean() for drawn in draws(seed, 30, len(means))]
    low, high = np.quantile(replicates, [0.1, 0.9])
    assert result.estimate == pytest.approx(means.mean(), abs=1e-6)
    assert result.low == pytest.approx(low, abs=1e-6)
    assert result.high == pytest.approx(high, abs=1e-6)


def test_every_task_weighs_the_same_however_many_episodes_it_has():
    assert mean_interval({"a": [1.0] * 99, "b": [0.0]}, seed=0).estimate == 0.5


def test_a_mean_interval_does_not_depend_on_the_order_of_the_tasks():
    values = {f"t{i}": [float(i), 2.0 * i] for i in range(10)}
    assert mean_interval(values, seed=4) == mean_interval(
        dict(reversed(list(values.items()))), seed=4
    )


def test_a_mean_interval_says_its_method_and_level():
    result = mean_interval({"a": [1.0], "b": [3.0]}, seed=0, level=0.9)
    assert (result.method, result.level) == ("task bootstrap (percentile)", 0.9)
    assert (result.low, result.estimate, result.high) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_episode_value_that_is_not_finite_is_refused(value):
    with pytest.raises(OptionError, match="task 'b'"):
        mean_interval({"a": [1.0], "b": [value]}, seed=0)


@pytest.mark.parametrize(("values", "empty"), [({}, 0), ({"a": [], "b": []}, 2)])
def test_a_mean_of_nothing_is_nan_with_zero_counts(values, empty):
    result = mean_interval(values, seed=0)
    assert np.isnan([result.estimate, result.low, result.high]).all()
    assert (result.num_tasks, result.num_empty_tasks, result.num_episodes) == (0, empty, 0)


@quick
@given(st.data(), st.integers(0, 2**40))
def test_paired_interval_is_the_mean_interval_of_task_differences(data, seed):
    policy = data.draw(named_values)
    baseline = {task_id: data.draw(episode_values) for task_id in reversed(policy)}
    result = paired_difference_interval(policy, baseline, seed=seed, num_resamples=30)
    differences = {
        key: [math.fsum(policy[key]) / len(policy[key]) - math.fsum(other) / len(other)]
        if policy[key] and other
        else []
        for key, other in baseline.items()
    }
    expected = mean_interval(differences, seed=seed, num_resamples=30)
    np.testing.assert_array_equal(
        [result.estimate, result.low, result.high], [expected.estimate, expected.low, expected.high]
    )
    assert result.num_tasks == expected.num_tasks
    assert result.num_empty_tasks == expected.num_empty_tasks


def test_a_paired_interval_counts_the_episodes_of_the_tasks_it_used():
    result = paired_difference_interval(
        {"a": [1.0, 2.0], "b": []}, {"a": [1.0], "b": [5.0]}, seed=0
    )
    assert (result.estimate, result.num_tasks, result.num_empty_tasks) == (0.5, 1, 1)
    assert result.num_episodes == 3


@pytest.mark.parametrize(
    ("policy", "baseline"),
    [({"a": [1.0], "b": [1.0]}, {"a": [1.0]}), ({"a": [1.0]}, {"a": [1.0], "b": [1.0]})],
)
def test_a_task_missing_on_either_side_is_an_error(policy, baseline):
    with pytest.raises(OptionError, match="'b'"):
        paired_difference_interval(policy, baseline, seed=0)


# --- Wilson ----------------------------------------------------------------------------------


@quick
@given(st.integers(1, 500), st.data())
def test_wilson_interval_equals_its_closed_form(trials, data):
    pytest.importorskip("scipy.stats", reason="scipy is not installed")
    successes = data.draw(st.integers(0, trials))
    p, z = successes / trials, 1.959963984540054  # the normal quantile of 0.975
    center = (p + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = p * (1 - p) / trials + z**2 / (4 * trials**2)
    half = z * math.sqrt(spread) / (1 + z**2 / trials)
    result = wilson_interval(successes, trials)
    assert result.estimate == p
    assert result.low == pytest.approx(max(center - half, 0.0), abs=1e-12)
    assert result.high == pytest.approx(min(center + half, 1.0), abs=1e-12)
    assert (result.method, result.num_tasks, result.num_episodes) == ("wilson", trials, trials)


def test_wilson_interval_of_no_trials_is_nan():
    result = wilson_interval(0, 0)
    assert np.isnan([result.estimate, result.low, result.high]).all()
    assert result.num_episodes == 0


@pytest.mark.parametrize(
    ("successes", "trials", "level"),
    [(2, 1, 0.95), (-1, 1, 0.95), (1.0, 1, 0.95), (True, 1, 0.95), (0, -1, 0.95), (0, 1, 1.0)],
)
def test_wilson_refuses_what_is_not_a_count_or_level(successes, trials, level):
    with pytest.raises(OptionError):
        wilson_interval(successes, trials, level=level)


def test_wilson_names_the_extra_that_brings_scipy(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="scipy")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(DependencyNotInstalled, match=r"budget-envs\[eval\]"):
        wilson_interval(1, 2)
