"""The oracle: what it says about an environment, and that it leaves the environment alone."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import ACTIONS, MAPS, Lake
from budget_envs.errors import BudgetError, EnvStateError, UnsupportedError
from budget_envs.oracle import EnumerableOracle, ErrorOracle
from budget_envs.oracles.finite_horizon import solve
from budget_envs.oracles.frozen_lake import FrozenLakeOracle

SLIPPERY = {"map_name": "4x4", "success_rate": 1 / 3}
OPEN = Lake.from_rows(["SFF", "FFF", "FFG"])


def solution_of(lake, success_rate, turns):
    tiles = np.array(list(lake.tiles)).reshape(lake.nrow, lake.ncol)
    return solve(tiles == "H", tiles == "G", success_rate, turns)


def inner(env):
    return env.unwrapped.snapshot()


def test_it_is_exact_lists_its_actions_and_names_errors():
    oracle = FrozenLakeOracle()
    assert oracle.exact is True
    assert isinstance(oracle, EnumerableOracle)
    assert isinstance(oracle, ErrorOracle)


def test_values_are_those_of_the_solver_at_every_tile_and_number_of_turns(make_lake_env):
    lake, oracle = Lake.from_rows(MAPS["4x4"]), FrozenLakeOracle()
    q = solution_of(lake, 1 / 3, 9).q
    for turns in range(1, 10):
        for tile in range(16):
            env = make_lake_env(turns=turns, tile=tile, **SLIPPERY)
            values = oracle.values(env)
            assert tuple(values) == ACTIONS
            assert list(values.values()) == q[turns, :, tile].tolist()


def test_judge_says_what_values_say(make_lake_env):
    oracle = FrozenLakeOracle()
    for tile in range(16):
        env = make_lake_env(turns=6, tile=tile, **SLIPPERY)
        values = oracle.values(env)
        best = max(values.values())
        for action in ACTIONS:
            value, found_best, best_actions = oracle.judge(env, action)
            assert value == values[action] == oracle.value(env, action)
            assert found_best == best
            assert best_actions == tuple(a for a in ACTIONS if values[a] >= best - 1e-12)


def test_the_turn_about_to_be_taken_is_one_of_those_that_remain(make_lake_env):
    oracle = FrozenLakeOracle()
    env = make_lake_env(Lake.from_rows(["SFG"]), turns=2)
    assert oracle.value(env, "Right") == 1
    env.step("Right")
    assert oracle.value(env, "Right") == 1
    assert oracle.value(env, "Left") == 0


def test_values_fall_as_turns_are_used_without_moving(make_lake_env):
    oracle, env = FrozenLakeOracle(), make_lake_env(turns=12, **SLIPPERY)
    seen = []
    for _ in range(12):
        seen.append(oracle.judge(env, "Left")[1])
        env.step("no action at all")
    assert seen == sorted(seen, reverse=True)
    assert seen[0] > seen[-1] == 0


def test_safe_routes_of_any_length_tie_while_they_fit_and_part_when_they_do_not(make_lake_env):
    oracle = FrozenLakeOracle()
    assert oracle.judge(make_lake_env(OPEN, turns=6), "Left") == (1, 1, ACTIONS)
    assert oracle.judge(make_lake_env(OPEN, turns=4), "Left") == (0, 1, ("Down", "Right"))


def test_actions_that_tie_by_symmetry_are_all_among_the_best(make_lake_env):
    oracle = FrozenLakeOracle()
    cross = Lake.from_rows(["FFGFF", "FFFFF", "GFSFG", "FFFFF", "FFGFF"])
    for success_rate in (1 / 3, 0.4, 0.7, 0.9, 1.0):
        for turns in (2, 3, 10, 40):
            env = make_lake_env(cross, turns=turns, success_rate=success_rate)
            assert oracle.judge(env, "Up")[2] == ACTIONS


def test_a_tie_that_rounding_breaks_is_still_a_tie(make_lake_env):
    """Next to the goal, three of the actions reach it with probability 1/3, summed differently."""
    env = make_lake_env(turns=1, tile=14, **SLIPPERY)
    values = FrozenLakeOracle().values(env)
    assert len({values[action] for action in ("Down", "Right", "Up")}) > 1
    assert FrozenLakeOracle().judge(env, "Left")[2] == ("Down", "Right", "Up")


@pytest.mark.parametrize(
    "text", ["", "   ", "jump", "Left or Right", "7", "\x00", "\ud800", "x" * 9999]
)
def test_a_text_without_an_action_is_worth_staying_a_turn(make_lake_env, text):
    env = make_lake_env(turns=6, tile=14, **SLIPPERY)
    v = solution_of(Lake.from_rows(MAPS["4x4"]), 1 / 3, 6).v
    value, best, _ = FrozenLakeOracle().judge(env, text)
    assert value == v[5, 14]
    assert best == v[6, 14]


@given(
    st.one_of(st.text(), st.sampled_from(["<answer>up</answer>", "```\nDown\n```", "so: \nLEFT."]))
)
def test_an_action_is_read_as_the_environment_reads_it(text):
    env = FrozenLakeEnv(map_name="4x4")
    env.reset(seed=0)
    env.position = 6
    oracle = FrozenLakeOracle()
    value, values = oracle.value(env, text), oracle.values(env)
    executed = env.step(text)[4]["executed_action"]
    assert value == (values[executed] if executed else 1.0)


@pytest.mark.parametrize("action", [3, None, b"Left"])
def test_an_action_that_is_not_text_is_refused_as_the_environment_refuses_it(make_lake_env, action):
    env = make_lake_env(turns=3)
    with pytest.raises(TypeError, match="expected the action as a str"):
        FrozenLakeOracle().judge(env, action)


@pytest.mark.parametrize(("end", "value"), [("G", 1.0), ("H", 0.0)])
def test_after_the_end_every_action_is_worth_what_was_reached(make_lake_env, end, value):
    env = make_lake_env(Lake("F" + end + "G", 3, 0), turns=5)
    env.step("Right")
    for action in (*ACTIONS, "nothing"):
        assert FrozenLakeOracle().judge(env, action) == (value, value, ACTIONS)


def test_with_no_turn_left_every_action_is_worth_nothing(make_lake_env):
    env = make_lake_env(OPEN, turns=1)
    env.step("Right")
    assert FrozenLakeOracle().judge(env, "Right") == (0, 0, ACTIONS)


@pytest.mark.parametrize("limits", [{}, {"tokens": 100}])
def test_without_a_turn_budget_the_value_is_that_of_ever_arriving(make_lake_env, limits):
    lake = Lake.from_rows(MAPS["4x4"])
    env = make_lake_env(**SLIPPERY)
    env.ledger = type(env.ledger)(type(env.limits)(**limits))
    q = solution_of(lake, 1 / 3, 20_000).q[-1, :, 0]
    assert list(FrozenLakeOracle().values(env).values()) == pytest.approx(q.tolist(), abs=1e-9)


def test_an_environment_without_any_wrapper_has_no_limit():
    env = FrozenLakeEnv(desc=["SFFFFG"])
    env.reset(seed=0)
    assert FrozenLakeOracle().judge(env, "Left") == (1, 1, ACTIONS)


def test_of_two_budgets_the_smaller_one_counts(make_lake_env):
    env = make_lake_env(Lake("FFFG", 4, 0), turns=3)
    outer = type(env)(env, turns=2)
    outer.reset(seed=0)
    assert FrozenLakeOracle().judge(outer, "Right")[1] == 0
    assert FrozenLakeOracle().judge(env, "Right")[1] == 1


def test_wrappers_around_the_budget_change_nothing(make_lake_env):
    env = make_lake_env(turns=7, **SLIPPERY)
    wrapped = gym.wrappers.RecordEpisodeStatistics(gym.Wrapper(env))
    assert FrozenLakeOracle().values(wrapped) == FrozenLakeOracle().values(env)


def test_one_oracle_may_go_back_and_forth_between_environments(make_lake_env):
    shared = FrozenLakeOracle()
    envs = [
        make_lake_env(turns=turns, seed=seed, success_rate=success_rate)
        for turns, seed, success_rate in [(5, 0, 1.0), (9, 1, 0.8), (None, 2, 1 / 3), (3, 0, 1.0)]
    ]
    for _ in range(3):
        for env in envs:
            assert shared.values(env) == FrozenLakeOracle().values(env)
            env.unwrapped.position = (env.unwrapped.position + 1) % 16


def test_the_oracle_follows_resets_to_other_lakes_and_budgets(make_lake_env):
    oracle, env = FrozenLakeOracle(), make_lake_env(turns=4, success_rate=0.8)
    for seed in range(30):
        env.limits = type(env.limits)(turns=1 + seed % 12)
        env.reset(seed=seed)
        lake = env.unwrapped.task
        q = solution_of(lake, 0.8, 1 + seed % 12).q[-1, :, lake.start]
        assert list(oracle.values(env).values()) == q.tolist()


def test_on_one_lake_the_oracle_follows_budgets_up_and_down_and_away(make_lake_env):
    oracle, env = FrozenLakeOracle(), make_lake_env(turns=4, **SLIPPERY)
    for turns in (4, 9, 2, None, 11, None, 1, 600, 3):
        env.limits = type(env.limits)(turns=turns)
        env.reset(seed=0)
        expected = FrozenLakeOracle().values(make_lake_env(turns=turns, **SLIPPERY))
        assert oracle.values(env) == expected


def test_two_environments_may_hold_one_lake_object_under_different_success_rates(make_lake_env):
    oracle = FrozenLakeOracle()
    slippery, firm = (make_lake_env(turns=9, success_rate=rate) for rate in (0.5, 1.0))
    firm.unwrapped.task = slippery.unwrapped.task
    firm.unwrapped.position = slippery.unwrapped.position
    assert oracle.judge(slippery, "")[1] < oracle.judge(firm, "")[1] == 1


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.lists(st.sampled_from([*ACTIONS, "?"]), max_size=6))
def test_asking_changes_nothing_in_the_environment(seed, actions):
    asked, left_alone = (FrozenLakeEnv(success_rate=0.6, size=(3, 5)) for _ in range(2))
    oracle = FrozenLakeOracle()
    asked.reset(seed=seed)
    left_alone.reset(seed=seed)
    for action in actions:
        before = inner(asked)
        oracle.judge(asked, action)
        oracle.values(asked)
        oracle.error_action(asked, action, seed)
        oracle.upper_bounds(asked, 5)
        assert inner(asked) == before
        result = asked.step(action)
        assert result == left_alone.step(action)
        if result[2]:
            break


@pytest.mark.parametrize("placement", ["random", "corners"])
@pytest.mark.parametrize("size", [4, 8])
def test_the_best_actions_solve_every_feasible_lake_where_nobody_slips(
    make_lake_env, size, placement
):
    oracle, rng = FrozenLakeOracle(), np.random.default_rng(0)
    env = make_lake_env(turns=14, size=size, placement=placement)
    solved = feasible = 0
    for seed in range(150):
        _, info = env.reset(seed=seed)
        ended, reward = False, 0.0
        while not ended:
            action = str(rng.choice(oracle.judge(env, "")[2]))
            _, reward, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
        solved += reward == 1
        feasible += info["min_turns"] <= 14
    assert solved == feasible > 100


def test_the_success_of_the_best_actions_on_ice_is_their_value(make_lake_env):
    oracle, env = FrozenLakeOracle(), make_lake_env(turns=20, **SLIPPERY)
    expected = oracle.upper_bound(env, 20)
    wins = 0
    for seed in range(2000):
        env.reset(seed=seed)
        ended = False
        while not ended:
            _, reward, terminated, truncated, _ = env.step(oracle.judge(env, "")[2][0])
            ended = terminated or truncated
        wins += reward == 1
    standard_error = (expected * (1 - expected) / 2000) ** 0.5
    assert abs(wins / 2000 - expected) < 4 * standard_error


def test_bounds_are_the_values_of_the_start_wherever_the_player_is(make_lake_env):
    oracle, env = FrozenLakeOracle(), make_lake_env(turns=3, **SLIPPERY)
    v = solution_of(Lake.from_rows(MAPS["4x4"]), 1 / 3, 30).v[:, 0]
    assert oracle.upper_bounds(env, 30) == v[1:].tolist()
    env.step("Down")
    assert oracle.upper_bounds(env, 30) == v[1:].tolist()
    assert [oracle.upper_bound(env, turns) for turns in (1, 7, 30)] == v[[1, 7, 30]].tolist()


def test_bounds_of_very_long_budgets_stay_at_the_last_value(make_lake_env):
    oracle, env = FrozenLakeOracle(), make_lake_env(**SLIPPERY)
    bounds = oracle.upper_bounds(env, 6000)
    assert len(bounds) == 6000
    assert bounds[-1] == bounds[5000] == oracle.upper_bound(env, 10**6)
    assert bounds[-1] == pytest.approx(14 / 17, abs=1e-9)


def test_the_bound_of_a_lake_without_a_way_is_zero(make_lake_env):
    env = make_lake_env(Lake.from_rows(["SHG"]), turns=5)
    assert FrozenLakeOracle().upper_bounds(env, 5) == [0.0] * 5
    assert FrozenLakeOracle().judge(env, "Right") == (0, 0, ACTIONS)


@pytest.mark.parametrize("turns", [0, -3, True, 2.5, "8", None])
def test_bounds_take_positive_integers_only(make_lake_env, turns):
    env = make_lake_env(turns=3)
    with pytest.raises(BudgetError):
        FrozenLakeOracle().upper_bound(env, turns)
    with pytest.raises(BudgetError):
        FrozenLakeOracle().upper_bounds(env, turns)


@pytest.mark.parametrize(("ask", "argument"), [("judge", "Left"), ("upper_bound", 3)])
def test_asking_before_the_first_reset_says_so_and_leaves_nothing_behind(
    make_lake_env, ask, argument
):
    turn_budget = type(make_lake_env())  # has no ledger before its first reset
    oracle, env = FrozenLakeOracle(), turn_budget(FrozenLakeEnv(**SLIPPERY), turns=6)
    with pytest.raises(EnvStateError, match=r"call reset\(\) first"):
        getattr(oracle, ask)(env, argument)
    env.reset(seed=0)
    assert oracle.values(env) == FrozenLakeOracle().values(make_lake_env(turns=6, **SLIPPERY))


def test_another_environment_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="CartPole"):
        FrozenLakeOracle().judge(gym.make("CartPole-v1"), "Left")


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_a_copy_carries_no_environment_and_answers_alike(make_lake_env, duplicate):
    oracle, env = FrozenLakeOracle(), make_lake_env(turns=8, **SLIPPERY)
    values = oracle.values(env)
    assert len(pickle.dumps(oracle)) < 200
    assert duplicate(oracle).values(env) == values
