"""Intervals: percentile bootstraps clustered over tasks, and Wilson's for a single proportion.

Trajectories of one task are alike, so the unit that is drawn with replacement is the task, with
all its trajectories (Davison & Hinkley, 1997, section 3.8). Percentile and not BCa: BCa is
undefined when every resample has the same mean, as when every episode succeeds.

Resample ``r`` is a function of ``(seed, r, number of tasks)`` alone, and tasks are taken in sorted
order of their ids. So the order of the input is irrelevant, and two policies on the same tasks
meet the same resamples, which is what pairs their differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from budget_envs.errors import OptionError, require
from budget_envs.evaluation.outcomes import FloatArray, IntArray, join_task_ids

__all__ = [
    "Interval",
    "check_settings",
    "mean_interval",
    "paired_difference_interval",
    "percentiles",
    "resample",
    "wilson_interval",
]


def _is_integer(value: object, least: int) -> bool:
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_integer and value >= least  # type: ignore[operator]


def check_settings(level: float, num_resamples: int, seed: int) -> None:
    """Refuse a level outside (0, 1), fewer than one resample, and a negative seed."""
    if not 0.0 < level < 1.0:
        raise OptionError(f"level must lie strictly between 0 and 1, e.g. 0.95, got {level!r}.")
    for name, value, least in (("num_resamples", num_resamples, 1), ("seed", seed, 0)):
        if not _is_integer(value, least):
            raise OptionError(f"{name} must be an integer of at least {least}, got {value!r}.")


def resample(seed: int, index: int, num_tasks: int) -> IntArray:
    """Draw the ``(num_tasks,)`` task positions of one resample, from its own stream."""
    sequence = np.random.SeedSequence(seed, spawn_key=(index,))
    return np.random.default_rng(sequence).integers(0, num_tasks, num_tasks)


def percentiles(replicates: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the two percentiles of each row of ``(cells, R)``, over its finite entries."""
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    bounds = np.full((2, len(replicates)), np.nan)
    is_undefined = np.isnan(replicates)
    some, full = ~is_undefined.all(axis=1), ~is_undefined.any(axis=1)
    bounds[:, full] = np.quantile(replicates[full], tails, axis=1)
    if np.any(some & ~full):
        bounds[:, some & ~full] = np.nanquantile(replicates[some & ~full], tails, axis=1)
    return bounds[0], bounds[1]


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval; all three are NaN where nothing was observed.

    Attributes:
        estimate: Point estimate.
        low: Lower end.
        high: Upper end.
        level: Nominal coverage in (0, 1).
        method: ``"task bootstrap (percentile)"`` or ``"wilson"``.
        num_tasks: Tasks that entered (for Wilson: trials).
        num_empty_tasks: Tasks without an episode to average; named, but in no mean.
        num_episodes: Episodes that entered.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str
    num_tasks: int
    num_empty_tasks: int
    num_episodes: int


def _task_means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Average each task's episodes; NaN where it has none. Sorted by task id."""
    means = {}
    for task_id in sorted(values):
        episodes = [float(value) for value in values[task_id]]
        if not all(map(math.isfinite, episodes)):
            raise OptionError(
                f"Episode values must be finite, but task {task_id!r} has {episodes!r:.200}. "
                "Leave episodes without a value out of the list."
            )
        means[task_id] = math.fsum(episodes) / len(episodes) if episodes else math.nan
    return means


def _bootstrap_mean(
    means: FloatArray, num_episodes: int, level: float, num_resamples: int, seed: int
) -> Interval:
    check_settings(level, num_resamples, seed)
    kept = means[~np.isnan(means)]
    estimate = low = high = math.nan
    if kept.size:
        draws = (resample(seed, index, kept.size) for index in range(num_resamples))
        replicates = np.array([[kept[drawn].mean() for drawn in draws]])
        (low,), (high,) = percentiles(replicates, level)
        estimate = float(kept.mean())
    return Interval(
        estimate=estimate,
        low=float(low),
        high=float(high),
        level=level,
        method="task bootstrap (percentile)",
        num_tasks=kept.size,
        num_empty_tasks=means.size - kept.size,
        num_episodes=num_episodes,
    )


def mean_interval(
    values: Mapping[str, Sequence[float]],
    *,
    seed: int,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> Interval:
    """Average a per-episode quantity within tasks, then over tasks, with a bootstrap interval.

    Args:
        values: Task id to one finite number per episode; lists may differ in length.
        seed: Non-negative integer.
        level: Nominal coverage in (0, 1).
        num_resamples: Resamples of the tasks.

    Raises:
        OptionError: If a value is not finite or a setting is out of range.
    """
    means = np.array(list(_task_means(values).values()), dtype=np.float64)
    num_episodes = sum(map(len, values.values()))
    return _bootstrap_mean(means, num_episodes, level, num_resamples, seed)


def paired_difference_interval(
    policy: Mapping[str, Sequence[float]],
    baseline: Mapping[str, Sequence[float]],
    *,
    seed: int,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> Interval:
    """Average ``policy - baseline`` over the tasks, joined by id, with a bootstrap interval.

    Args:
        policy: Task id to one finite number per episode.
        baseline: The same tasks; episodes need not match in number.
        seed: Non-negative integer.
        level: Nominal coverage in (0, 1).
        num_resamples: Resamples of the tasks.

    Returns:
        The interval; a task without episodes on either side counts as empty.

    Raises:
        OptionError: If a task is missing on one side, a value is not finite or a setting is out of
            range.
    """
    join_task_ids(list(policy), list(baseline))
    ours, theirs = _task_means(policy), _task_means(baseline)
    differences = np.array([ours[task_id] - theirs[task_id] for task_id in ours], dtype=np.float64)
    paired = [key for key, value in zip(ours, differences, strict=True) if not math.isnan(value)]
    num_episodes = sum(len(policy[key]) + len(baseline[key]) for key in paired)
    return _bootstrap_mean(differences, num_episodes, level, num_resamples, seed)


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval for one proportion of independent trials.

    Args:
        successes: Integer in ``0..trials``.
        trials: Integer, at least 0; 0 gives NaN.
        level: Nominal coverage in (0, 1).

    Raises:
        OptionError: If a count or ``level`` is out of range.
        DependencyNotInstalled: If scipy is missing.
    """
    for name, value in (("successes", successes), ("trials", trials)):
        if not _is_integer(value, 0):
            raise OptionError(f"{name} must be an integer of at least 0, got {value!r}.")
    if successes > trials or not 0.0 < level < 1.0:
        raise OptionError(
            f"successes must not exceed trials and level must lie in (0, 1); got {successes!r} of "
            f"{trials!r} at {level!r}."
        )
    estimate = low = high = math.nan
    if trials:
        result = require("scipy.stats", "eval").binomtest(int(successes), int(trials))
        low, high = result.proportion_ci(confidence_level=level, method="wilson")
        estimate = successes / trials
    return Interval(estimate, float(low), float(high), level, "wilson", trials, 0, trials)
