import gymnasium as gym
import pytest

from budget_envs.envs.frozen_lake import FrozenLakeEnv
from budget_envs.errors import SnapshotError
from budget_envs.snapshot import Snapshot, inner_snapshot, restore_inner


def test_wrappers_of_other_packages_are_looked_through():
    env = gym.wrappers.RecordEpisodeStatistics(FrozenLakeEnv(map_name="4x4"))
    env.reset(seed=0)
    saved = inner_snapshot(env)
    env.step("Down")
    restore_inner(env, saved)
    assert env.unwrapped.position == 0


def test_an_environment_without_snapshots_is_named():
    env = gym.make("CartPole-v1")
    with pytest.raises(SnapshotError, match=r"CartPole.* has no snapshot\(\)"):
        inner_snapshot(env)
    with pytest.raises(SnapshotError, match=r"has no restore\(\)"):
        restore_inner(env, Snapshot("X", {}))
    env.close()


def test_the_layer_is_checked():
    with pytest.raises(SnapshotError, match="expected a snapshot of A, got one of B"):
        Snapshot("B", {}).check_layer("A")
