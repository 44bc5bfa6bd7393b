"""A sequence of random draws from one counter-based stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from budget_envs.streams import uniform

__all__ = ["Draws"]

T = TypeVar("T")


class Draws:
    """Takes one draw of a stream after another.

    Args:
        key: Key of the stream, see `budget_envs.streams`.
    """

    def __init__(self, key: int) -> None:
        self._key = key
        self._counter = 0

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        self._counter += 1
        return uniform(self._key, self._counter - 1)

    def integer(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + int(self.unit() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """Return true with a probability."""
        return self.unit() < probability

    def choice(self, items: Sequence[T]) -> T:
        """Return one item of a non-empty sequence, each with the same probability."""
        return items[int(self.unit() * len(items))]

    def skewed_choice(self, items: Sequence[T]) -> T:
        """Return one item of a non-empty sequence, early ones more often than late ones."""
        return items[int(self.unit() ** 1.7 * len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return some items in random order, each at most once; all if there are fewer."""
        pool = list(items)
        count = min(count, len(pool))
        for place in range(count):
            other = self.integer(place, len(pool) - 1)
            pool[place], pool[other] = pool[other], pool[place]
        return pool[:count]
