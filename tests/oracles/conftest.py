import gymnasium as gym
import pytest

from budget_envs.budget import Budget, Ledger
from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import Lake


class TurnBudget(gym.Wrapper):
    """The least that an oracle can read a budget from."""

    def __init__(self, env, **limits):
        super().__init__(env)
        self.limits = Budget(**limits)

    def reset(self, **kwargs):
        self.ledger = Ledger(self.limits)
        return self.env.reset(**kwargs)

    def step(self, action):
        self.ledger.charge(turns=1)
        observation, reward, terminated, truncated, info = self.env.step(action)
        truncated = truncated or (not terminated and self.ledger.exhausted == "turns")
        return observation, reward, terminated, truncated, info


@pytest.fixture
def make_lake_env():
    """Build a frozen lake that was reset, with the player on `tile` and `turns` left."""

    def make(lake=None, turns=None, *, tile=None, success_rate=1.0, seed=0, **settings):
        if isinstance(lake, Lake):
            settings |= {"desc": lake.id.split("/"), "allow_unsolvable": True}
        env = TurnBudget(FrozenLakeEnv(success_rate=success_rate, **settings), turns=turns)
        env.reset(seed=seed)
        if tile is not None:
            env.unwrapped.position = tile
        return env

    return make
