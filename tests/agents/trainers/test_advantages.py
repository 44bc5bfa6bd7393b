import itertools
import math

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import budget_envs  # noqa: F401  registers the ids
from budget_envs.agents.trainers.advantages import (
    discounted_returns,
    gae,
    gigpo,
    grpo,
    process,
)
from budget_envs.errors import OptionError

LAKE = "budget_envs/FrozenLake-v0"


# GRPO.


def test_a_win_and_a_loss_are_half_above_and_half_below_without_std():
    assert grpo([1, 0], [0, 0], scale="none").tolist() == [0.5, -0.5]


def test_two_of_four_wins_by_hand():
    # mean 1/2, sample deviation sqrt(4 * 1/4 / 3) = 0.57735
    expected = 0.5 / (math.sqrt(1 / 3) + 1e-6)
    assert grpo([1, 0, 0, 1], [7, 7, 7, 7]) == pytest.approx(
        [expected, -expected, -expected, expected], rel=1e-12
    )


def test_groups_are_compared_within_themselves():
    advantages = grpo([1, 5, 0, 7], [0, 1, 0, 1], scale="none")
    assert advantages.tolist() == [0.5, -1, -0.5, 1]


@pytest.mark.parametrize("scale", ["std", "none"])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1.0, -7.3])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_equal_returns_give_exactly_nothing(scale, value, count):
    assert not grpo([value] * count, [0] * count, scale=scale).any()


@pytest.mark.parametrize("scale", ["std", "none"])
@pytest.mark.parametrize("nonsense", [math.nan, 0.0, 1e9])
def test_void_trajectories_change_nothing_for_the_others(scale, nonsense):
    with_void = grpo([1, nonsense, 0, 0], [0] * 4, is_void=[0, 1, 0, 0], scale=scale)
    without = grpo([1, 0, 0], [0] * 3, scale=scale)
    assert with_void.tolist() == [without[0], 0.0, without[1], without[2]]


def test_a_void_trajectory_counted_as_a_loss_would_differ():
    assert grpo([1, 1], [0, 0], is_void=[0, 1]).tolist() == [0, 0]
    assert grpo([1, 0], [0, 0]).tolist() != [0, 0]


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.integers(0, 3), st.booleans()), max_size=30),
    st.sampled_from(["std", "none"]),
)
def test_advantages_of_a_group_sum_to_nothing(rows, scale):
    returns, groups, void = (np.array([row[i] for row in rows]) for i in range(3))
    advantages = grpo(returns, groups.astype(int), is_void=void, scale=scale)
    for group in set(groups.tolist()):
        assert advantages[groups == group].sum() == pytest.approx(0, abs=1e-6)
    assert not advantages[void.astype(bool)].any()


def _expected_advantage_by_arm(probability, stop_return, continue_return):
    """Enumerate all groups of three that play stop or continue; returns are random."""
    sums, weights = {"stop": 0.0, "continue": 0.0}, {"stop": 0.0, "continue": 0.0}
    for arms in itertools.product(("stop", "continue"), repeat=3):
        for wins in itertools.product((0, 1), repeat=3):
            arm_chances = [probability if a == "stop" else 1 - probability for a in arms]
            chance = 0.5**3 * math.prod(arm_chances)
            returns = [
                w * (stop_return if a == "stop" else continue_return)
                for a, w in zip(arms, wins, strict=True)
            ]
            advantages = grpo(returns, [0, 0, 0], scale="none")
            sums[arms[0]] += chance * advantages[0]
            weights[arms[0]] += chance
    return sums["stop"] / weights["stop"], sums["continue"] / weights["continue"]


@pytest.mark.parametrize("probability", [0.2, 0.5, 0.9])
def test_to_stop_or_to_continue_for_the_same_value_makes_no_difference(probability):
    stop, go_on = _expected_advantage_by_arm(probability, 1.0, 1.0)
    assert stop == pytest.approx(go_on, abs=1e-12)
    stop, go_on = _expected_advantage_by_arm(probability, 1.0, 1.5)
    assert stop < go_on - 0.1  # the toy can tell


def test_an_intermediate_reward_does_not_pay_for_another_turn():
    # Stop wins 1 now; continue wins 0.5 now and 0.5 a turn later: the returns are equal.
    found = gigpo([1, 0.5, 0.5], [0, 1, 1], ["start", "start", "later"], [0, 0], gamma=1.0)
    assert found.values.tolist() == [0, 0, 0]


def test_the_number_of_turns_does_not_weigh():
    long_loss = gigpo([1] + [0] * 8, [0] + [1] * 8, [str(i) for i in range(9)], [0, 0])
    assert long_loss.episode.tolist() == [0.5] + [-0.5] * 8


# GiGPO.


def test_gigpo_by_hand():
    # Group 0: A-B won on its 2nd turn, A-A-C lost. Group 1 has an A of its own.
    found = gigpo(
        rewards=[0, 1, 0, 0, 0, 1],
        trajectories=[0, 0, 1, 1, 1, 2],
        state_keys=["A", "B", "A", "A", "C", "A"],
        groups=[0, 0, 1],
        gamma=0.5,
        step_weight=2.0,
    )
    assert found.episode.tolist() == [0.5, 0.5, -0.5, -0.5, -0.5, 0]
    third = 0.5 / 3  # mean of the returns 1/2, 0 and 0 from A on
    assert found.step == pytest.approx([0.5 - third, 0, -third, -third, 0, 0])
    assert found.values == pytest.approx(found.episode + 2 * found.step)
    assert found.singleton_share == 3 / 6


def test_gigpo_scales_both_parts():
    found = gigpo([1, 0], [0, 1], ["A", "A"], [0, 0], scale="std")
    assert found.step == pytest.approx(found.episode)
    assert found.step[0] == pytest.approx(0.5 / (math.sqrt(0.5) + 1e-6))


def test_void_trajectories_enter_no_step_group():
    rewards, owners, keys = [1, 0, math.nan, 0], [0, 1, 2, 2], ["A", "A", "A", "B"]
    found = gigpo(rewards, owners, keys, [0, 0, 0], is_void=[0, 0, 1])
    assert found.values.tolist() == [1, -1, 0, 0]
    assert found.singleton_share == 0


def test_no_turns_have_no_advantages():
    found = gigpo([], [], [], [0, 0], is_void=[1, 1])
    assert (found.values.tolist(), found.singleton_share) == ([], 0.0)


def test_showing_the_budget_leaves_the_step_groups_as_they_are():
    def keys(shown):
        env = gym.make(LAKE, desc=["SFFF", "FFFF", "FFFG"], show_budget=shown)
        found = []
        for actions in (["Left", "Right", "Left"], ["Right", "Left", "Right"]):
            observation, info = env.reset(seed=5)
            for action in actions:
                found.append((info["state_key"], observation))
                observation, _, _, _, info = env.step(action)
        return zip(*found, strict=True)

    (plain, plain_texts), (shown, shown_texts) = keys(False), keys(True)
    assert plain_texts != shown_texts
    owners, rewards = [0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]
    one = gigpo(rewards, owners, plain, [0, 0])
    other = gigpo(rewards, owners, shown, [0, 0])
    assert one.values.tolist() == other.values.tolist()
    assert one.singleton_share < 1  # states do meet


# Process reward.


def test_regrets_are_compared_with_the_group():
    # Trajectory means 0.2 and 0.4: the baseline is 0.3, though there are three turns.
    found = process([0.0, 0.4, 0.4], [0, 0, 1], [0, 0])
    assert found == pytest.approx([0.3, -0.1, -0.1])


def test_turns_that_no_oracle_judged_are_left_out():
    found = process([0.2, math.nan, 0.4, math.nan], [0, 0, 1, 2], [0, 0, 0])
    assert found == pytest.approx([0.1, 0, -0.1, 0])


def test_void_trajectories_have_no_process_reward():
    assert process([0.5, 0.1, 0.3], [0, 1, 2], [0, 0, 0], is_void=[1, 0, 0]) == pytest.approx(
        [0, 0.1, -0.1]
    )


# GAE.


def test_gae_by_hand():
    # delta_1 = 0 + 0.5 * 4 - 2 = 0; delta_2 = 1 - 4 = -3, the end; A_1 = 0 + 0.25 * -3.
    found = gae([[0], [1]], [[2], [4]], [[4], [9]], [[0], [1]], [[0], [1]], gamma=0.5, lam=0.5)
    assert found.ravel().tolist() == [-0.75, -3]


def test_truncation_bootstraps_and_cuts():
    # As above, but cut off at turn 2: delta_2 = 1 + 0.5 * 9 - 4. A later row is another episode.
    found = gae(
        [[0], [1], [100]],
        [[2], [4], [0]],
        [[4], [9], [0]],
        [[0], [0], [1]],
        [[0], [1], [1]],
        gamma=0.5,
        lam=0.5,
    )
    assert found.ravel().tolist() == [0.375, 1.5, 100]


def test_termination_ignores_what_comes_next():
    assert gae([[1]], [[0]], [[math.nan]], [[1]], [[1]]).tolist() == [[1]]


@given(st.integers(1, 6), st.integers(1, 4), st.floats(0, 1), st.randoms(use_true_random=False))
def test_lambda_one_is_the_return_minus_the_value(turns, batch, gamma, random):
    def draw():
        return np.array([[random.uniform(-1, 1) for _ in range(batch)] for _ in range(turns)])

    rewards, values = draw(), draw()
    after = np.vstack([values[1:], draw()[:1]])
    ended = np.zeros((turns, batch), bool)
    ended[-1] = True
    found = gae(rewards, values, after, ended, ended, gamma=gamma, lam=1.0)
    for column in range(batch):
        returns = discounted_returns(rewards[:, column], [0] * turns, gamma=gamma)
        assert found[:, column] == pytest.approx(returns - values[:, column], abs=1e-9)
    one_step = gae(rewards, values, after, ended, ended, gamma=gamma, lam=0.0)
    assert one_step == pytest.approx(rewards + gamma * np.where(ended, 0, after) - values)


def test_returns_stop_at_the_end_of_a_trajectory():
    assert discounted_returns([1, 2, 4, 8], [0, 0, 1, 1], gamma=0.5).tolist() == [2, 2, 8, 8]


# What is refused.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grpo([1, 2], [0]), "returns must have shape"),
        (lambda: grpo([math.nan], [0]), "not finite"),
        (lambda: grpo([1], [0], scale="sd"), "Did you mean 'std'"),
        (lambda: grpo([1], [0.5]), "groups must be one-dimensional integers"),
        (lambda: gigpo([1], [0], [], [0]), "expected 1 state keys"),
        (lambda: gigpo([1], [-1], ["A"], [0]), "trajectories must be"),
        (lambda: process([1, 2], [0], [0]), "regrets must have shape"),
        (lambda: gae([1], [1], [1], [1], [1]), "rewards must have shape"),
        (lambda: gae([[1]], [[1]], [[1]], [[1]], [[1]], lam=2), "lam must be in"),
        (lambda: discounted_returns([1], [0], gamma=-1), "gamma must be in"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()
