"""`ReportData`: everything that the report shows, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from budget_envs.evaluation.bootstrap import Interval
from budget_envs.evaluation.measures import BudgetUse, TurnQuality
from budget_envs.evaluation.outcomes import Protocol, SuccessCounts
from budget_envs.evaluation.trajectory import Run

__all__ = ["Cell", "CellKey", "Comparison", "ReportData", "RunReport"]

CellKey = tuple[int, int]
"""A cell of the surface: K, T."""

_MAX_HEADLINE: Final = 10  # budgets in a table


@dataclass(frozen=True, slots=True)
class Cell:
    """Pass@(K,T) of one run in one cell; rates are in [0, 1], NaN where nothing was observed.

    Attributes:
        k: Attempts K.
        budget: Turn budget T.
        rate: Void episodes left out.
        low: Lower end of its interval.
        high: Upper end.
        strict: Void episodes counted as failures.
        strict_low: Lower end of its interval.
        strict_high: Upper end.
        num_tasks: Tasks with at least K judged episodes, over which ``rate`` is a mean.
        num_episodes: Judged episodes of those tasks.
    """

    k: int
    budget: int
    rate: float
    low: float
    high: float
    strict: float
    strict_low: float
    strict_high: float
    num_tasks: int
    num_episodes: int


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run.

    Attributes:
        run: Settings and provenance.
        label: Name that tells it apart from the others it is shown with.
        num_stored: Episodes that are in the database.
        ks: The K shown, increasing.
        cells: Pass@(K,T) of every shown K and every budget.
        counts: Successes and trials of every task and budget.
        endings: How many episodes ended in which way: ``"solved"``, ``"failed"``, ``"out of
            budget"``, ``"agent error"``, ``"void: env"``, ...
        use: How each budget was used.
        quality: What the turns under each hard limit were like.
        notes: What a reader has to know, as sentences.
    """

    run: Run
    label: str
    num_stored: int
    ks: tuple[int, ...]
    cells: Mapping[CellKey, Cell]
    counts: SuccessCounts
    endings: Mapping[str, int]
    use: tuple[BudgetUse, ...]
    quality: tuple[TurnQuality, ...]
    notes: tuple[str, ...]

    @property
    def num_void(self) -> int:
        """Number of void episodes."""
        return sum(count for ending, count in self.endings.items() if ending.startswith("void"))

    def use_at(self, budget: int) -> BudgetUse | None:
        """Return how a budget was used; ``None`` if the run does not have it."""
        return next((use for use in self.use if use.budget == budget), None)

    def quality_at(self, budget: int) -> TurnQuality | None:
        """Return what turns under a hard limit were like; ``None`` if none were played under it."""
        return next((quality for quality in self.quality if quality.budget == budget), None)

    def voids(self, budget: int) -> int:
        """Return the number of void episodes that tell about a budget."""
        column = self.run.budgets.index(budget)
        return int(self.counts.void[:, column].sum())


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs of the same environment, protocol and tasks, which one chart can hold.

    Attributes:
        env_id: The environment.
        env_kwargs: Its keywords, without those that change nothing but what is shown.
        protocol: ``"truncate"`` or ``"rerun"``.
        task_ids: The tasks.
        split: Their split; ``None`` if they were named.
        runs: The runs, oldest first.
        budgets: All their budgets T, increasing.
        ks: All their K, increasing.
        task_bounds: Task to turn budget to the best success probability of any policy.
        bounds: Turn budget to its mean over the tasks, with the interval of a draw of tasks.
        pass_bounds: The bound of every cell, for K independent attempts: the mean over the tasks
            of ``1 - (1 - b)**K``. For K = 1 it is the structural bound itself.
    """

    env_id: str
    env_kwargs: Mapping[str, Any]
    protocol: Protocol
    task_ids: tuple[str, ...]
    split: str | None
    runs: tuple[RunReport, ...]
    budgets: tuple[int, ...]
    ks: tuple[int, ...]
    task_bounds: Mapping[str, Mapping[int, float]]
    bounds: Mapping[int, Interval]
    pass_bounds: Mapping[CellKey, float]

    @property
    def has_void(self) -> bool:
        """Whether a run has void episodes, so that its two rates differ."""
        return any(report.num_void for report in self.runs)

    @property
    def headline_ks(self) -> tuple[int, ...]:
        """One attempt, and the K of the depth curve: the largest that a run asks for."""
        return tuple(sorted({1, max(report.run.k for report in self.runs)}))

    @property
    def headline_budgets(self) -> tuple[int, ...]:
        """At most ten of the budgets, the smallest and the largest among them."""
        last, steps = len(self.budgets) - 1, min(len(self.budgets), _MAX_HEADLINE) - 1
        places = {round(step * last / steps) for step in range(steps + 1)} if steps else {0}
        return tuple(self.budgets[place] for place in sorted(places))

    @property
    def limits(self) -> tuple[int, ...]:
        """Those of the headline budgets, and of the largest of each run, that were hard limits."""
        played = {quality.budget for report in self.runs for quality in report.quality}
        if self.protocol == "truncate":
            return tuple(sorted(played))
        return tuple(budget for budget in self.headline_budgets if budget in played)

    def runs_at(self, budget: int) -> tuple[RunReport, ...]:
        """Return the runs that have a budget."""
        return tuple(report for report in self.runs if budget in report.run.budgets)


@dataclass(frozen=True, slots=True)
class ReportData:
    """What was measured in a results database.

    Attributes:
        database: The file's name.
        comparisons: The runs, grouped by what can be compared.
        level: Nominal coverage of the intervals.
        num_resamples: Resamples of the tasks behind the intervals.
        seed: Seed of the resamples.
    """

    database: str
    comparisons: tuple[Comparison, ...]
    level: float
    num_resamples: int
    seed: int

    @property
    def runs(self) -> tuple[RunReport, ...]:
        """All runs, comparison after comparison."""
        return tuple(report for comparison in self.comparisons for report in comparison.runs)
