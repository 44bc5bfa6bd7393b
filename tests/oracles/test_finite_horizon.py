"""The solver, against recursion, against a linear system and against the definitions."""

import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv as GymnasiumLake
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.budget import Budget
from budget_envs.envs.frozen_lake.lake import MAPS, Lake
from budget_envs.envs.frozen_lake.maps import MapSource
from budget_envs.errors import BudgetError, OptionError, UnsupportedError
from budget_envs.oracles import finite_horizon
from budget_envs.oracles.finite_horizon import solve, solve_unlimited
from budget_envs.streams import derive_key

SUCCESS_RATES = st.one_of(st.sampled_from([1.0, 0.8, 0.5, 1 / 3]), st.floats(1 / 3, 1))


@st.composite
def lakes(draw, max_side=3):
    """Lakes of any shape, with holes, walled-in tiles and several goals."""
    nrow, ncol = draw(st.integers(2, max_side)), draw(st.integers(2, max_side))
    tiles = draw(st.lists(st.sampled_from("FFFFFFHG"), min_size=nrow * ncol, max_size=nrow * ncol))
    start, goal = draw(st.permutations(range(nrow * ncol)))[:2]
    tiles[start], tiles[goal] = "F", "G"
    return Lake("".join(tiles), ncol, start)


def masks(*some_lakes):
    rows = [[list(row) for row in lake.id.split("/")] for lake in some_lakes]
    tiles = np.array(rows if len(some_lakes) > 1 else rows[0])
    return tiles == "H", tiles == "G"


def random_lakes(size, count, seed=0):
    source = MapSource(sizes=(size,), frozen_share=0.8, placement="random")
    return [source.draw(derive_key(seed, size, index)) for index in range(count)]


def gymnasium_dynamics(lake, success_rate):
    return GymnasiumLake(desc=lake.id.split("/"), is_slippery=True, success_rate=success_rate).P


def expectimax(dynamics, tile, action, turns):
    """Q*_h by plain recursion over Gymnasium's transitions: reward 1 on entering a goal."""
    return sum(
        probability * (reward if ended else best(dynamics, after, turns - 1))
        for probability, after, reward, ended in dynamics[tile][action]
    )


def best(dynamics, tile, turns):
    return max(expectimax(dynamics, tile, a, turns) for a in range(4)) if turns else 0.0


@settings(max_examples=40)
@given(lakes(), SUCCESS_RATES, st.integers(1, 4))
def test_values_equal_recursion_over_gymnasiums_transitions(lake, success_rate, turns):
    q = solve(*masks(lake), success_rate, turns).q
    dynamics = gymnasium_dynamics(lake, success_rate)
    for tile in [tile for tile in range(len(lake.tiles)) if not lake.is_over(tile)]:
        for action in range(4):
            expected = expectimax(dynamics, tile, action, turns)
            assert q[turns, action, tile] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=15)
@given(lakes(max_side=2), SUCCESS_RATES)
def test_values_equal_recursion_to_depth_five(lake, success_rate):
    v = solve(*masks(lake), success_rate, 5).v
    dynamics = gymnasium_dynamics(lake, success_rate)
    assert v[5, lake.start] == pytest.approx(best(dynamics, lake.start, 5), abs=1e-12)


@given(lakes(max_side=5), SUCCESS_RATES, st.integers(1, 12))
def test_v_is_the_best_action_and_never_decreases_with_the_turns(lake, success_rate, turns):
    solution = solve(*masks(lake), success_rate, turns)
    assert np.array_equal(solution.q.max(axis=1), solution.v)
    assert (np.diff(solution.v, axis=0) >= 0).all()
    assert solution.q.min() >= 0
    assert solution.q.max() <= 1


@given(lakes(max_side=5), SUCCESS_RATES)
def test_values_stay_at_one_on_goals_and_at_zero_in_holes(lake, success_rate):
    holes, goals = masks(lake)
    solution = solve(holes, goals, success_rate, 6)
    assert (solution.q[:, :, goals.reshape(-1)] == 1).all()
    assert (solution.q[:, :, holes.reshape(-1)] == 0).all()


@given(lakes(max_side=6), st.integers(1, 15))
def test_without_slips_success_is_certain_from_the_shortest_path_on(lake, turns):
    v = solve(*masks(lake), 1.0, turns).v[:, lake.start]
    feasible = [0 <= lake.min_turns <= h for h in range(turns + 1)]
    assert v.tolist() == [float(f) for f in feasible]


@given(lakes(max_side=4), SUCCESS_RATES)
def test_a_mirrored_lake_has_mirrored_values(lake, success_rate):
    holes, goals = masks(lake)
    q = solve(holes, goals, success_rate, 7).q.reshape(8, 4, *holes.shape)
    mirrored = solve(holes[:, ::-1].copy(), goals[:, ::-1].copy(), success_rate, 7).q
    mirrored = mirrored.reshape(8, 4, *holes.shape)[..., ::-1]
    assert np.array_equal(q, mirrored[:, [2, 1, 0, 3]])


def test_a_lower_success_rate_is_never_better_where_slipping_cannot_help():
    corridor = Lake("FFFFG", 5, 0)
    values = [solve(*masks(corridor), p, 6).v[6, 0] for p in (1 / 3, 0.5, 0.8, 1.0)]
    assert values == sorted(values)
    assert values[-1] == 1


@pytest.mark.parametrize("success_rate", [1.0, 0.8, 1 / 3])
def test_a_batch_equals_its_lakes_one_by_one(success_rate):
    batch = random_lakes(4, 50)
    together = solve(*masks(*batch), success_rate, 10)
    assert together.q.shape == (11, 4, 50, 16)
    assert together.v.shape == (11, 50, 16)
    for index, lake in enumerate(batch):
        alone = solve(*masks(lake), success_rate, 10)
        assert np.array_equal(together.q[:, :, index], alone.q)
        assert np.array_equal(together.v[:, index], alone.v)


def test_a_batch_may_have_several_axes_and_lakes_that_are_not_square():
    holes = np.zeros((2, 3, 2, 4), dtype=bool)
    goals = np.zeros_like(holes)
    goals[..., 1, 3] = True
    holes[0, 0, 0, 1] = True
    solution = solve(holes, goals, 0.8, 5)
    assert solution.q.shape == (6, 4, 2, 3, 8)
    alone = solve(holes[0, 0], goals[0, 0], 0.8, 5)
    assert np.array_equal(solution.q[:, :, 0, 0], alone.q)


@pytest.mark.parametrize("success_rate", [1.0, 0.7, 1 / 3])
@pytest.mark.parametrize("size", [8, 12])
def test_values_equal_quantecons_on_larger_lakes(size, success_rate):
    markov = pytest.importorskip("quantecon.markov", reason="quantecon is not installed")
    turns = 60
    for lake in random_lakes(size, 3):
        dynamics = gymnasium_dynamics(lake, success_rate)
        tiles = len(lake.tiles)
        transitions, goal = np.zeros((tiles, 4, tiles)), np.array([t == "G" for t in lake.tiles])
        for tile in range(tiles):
            for action in range(4):
                for probability, after, _, _ in dynamics[tile][action]:
                    transitions[tile, action, after] += probability
        with pytest.warns(UserWarning, match="infinite horizon"):
            problem = markov.DiscreteDP(np.zeros((tiles, 4)), transitions, 1.0)
        values, policy = markov.backward_induction(problem, turns, goal.astype(float))
        ours = solve(*masks(lake), success_rate, turns)
        np.testing.assert_allclose(ours.v, values[::-1], rtol=0, atol=1e-12)
        of_policy = np.take_along_axis(ours.q[1:], policy[::-1, None], axis=1)[:, 0]
        np.testing.assert_allclose(of_policy, ours.v[1:], rtol=0, atol=1e-12)


def test_long_horizons_stop_where_the_values_stop_and_the_last_row_holds_from_there():
    lake = masks(Lake.from_rows(MAPS["4x4"]))
    short = solve(*lake, 1 / 3, 1_000_000)
    full = solve(*lake, 1 / 3, 512)
    assert len(short.v) < 5_000
    assert (len(short.v) - 1) % 512 == 0
    assert np.array_equal(short.v[:513], full.v)
    assert np.array_equal(short.v[-1], short.v[-2])
    assert short.row(1_000_000) == len(short.v) - 1
    assert short.row(7) == 7


@given(lakes(max_side=4), SUCCESS_RATES)
@settings(max_examples=20)
def test_values_without_a_limit_are_where_long_horizons_lead(lake, success_rate):
    unlimited = solve_unlimited(*masks(lake), success_rate)
    assert unlimited.q.shape == (1, 4, len(lake.tiles))
    finite = solve(*masks(lake), success_rate, 20_000)
    np.testing.assert_allclose(unlimited.q[0], finite.q[-1], rtol=0, atol=1e-8)
    assert unlimited.row(12345) == 0


def test_values_without_a_limit_solve_the_linear_system_of_their_own_policy():
    lake = Lake.from_rows(MAPS["4x4"])
    dynamics = gymnasium_dynamics(lake, 1 / 3)
    solution = solve_unlimited(*masks(lake), 1 / 3)
    policy = solution.q[0].argmax(axis=0)
    matrix, rewards = np.eye(16), np.zeros(16)
    for tile in [tile for tile in range(16) if not lake.is_over(tile)]:
        for probability, after, reward, ended in dynamics[tile][policy[tile]]:
            matrix[tile, after] -= probability * (not ended)
            rewards[tile] += probability * reward
    expected = np.linalg.solve(matrix, rewards)
    assert solution.v[0, 0] == pytest.approx(expected[0], abs=1e-9)
    assert expected[0] == pytest.approx(14 / 17, abs=1e-12)


def test_a_lake_whose_values_would_fill_a_gigabyte_is_refused_with_what_fits(monkeypatch):
    monkeypatch.setattr(finite_horizon, "_MAX_BYTES", 40 * 16 * 100)
    lake = masks(Lake.from_rows(MAPS["4x4"]))
    assert len(solve(*lake, 1 / 3, 99).v) == 100
    with pytest.raises(UnsupportedError, match=r"up to 99 fit"):
        solve(*lake, 1 / 3, 100)


@pytest.mark.parametrize("turns", [0, -1, True, 1.5, "8", None])
def test_a_horizon_that_is_not_a_positive_integer_is_refused(turns):
    with pytest.raises(BudgetError, match="turns"):
        solve(*masks(Lake("FG", 2, 0)), 1.0, turns)
    assert Budget(turns=1)  # the same rule as for budgets


@pytest.mark.parametrize("success_rate", [0.3, 1.01, -1, float("nan"), True, "0.8"])
def test_a_success_rate_without_three_probabilities_is_refused(success_rate):
    with pytest.raises(OptionError, match="success_rate"):
        solve(*masks(Lake("FG", 2, 0)), success_rate, 3)


@pytest.mark.parametrize(
    ("holes", "goals", "message"),
    [
        (np.zeros((2, 2)), np.zeros((2, 2), bool), "holes must be a bool array"),
        (np.zeros((2, 2), bool), [[True]], "goals must be a bool array"),
        (np.zeros(4, bool), np.zeros(4, bool), "holes must be a bool array"),
        (np.zeros((2, 2), bool), np.zeros((2, 3), bool), "one shape"),
        (np.zeros((0, 2), bool), np.zeros((0, 2), bool), "not empty"),
        (np.ones((2, 2), bool), np.ones((2, 2), bool), "both"),
    ],
)
def test_arrays_that_are_no_lake_are_refused(holes, goals, message):
    with pytest.raises(OptionError, match=message):
        solve(holes, goals, 1.0, 3)
    with pytest.raises(OptionError, match=message):
        solve_unlimited(holes, goals, 1.0)


def test_the_arrays_given_are_not_changed():
    holes, goals = masks(*random_lakes(5, 4))
    before = holes.copy(), goals.copy()
    solve(holes, goals, 0.8, 6)
    assert np.array_equal(holes, before[0])
    assert np.array_equal(goals, before[1])
