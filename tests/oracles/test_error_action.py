"""Which errors the oracle names: worse, not final, and not hopeless."""

from collections import Counter

import gymnasium as gym
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv as GymnasiumLake
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.budget import Budget, Ledger
from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import ACTIONS, Lake
from budget_envs.envs.frozen_lake.maps import MapSource
from budget_envs.oracles.frozen_lake import FrozenLakeOracle
from budget_envs.streams import derive_key

OPEN = Lake.from_rows(["FFF", "FSF", "FFG"])
KEYS = st.integers(0, 2**64 - 1)


class Limited(gym.Wrapper):
    """An environment of which a fixed number of turns remains."""

    def __init__(self, env, turns):
        super().__init__(env)
        self.ledger = Ledger(Budget(turns=turns))


def state(lake, tile, success_rate, turns):
    """Return an environment with the player on `tile` and `turns` left (None: no limit)."""
    env = FrozenLakeEnv(desc=lake.id.split("/"), success_rate=success_rate, allow_unsolvable=True)
    env.reset(seed=0)
    env.position = tile
    return Limited(env, turns)


@st.composite
def situations(draw):
    """A random lake, a tile of ice on it, a success rate, and the remaining turns."""
    size, key = draw(st.integers(3, 5)), draw(KEYS)
    lake = MapSource(sizes=(size,), frozen_share=0.85, placement="random").draw(key)
    tile = draw(st.sampled_from([i for i, letter in enumerate(lake.tiles) if letter == "F"]))
    success_rate = draw(st.sampled_from([1.0, 0.9, 0.6, 1 / 3]))
    return lake, tile, success_rate, draw(st.one_of(st.none(), st.integers(1, 12)))


def outcomes(lake, tile, success_rate, action):
    """Return the tiles that Gymnasium's dynamics lead to with positive probability."""
    dynamics = GymnasiumLake(desc=lake.id.split("/"), is_slippery=True, success_rate=success_rate)
    return {after for p, after, _, _ in dynamics.P[tile][ACTIONS.index(action)] if p > 0}


def goes_on(lake, tile, success_rate, turns):
    """Return whether success is still possible from `tile` with one turn fewer than `turns`."""
    if lake.is_over(tile) or turns == 1:
        return False
    later = state(lake, tile, success_rate, None if turns is None else turns - 1)
    return FrozenLakeOracle().judge(later, "")[1] > 0


def distance(lake, tile):
    return Lake(lake.tiles, lake.ncol, tile).min_turns


def is_worse(lake, tile, success_rate, turns, action):
    if success_rate == 1:
        (after,) = outcomes(lake, tile, success_rate, action)
        return distance(lake, after) >= distance(lake, tile)
    values = FrozenLakeOracle().values(state(lake, tile, success_rate, turns))
    return values[action] < max(values.values()) - 1e-9


@given(situations())
def test_the_errors_are_exactly_the_worse_actions_after_which_the_game_goes_on(situation):
    lake, tile, success_rate, turns = situation
    expected = {
        action
        for action in ACTIONS
        if is_worse(*situation, action)
        and all(
            goes_on(lake, after, success_rate, turns)
            for after in outcomes(lake, tile, success_rate, action)
        )
    }
    oracle, env = FrozenLakeOracle(), state(*situation)
    found = {oracle.error_action(env, "no action", derive_key(1, i)) for i in range(40)}
    assert found == (expected or {None})


@given(situations(), st.sampled_from(ACTIONS), KEYS)
def test_an_error_is_never_the_action_chosen_however_it_is_written(situation, chosen, key):
    oracle, env = FrozenLakeOracle(), state(*situation)
    for text in (chosen, chosen.upper(), f"<answer>{chosen}</answer>"):
        assert oracle.error_action(env, text, key) != chosen


@settings(max_examples=100)
@given(situations(), KEYS)
def test_an_error_never_has_the_only_best_value(situation, key):
    oracle, env = FrozenLakeOracle(), state(*situation)
    error = oracle.error_action(env, "", key)
    best_actions = oracle.judge(env, "")[2]
    assert error is None or best_actions != (error,)


def test_where_nobody_slips_an_error_would_fail_under_the_tightest_budget():
    env = state(OPEN, OPEN.start, 1.0, 6)
    tight = state(OPEN, OPEN.start, 1.0, OPEN.min_turns)
    oracle = FrozenLakeOracle()
    for key in range(20):
        error = oracle.error_action(env, "Right", key)
        assert error in ("Left", "Up")
        assert oracle.value(env, error) == 1
        assert oracle.value(tight, error) == 0


def test_a_detour_that_no_longer_fits_is_no_error():
    oracle = FrozenLakeOracle()
    assert [
        oracle.error_action(state(OPEN, OPEN.start, 1.0, turns), "Right", 0) is None
        for turns in (1, 2, 3, 4)
    ] == [True, True, True, False]


def test_walking_into_the_edge_is_an_error_that_costs_one_turn():
    corridor = Lake.from_rows(["SFG"])
    oracle = FrozenLakeOracle()
    found = {oracle.error_action(state(corridor, 0, 1.0, 3), "Right", key) for key in range(40)}
    assert found == {"Left", "Down", "Up"}
    assert oracle.error_action(state(corridor, 0, 1.0, 2), "Right", 0) is None


def test_an_action_that_may_slip_into_a_hole_is_no_error():
    lake = Lake.from_rows(["FHF", "FSF", "FFG"])
    oracle = FrozenLakeOracle()
    found = {oracle.error_action(state(lake, 4, 0.8, 9), "", key) for key in range(60)}
    assert found == {None} or found <= {"Down"}
    for action in ("Left", "Up", "Right"):
        assert action not in found


def test_without_a_budget_there_are_errors_too():
    oracle = FrozenLakeOracle()
    assert oracle.error_action(state(OPEN, OPEN.start, 1.0, None), "Down", 3) in ("Left", "Up")


@pytest.mark.parametrize("turns", [5, None])
@pytest.mark.parametrize("success_rate", [1.0, 0.8])
def test_after_the_end_and_out_of_reach_there_is_no_error(success_rate, turns):
    lake = Lake("FFGFFHF", 7, 0)
    for tile in (2, 5, 6):  # the goal, the hole, and the ice behind it
        env = state(lake, tile, success_rate, turns)
        assert FrozenLakeOracle().error_action(env, "", 0) is None


def test_with_no_turn_left_there_is_no_error():
    env = state(OPEN, OPEN.start, 1.0, 1)
    env.ledger.charge(turns=1)
    assert FrozenLakeOracle().error_action(env, "Left", 0) is None


def test_the_key_picks_every_candidate_equally_often():
    corridor = Lake.from_rows(["SFG"])
    env, oracle = state(corridor, 0, 1.0, 9), FrozenLakeOracle()
    picks = Counter(oracle.error_action(env, "Right", derive_key(7, i)) for i in range(3000))
    assert set(picks) == {"Left", "Down", "Up"}
    assert all(abs(count - 1000) < 4 * (3000 * 2 / 9) ** 0.5 for count in picks.values())


def test_the_same_key_picks_the_same_error():
    env = state(Lake.from_rows(["SFG"]), 0, 1.0, 9)
    picks = [[FrozenLakeOracle().error_action(env, "", key) for key in range(50)] for _ in "ab"]
    assert picks[0] == picks[1]


def test_an_injected_error_can_be_made_good():
    """Whatever the error, the best actions still win where nobody slips."""
    oracle, source = (
        FrozenLakeOracle(),
        MapSource(sizes=(4, 5), frozen_share=0.8, placement="random"),
    )
    injected = 0
    for index in range(100):
        lake = source.draw(derive_key(5, index))
        error = oracle.error_action(state(lake, lake.start, 1.0, 10), "", index)
        if error is None:
            continue
        injected += 1
        tile, turns = lake.moves[lake.start][ACTIONS.index(error)], 9
        while not lake.is_over(tile) and turns:
            action = oracle.judge(state(lake, tile, 1.0, turns), "")[2][0]
            tile, turns = lake.moves[tile][ACTIONS.index(action)], turns - 1
        assert lake.tiles[tile] == "G"
    assert injected > 50
