"""Pass@(K,T): the chance that at least one of K independent trajectories succeeds within T turns.

For a task with ``n`` trajectories, the ``i``-th first verified successful at turn ``tau_i``, and
``c_T = #{i : tau_i <= T}``, the unbiased estimate is ``1 - C(n - c_T, K) / C(n, K)`` (Chen et al.,
arXiv:2107.03374, eq. 1; with a turn budget: Zhai et al., arXiv:2604.14877). Two protocols:

* ``truncate``: one set of rollouts, every T is read off it. Monotone in T; no T may lie above the
  turn limit the rollouts ran under, since nobody knows what would have happened there.
* ``rerun``: separate rollouts under a hard cap of T for each T. Not guaranteed monotone in T.

`Outcomes` (what each requested episode did) becomes `SuccessCounts` (``n`` and ``c_T`` per task),
which `estimate` turns into all cells at once; `pass_kt` does the three steps on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.evaluation.outcomes import (
    FloatArray,
    IntArray,
    Outcomes,
    Protocol,
    Rate,
    SuccessCounts,
    increasing,
    integers,
)

__all__ = [
    "PassCells",
    "PassKT",
    "estimate",
    "pass_at_k",
    "pass_kt",
    "task_pass_kt",
]


def pass_at_k(n: ArrayLike, c: ArrayLike, ks: ArrayLike) -> FloatArray:
    """Return ``1 - C(n - c, K) / C(n, K)`` for pairs ``(n, c)`` and every K.

    As a running product over K: exactly 0 at ``c = 0``, exactly 1 where ``n - c < K``, exactly
    monotone in K and in c, and off by at most about ``K`` roundings otherwise.

    Args:
        n: ``(m,)`` integers, trajectories.
        c: ``(m,)`` integers in ``0..n``, successes.
        ks: ``(K,)`` positive integers, strictly increasing.

    Returns:
        ``(m, K) float64`` in [0, 1]; NaN where ``n < K``, where the estimate is undefined.

    Raises:
        OptionError: If shapes or ranges do not fit.
    """
    trials, successes = integers("n", n, 1), integers("c", c, 1)
    wanted = increasing("ks", ks)
    if trials.shape != successes.shape or np.any(successes < 0) or np.any(successes > trials):
        raise OptionError(f"c must lie in 0..n, pair by pair; got n={trials!r}, c={successes!r}.")
    draws = np.arange(min(int(wanted[-1]), int(trials.max(initial=0))))
    left = trials[:, None] - draws  # trajectories left before each draw without replacement
    misses = np.maximum(left - successes[:, None], 0) / np.maximum(left, 1)
    np.multiply.accumulate(misses, axis=1, out=misses)
    table = np.full((len(trials), len(wanted)), np.nan)
    inside = int(np.searchsorted(wanted, len(draws), side="right"))
    table[:, :inside] = 1.0 - misses[:, wanted[:inside] - 1]
    table[trials[:, None] < wanted] = np.nan
    return table


@dataclass(frozen=True, eq=False)
class PassCells:
    """Means over tasks and what each stands on; all arrays are ``(K, T)``.

    Attributes:
        mean: ``float64`` mean over the tasks with at least K episodes, NaN if there are none.
        num_tasks: ``int64`` number of those tasks: where it falls with K, so does the task set.
        num_episodes: ``int64`` episodes of those tasks.
    """

    mean: FloatArray
    num_tasks: IntArray
    num_episodes: IntArray


@dataclass(frozen=True, eq=False)
class PassKT:
    """Pass@(K,T) in every cell, under both readings of void episodes.

    Attributes:
        protocol: ``"truncate"`` or ``"rerun"``; belongs beside every number.
        ks: ``(K,) int64``.
        budgets: ``(T,) int64``.
        conditional: Void episodes left out: conditional on a verdict. The default estimate.
        strict: Void episodes counted as failures.
        total_tasks: All tasks, those with only void episodes included.
        num_void: ``(T,) int64`` void episodes.
        num_solved_at_reset: ``(T,) int64`` episodes left out of both rates.
    """

    protocol: Protocol
    ks: IntArray
    budgets: IntArray
    conditional: PassCells
    strict: PassCells
    total_tasks: int
    num_void: IntArray
    num_solved_at_reset: IntArray

    @property
    def mean(self) -> FloatArray:
        """``(K, T)`` means of the conditional rate."""
        return self.conditional.mean


def _mean_cells(trials: IntArray, successes: IntArray, ks: IntArray) -> PassCells:
    """Average over tasks; tasks of equal ``(n, c)`` share one row of the table."""
    shape, base = (len(ks), trials.shape[1]), int(trials.max(initial=0)) + 1
    totals = np.zeros(shape)
    num_tasks, num_episodes = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for t in range(trials.shape[1]):
        codes = trials[:, t] * base + successes[:, t]
        distinct, size = np.unique(codes, return_counts=True)
        n, c = np.divmod(distinct, base)
        table = pass_at_k(n, c, ks)
        table[np.isnan(table)] = 0.0
        # Not a matrix product: adding row after row keeps the means exactly monotone in K.
        totals[:, t] = (size[:, None] * table).sum(axis=0)
        is_defined = n[:, None] >= ks
        num_tasks[:, t] = size @ is_defined
        num_episodes[:, t] = (size * n) @ is_defined
    mean = np.full(shape, np.nan)
    np.divide(totals, num_tasks, out=mean, where=num_tasks > 0)
    return PassCells(mean, num_tasks, num_episodes)


def estimate(counts: SuccessCounts, ks: ArrayLike | None = None) -> PassKT:
    """Estimate Pass@(K,T) for every K and every budget at once.

    Args:
        counts: From `SuccessCounts.truncate` or `SuccessCounts.rerun`.
        ks: ``(K,)`` positive, strictly increasing; 1 up to the largest ``n`` by default.

    Returns:
        Both rates with the number of tasks and episodes behind each cell. No tasks: NaN, zeros.

    Raises:
        OptionError: If ``ks`` does not fit.
    """
    wanted = counts.resolve_ks(ks)
    return PassKT(
        protocol=counts.protocol,
        ks=wanted,
        budgets=counts.budgets,
        conditional=_mean_cells(counts.trials("conditional"), counts.successes, wanted),
        strict=_mean_cells(counts.trials("strict"), counts.successes, wanted),
        total_tasks=len(counts.task_ids),
        num_void=counts.void.sum(axis=0),
        num_solved_at_reset=counts.solved_at_reset.sum(axis=0),
    )


def task_pass_kt(
    counts: SuccessCounts, ks: ArrayLike | None = None, *, rate: Rate = "conditional"
) -> FloatArray:
    """Estimate Pass@(K,T) of each task on its own.

    Returns:
        ``(tasks, K, T) float64``, NaN where the task has fewer than K episodes; large inputs need
        ``8 * tasks * K * T`` bytes.

    Raises:
        OptionError: If ``ks`` or ``rate`` does not fit.
    """
    wanted, trials = counts.resolve_ks(ks), counts.trials(rate)
    table = np.empty((len(counts.task_ids), len(wanted), len(counts.budgets)))
    for t in range(len(counts.budgets)):
        table[:, :, t] = pass_at_k(trials[:, t], counts.successes[:, t], wanted)
    return table


def pass_kt(
    success_turns: ArrayLike,
    budgets: ArrayLike,
    ks: ArrayLike | None = None,
    *,
    protocol: Protocol = "truncate",
    void: ArrayLike | None = None,
    requested: ArrayLike | None = None,
) -> PassKT:
    """Estimate Pass@(K,T) from an array of first-success turns.

    Args:
        success_turns: ``(tasks, n)`` integers, or ``(tasks, T, n)`` for ``rerun``: the turn of the
            first verified success from 1, or `NEVER`.
        budgets: ``(T,)`` positive, strictly increasing turn limits.
        ks: ``(K,)`` positive, strictly increasing; every K up to the largest ``n`` by default.
        protocol: ``"truncate"`` reads all budgets off one set of rollouts, ``"rerun"`` has its own
            rollouts for each.
        void: ``bool`` of the shape of ``success_turns``: episodes without a verdict.
        requested: ``(tasks,)`` episodes asked for, where fewer than ``n``.

    Returns:
        The estimates; ``.mean`` is the ``(K, T)`` array.

    Raises:
        OptionError: If a shape, type or value does not fit.

    Example:
        >>> from budget_envs.evaluation import NEVER
        >>> pass_kt([[1, 3, NEVER], [2, NEVER, NEVER]], budgets=[1, 2, 3], ks=[1]).mean.round(3)
        array([[0.167, 0.333, 0.5  ]])
    """
    if protocol not in get_args(Protocol):
        raise OptionError(
            f"protocol must be one of {get_args(Protocol)}, got {protocol!r}."
            f"{did_you_mean(protocol, get_args(Protocol))}"
        )
    if protocol == "truncate":
        outcomes = Outcomes.from_array(success_turns, void=void, requested=requested)
        return estimate(SuccessCounts.truncate(outcomes, budgets), ks)
    turns, limits = integers("success_turns", success_turns, 3), increasing("budgets", budgets)
    voids: NDArray[Any] = np.zeros(turns.shape, dtype=bool) if void is None else np.asarray(void)
    if turns.shape[1] != len(limits) or voids.shape != turns.shape:
        raise OptionError(
            f"success_turns and void must have shape (tasks, {len(limits)} budgets, n), got "
            f"{turns.shape} and {voids.shape}."
        )
    by_budget = {
        budget: Outcomes.from_array(turns[:, j], void=voids[:, j], requested=requested)
        for j, budget in enumerate(limits.tolist())
    }
    return estimate(SuccessCounts.rerun(by_budget), ks)
