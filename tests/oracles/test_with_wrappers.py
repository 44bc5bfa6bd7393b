"""The oracle through `gym.make`, with the suite's own wrappers around the lake."""

import pickle

import gymnasium as gym
import pytest

import budget_envs  # noqa: F401  (registers the ids)
from budget_envs.oracles.frozen_lake import FrozenLakeOracle
from budget_envs.wrappers import InteractionBudget

LAKE = "budget_envs/FrozenLake-v0"


def play(env, choose, seed):
    """Play one episode; return the infos of reset and of every step."""
    _, info = env.reset(seed=seed)
    infos, ended = [info], False
    while not ended:
        _, _, terminated, truncated, info = env.step(choose(infos[-1]))
        infos.append(info)
        ended = terminated or truncated
    return infos


def test_the_first_value_is_the_upper_bound_of_the_budget():
    env = gym.make(LAKE, budget=7, success_rate=0.8, oracle=True, show_budget=True)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        assert info["oracle"]["best"] == FrozenLakeOracle().upper_bound(env, 7)


@pytest.mark.parametrize("budget", [3, 6, 10])
def test_the_oracle_solves_what_fits_into_the_budget_and_nothing_else(budget):
    env, oracle = gym.make(LAKE, budget=budget, show_budget=True), FrozenLakeOracle()
    for seed in range(60):
        infos = play(env, lambda info: oracle.judge(env, "")[2][-1], seed)
        assert infos[-1]["is_success"] == (infos[0]["min_turns"] <= budget)


def test_a_mixed_budget_is_the_one_that_counts():
    env = gym.make(LAKE, budget=10, budget_mix=True, success_rate=0.7, oracle=True)
    limits = set()
    for seed in range(40):
        _, info = env.reset(seed=seed)
        limit = info["budget"]["turns"]["limit"]
        limits.add(limit)
        assert info["oracle"]["best"] == FrozenLakeOracle().upper_bound(env, limit)
    assert len(limits) > 3


def test_a_budget_for_one_episode_is_the_one_that_counts():
    env = gym.make(LAKE, budget=10, success_rate=0.7, oracle=True)
    for turns in (2, 10, 5):
        _, info = env.reset(seed=1, options={"budget": {"turns": turns}})
        assert info["oracle"]["best"] == FrozenLakeOracle().upper_bound(env, turns)


def test_the_smaller_of_two_budgets_counts_in_either_order():
    for first, second in [(3, 9), (9, 3)]:
        env = InteractionBudget(gym.make(LAKE, budget=first, success_rate=0.7), budget=second)
        env.reset(seed=5)
        oracle = FrozenLakeOracle()
        assert oracle.judge(env, "")[1] == oracle.upper_bound(env, 3)


def test_after_restore_the_oracle_says_the_same_again():
    env = gym.make(LAKE, budget=8, success_rate=0.5, oracle=True)
    env.reset(seed=2)
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    first = [env.step(action)[4]["oracle"] for action in ("stay", "Up")]
    env.reset(seed=3)
    env.restore(saved)
    assert [env.step(action)[4]["oracle"] for action in ("stay", "Up")] == first


def test_a_pickled_environment_goes_on_with_an_oracle_of_its_own():
    env = gym.make(LAKE, budget=8, success_rate=0.5, oracle=True)
    env.reset(seed=2)
    twin = pickle.loads(pickle.dumps(env))
    for action in ("stay", "Down"):
        assert twin.step(action)[4]["oracle"] == env.step(action)[4]["oracle"]


@pytest.mark.parametrize("success_rate", [1.0, 0.8])
def test_errors_are_injected_on_ice_of_either_kind_and_leave_success_possible(success_rate):
    settings = {"size": 5, "frozen_share": 0.95, "success_rate": success_rate}
    env = gym.make(LAKE, budget=10, error_states={"at": 1}, **settings)
    oracle, injected = FrozenLakeOracle(), 0
    for seed in range(40):
        env.reset(seed=seed)
        _, _, terminated, truncated, info = env.step(oracle.judge(env, "")[2][0])
        if info.get("injected"):
            injected += 1
            assert not terminated
            assert not truncated
            assert oracle.judge(env, "")[1] > 0
    assert injected >= 10
