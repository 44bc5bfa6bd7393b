import gymnasium as gym
import pytest

from budget_envs.agents.policies.frozen_lake import ShortestPathPolicy, distances
from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import Lake
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.evaluate import evaluate

LAKE = "budget_envs/FrozenLake-v0"


def plain_distances(lake):
    """Relax every edge until nothing changes."""
    steps = {tile: 0 for tile, letter in enumerate(lake.tiles) if letter == "G"}
    changed = True
    while changed:
        changed = False
        for tile, letter in enumerate(lake.tiles):
            near = [steps[n] for n in lake.moves[tile] if n in steps and n != tile]
            if letter == "F" and near and steps.get(tile, 10**9) > min(near) + 1:
                steps[tile], changed = min(near) + 1, True
    return tuple(steps.get(tile, -1) for tile in range(len(lake.tiles)))


@pytest.mark.parametrize("size", [2, 4, 7])
def test_distances_equal_those_of_plain_relaxation(size):
    env = FrozenLakeEnv(size=size, frozen_share=0.7)
    for seed in range(60):
        env.reset(seed=seed)
        assert distances(env.task) == plain_distances(env.task)
        assert distances(env.task)[env.task.start] == env.task.min_turns


def test_holes_and_tiles_without_a_path_have_no_distance():
    assert distances(Lake.from_rows(["SHF", "FHG"])) == (-1, -1, 1, -1, -1, 0)


def test_on_ice_that_is_not_slippery_it_takes_exactly_the_shortest_path():
    result = evaluate(ShortestPathPolicy(), LAKE, [10], tasks=60, k=1, num_rollouts=1)
    env = FrozenLakeEnv()
    for episode in result.episodes:
        assert episode.success_turn == env.load_task(episode.task_id).min_turns


def test_it_acts_the_same_under_every_budget():
    kwargs = {"success_rate": 0.8}
    result = evaluate(ShortestPathPolicy(), LAKE, [3, 10], tasks=20, k=1, env_kwargs=kwargs)
    by_key = {episode.key: [t.action for t in episode.turns] for episode in result.episodes}
    for (task, budget, rollout), actions in by_key.items():
        if budget == 3:
            assert by_key[task, 10, rollout][: len(actions)] == actions


def test_it_never_walks_into_a_hole_by_itself():
    result = evaluate(ShortestPathPolicy(), LAKE, [10], tasks=60, k=1, num_rollouts=1)
    assert {episode.verdict for episode in result.episodes} == {"pass"}


def test_where_the_goal_cannot_be_reached_it_moves_all_the_same(talk):
    env = gym.make(LAKE, desc=["SHG"], allow_unsolvable=True)
    assert ShortestPathPolicy().act([talk(env)])[0].text == "Left"


def test_it_reads_the_environment_and_not_the_budget():
    assert (ShortestPathPolicy.needs_env, ShortestPathPolicy.uses_budget) == (True, False)


def test_other_environments_are_refused():
    with pytest.raises(UnsupportedError, match="plays frozen lakes"):
        ShortestPathPolicy().check_env(gym.make("CartPole-v1"))
