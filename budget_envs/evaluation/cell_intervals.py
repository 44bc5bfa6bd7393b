"""Bootstrap intervals for every cell of Pass@(K,T) at once, and for paired differences of cells.

The resamples are those of `budget_envs.evaluation.bootstrap`: a function of the seed and the
number of tasks alone, so two policies on the same tasks meet the same ones, which pairs their
differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from budget_envs.errors import OptionError
from budget_envs.evaluation.bootstrap import check_settings, percentiles, resample
from budget_envs.evaluation.outcomes import (
    FloatArray,
    IntArray,
    Protocol,
    Rate,
    SuccessCounts,
)
from budget_envs.evaluation.pass_kt import pass_at_k

__all__ = ["PassKTIntervals", "pass_kt_difference_intervals", "pass_kt_intervals"]

_WEIGHTS_BYTES = 32 * 2**20  # how often each task is drawn, for one block of resamples


@dataclass(frozen=True, eq=False)
class _Column:
    """The tasks of one budget, gathered into groups that share every value of K.

    A task has a value at K iff ``usable >= K``: ``n`` itself, or in a comparison the smaller one.
    """

    trials: IntArray  # (m,) n of each group
    successes: IntArray  # (m,) c of each group
    usable: IntArray  # (m,)
    order: IntArray  # (tasks,) task positions, group after group
    bounds: list[int]  # (m + 1,) where each group starts and the last one ends

    @classmethod
    def gather(cls, trials: IntArray, successes: IntArray, usable: IntArray) -> _Column:
        order = np.lexsort((usable, successes, trials))
        keys = np.stack([trials, successes, usable])[:, order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
        starts = np.flatnonzero(is_first)
        n, c, at_most = keys[:, starts]
        return cls(n, c, at_most, order, [*starts.tolist(), len(order)])

    def means(self, drawn: NDArray[np.integer], ks: IntArray) -> FloatArray:
        """Turn ``(m, R)`` draws of the groups into ``(K, R)`` means; NaN if no task has a value."""
        table = pass_at_k(self.trials, self.successes, ks)
        is_defined = self.usable[:, None] >= ks
        table[~is_defined] = 0.0
        weights = drawn.astype(np.float64)
        totals: FloatArray = table.T @ weights
        if is_defined.all():
            denominators = np.broadcast_to(weights.sum(axis=0), totals.shape)
        else:
            denominators = is_defined.T.astype(np.float64) @ weights
        means = np.full(totals.shape, np.nan)
        np.divide(totals, denominators, out=means, where=denominators > 0)
        return means


def _draw(
    columns: Sequence[_Column], num_tasks: int, num_resamples: int, seed: int
) -> list[NDArray[np.integer]]:
    """Count how often each group is drawn: one ``(m, 1 + R)`` array of integers per column.

    The first entry is the sample itself, each task once; the resamples follow, and all columns
    share them. The means need the tasks only through these counts, which are small; the
    ``(tasks, R)`` weights behind them exist for one block of resamples at a time.
    """
    dtype = np.uint16 if num_tasks < 2**16 else np.uint32  # sums cannot exceed num_tasks
    drawn = [np.empty((len(column.trials), 1 + num_resamples), dtype) for column in columns]
    for column, counts in zip(columns, drawn, strict=True):
        counts[:, 0] = np.diff(column.bounds)
    size = max(1, _WEIGHTS_BYTES // (max(num_tasks, 1) * np.dtype(dtype).itemsize))
    for start in range(0, num_resamples, size):
        block = slice(start, min(start + size, num_resamples))
        after = slice(1 + block.start, 1 + block.stop)
        rows = np.empty((block.stop - start, num_tasks), dtype)
        for row, index in enumerate(range(start, block.stop)):
            rows[row] = np.bincount(resample(seed, index, num_tasks), minlength=num_tasks)
        weights = np.ascontiguousarray(rows.T)
        for column, counts in zip(columns, drawn, strict=True):
            gathered = weights[column.order]
            for group, (first, last) in enumerate(pairwise(column.bounds)):
                gathered[first:last].sum(axis=0, dtype=dtype, out=counts[group, after])
    return drawn


@dataclass(frozen=True, eq=False)
class PassKTIntervals:
    """A bootstrap interval for every cell; arrays are ``(K, T)``.

    Attributes:
        protocol: ``"truncate"`` or ``"rerun"``.
        rate: ``"conditional"`` or ``"strict"``.
        ks: ``(K,) int64``.
        budgets: ``(T,) int64``.
        estimate: ``float64`` Pass@(K,T), or the difference of two; NaN where no task has a value.
        low: ``float64`` lower ends.
        high: ``float64`` upper ends.
        num_tasks: ``int64`` tasks with a value in the cell.
        level: Nominal coverage in (0, 1), of each cell by itself.
        num_resamples: Resamples of the tasks.
        seed: Their seed.
    """

    protocol: Protocol
    rate: Rate
    ks: IntArray
    budgets: IntArray
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    num_tasks: IntArray
    level: float
    num_resamples: int
    seed: int


def _bootstrap_cells(
    sides: Sequence[SuccessCounts],
    ks: ArrayLike | None,
    rate: Rate,
    level: float,
    num_resamples: int,
    seed: int,
) -> PassKTIntervals:
    """Bootstrap one policy's cells, or the first policy's minus the second's."""
    check_settings(level, num_resamples, seed)
    task_ids = sorted(sides[0].task_ids)
    sides = [side.align(task_ids) for side in sides]
    wanted = min((side.resolve_ks(ks) for side in sides), key=len)
    usable = np.min([side.trials(rate) for side in sides], axis=0)
    budgets = sides[0].budgets
    columns = [
        _Column.gather(side.trials(rate)[:, t], side.successes[:, t], usable[:, t])
        for t in range(len(budgets))
        for side in sides
    ]
    drawn = _draw(columns, len(task_ids), num_resamples, seed)
    center, low, high = np.full((3, len(wanted), len(budgets)), np.nan)
    num_tasks = np.zeros(center.shape, dtype=np.int64)
    for t in range(len(budgets)):
        here = slice(t * len(sides), (t + 1) * len(sides))
        means = [
            column.means(draws, wanted)
            for column, draws in zip(columns[here], drawn[here], strict=True)
        ]
        values = means[0] - means[1] if len(sides) == 2 else means[0]
        num_tasks[:, t] = (usable[:, t, None] >= wanted).sum(axis=0)
        center[:, t] = values[:, 0]
        low[:, t], high[:, t] = percentiles(values[:, 1:], level)
    return PassKTIntervals(
        protocol=sides[0].protocol,
        rate=rate,
        ks=wanted,
        budgets=budgets,
        estimate=center,
        low=low,
        high=high,
        num_tasks=num_tasks,
        level=level,
        num_resamples=num_resamples,
        seed=seed,
    )


def pass_kt_intervals(
    counts: SuccessCounts,
    ks: ArrayLike | None = None,
    *,
    seed: int,
    rate: Rate = "conditional",
    level: float = 0.95,
    num_resamples: int = 1000,
) -> PassKTIntervals:
    """Bootstrap Pass@(K,T) over tasks, in every cell at once.

    Tasks of equal ``(n, c_T)`` are one group, so each budget costs one product of the ``(K, m)``
    table with the ``(m, R)`` draws of its groups. All cells share the resamples. A cell without a
    value for some task is bootstrapped over the resamples that draw a task which has one.

    Args:
        counts: From `SuccessCounts.truncate` or `SuccessCounts.rerun`.
        ks: ``(K,)`` positive, strictly increasing; 1 up to the largest ``n`` by default.
        seed: Non-negative integer.
        rate: ``"conditional"`` leaves void episodes out, ``"strict"`` counts them as failures.
        level: Nominal coverage in (0, 1).
        num_resamples: Resamples of the tasks.

    Raises:
        OptionError: If a setting is out of range.
    """
    return _bootstrap_cells([counts], ks, rate, level, num_resamples, seed)


def pass_kt_difference_intervals(
    policy: SuccessCounts,
    baseline: SuccessCounts,
    ks: ArrayLike | None = None,
    *,
    seed: int,
    rate: Rate = "conditional",
    level: float = 0.95,
    num_resamples: int = 1000,
) -> PassKTIntervals:
    """Bootstrap ``policy - baseline`` of Pass@(K,T) on the same tasks, in every cell at once.

    Both sides meet the same resamples. A cell is a mean over the tasks with at least K episodes on
    both sides.

    Args:
        policy: Counts of one policy.
        baseline: Counts of another on the same tasks, budgets and protocol.
        ks: ``(K,)`` positive, strictly increasing; 1 up to the smaller of the two largest ``n`` by
            default.
        seed: Non-negative integer.
        rate: ``"conditional"`` leaves void episodes out, ``"strict"`` counts them as failures.
        level: Nominal coverage in (0, 1).
        num_resamples: Resamples of the tasks.

    Raises:
        OptionError: If tasks, budgets or protocols differ, or a setting is out of range.
    """
    if policy.protocol != baseline.protocol or policy.budgets.tolist() != baseline.budgets.tolist():
        raise OptionError(
            "Both sides need the same protocol and budgets, got "
            f"{policy.protocol!r} {policy.budgets.tolist()!r} and "
            f"{baseline.protocol!r} {baseline.budgets.tolist()!r}."
        )
    return _bootstrap_cells([policy, baseline], ks, rate, level, num_resamples, seed)
