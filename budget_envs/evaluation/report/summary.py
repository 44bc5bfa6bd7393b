"""`summarize`: read a results database once, and measure everything that the report shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from budget_envs.evaluation.bootstrap import Interval
from budget_envs.evaluation.cell_intervals import PassKTIntervals, pass_kt_intervals
from budget_envs.evaluation.measures import (
    budget_use,
    lacks_injections,
    stored_counts,
    turn_quality,
    upper_bounds,
)
from budget_envs.evaluation.outcomes import Rate, SuccessCounts
from budget_envs.evaluation.pass_kt import PassKT, estimate
from budget_envs.evaluation.report.labels import group_runs, label_runs, task_keywords
from budget_envs.evaluation.report.model import Cell, CellKey, Comparison, ReportData, RunReport
from budget_envs.evaluation.report.text import interval
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Episode, Run

__all__ = ["run_notes", "summarize"]

_LEVEL: Final = 0.95
_Z: Final = 1.959964  # the normal quantile of that level
_CHANCE: Final = 1e-6  # how improbable successes have to be to say that a bound is wrong


def summarize(
    store: Store,
    run_ids: Iterable[str] | None = None,
    *,
    seed: int = 0,
    num_resamples: int = 1000,
) -> ReportData:
    """Measure runs of a results database.

    Args:
        store: The database.
        run_ids: Ids of the runs, or their first digits; all runs by default.
        seed: Seed of the bootstrap, a non-negative integer.
        num_resamples: Resamples of the tasks behind each interval.

    Raises:
        DataError: If a run is not there, or the database cannot be read.
        OptionError: If a setting is out of range.
    """
    wanted = store.runs() if run_ids is None else [store.run(run_id) for run_id in run_ids]
    runs = list({run.run_id: run for run in wanted}.values())
    return ReportData(
        database=store.path,
        comparisons=tuple(
            _compare(store, group, seed, num_resamples) for group in group_runs(runs)
        ),
        level=_LEVEL,
        num_resamples=num_resamples,
        seed=seed,
    )


def _compare(store: Store, runs: Sequence[Run], seed: int, num_resamples: int) -> Comparison:
    reports: list[RunReport] = []
    task_bounds: dict[str, dict[int, float]] = {}
    bounds: dict[int, Interval] = {}
    for run, label in zip(runs, label_runs(runs), strict=True):
        episodes = store.episodes(run.run_id)
        found = upper_bounds(run, episodes, seed=seed, level=_LEVEL, num_resamples=num_resamples)
        _gather_bounds(task_bounds, bounds, episodes, found or {})
        reports.append(_report(run, label, episodes, seed, num_resamples))
    budgets = sorted({budget for run in runs for budget in run.budgets})
    ks = sorted({k for report in reports for k in report.ks})
    return Comparison(
        env_id=runs[0].env_id,
        env_kwargs=task_keywords(runs[0]),
        protocol=runs[0].protocol,
        task_ids=runs[0].task_ids,
        split=runs[0].split,
        runs=tuple(reports),
        budgets=tuple(budgets),
        ks=tuple(ks),
        task_bounds=task_bounds,
        bounds=bounds,
        pass_bounds=_pass_bounds(task_bounds, ks, bounds),
    )


def _gather_bounds(
    task_bounds: dict[str, dict[int, float]],
    bounds: dict[int, Interval],
    episodes: Iterable[Episode],
    found: Mapping[int, Interval],
) -> None:
    """Add a run's bounds; of each budget, the interval that stands on the most tasks is kept."""
    for episode in episodes:
        task_bounds.setdefault(episode.task_id, {}).update(episode.upper_bounds or {})
    for budget, bound in found.items():
        known = bounds[budget].num_tasks if budget in bounds else 0
        if bound.num_tasks > known:
            bounds[budget] = bound


def _pass_bounds(
    task_bounds: Mapping[str, Mapping[int, float]], ks: Iterable[int], budgets: Iterable[int]
) -> dict[CellKey, float]:
    """Average over tasks what K independent attempts of the best policy would reach."""
    means = {}
    for k, budget in product(ks, budgets):
        bounds = [b[budget] for b in task_bounds.values() if budget in b]
        means[k, budget] = math.fsum(1 - (1 - bound) ** k for bound in bounds) / len(bounds)
    return means


def _report(
    run: Run,
    label: str,
    episodes: Sequence[Episode],
    seed: int,
    num_resamples: int,
) -> RunReport:
    counts = stored_counts(run, episodes)
    ks = _shown_ks(run)
    bootstrap: Any = {"seed": seed, "level": _LEVEL, "num_resamples": num_resamples}
    cells = _cells(counts, ks, seed, num_resamples)
    return RunReport(
        run=run,
        label=label,
        num_stored=len(episodes),
        ks=ks,
        cells=cells,
        counts=counts,
        endings=Counter(map(_ending, episodes)),
        use=tuple(budget_use(run, episodes, **bootstrap)),
        quality=tuple(turn_quality(run, episodes, **bootstrap)),
        notes=(*run_notes(run, episodes, counts), *_agreement_notes(run, cells)),
    )


def _shown_ks(run: Run) -> tuple[int, ...]:
    """Return the powers of two up to n, and the run's own K."""
    powers = {2**exponent for exponent in range(run.num_rollouts.bit_length())}
    return tuple(sorted(powers | {run.k}))


def _cells(
    counts: SuccessCounts, ks: Sequence[int], seed: int, num_resamples: int
) -> dict[CellKey, Cell]:
    def bootstrap(rate: Rate) -> PassKTIntervals:
        return pass_kt_intervals(
            counts, ks, seed=seed, rate=rate, level=_LEVEL, num_resamples=num_resamples
        )

    rates = bootstrap("conditional")
    stricts = bootstrap("strict") if np.any(counts.void) else rates
    means = estimate(counts, ks)
    return {
        (k, budget): _cell(k, budget, (i, j), means, rates, stricts)
        for i, k in enumerate(ks)
        for j, budget in enumerate(counts.budgets.tolist())
    }


def _cell(
    k: int,
    budget: int,
    place: tuple[int, int],
    means: PassKT,
    rates: PassKTIntervals,
    stricts: PassKTIntervals,
) -> Cell:
    return Cell(
        k=k,
        budget=budget,
        rate=float(rates.estimate[place]),
        low=float(rates.low[place]),
        high=float(rates.high[place]),
        strict=float(stricts.estimate[place]),
        strict_low=float(stricts.low[place]),
        strict_high=float(stricts.high[place]),
        num_tasks=int(means.conditional.num_tasks[place]),
        num_episodes=int(means.conditional.num_episodes[place]),
    )


def _ending(episode: Episode) -> str:
    if episode.verdict == "void":
        return f"void: {episode.boundary or 'env'}"
    if episode.is_solved_at_reset:
        return "solved at reset"
    if episode.verdict == "pass":
        return "solved"
    names = {None: "failed", "budget": "out of budget"}
    return names.get(episode.boundary, f"{episode.boundary} error")


def run_notes(
    run: Run,
    episodes: Sequence[Episode],
    counts: SuccessCounts,
) -> Iterable[str]:
    """Yield what a reader has to know before believing the run's numbers."""
    missing = run.num_requested - len(episodes)
    if not episodes:
        yield f"no episode is stored yet, of {run.num_requested:,} requested."
        return
    if missing:
        yield (
            f"{missing:,} of {run.num_requested:,} requested episodes are missing, and count as "
            "failures. The same command continues the run."
        )
    yield from _void_notes(episodes, counts)
    if lacks_injections(run, episodes):
        yield "errors were to be injected and none landed: this run says nothing about recovery."
    beaten = _beaten_bounds(episodes, counts)
    if beaten:
        yield (
            "more episodes succeed than the structural bound lets pass, at T = "
            f"{', '.join(map(str, beaten))}: the oracle or the verifier is wrong."
        )


def _agreement_notes(run: Run, cells: Mapping[CellKey, Cell]) -> Iterable[str]:
    """Say what the bootstrap cannot see where every task gives the same rate."""
    names: dict[tuple[float, int], list[str]] = {}
    for (k, budget), cell in cells.items():
        if k in (1, run.k) and cell.num_tasks and cell.low == cell.high:
            names.setdefault((cell.rate, cell.num_tasks), []).append(f"({k},{budget})")
    if names:
        yield (
            "all tasks agree where an interval has no width, and the bootstrap can't see rarer "
            "outcomes. Wilson's 95 % interval over tasks: "
            + "; ".join(
                f"{interval(*_wilson(rate, num_tasks))} at (K,T) = {', '.join(places)}"
                for (rate, num_tasks), places in names.items()
            )
            + "."
        )


def _wilson(rate: float, num_tasks: int) -> tuple[float, float]:
    """Return the score interval (Wilson, 1927) of a rate over so many tasks."""
    share = _Z**2 / num_tasks
    center = (rate + share / 2) / (1 + share)
    half = math.sqrt(rate * (1 - rate) * share + share**2 / 4) / (1 + share)
    return max(0.0, center - half), min(1.0, center + half)


def _beaten_bounds(episodes: Iterable[Episode], counts: SuccessCounts) -> list[int]:
    """Return the budgets under which chance does not explain how many episodes succeed.

    Of N independent episodes with success probabilities of at most b, more than
    ``sum(b) + sqrt(N log(1 / p) / 2)`` succeed with probability at most p (Hoeffding, 1963,
    theorem 2). Where b is 0, one success is too many.
    """
    known = {e.task_id: e.upper_bounds for e in episodes if e.upper_bounds}
    beaten = []
    for column, budget in enumerate(counts.budgets.tolist()):
        bounds = np.array([known.get(task, {}).get(budget, 1.0) for task in counts.task_ids])
        c, n = counts.successes[:, column], counts.judged[:, column]
        margin = math.sqrt(n.sum() * math.log(1 / _CHANCE) / 2)
        is_impossible = np.any((bounds == 0.0) & (c > 0))
        if is_impossible or c.sum() > bounds @ n + margin:
            beaten.append(budget)
    return beaten


def _void_notes(episodes: Sequence[Episode], counts: SuccessCounts) -> Iterable[str]:
    void = sum(episode.verdict == "void" for episode in episodes)
    solved = sum(episode.is_solved_at_reset for episode in episodes)
    if void:
        unjudged = int(np.sum(np.all(counts.judged == 0, axis=1)))
        tasks = f" Tasks without any other: {unjudged}." if unjudged else ""
        yield (
            f"{void:,} of {len(episodes):,} episodes are void (nobody could judge them): left out "
            f"of the rates, counted as failures in the strict ones.{tasks}"
        )
    if solved:
        yield f"{solved:,} episodes were solved at reset, and are left out of all rates."
