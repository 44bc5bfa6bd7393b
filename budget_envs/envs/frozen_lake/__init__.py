"""FrozenLake as a text environment under a budget."""

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import ACTIONS, MAPS, Lake
from budget_envs.envs.frozen_lake.maps import MapSource

__all__ = ["ACTIONS", "MAPS", "FrozenLakeEnv", "Lake", "MapSource"]
