"""What a run's episodes say: success counts, structural bounds, and use of the budget.

All of these average within a task first and then over tasks, and their intervals draw tasks with
replacement. Void episodes enter no mean; an episode that was solved at reset enters none either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from budget_envs.evaluation.bootstrap import Interval, mean_interval
from budget_envs.evaluation.outcomes import VOID, Outcomes, SuccessCounts
from budget_envs.evaluation.trajectory import Episode, Run

__all__ = [
    "BudgetUse",
    "TurnQuality",
    "budget_use",
    "lacks_injections",
    "stored_counts",
    "success_counts",
    "turn_quality",
    "upper_bounds",
]

Mean = Callable[[dict[str, list[float]]], Interval]  # of the values of each task


def success_counts(run: Run, episodes: Iterable[Episode]) -> SuccessCounts:
    """Return the counts that determine Pass@(K,T) of a run.

    Denominators are the requested episodes: one that is missing counts as failed. Success within
    T means that the action which solved the task, a submitting one included, was turn T or
    earlier.

    Args:
        run: The run.
        episodes: Its episodes, in any order.
    """
    if run.protocol == "truncate":
        return SuccessCounts.truncate(_outcomes(run, episodes), run.budgets)
    by_budget: dict[int, list[Episode]] = {budget: [] for budget in run.budgets}
    for episode in episodes:
        by_budget[episode.budget].append(episode)
    return SuccessCounts.rerun({T: _outcomes(run, played) for T, played in by_budget.items()})


def stored_counts(run: Run, episodes: Sequence[Episode]) -> SuccessCounts:
    """Return a run's counts; one of which nothing is stored yet has no trials, not failures."""
    if episodes:
        return success_counts(run, episodes)
    nothing = Outcomes.from_episodes({}, requested=dict.fromkeys(run.task_ids, 0))
    if run.protocol == "truncate":
        return SuccessCounts.truncate(nothing, run.budgets)
    return SuccessCounts.rerun(dict.fromkeys(run.budgets, nothing))


def upper_bounds(
    run: Run,
    episodes: Iterable[Episode],
    *,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> dict[int, Interval] | None:
    """Return the structural upper bound of every budget: the mean over tasks, with its interval.

    No policy's expected success rate on these tasks lies above the estimate. The interval says
    how far another draw of tasks would move it.

    Args:
        run: The run.
        episodes: Its episodes; turns are not needed.
        seed: Of the bootstrap.
        level: Nominal coverage of the intervals in (0, 1).
        num_resamples: Resamples of the tasks.

    Returns:
        Turn budget to interval; ``None`` if no oracle gave bounds.
    """
    bounds = {e.task_id: e.upper_bounds for e in episodes if e.upper_bounds is not None}
    if not bounds:
        return None
    return {
        budget: mean_interval(
            {task: [bound[budget]] for task, bound in bounds.items() if budget in bound},
            seed=seed,
            level=level,
            num_resamples=num_resamples,
        )
        for budget in run.budgets
    }


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """How episodes used a turn budget.

    Attributes:
        budget: Turn budget T.
        turns_when_solved: Turn of the first success, over the episodes solved within T.
        unused_turns: What those episodes left of T.
        unused_share: The same as a share of T, in [0, 1).
        exhausted: Share of episodes that were still unsolved and going when a budget ended them.
    """

    budget: int
    turns_when_solved: Interval
    unused_turns: Interval
    unused_share: Interval
    exhausted: Interval


def budget_use(
    run: Run,
    episodes: Sequence[Episode],
    *,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> list[BudgetUse]:
    """Measure for every budget T how it was used; under ``truncate``, by cutting at T.

    Args:
        run: The run.
        episodes: Its episodes; turns are not needed.
        seed: Of the bootstrap.
        level: Nominal coverage of the intervals in (0, 1).
        num_resamples: Resamples of the tasks.
    """
    mean = partial(mean_interval, seed=seed, level=level, num_resamples=num_resamples)
    return [_use_of(run, T, _under(run, T, episodes), mean) for T in run.budgets]


@dataclass(frozen=True, slots=True)
class TurnQuality:
    """What the turns of episodes played under one hard limit were like.

    Attributes:
        budget: The limit that they were played under.
        invalid_rate: Share of an episode's turns whose action could not be read.
        mean_regret: Mean regret of the turns that an oracle judged.
        overrun: Share of episodes that used more of some resource than they had.
        hit_by_error: Share of episodes in which an injected error landed.
        num_injected: Injected errors that landed, in all.
    """

    budget: int
    invalid_rate: Interval
    mean_regret: Interval
    overrun: Interval
    hit_by_error: Interval
    num_injected: int


def turn_quality(
    run: Run,
    episodes: Sequence[Episode],
    *,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> list[TurnQuality]:
    """Measure the turns for every hard limit that episodes were played under.

    Args:
        run: The run.
        episodes: Its episodes; turns are not needed.
        seed: Of the bootstrap.
        level: Nominal coverage of the intervals in (0, 1).
        num_resamples: Resamples of the tasks.
    """
    mean = partial(mean_interval, seed=seed, level=level, num_resamples=num_resamples)
    limits = run.budgets[-1:] if run.protocol == "truncate" else run.budgets
    return [_quality_of(run, T, _under(run, T, episodes), mean) for T in limits]


def lacks_injections(run: Run, episodes: Iterable[Episode]) -> bool:
    """Return whether errors were to be injected and none landed: such a run tests nothing."""
    return bool(run.env_kwargs.get("error_states")) and not any(e.num_injected for e in episodes)


def _outcomes(run: Run, episodes: Iterable[Episode]) -> Outcomes:
    entries: dict[str, list[int | str | None]] = {task: [] for task in run.task_ids}
    for episode in episodes:
        is_void = episode.verdict == "void"
        entries[episode.task_id].append(VOID if is_void else episode.success_turn)
    return Outcomes.from_episodes(entries, requested=run.num_rollouts)


def _under(run: Run, budget: int, episodes: Sequence[Episode]) -> list[Episode]:
    """Return the judged episodes that tell about a budget."""
    cap = run.budgets[-1] if run.protocol == "truncate" else budget
    return [
        episode
        for episode in episodes
        if episode.budget == cap and episode.verdict != "void" and not episode.is_solved_at_reset
    ]


def _average(
    run: Run,
    episodes: Iterable[Episode],
    value: Callable[[Episode], float | None],
    mean: Mean,
) -> Interval:
    """Average what episodes have a value of; tasks in which none has one count as empty."""
    values: dict[str, list[float]] = {task: [] for task in run.task_ids}
    for episode in episodes:
        number = value(episode)
        if number is not None:
            values[episode.task_id].append(number)
    return mean(values)


def _use_of(run: Run, budget: int, episodes: Sequence[Episode], mean: Mean) -> BudgetUse:
    solved = [e for e in episodes if e.success_turn is not None and e.success_turn <= budget]

    def average(among: Sequence[Episode], value: Callable[[Episode], float]) -> Interval:
        return _average(run, among, value, mean)

    return BudgetUse(
        budget=budget,
        turns_when_solved=average(solved, lambda e: e.success_turn or 0),
        unused_turns=average(solved, lambda e: budget - (e.success_turn or 0)),
        unused_share=average(solved, lambda e: 1 - (e.success_turn or 0) / budget),
        exhausted=average(episodes, lambda e: float(_is_exhausted(e, budget))),
    )


def _is_exhausted(episode: Episode, budget: int) -> bool:
    if episode.success_turn is not None and episode.success_turn <= budget:
        return False
    return episode.num_turns > budget or episode.boundary == "budget"


def _quality_of(run: Run, budget: int, episodes: Sequence[Episode], mean: Mean) -> TurnQuality:
    def average(value: Callable[[Episode], float | None]) -> Interval:
        return _average(run, episodes, value, mean)

    return TurnQuality(
        budget=budget,
        invalid_rate=average(lambda e: e.num_invalid / e.num_turns if e.num_turns else None),
        mean_regret=average(lambda e: e.mean_regret),
        overrun=average(lambda e: float(_has_overrun(e))),
        hit_by_error=average(lambda e: float(e.num_injected > 0)),
        num_injected=sum(episode.num_injected for episode in episodes),
    )


def _has_overrun(episode: Episode) -> bool:
    amounts = [value for value in (episode.budget_report or {}).values() if isinstance(value, dict)]
    return any(amount["used"] > amount["limit"] for amount in amounts)
