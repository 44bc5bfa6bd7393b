"""A counter-free 64-bit random stream in pure Python: same bytes on every platform and version.

NumPy promises its bit generators but not the methods that draw from them (NEP 19), and
`random.choice` has changed between Python releases. Task ids must mean the same task for good,
so tasks are drawn from SplitMix64 alone.

Reference: Steele, Lea and Flood, 2014, "Fast splittable pseudorandom number generators".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["SplitMix64"]

T = TypeVar("T")

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class SplitMix64:
    """A stream of random integers, named by the integers it is seeded with.

    Args:
        *key: Any integers. Streams of different keys are independent for practical purposes;
            ``SplitMix64(1, 2)`` and ``SplitMix64(2, 1)`` differ. Each is reduced modulo 2**64.
    """

    __slots__ = ("_state",)

    def __init__(self, *key: int) -> None:
        state = len(key)
        for word in key:
            state = _mix(((state + _GAMMA) & _MASK) ^ _mix(word & _MASK))
        self._state = state

    def next(self) -> int:
        """Return the next integer in ``[0, 2**64)``."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """Return an integer in ``[0, n)``, ``n >= 1``; the bias is below ``n / 2**64``."""
        return (self.next() * n) >> 64

    def between(self, low: int, high: int) -> int:
        """Return an integer in ``[low, high]``, both ends included."""
        return low + ((self.next() * (high - low + 1)) >> 64)

    def chance(self, percent: int) -> bool:
        """Return true with a probability of ``percent`` in a hundred."""
        return (self.next() * 100) >> 64 < percent

    def choice(self, items: Sequence[T]) -> T:
        """Return one item of a non-empty sequence, each with the same probability."""
        return items[(self.next() * len(items)) >> 64]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items as a new list in random order (Fisher-Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = (self.next() * (last + 1)) >> 64
            result[last], result[other] = result[other], result[last]
        return result
