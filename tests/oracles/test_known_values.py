"""Numbers that others have published or measured."""

import numpy as np
import pytest

from budget_envs.envs.frozen_lake.lake import MAPS, Lake
from budget_envs.envs.frozen_lake.maps import MapSource
from budget_envs.oracles.finite_horizon import solve
from budget_envs.oracles.frozen_lake import FrozenLakeOracle
from budget_envs.streams import derive_key

BUDGETS = (2, 3, 4, 5, 6, 8, 10, 16)
MEASURED = {  # mean optimal success within the budget, over 200-400 random solvable lakes
    (4, 1.0): (0.45, 0.70, 0.83, 0.92, 0.97, 1.0, 1.0, 1.0),
    (4, 0.8): (0.33, 0.51, 0.63, 0.73, 0.79, 0.86, 0.89, 0.92),
    (4, 1 / 3): (0.12, 0.18, 0.23, 0.28, 0.32, 0.40, 0.47, 0.62),
    (6, 1.0): (0.20, 0.39, 0.53, 0.69, 0.81, 0.95, 0.99, 1.0),
    (8, 1.0): (0.09, 0.18, 0.33, 0.47, 0.59, 0.82, 0.96, 1.0),
}


def test_the_optimum_of_gymnasiums_slippery_lake_in_100_steps_is_0_7442(make_lake_env):
    env = make_lake_env(map_name="4x4", success_rate=1 / 3, turns=100)
    assert round(FrozenLakeOracle().upper_bound(env, 100), 4) == 0.7442
    assert FrozenLakeOracle().upper_bound(env, 100) == pytest.approx(0.744190287829, abs=1e-12)


def test_without_a_limit_the_slippery_lake_is_crossed_with_probability_14_17(make_lake_env):
    env = make_lake_env(map_name="4x4", success_rate=1 / 3)
    assert max(FrozenLakeOracle().values(env).values()) == pytest.approx(14 / 17, abs=1e-9)


def test_without_a_limit_the_large_slippery_lake_is_always_crossed(make_lake_env):
    env = make_lake_env(map_name="8x8", success_rate=1 / 3)
    assert max(FrozenLakeOracle().values(env).values()) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", MAPS)
def test_the_maps_of_gymnasium_take_their_shortest_path_where_nobody_slips(make_lake_env, name):
    bounds = FrozenLakeOracle().upper_bounds(make_lake_env(map_name=name), 20)
    assert bounds.index(1.0) + 1 == Lake.from_rows(MAPS[name]).min_turns


@pytest.mark.parametrize(("size", "success_rate"), MEASURED)
def test_the_mean_bound_of_random_lakes_is_the_measured_one(size, success_rate):
    source = MapSource(sizes=(size,), frozen_share=0.8, placement="random")
    lakes = [source.draw(derive_key(2026, size, index)) for index in range(1000)]
    tiles = np.array([list(lake.tiles) for lake in lakes]).reshape(-1, size, size)
    v = solve(tiles == "H", tiles == "G", success_rate, max(BUDGETS)).v[list(BUDGETS)]
    bounds = v[:, np.arange(len(lakes)), [lake.start for lake in lakes]]
    deviation = np.abs(bounds.mean(axis=1) - MEASURED[size, success_rate])
    standard_error = bounds.std(axis=1) * np.sqrt(1 / len(lakes) + 1 / 300)
    assert (deviation <= 4 * standard_error + 0.01).all()
