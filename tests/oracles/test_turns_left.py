import math

from budget_envs.envs.frozen_lake import FrozenLakeEnv
from budget_envs.oracles.turns_left import calls_left, turns_left
from budget_envs.wrappers import InteractionBudget


def test_without_a_budget_there_is_no_end():
    env = FrozenLakeEnv()
    env.reset(seed=0)
    assert turns_left(env) == math.inf


def test_the_tightest_budget_counts_down_to_nothing():
    env = InteractionBudget(InteractionBudget(FrozenLakeEnv(), budget=3), budget=5)
    env.reset(seed=0)
    left = [turns_left(env)]
    for _ in range(3):
        env.step("")
        left.append(turns_left(env))
    assert left == [3, 2, 1, 0]


def test_a_budget_of_something_else_limits_no_turns():
    env = InteractionBudget(FrozenLakeEnv(), budget={"tokens": 100})
    env.reset(seed=0)
    assert turns_left(env) == math.inf


def test_calls_are_counted_apart_from_turns():
    env = InteractionBudget(FrozenLakeEnv(), budget={"turns": 9, "calls": 2})
    env.reset(seed=0)
    assert (calls_left(env), turns_left(env)) == (2, 9)
    env.step("")
    assert (calls_left(env), turns_left(env)) == (1, 8)
    assert calls_left(FrozenLakeEnv()) == math.inf
