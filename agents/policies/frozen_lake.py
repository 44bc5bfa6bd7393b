"""`ShortestPathPolicy`: crosses a frozen lake as if it were neither slippery nor timed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import gymnasium as gym

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import ACTIONS, Lake
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.policy import Action, Conversation, Policy

__all__ = ["ShortestPathPolicy", "distances"]


class ShortestPathPolicy(Policy):
    """Walks the shortest path to a goal from wherever it is, blind to the budget and to slips.

    It reads the map from the environment. Among equally short ways it takes the first in the
    order of the actions. On ice that is not slippery it is optimal under every budget; on slippery
    ice it takes risks that a player with time to spare would not, so what it loses to the oracle
    is what planning for slips and for the remaining turns is worth.
    """

    needs_env: ClassVar[bool] = True

    def __init__(self) -> None:
        self.name = "shortest_path"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return the next step of each conversation."""
        return [Action(_step(conversation)) for conversation in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse all environments but frozen lakes.

        Raises:
            UnsupportedError: If ``env`` is none.
        """
        if not isinstance(env.unwrapped, FrozenLakeEnv):
            raise UnsupportedError(
                f"the shortest-path policy plays frozen lakes, got {env.unwrapped}."
            )


@lru_cache(maxsize=4096)
def distances(lake: Lake) -> tuple[int, ...]:
    """Return the fewest moves over ice from each tile to a goal; -1 where no path leads there."""
    found = [0 if tile == "G" else -1 for tile in lake.tiles]
    frontier = {tile for tile, steps in enumerate(found) if steps == 0}
    steps = 0
    while frontier:
        steps += 1
        frontier = {
            tile
            for tile, neighbours in enumerate(lake.moves)
            if found[tile] < 0 and lake.tiles[tile] == "F" and not frontier.isdisjoint(neighbours)
        }
        for tile in frontier:
            found[tile] = steps
    return tuple(found)


def _step(conversation: Conversation) -> str:
    env: Any = conversation.env.unwrapped  # type: ignore[union-attr]  # needs_env
    steps = distances(env.task)
    after = [steps[tile] for tile in env.task.moves[env.position]]
    reachable = [number for number, left in enumerate(after) if left >= 0]
    if not reachable:  # the goal cannot be reached: any move is as good
        return ACTIONS[0]
    return ACTIONS[min(reachable, key=after.__getitem__)]
