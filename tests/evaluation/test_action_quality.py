import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.agents.policies import make_policy
from budget_envs.errors import OptionError
from budget_envs.evaluation.action_quality import action_values, compare, compare_by_position
from budget_envs.evaluation.plan import make_plan
from budget_envs.evaluation.policy import Action, Failure
from budget_envs.evaluation.states import collect_states
from budget_envs.oracles.frozen_lake import FrozenLakeOracle

LAKE = "budget_envs/FrozenLake-v0"
ORACLE = FrozenLakeOracle()


@pytest.fixture(scope="module")
def pool():
    """A way to make environments, and states of random play."""
    policy = make_policy("random")
    kwargs = {"success_rate": 0.8}
    plan = make_plan(policy, LAKE, [8], tasks=12, k=1, env_kwargs=kwargs)
    return plan.make_env, collect_states(policy, plan.make_env, plan.requests)


def test_the_oracles_actions_are_the_best(pool):
    make_env, states = pool
    values = action_values(make_policy("oracle"), states, make_env, ORACLE, num_samples=3)
    env = make_env()
    env.reset(seed=0)
    for state, row in zip(states, values, strict=True):
        env.restore(state.snapshot)
        assert row.tolist() == [max(ORACLE.values(env).values())] * 3


def test_random_actions_have_the_mean_value_on_average(pool):
    make_env, states = pool
    values = action_values(make_policy("random"), states[:20], make_env, ORACLE, num_samples=400)
    env = make_env()
    env.reset(seed=0)
    for state, row in zip(states, values, strict=False):
        env.restore(state.snapshot)
        assert row.mean() == pytest.approx(np.mean(list(ORACLE.values(env).values())), abs=0.1)


def test_samples_of_one_state_differ_and_are_reproducible(pool):
    make_env, states = pool
    one, other = (
        action_values(make_policy("random"), states[:10], make_env, ORACLE) for _ in range(2)
    )
    assert one.shape == (10, 16)
    assert np.array_equal(one, other)
    assert np.any(one.std(axis=1) > 0)


def test_a_state_is_judged_alike_wherever_it_stands_in_the_list(pool):
    make_env, states = pool
    forward = action_values(make_policy("random"), states[:10], make_env, ORACLE)
    backward = action_values(make_policy("random"), states[9::-1], make_env, ORACLE)
    assert np.array_equal(forward, backward[::-1])


def test_sampling_leaves_the_states_as_they_were(pool):
    make_env, states = pool
    before = [state.messages for state in states]
    action_values(make_policy("random"), states, make_env, ORACLE)
    assert [state.messages for state in states] == before


def test_an_action_that_cannot_be_read_is_worth_staying_put(pool, counting):
    make_env, states = pool
    policy = counting(lambda _: Action("nonsense"))
    values = action_values(policy, states[:5], make_env, ORACLE, num_samples=1)
    env = make_env()
    env.reset(seed=0)
    for state, (value,) in zip(states, values, strict=False):
        env.restore(state.snapshot)
        assert value == ORACLE.value(env, "nonsense")


def test_each_sample_is_asked_for_once(pool, counting):
    make_env, states = pool
    policy = counting(lambda _: Action("Left"))
    action_values(policy, states[:3], make_env, ORACLE, num_samples=4)
    assert policy.batches == [4, 4, 4]
    assert len(set(policy.asked)) == 12
    assert policy.begun == policy.ended


def test_a_policy_that_fails_to_act_scores_nothing(pool, counting):
    make_env, states = pool

    def respond(conversation):
        raise ValueError("confused")

    values = action_values(counting(respond), states[:2], make_env, ORACLE, num_samples=2)
    assert values.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_failure_that_is_not_the_policys_own_has_no_value(pool, counting):
    make_env, states = pool
    policy = counting(lambda _: Failure("gone", "provider"))
    assert np.isnan(action_values(policy, states[:2], make_env, ORACLE)).all()


@pytest.mark.parametrize("number", [0, -1, True, 1.5, None])
def test_the_number_of_samples_is_a_positive_integer(pool, number):
    make_env, states = pool
    with pytest.raises(OptionError, match="num_samples must be an integer"):
        action_values(make_policy("random"), states, make_env, ORACLE, num_samples=number)


# Comparing.


def test_shares_are_those_of_the_states():
    ours = [[0.9, 0.7], [0.5, 0.5], [0.1, 0.1], [0.4, 0.6]]
    theirs = [[0.5, 0.5], [0.5, 0.5], [0.2, 0.2], [0.5, 0.5]]
    found = compare(ours, theirs)
    assert found.better.estimate == 0.25
    assert found.worse.estimate == 0.25
    assert found.tied.estimate == 0.5
    assert found.better_with_ties_split.estimate == 0.5
    assert found.difference.estimate == pytest.approx((0.3 + 0 - 0.1 + 0) / 4)


def test_sets_of_equal_values_in_another_order_are_tied():
    values = [0.1, 0.2, 0.3, 0.7, 1e-9, 0.6]
    assert compare([values], [values[::-1]]).tied.estimate == 1.0


def test_the_two_sides_may_have_different_numbers_of_samples():
    assert compare([[0.4, 0.6]], [[0.5]]).tied.estimate == 1.0


SETS = st.integers(1, 12).flatmap(
    lambda n: st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 4), min_size=n, max_size=n
    )
)


@settings(max_examples=8)
@given(SETS, st.randoms(use_true_random=False))
def test_swapping_the_sides_mirrors_the_comparison(ours, random):
    theirs = [tuple(random.choice([0.0, 0.25, 0.5, 1.0]) for _ in range(4)) for _ in ours]
    one, other = compare(ours, theirs), compare(theirs, ours)
    assert one.better.estimate == other.worse.estimate
    assert one.tied == other.tied
    assert one.difference.estimate == pytest.approx(-other.difference.estimate)
    total = one.better.estimate + one.worse.estimate + one.tied.estimate
    assert total == pytest.approx(1.0)
    brute = sum(sum(a) > sum(b) for a, b in zip(ours, theirs, strict=True)) / len(ours)
    assert one.better.estimate == pytest.approx(brute)


def test_states_without_a_value_are_dropped_and_counted():
    found = compare([[math.nan], [0.5], [0.9]], [[0.1], [math.nan], [0.5]])
    assert (found.num_dropped, found.better.estimate, found.better.num_tasks) == (2, 1.0, 1)


def test_single_samples_without_a_value_are_left_out_of_the_mean():
    assert compare([[math.nan, 0.5]], [[0.5, 0.5]]).tied.estimate == 1.0


def test_no_states_are_no_comparison():
    found = compare(np.empty((0, 4)), np.empty((0, 4)))
    assert math.isnan(found.better.estimate)


def test_the_number_of_resamples_changes_the_intervals_alone():
    ours, theirs = [[1.0], [0.0]], [[0.0], [0.0]]
    one, many = (compare(ours, theirs, num_resamples=number).better for number in (1, 1000))
    assert one.estimate == many.estimate == 0.5
    assert one.low == one.high
    assert (many.low, many.high) == (0.0, 1.0)


def test_the_number_of_resamples_reaches_every_part_of_the_episodes(pool):
    _, states = pool
    values = np.arange(2.0 * len(states)).reshape(-1, 2) % 7
    for bucket in compare_by_position(states, values, values[::-1], num_resamples=1):
        assert bucket.comparison.difference.low == bucket.comparison.difference.high


@pytest.mark.parametrize(("ours", "theirs"), [([[1.0]], [[1.0], [1.0]]), ([1.0], [1.0])])
def test_both_sides_need_the_same_states(ours, theirs):
    with pytest.raises(OptionError, match=r"shape \(states, G\)"):
        compare(ours, theirs)


def test_the_oracle_is_never_worse_than_random_play(pool):
    make_env, states = pool
    best = action_values(make_policy("oracle"), states, make_env, ORACLE)
    drawn = action_values(make_policy("random"), states, make_env, ORACLE)
    found = compare(best, drawn)
    assert found.worse.estimate == 0
    assert found.better.low > 0.5


def test_a_policy_is_tied_with_itself_everywhere(pool):
    make_env, states = pool
    values = action_values(make_policy("random"), states, make_env, ORACLE)
    found = compare(values, values)
    assert (found.tied.estimate, found.better_with_ties_split.estimate) == (1.0, 0.5)


# By position.


def test_buckets_share_the_states_by_position(pool):
    make_env, states = pool
    values = action_values(make_policy("random"), states, make_env, ORACLE)
    buckets = compare_by_position(states, values, values, num_buckets=4)
    assert [(bucket.low, bucket.high) for bucket in buckets] == [
        (0.0, 0.25),
        (0.25, 0.5),
        (0.5, 0.75),
        (0.75, 1.0),
    ]
    for bucket in buckets:
        inside = sum(bucket.low <= state.position < bucket.high for state in states)
        assert bucket.comparison.tied.num_tasks == inside


def test_a_bucket_without_states_has_no_value(pool):
    make_env, states = pool
    first = [state for state in states if state.turn == 0][:3]
    values = action_values(make_policy("random"), first, make_env, ORACLE)
    buckets = compare_by_position(first, values, values)
    assert [bucket.comparison.tied.num_tasks for bucket in buckets] == [3, 0, 0, 0, 0]
