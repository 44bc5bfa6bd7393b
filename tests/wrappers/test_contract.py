"""What every wrapper promises. A new wrapper gets a row in WRAPPERS, and no special case."""

import copy
import inspect
import json
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

from budget_envs import wrappers
from budget_envs.budget import Budget
from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.oracles.frozen_lake import FrozenLakeOracle
from budget_envs.wrappers.base import BudgetEnvsWrapper

ORACLE = "budget_envs.oracles.frozen_lake:FrozenLakeOracle"
# Keywords of each wrapper, also such as JSON would change if they were recorded as they come.
WRAPPERS = {
    "InteractionBudget": [
        {"budget": 5},
        {"budget": None},
        {"budget": Budget(turns=5, tokens=900), "on_exhausted": "terminate"},
        {"budget": {"turns": np.int64(6)}, "token_counter": "words"},
    ],
    "BudgetMix": [
        {"budget": 9, "seed": np.int64(3)},
        {"budget": Budget(turns=9, cost=5), "schedule": "fixed", "fixed_turns": np.int32(4)},
        {"budget": 9, "schedule": "curriculum", "on_exhausted": "terminate"},
    ],
    "ErrorStates": [
        {"at": (1, 3), "kind": ("empty", "stale")},
        {"at": np.int64(2), "kind": "garbled", "seed": 4},
        {"rate": 0.5, "oracle": FrozenLakeOracle()},
        {"oracle": ORACLE},
    ],
    "StepOracle": [{"oracle": FrozenLakeOracle()}, {"oracle": ORACLE, "reward": True}],
    "ShowBudget": [{}, {"when": ("half", np.int64(2))}, {"template": "{remaining} left"}],
    "DiscreteActions": [{}],
    "NumericObservation": [{}, {"max_bytes": np.int64(99)}],
}
NEEDS_A_BUDGET = ("ShowBudget",)

every_case = pytest.mark.parametrize(
    ("name", "keywords"), [(name, k) for name, rows in WRAPPERS.items() for k in rows]
)


def wrapped(name, keywords, budget=6, **settings):
    needs = name in NEEDS_A_BUDGET
    env = gym.make("budget_envs/FrozenLake-v0", budget=budget if needs else None, **settings)
    return getattr(wrappers, name)(env, **keywords)


def play(env, seed=0, turns=6):
    env.action_space.seed(seed)
    seen = [env.reset(seed=seed)]
    for _ in range(turns):
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            break
    return seen


def test_every_exported_wrapper_has_its_rows():
    assert set(WRAPPERS) == set(wrappers.__all__)


@pytest.mark.parametrize("name", WRAPPERS)
def test_constructors_take_the_environment_and_keywords_only(name):
    parameters = list(inspect.signature(getattr(wrappers, name)).parameters.values())
    assert parameters[0].name == "env"
    assert {p.kind for p in parameters[1:]} <= {inspect.Parameter.KEYWORD_ONLY}
    assert issubclass(getattr(wrappers, name), BudgetEnvsWrapper)


@every_case
def test_what_is_recorded_is_what_the_constructor_takes(name, keywords):
    signature = inspect.signature(getattr(wrappers, name))
    recorded = wrapped(name, keywords)._saved_kwargs
    assert list(recorded) == [parameter for parameter in signature.parameters if parameter != "env"]


@every_case
def test_what_is_recorded_is_already_what_json_gives_back(name, keywords):
    recorded = wrapped(name, keywords)._saved_kwargs
    assert json.loads(json.dumps(recorded)) == recorded


@every_case
def test_a_spec_rebuilds_the_wrapped_environment_also_through_json(name, keywords, same):
    env = wrapped(name, keywords)
    text = env.spec.to_json()
    expected = play(env)
    for spec in (env.spec, EnvSpec.from_json(text)):
        twin = gym.make(spec)
        assert str(twin) == str(env)
        assert twin.spec == env.spec
        assert twin.spec.to_json() == text
        assert same(play(twin), expected)


@every_case
def test_wrappers_pickle_and_copy_before_and_after_reset(name, keywords, same):
    env = wrapped(name, keywords)
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    expected = play(env)
    assert all(same(play(twin), expected) for twin in twins)
    env.reset(seed=5)
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    action = env.action_space.sample()
    expected = env.step(action)
    assert all(same(twin.step(action), expected) for twin in twins)


@every_case
def test_wrappers_restore_what_they_saved(name, keywords, same):
    env, twin = wrapped(name, keywords), wrapped(name, keywords)
    env.reset(seed=2)
    saved = env.snapshot()
    assert saved.layer == name
    action = env.action_space.sample()
    expected = env.step(action)
    for each in (env, twin):
        each.restore(pickle.loads(pickle.dumps(saved)))
        assert same(each.step(action), expected)


@every_case
def test_the_environment_checker_finds_nothing(name, keywords):
    # Longer episodes than one step, which the checker takes for a fault.
    keywords = (
        {**keywords, "schedule": "full", "fixed_turns": None} if name == "BudgetMix" else keywords
    )
    env = wrapped(name, keywords, render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Said of every wrapped environment, whatever it does.
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        check_env(env)


@every_case
def test_two_episodes_of_a_seed_are_equal_and_infos_are_fresh(name, keywords, same):
    env = wrapped(name, keywords)
    first, second = play(env), play(env)
    assert same(first, second)
    infos = [result[-1] for result in first + second]
    nested = [id(value) for info in infos for value in info.values() if isinstance(value, dict)]
    assert len(set(nested)) == len(nested)
    assert len({id(info) for info in infos}) == len(infos)


@every_case
def test_spaces_hold_what_comes_out(name, keywords):
    env = wrapped(name, keywords)
    assert all(result[0] in env.observation_space for result in play(env))


@every_case
def test_class_metadata_is_left_alone(name, keywords):
    before = copy.deepcopy(FrozenLakeEnv.metadata)
    env = wrapped(name, keywords)
    play(env)
    assert FrozenLakeEnv.metadata == before
    assert env.metadata == before


@every_case
def test_episode_statistics_work_on_either_side(name, keywords):
    outside = RecordEpisodeStatistics(wrapped(name, keywords))
    counter = keywords.get("token_counter", "characters")
    inner = gym.make("budget_envs/FrozenLake-v0", budget=6, token_counter=counter)
    inside = getattr(wrappers, name)(RecordEpisodeStatistics(inner), **keywords)
    for env in (outside, inside):
        env.action_space.seed(0)
        env.reset(seed=0)
        over, length = False, 0
        while not over:
            *_, terminated, truncated, info = env.step(env.action_space.sample())
            length += 1
            over = terminated or truncated
        assert info["episode"]["l"] == length


@every_case
def test_attributes_of_the_inside_are_found_through_the_wrapper(name, keywords):
    env = wrapped(name, keywords)
    assert env.get_wrapper_attr("success_rate") == 1.0
    assert env.unwrapped.spec.id == "budget_envs/FrozenLake-v0"


@every_case
def test_charges_reach_the_budget_or_the_way_out_is_named(name, keywords):
    env = wrapped(name, keywords)
    env.reset(seed=0)
    if env.has_wrapper_attr("ledger"):
        env.charge(cost=3)
        assert env.ledger.used["cost"] == 3
    else:
        with pytest.raises(ValueError, match="make the environment with budget="):
            env.charge(cost=3)


@pytest.mark.parametrize("numeric", [False, True])
def test_the_whole_stack_passes_the_environment_checker(numeric):
    env = gym.make(
        "budget_envs/FrozenLake-v0",
        budget={"turns": 8, "tokens": 5000},
        budget_mix={"schedule": "full"},
        error_states=True,
        oracle=True,
        numeric=numeric,
        show_budget=True,
        render_mode="ansi",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        check_env(env)
