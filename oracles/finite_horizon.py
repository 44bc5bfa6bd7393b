"""Finite-horizon dynamic programming on frozen lakes: all horizons in one backward pass.

With h turns left, tile s, action a::

    V_0(s)    = 1 if s is a goal, else 0
    Q*_h(s,a) = sum over s' of P(s'|s,a) V_{h-1}(s')
    V_h(s)    = max over a of Q*_h(s,a),    V_h(goal) = 1,    V_h(hole) = 0

so V_h(s) is the best probability of standing on a goal after at most h turns (backward induction:
Puterman, 1994, "Markov Decision Processes", section 4.5). There is no discount and no cost of a
turn: a short and a long safe route tie as long as both fit into h.

A lake has at most three outcomes for an action (ahead, and to either side), so a backup is one
gather of the four neighbours and a few sums over all tiles, of as many lakes as there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from budget_envs.budget import as_limit
from budget_envs.envs.frozen_lake.env import check_success_rate
from budget_envs.envs.frozen_lake.lake import ACTIONS, moves
from budget_envs.errors import OptionError, UnsupportedError

__all__ = ["MAX_SWEEPS", "TOLERANCE", "Solution", "solve", "solve_unlimited"]

TOLERANCE: Final = 1e-12
"""Values without a turn limit are iterated until no tile changes by more than this."""

MAX_SWEEPS: Final = 100_000
"""Values without a turn limit are at least those within this many turns."""

_MAX_BYTES: Final = 2**30
_CHECK_EVERY: Final = 512  # turns between two looks at whether the values still change

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Solution:
    """Optimal values of one lake, or of a batch of lakes, for the horizons 0 to H.

    Attributes:
        q: ``(H + 1, 4, ..., tiles) float64`` in [0, 1]: Q*_h(s, a), actions ordered Left, Down,
            Right, Up, tiles row by row; ``q[0]`` is V_0 for every action, and on holes and goals
            ``q[h]`` is V_h.
        v: ``(H + 1, ..., tiles) float64`` in [0, 1]: V_h(s), the maximum of ``q[h]``; it never
            decreases with h, not even by a rounding error.
    """

    q: Floats
    v: Floats

    def row(self, turns: int) -> int:
        """Return the index of a horizon in ``q`` and ``v``: the last row holds for all later."""
        return min(turns, len(self.v) - 1)


def solve(holes: Bools, goals: Bools, success_rate: float, turns: int) -> Solution:
    """Compute Q*_h and V_h for every h up to ``turns``.

    Args:
        holes: ``(..., nrow, ncol) bool``; leading axes are a batch of lakes of equal shape.
        goals: ``(..., nrow, ncol) bool``, no tile of which is a hole.
        success_rate: Probability in [1/3, 1] that a move goes as intended; otherwise it goes to
            either side, with equal probability.
        turns: Longest horizon, at least 1.

    Returns:
        Values with H = ``turns``, or a smaller H (a multiple of 512) from which on no value
        changes any more, not even in its last bit.

    Raises:
        OptionError: If an argument is not valid.
        UnsupportedError: If the values still change when they fill 1 GiB.
    """
    turns = as_limit(turns, "turns")
    backup = _Backup(holes, goals, success_rate)
    rows = min(turns + 1, max(2, _MAX_BYTES // (5 * 8 * holes.size)))
    q = np.empty((rows, len(ACTIONS), holes.size))  # memory is taken when it is written
    v = np.empty((rows, holes.size))
    v[0] = q[0] = goals.reshape(-1)
    for h in range(1, rows):
        backup(v[h - 1], q[h], v[h])
        if h % _CHECK_EVERY == 0 and np.array_equal(v[h], v[h - 1]):
            return _shaped(q[: h + 1], v[: h + 1], holes.shape)
    if rows <= turns:
        raise UnsupportedError(
            f"the values of {holes.shape} tiles for {turns} turns need more than 1 GiB; use fewer "
            f"turns (up to {rows - 1} fit), smaller lakes, or no turn limit."
        )
    return _shaped(q, v, holes.shape)


def solve_unlimited(holes: Bools, goals: Bools, success_rate: float) -> Solution:
    """Compute the values without a turn limit: the probability of ever reaching a goal.

    V_h never decreases and is bounded, so it is iterated until no tile changes by more than
    `TOLERANCE`, and for at most `MAX_SWEEPS` turns.

    Args:
        holes: As in :func:`solve`.
        goals: As in :func:`solve`.
        success_rate: As in :func:`solve`.

    Returns:
        Values with a single row, which holds for every horizon.

    Raises:
        OptionError: If an argument is not valid.
    """
    backup = _Backup(holes, goals, success_rate)
    q = np.empty((1, len(ACTIONS), holes.size))
    before = goals.reshape(-1).astype(np.float64)
    after = np.empty_like(before)
    for _ in range(MAX_SWEEPS):
        backup(before, q[0], after)
        before, after = after, before
        if np.max(before - after) <= TOLERANCE:
            break
    return _shaped(q, before[None], holes.shape)


class _Backup:
    """One Bellman backup, from V_{h-1} to Q_h and V_h, into memory that the caller owns."""

    def __init__(self, holes: Bools, goals: Bools, success_rate: float) -> None:
        _check_tiles(holes, goals)
        self._success_rate = check_success_rate(success_rate)
        self._side = (1 - self._success_rate) / 2
        self._reached = _reached(holes | goals)
        self._ahead = np.empty(self._reached.shape)
        self._sides = np.empty((2, holes.size))
        self._better = np.empty((2, holes.size))

    def __call__(self, before: Floats, q: Floats, after: Floats) -> None:
        """Write Q_h into ``q`` ``(4, N)`` and V_h into ``after`` ``(N,)`` from V_{h-1}."""
        ahead, better = self._ahead, self._better
        # "clip" lets take() write into its output directly; every index is in range anyway.
        before.take(self._reached, out=q if self._side == 0 else ahead, mode="clip")
        if self._side != 0:
            self._slip(ahead, q)
        np.maximum(q[:2], q[2:], out=better)
        np.maximum(better[0], better[1], out=after)

    def _slip(self, ahead: Floats, q: Floats) -> None:
        """Mix the values ahead of each action ``(4, N)`` with those to its sides."""
        sides = self._sides  # of Down and Up, and of Left and Right: one sum for each pair
        np.add(ahead[:2], ahead[2:], out=sides)
        sides *= self._side
        ahead *= self._success_rate
        for number in range(len(ACTIONS)):
            np.add(ahead[number], sides[1 - number % 2], out=q[number])


def _reached(closed: Bools) -> NDArray[np.intp]:
    """Return ``(4, N) intp``, the tile that each action leads to; from a closed one, itself."""
    nrow, ncol = closed.shape[-2:]
    flat = closed.reshape(-1, nrow * ncol)
    neighbours = _neighbours(nrow, ncol)[:, None, :]
    tiles = np.arange(nrow * ncol)
    first = np.arange(len(flat))[:, None] * len(tiles)
    reached: NDArray[np.intp] = np.where(flat, tiles, neighbours) + first
    return reached.reshape(len(ACTIONS), -1)


@lru_cache(maxsize=256)
def _neighbours(nrow: int, ncol: int) -> NDArray[np.intp]:
    return np.ascontiguousarray(np.array(moves(nrow, ncol), dtype=np.intp).T)


def _shaped(q: Floats, v: Floats, shape: tuple[int, ...]) -> Solution:
    """Give flat results the batch axes of the tiles."""
    tail = (*shape[:-2], shape[-2] * shape[-1])
    return Solution(q.reshape(*q.shape[:2], *tail), v.reshape(len(v), *tail))


def _check_tiles(holes: Bools, goals: Bools) -> None:
    for name, tiles in (("holes", holes), ("goals", goals)):
        if not isinstance(tiles, np.ndarray) or tiles.dtype != np.bool_ or tiles.ndim < 2:
            raise OptionError(
                f"{name} must be a bool array of shape (..., nrow, ncol), got "
                f"{getattr(tiles, 'dtype', type(tiles).__name__)} of shape {np.shape(tiles)}."
            )
    if holes.shape != goals.shape or holes.size == 0:
        raise OptionError(
            f"holes and goals must have one shape, not empty, got {holes.shape} and {goals.shape}."
        )
    if (holes & goals).any():
        raise OptionError("a tile is either a hole or a goal, got tiles that are both.")
