"""`EpisodeKey`: names an episode by integers, for draws that depend on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from budget_envs.streams import derive_key, text_key

__all__ = ["EpisodeKey"]


class EpisodeKey:
    """The seed of the last seeded reset, and the resets since then.

    Two environments that were seeded alike and reset equally often give the same key to the same
    task, in whatever process they are. Reset with an explicit seed, all rollouts of a seed and
    task share one key; reset without, every visit has its own.

    Args:
        key: Key of whoever draws, e.g. a wrapper's own seed.
    """

    def __init__(self, key: int) -> None:
        self._key = key
        self._seed: int | None = None
        self._visit = 0

    def begin(self, env: gym.Env[Any, Any], seed: int | None) -> None:
        """Note that ``env`` was reset with ``seed``."""
        if seed is not None:
            self._seed = int(seed)
            self._visit = 0
            return
        if self._seed is None:  # never seeded: the environment drew its seed from entropy
            self._seed = env.unwrapped.np_random_seed
        self._visit += 1

    def of_task(self, task_id: str, *path: int) -> int:
        """Return the 64-bit key of a task in the current episode."""
        return derive_key(self._key, self._seed or 0, self._visit, text_key(task_id), *path)

    def save(self) -> tuple[int | None, int]:
        """Return the state."""
        return self._seed, self._visit

    def load(self, state: tuple[int | None, int]) -> None:
        """Take over what :meth:`save` returned."""
        self._seed, self._visit = state


def rollout_of(options: Mapping[str, Any] | None) -> int:
    """Return the rollout that reset options name, 0 where all rollouts share their luck."""
    if not options or options.get("common_random_numbers", False):
        return 0
    return int(options.get("rollout", 0))
