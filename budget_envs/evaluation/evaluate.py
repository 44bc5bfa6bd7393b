"""`evaluate`: play a policy under several budgets, and keep what happened."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from numpy.typing import ArrayLike

from budget_envs.evaluation.bootstrap import Interval
from budget_envs.evaluation.cell_intervals import PassKTIntervals, pass_kt_intervals
from budget_envs.evaluation.measures import success_counts, upper_bounds
from budget_envs.evaluation.outcomes import Protocol, SuccessCounts
from budget_envs.evaluation.pass_kt import PassKT, estimate
from budget_envs.evaluation.plan import Plan, make_plan
from budget_envs.evaluation.policy import Policy
from budget_envs.evaluation.provenance import command_line, git_commit, now, package_versions
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Episode, Run
from budget_envs.evaluation.workers import Job, Workers, check_workers, play

__all__ = ["Evaluation", "Progress", "evaluate", "run_plan"]

StoreOrPath = Store | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an evaluation is.

    Attributes:
        done: Episodes that are there.
        total: Episodes requested.
        resumed: Episodes of ``done`` that an earlier call had stored.
        solved: Episodes that this call solved.
        dead: Episodes of this call that an error ended, and all void ones.
        void: Episodes of this call that nobody could judge.
    """

    done: int
    total: int
    resumed: int
    solved: int = 0
    dead: int = 0
    void: int = 0

    def after(self, episodes: Sequence[Episode]) -> Progress:
        """Return the progress with more episodes."""
        return dataclasses.replace(
            self,
            done=self.done + len(episodes),
            solved=self.solved + sum(e.verdict == "pass" for e in episodes),
            dead=self.dead + sum(e.error is not None or e.verdict == "void" for e in episodes),
            void=self.void + sum(e.verdict == "void" for e in episodes),
        )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A finished evaluation.

    Attributes:
        run: Its settings and where it comes from.
        episodes: Its episodes, in the order of tasks, budgets and rollouts; with their turns if
            they are stored nowhere else.
        num_resumed: How many of them an earlier call had stored.
    """

    run: Run
    episodes: tuple[Episode, ...]
    num_resumed: int = 0

    @property
    def counts(self) -> SuccessCounts:
        """Successes and trials of every task and budget."""
        return success_counts(self.run, self.episodes)

    def pass_kt(self, ks: ArrayLike | None = None) -> PassKT:
        """Estimate Pass@(K,T) for all budgets; every K by default."""
        return estimate(self.counts, ks)

    def intervals(self, ks: ArrayLike | None = None, *, seed: int = 0) -> PassKTIntervals:
        """Estimate Pass@(K,T) with bootstrap intervals over tasks."""
        return pass_kt_intervals(self.counts, ks, seed=seed)

    def upper_bounds(self) -> dict[int, Interval] | None:
        """Return the structural upper bound of every budget; ``None`` without an oracle."""
        return upper_bounds(self.run, self.episodes)


def evaluate(
    policy: Policy,
    env_id: str,
    budgets: Sequence[int | str],
    *,
    k: int = 8,
    num_rollouts: int | None = None,
    tasks: int | Sequence[str] = 100,
    split: str = "test",
    protocol: Protocol = "rerun",
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    store: StoreOrPath | None = None,
    workers: Workers = 1,
    batch_size: int = 64,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Play a policy on tasks under turn budgets T, and estimate Pass@(K,T).

    Success within T means that the task was solved by turn T or earlier, and where a task is
    submitted, that turn T submitted it. Every requested episode counts: one in which the agent
    breaks down has failed; one that environment, sandbox or provider broke is void. What an
    episode does depends on ``seed``, its task, its rollout and its budget, and on nothing else;
    two policies, or two budgets, meet the same luck.

    Args:
        policy: What plays.
        env_id: Any registered id of an environment with text and named tasks.
        budgets: Turn limits T: integers, or shares of the id's own budget such as ``"25%"``,
            rounded up.
        k: The K of the depth curve Pass@(K,T).
        num_rollouts: Rollouts n of each task, at least K; by default 2K.
        tasks: How many tasks of the split, or a list of task ids. An environment with one fixed
            task has that one only.
        split: ``"train"``, ``"validation"`` or ``"test"``.
        protocol: ``"truncate"``: one set of rollouts under the largest T, and every T read off
            it. Refused where the agent can know its budget. ``"rerun"``: rollouts of their own
            under a hard limit of T, for each T.
        seed: Base seed in [0, 2**63).
        env_kwargs: Keywords for ``gym.make``. ``budget`` may set what shares are of, and limit
            other resources.
        store: Results database, or its path. Episodes are written as they finish; a run that is
            there already is continued, and repeats none of them. Without one, nothing is kept but
            what is returned.
        workers: 1, a number of processes, or ``"ray"``; results are the same.
        batch_size: Episodes in progress at once in each process.
        progress: Called before the first episode, and after every batch of finished ones.

    Returns:
        The run and its episodes.

    Raises:
        OptionError: If a setting is not valid.
        UnsupportedError: If the combination would give wrong results.
        DependencyNotInstalled: If ``workers="ray"`` and Ray is missing.
        DataError: If the database cannot be used.

    References:
        Zhai et al., arXiv:2604.14877 (Pass@(k,T)).
    """
    plan = make_plan(
        policy,
        env_id,
        budgets,
        k=k,
        num_rollouts=num_rollouts,
        tasks=tasks,
        split=split,
        protocol=protocol,
        seed=seed,
        env_kwargs=env_kwargs,
    )
    return run_plan(
        plan, policy, store=store, workers=workers, batch_size=batch_size, progress=progress
    )


def run_plan(
    plan: Plan,
    policy: Policy,
    *,
    store: StoreOrPath | None = None,
    workers: Workers = 1,
    batch_size: int = 64,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Play what a plan lists and is not stored yet; the arguments are those of `evaluate`.

    A run is stored with its first finished episodes, so that one which cannot start leaves nothing
    behind: its command would not be the one that gives the results.
    """
    check_workers(workers)
    run = _dated(plan.run)
    with _opened(store) as opened:
        known = opened.keys(run.run_id)
        missing = [request for request in plan.requests if request.key not in known]
        state = Progress(len(known), plan.num_episodes, resumed=len(known))
        if progress is not None:
            progress(state)
        played = play(Job(policy, plan.make_env, plan.bounds, batch_size), missing, workers)
        first = next(played, None)
        opened.add_run(run)
        for finished in chain([] if first is None else [first], played):
            opened.add_episodes(run.run_id, finished)
            state = state.after(finished)
            if progress is not None:
                progress(state)
        return _finished(opened, run.run_id, state.resumed, with_turns=store is None)


@contextmanager
def _opened(store: StoreOrPath | None) -> Iterator[Store]:
    if isinstance(store, Store):
        yield store  # whoever opened it closes it
        return
    with Store.in_memory() if store is None else Store.open(store, create=True) as opened:
        yield opened


def _dated(run: Run) -> Run:
    return dataclasses.replace(
        run,
        versions={**package_versions(), **(run.versions or {})},
        git_commit=git_commit(),
        command=command_line(),
        created=now(),
    )


def _finished(store: Store, run_id: str, num_resumed: int, *, with_turns: bool) -> Evaluation:
    run, episodes = store.run(run_id), store.episodes(run_id, with_turns=with_turns)
    if run.finished is None:
        bounds = upper_bounds(run, episodes, num_resamples=1)  # of which only the mean is kept
        means = None if bounds is None else {T: bound.estimate for T, bound in bounds.items()}
        store.finish_run(run_id, finished=now(), upper_bounds=means)
        run = store.run(run_id)
    return Evaluation(run, tuple(episodes), num_resumed)
