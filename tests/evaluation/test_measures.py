import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.agents.policies import make_policy
from budget_envs.evaluation.evaluate import evaluate
from budget_envs.evaluation.measures import (
    budget_use,
    lacks_injections,
    success_counts,
    turn_quality,
    upper_bounds,
)
from budget_envs.evaluation.trajectory import Episode, Run

RERUN = Run(
    run_id="0",
    env_id="fake",
    env_kwargs={},
    policy="p",
    policy_settings={},
    protocol="rerun",
    budgets=(4, 8),
    k=1,
    num_rollouts=2,
    task_ids=("a", "b"),
    split=None,
    seed=0,
)
TRUNCATE = dataclasses.replace(RERUN, protocol="truncate")


def solved(task, turn, budget=8, rollout=0, **values):
    return Episode(task, budget, rollout, 0, "pass", turn, turn, **values)


def failed(task, turns, budget=8, rollout=0, boundary=None, **values):
    return Episode(task, budget, rollout, 0, "fail", None, turns, boundary=boundary, **values)


def void(task, budget=8, rollout=0):
    return Episode(task, budget, rollout, 0, "void", None, 1, None, "env", "broke")


# Counts.


def test_truncate_reads_every_budget_off_the_longest_rollouts():
    counts = success_counts(TRUNCATE, [solved("a", 3), solved("a", 6, rollout=1), failed("b", 2)])
    assert counts.successes.tolist() == [[1, 2], [0, 0]]
    assert counts.judged.tolist() == [[2, 2], [2, 2]]


def test_rerun_takes_every_budget_from_its_own_rollouts():
    counts = success_counts(RERUN, [solved("a", 3, budget=4), failed("a", 8), solved("b", 7)])
    assert counts.successes.tolist() == [[1, 0], [0, 1]]


def test_missing_episodes_count_as_failed():
    counts = success_counts(RERUN, [])
    assert counts.judged.tolist() == [[2, 2], [2, 2]]
    assert counts.successes.sum() == 0


def test_void_episodes_count_as_neither():
    counts = success_counts(TRUNCATE, [void("a"), solved("a", 2, rollout=1)])
    assert (counts.judged[0, 0], counts.void[0, 0], counts.successes[0, 0]) == (1, 1, 1)


# Bounds.


def test_the_bound_is_the_mean_over_tasks():
    episodes = [
        solved("a", 3, upper_bounds={4: 0.5, 8: 1.0}),
        solved("a", 3, rollout=1, upper_bounds={4: 0.5, 8: 1.0}),
        failed("b", 3, upper_bounds={4: 0.1, 8: 0.2}),
    ]
    bounds = upper_bounds(TRUNCATE, episodes)
    assert {T: bound.estimate for T, bound in bounds.items()} == {4: 0.3, 8: 0.6}
    assert bounds[4].low == 0.1
    assert bounds[4].high == 0.5


def test_without_an_oracle_there_is_none():
    assert upper_bounds(TRUNCATE, [solved("a", 3)]) is None


# Use of the budget.


def test_what_solved_episodes_leave_is_unused():
    large = budget_use(RERUN, [solved("a", 3), solved("a", 5, rollout=1), solved("b", 8)])[1]
    assert large.budget == 8
    assert large.turns_when_solved.estimate == (4 + 8) / 2
    assert large.unused_turns.estimate == (4 + 0) / 2
    assert large.unused_share.estimate == (0.5 + 0) / 2


def test_unsolved_episodes_leave_nothing_to_measure():
    large = budget_use(RERUN, [solved("a", 3), failed("b", 2)])[1]
    assert large.turns_when_solved.estimate == 3
    assert (large.turns_when_solved.num_tasks, large.turns_when_solved.num_empty_tasks) == (1, 1)


def test_only_episodes_that_a_budget_ended_are_exhausted():
    episodes = [failed("a", 8, boundary="budget"), failed("a", 8, rollout=1), solved("b", 8)]
    assert budget_use(RERUN, episodes)[1].exhausted.estimate == (0.5 + 0.0) / 2


def test_cutting_a_rollout_that_went_on_exhausts_the_budget():
    episodes = [
        solved("a", 6),
        failed("a", 3, rollout=1),
        failed("b", 4),
        solved("b", 4, rollout=1),
    ]
    small, large = budget_use(TRUNCATE, episodes)
    assert (small.exhausted.estimate, large.exhausted.estimate) == (0.25, 0.0)
    assert small.turns_when_solved.estimate == 4


def test_another_resource_that_ran_out_early_exhausts_every_larger_budget():
    small, large = budget_use(TRUNCATE, [failed("a", 2, boundary="budget")])
    assert (small.exhausted.estimate, large.exhausted.estimate) == (1.0, 1.0)


@pytest.mark.parametrize("extra", [void("b"), solved("b", 0)])
def test_void_episodes_and_tasks_solved_at_reset_are_left_out(extra):
    episodes = [failed("a", 8, boundary="budget")]
    assert budget_use(RERUN, [*episodes, extra])[1].exhausted.estimate == 1.0


def test_nothing_played_is_nothing_measured():
    for use in budget_use(RERUN, []):
        assert math.isnan(use.exhausted.estimate)
        assert use.exhausted.num_episodes == 0


EPISODES = st.lists(
    st.builds(
        lambda task, turns, is_solved: (solved if is_solved else failed)(task, turns),
        st.sampled_from("ab"),
        st.integers(1, 8),
        st.booleans(),
    ),
    max_size=6,
)


@settings(max_examples=10)
@given(EPISODES)
def test_shares_lie_in_their_ranges(episodes):
    for use in budget_use(TRUNCATE, episodes):
        for interval, top in [
            (use.exhausted, 1),
            (use.unused_share, 1),
            (use.unused_turns, use.budget - 1),
            (use.turns_when_solved, use.budget),
        ]:
            assert math.isnan(interval.estimate) or 0 <= interval.low <= interval.high <= top


def test_for_a_blind_policy_both_protocols_measure_the_same_use():
    found = []
    for protocol in ("truncate", "rerun"):
        result = evaluate(
            make_policy("random"),
            "budget_envs/FrozenLake-v0",
            [2, 5, 10],
            tasks=15,
            k=2,
            protocol=protocol,
        )
        found.append(budget_use(result.run, result.episodes))
    assert found[0] == found[1]


# Resamples.


@pytest.mark.parametrize(
    "measure",
    [
        lambda **settings: upper_bounds(RERUN, MIXED, **settings)[8],
        lambda **settings: budget_use(RERUN, MIXED, **settings)[1].exhausted,
        lambda **settings: turn_quality(RERUN, MIXED, **settings)[1].invalid_rate,
    ],
)
def test_the_number_of_resamples_changes_the_interval_alone(measure):
    one, few, many = (measure(num_resamples=number) for number in (1, 2, 1000))
    assert one.estimate == few.estimate == many.estimate
    assert one.low == one.high
    assert measure() == many
    assert (many.low, many.high) != (one.low, one.high)


MIXED = [
    failed("a", 8, boundary="budget", num_invalid=8, upper_bounds={4: 0.0, 8: 1.0}),
    failed("b", 8, num_invalid=0, upper_bounds={4: 0.0, 8: 0.0}),
]


# Turns.


def test_quality_is_measured_for_every_limit_played_under():
    assert [quality.budget for quality in turn_quality(RERUN, [])] == [4, 8]
    assert [quality.budget for quality in turn_quality(TRUNCATE, [])] == [8]


def test_rates_are_averaged_within_episodes_then_tasks_then_over_tasks():
    episodes = [
        failed("a", 4, num_invalid=1, mean_regret=0.5),
        failed("a", 2, rollout=1, num_invalid=2, mean_regret=0.1),
        failed("b", 8, num_invalid=0, mean_regret=None),
    ]
    (quality,) = turn_quality(TRUNCATE, episodes)
    assert quality.invalid_rate.estimate == (0.625 + 0.0) / 2
    assert quality.mean_regret.estimate == 0.3
    assert quality.mean_regret.num_empty_tasks == 1


def test_episodes_without_turns_have_no_rates():
    (quality,) = turn_quality(TRUNCATE, [failed("a", 0, boundary="agent", error="broke")])
    assert math.isnan(quality.invalid_rate.estimate)


def test_overruns_are_those_that_used_more_than_they_had():
    report = {"turns": {"limit": 8, "used": 8, "remaining": 0}, "binding": "turns"}
    over = {**report, "tokens": {"limit": 5, "used": 6, "remaining": 0}}
    episodes = [failed("a", 8, budget_report=report), failed("a", 8, rollout=1, budget_report=over)]
    (quality,) = turn_quality(TRUNCATE, episodes)
    assert quality.overrun.estimate == 0.5


def test_injections_are_counted():
    episodes = [failed("a", 4, num_injected=2), failed("b", 4)]
    (quality,) = turn_quality(TRUNCATE, episodes)
    assert (quality.num_injected, quality.hit_by_error.estimate) == (2, 0.5)


def test_a_run_in_which_no_error_landed_says_so():
    run = dataclasses.replace(TRUNCATE, env_kwargs={"error_states": {"at": 1}})
    assert lacks_injections(run, [failed("a", 4)])
    assert not lacks_injections(run, [failed("a", 4, num_injected=1)])
    assert not lacks_injections(TRUNCATE, [failed("a", 4)])


def test_injected_errors_are_counted_in_a_real_run():
    result = evaluate(
        make_policy("shortest_path"),
        "budget_envs/FrozenLake-v0",
        [10],
        tasks=40,
        k=1,
        env_kwargs={"error_states": {"at": 1, "kind": "timeout"}, "oracle": True},
    )
    landed = [episode.num_injected for episode in result.episodes]
    assert set(landed) == {0, 1}  # an observation that ends an episode is left alone
    assert turn_quality(result.run, result.episodes)[0].num_injected == sum(landed)
