"""`EpisodeKeys`: the random generators of N copies, and the keys that they give to episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from budget_envs.errors import OptionError
from budget_envs.streams import derive_keys
from budget_envs.text_env import DYNAMICS

__all__ = ["EpisodeKeys", "Seeds"]

Keys = NDArray[np.uint64]
Seeds = dict[int, tuple[np.random.Generator, int]]

_AHEAD: Final = 32  # keys drawn in advance, since one call for each episode would cost most of it


class EpisodeKeys:
    """A generator for each of N copies, made from entropy when first needed if none was seeded.

    Keys are drawn in advance, which nobody sees: before the generators are handed out they are
    set back, and from then on nothing is drawn in advance any more.

    Args:
        num_envs: Number of copies N.
    """

    def __init__(self, num_envs: int) -> None:
        self._num_envs = num_envs
        self._generators: list[Any] = [None] * num_envs
        self._seeds = [0] * num_envs
        self._keys: Keys = np.zeros((num_envs, _AHEAD), dtype=np.uint64)
        self._dynamics: Keys = np.zeros((num_envs, _AHEAD), dtype=np.uint64)
        self._next = np.full(num_envs, _AHEAD)  # column of the next key
        self._is_handed_out = False

    def make(self, seed: Any) -> Seeds:
        """Return the generators that a seed asks for, by copy; nothing is changed yet.

        Args:
            seed: ``None``, an integer (copy ``i`` gets ``seed + i``) or one seed or ``None`` for
                each copy.

        Raises:
            OptionError: If ``seed`` is of another type or length.
            gymnasium.error.Error: If one of the seeds is not an integer of at least 0.
        """
        if seed is None:
            return {}
        seeds = range(seed, seed + self._num_envs) if isinstance(seed, int) else seed
        if not isinstance(seeds, Sequence) or len(seeds) != self._num_envs:
            raise OptionError(
                f"seed must be None, an integer or a list of {self._num_envs} seeds, one for each "
                f"copy, got {seed!r}."
            )
        return {copy: seeding.np_random(s) for copy, s in enumerate(seeds) if s is not None}

    def adopt(self, made: Seeds, copies: NDArray[np.intp]) -> None:
        """Take over the generators of some copies from what :meth:`make` returned."""
        for copy in copies.tolist():
            if copy in made:
                self._generators[copy], self._seeds[copy] = made[copy]
                self._next[copy] = _AHEAD

    def draw(self, copies: NDArray[np.intp]) -> tuple[Keys, Keys]:
        """Draw the key of an episode for each of some copies, as `TextEnv.reset` does.

        Returns:
            The keys, and the keys of the dynamics' streams for rollout 0.
        """
        if self._is_handed_out:
            keys = np.array([self._raw(copy, 1)[0] for copy in copies.tolist()], dtype=np.uint64)
            return keys, derive_keys(keys, DYNAMICS, 0)
        if (self._next[copies] == _AHEAD).any():
            self._refill()
        columns = self._next[copies]
        self._next[copies] = columns + 1
        return self._keys[copies, columns], self._dynamics[copies, columns]

    @property
    def generators(self) -> tuple[np.random.Generator, ...]:
        """The generator of each copy, as if nothing had been drawn in advance."""
        for copy, column in enumerate(self._next.tolist()):
            if column < _AHEAD:
                self._generator(copy).bit_generator.advance(column - _AHEAD)
        self._next[:] = _AHEAD
        self._is_handed_out = True
        return tuple(self._generator(copy) for copy in range(self._num_envs))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed that each copy's generator was made from."""
        for copy in range(self._num_envs):
            self._generator(copy)
        return tuple(self._seeds)

    def _refill(self) -> None:
        """Draw keys for all copies that have used half of theirs, and keep the others' rest."""
        copies = np.flatnonzero(self._next >= _AHEAD // 2)
        used = self._next[copies]
        columns = used[:, None] + np.arange(_AHEAD)
        keys = np.take_along_axis(self._keys[copies], np.minimum(columns, _AHEAD - 1), axis=1)
        fresh = [self._raw(*each) for each in zip(copies.tolist(), used.tolist(), strict=True)]
        keys[columns >= _AHEAD] = np.concatenate(fresh)
        self._keys[copies] = keys
        self._dynamics[copies] = derive_keys(keys, DYNAMICS, 0)
        self._next[copies] = 0

    def _raw(self, copy: int, count: int) -> Keys:
        drawn: Keys = self._generator(copy).bit_generator.random_raw(count)
        return drawn

    def _generator(self, copy: int) -> Any:
        if self._generators[copy] is None:
            self._generators[copy], self._seeds[copy] = seeding.np_random()
        return self._generators[copy]
