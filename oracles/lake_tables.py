"""`LakeTable`: the solution of one lake as judgements of actions, and a cache of such tables."""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from budget_envs.envs.frozen_lake.lake import ACTIONS, Lake
from budget_envs.oracles.finite_horizon import Solution, solve, solve_unlimited

__all__ = ["NO_MOVE", "TABLES", "TIE", "UNLIMITED", "WORSE", "Judgement", "LakeTable", "TableCache"]

TIE: Final = 1e-12
"""Values that differ by at most this are equal: rounding tells apart what mathematics does not."""

WORSE: Final = 1e-9
"""An error on slippery ice has a value lower than the best one by more than this."""

NO_MOVE: Final = ""
"""Stands for every text that names no action."""

UNLIMITED: Final = -1
"""Stands for the remaining turns where there is no turn budget."""

Judgement = tuple[float, float, tuple[str, ...]]
"""Value of an action, best value of the state, names of the best actions."""

_CACHE_BYTES: Final = 2**28
_MAX_ROWS: Final = 2**16
_ROW_BYTES: Final = 1000  # one row of judgements with all that it refers to, rounded up


class LakeTable:
    """The solution of one lake, and judgements made from it when they are first asked for.

    Args:
        lake: The lake.
        success_rate: Probability in [1/3, 1] that a move goes as intended.
        turns: Longest horizon that must be answered, at least 0, or `UNLIMITED`.

    Attributes:
        lake: A copy of the lake, so that rendered texts are not kept alive.
        success_rate: As given.
        solution: Values for all horizons.
        fewest: Fewest remaining turns that this table answers for.
        most: Most remaining turns that this table answers for.
        rows: By remaining turns and tile, the judgement of each action and of `NO_MOVE`, where
            :meth:`make_row` was called.
        nbytes: Size in bytes once all rows are there.
    """

    __slots__ = ("fewest", "lake", "most", "nbytes", "rows", "solution", "success_rate")

    def __init__(self, lake: Lake, success_rate: float, turns: int) -> None:
        tiles = np.frombuffer(lake.tiles.encode(), dtype=np.uint8).reshape(lake.nrow, lake.ncol)
        holes, goals = tiles == ord("H"), tiles == ord("G")
        self.lake = Lake(lake.tiles, lake.ncol, lake.start, lake.min_turns)  # without its texts
        self.success_rate = success_rate
        if turns == UNLIMITED:
            self.solution: Solution = solve_unlimited(holes, goals, success_rate)
            self.fewest = self.most = UNLIMITED
        else:
            self.solution = solve(holes, goals, success_rate, max(turns, 1))
            self.fewest, self.most = 0, len(self.solution.v) - 1
            if self.most < turns:  # the last row holds for all later horizons
                self.most = sys.maxsize
        self.rows: dict[tuple[int, int], dict[str, Judgement]] = {}
        rows = min(_MAX_ROWS, (self.most - self.fewest + 1) * tiles.size)
        self.nbytes = self.solution.q.nbytes + self.solution.v.nbytes + rows * _ROW_BYTES

    def make_row(self, turns: int, tile: int) -> dict[str, Judgement]:
        """Return and keep the judgement of every action, and of no move, in one state."""
        q = self._q(turns, tile)
        best = max(q)
        best_actions = tuple(n for n, value in zip(ACTIONS, q, strict=True) if best - value <= TIE)
        row = {name: (value, best, best_actions) for name, value in zip(ACTIONS, q, strict=True)}
        row[NO_MOVE] = float(self._v(turns - 1)[tile]), best, best_actions
        if len(self.rows) >= _MAX_ROWS:
            self.rows.clear()
        self.rows[turns, tile] = row
        return row

    def errors(self, turns: int, tile: int) -> list[str]:
        """Return the actions of one state that :meth:`FrozenLakeOracle.error_action` describes."""
        if self.lake.is_over(tile):
            return []
        reached = self.lake.moves[tile]
        if self.success_rate == 1:
            distance = self._distance(tile)
            worse = [self._distance(after) >= distance for after in reached]
        else:
            q = self._q(turns, tile)
            best = max(q)
            worse = [value < best - WORSE for value in q]
        later = self._v(turns - 1)
        return [
            name
            for number, name in enumerate(ACTIONS)
            if worse[number]
            and all(self._goes_on(after, later) for after in self._outcomes(reached, number))
        ]

    def _distance(self, tile: int) -> int:
        """Return the fewest moves from a tile to a goal."""
        return Lake(self.lake.tiles, self.lake.ncol, tile).min_turns

    def _outcomes(self, reached: tuple[int, ...], number: int) -> list[int]:
        slips = (0,) if self.success_rate == 1 else (-1, 0, 1)
        return [reached[(number + slip) % 4] for slip in slips]

    def _goes_on(self, tile: int, later: NDArray[np.float64]) -> bool:
        return not self.lake.is_over(tile) and bool(later[tile] > 0)

    def _q(self, turns: int, tile: int) -> list[float]:
        q: list[float] = self.solution.q[self.solution.row(max(turns, 0)), :, tile].tolist()
        return q

    def _v(self, turns: int) -> NDArray[np.float64]:
        v: NDArray[np.float64] = self.solution.v[self.solution.row(max(turns, 0))]
        return v


class TableCache:
    """Tables by lake and success rate, the least recently used dropped first; threads may share it.

    Args:
        capacity: Bytes of all tables together, with as many rows as they may come to hold. A
            single larger table is kept alone.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.nbytes = 0
        self._tables: OrderedDict[tuple[str, float, bool], LakeTable] = OrderedDict()
        self.renew_lock()

    def renew_lock(self) -> None:
        """Take a new lock: in a forked process, whoever held the old one may not exist."""
        self._lock = threading.Lock()

    def get(self, lake: Lake, success_rate: float, turns: int) -> LakeTable:
        """Return a table that answers for ``turns``, computed if there is none."""
        key = lake.id, success_rate, turns == UNLIMITED
        with self._lock:
            table = self._tables.get(key)
            if table is not None and turns <= table.most:
                self._tables.move_to_end(key)
                return table
        table = LakeTable(lake, success_rate, turns)  # while others use the cache
        with self._lock:
            return self._keep(key, table)

    def _keep(self, key: tuple[str, float, bool], table: LakeTable) -> LakeTable:
        """Put a new table into the cache, unless another thread was faster with one as long."""
        known = self._tables.pop(key, None)
        if known is not None and known.most >= table.most:
            self._tables[key] = known
            return known
        self.nbytes += table.nbytes - (0 if known is None else known.nbytes)
        self._tables[key] = table
        while self.nbytes > self.capacity and len(self._tables) > 1:
            self.nbytes -= self._tables.popitem(last=False)[1].nbytes
        return table

    def __len__(self) -> int:
        return len(self._tables)


TABLES: Final = TableCache(_CACHE_BYTES)
"""The tables that all oracles of this process share."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=TABLES.renew_lock)
