"""``budget-envs evaluate``: play policies under budgets and keep what happened."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from budget_envs.agents.policies import make_policy
from budget_envs.cli.ids import explained_keywords, find_id, read_keywords
from budget_envs.cli.output import INTERRUPTED, console, print_json
from budget_envs.cli.parameters import Flag, OptionalInteger, Texts
from budget_envs.cli.progress import shown_progress
from budget_envs.cli.settings import PolicyChoice, Settings
from budget_envs.evaluation import Plan, Policy, Store, make_plan, run_plan
from budget_envs.evaluation.report import as_plain, print_report, summarize
from budget_envs.evaluation.report.text import visible
from budget_envs.evaluation.workers import check_workers

__all__ = ["evaluate"]


def evaluate(
    id: str | None = None,
    /,
    *,
    policy: Texts = None,
    budgets: Texts = None,
    k: OptionalInteger = None,
    rollouts: OptionalInteger = None,
    tasks: OptionalInteger = None,
    split: str | None = None,
    protocol: str | None = None,
    seed: OptionalInteger = None,
    database: str | None = None,
    workers: str | None = None,
    set: Texts = None,
    settings: Path | None = None,
    dry_run: Flag = False,
    json: Flag = False,
) -> int:
    """Play policies on an environment under turn budgets, and estimate Pass@(K,T).

    Episodes are stored as they finish. The same command continues where an earlier one stopped, and
    repeats nothing.

    Args:
        id: The environment.
        policy: random, oracle, shortest_path, scripted, gold, gold_after_failures, null, sql_gold,
            sql_explore_then_gold, sql_null, tool_gold, tool_gold_stepwise, tool_null,
            language_model, smollm2, openai, sb3, the path of a language model, or any
            module:Class; with settings as in
            scripted={"actions": ["Right"]}. May be repeated: one run each.
        budgets: Turn budgets T: numbers such as 2,4,8, or shares of the id's own such as 25%,100%.
            By default 25%,50%,75%,100%.
        k: The K of the curve over budgets. By default 8.
        rollouts: Rollouts of each task, at least K. By default twice K.
        tasks: Number of tasks. By default 50.
        split: Split of the tasks: train, validation or test. By default test.
        protocol: rerun (the default) plays every budget as a hard limit; truncate plays the largest
            one and reads the others off it, which is refused if the agent knows its budget.
        seed: Base seed. By default 0.
        database: File of the results. By default runs/results.sqlite.
        workers: Number of processes, or ray. By default 1.
        set: A keyword of the environment, as key=value with a JSON value. May be repeated.
        settings: A TOML file with the same names as keys; flags win.
        dry_run: Say what would be played, and play nothing.
        json: Print one JSON document.
    """
    flags = {
        "id": id,
        "policy": policy,
        "budgets": budgets,
        "k": k,
        "rollouts": rollouts,
        "tasks": tasks,
        "split": split,
        "protocol": protocol,
        "seed": seed,
        "database": database,
        "workers": workers,
        "set": read_keywords(set) or None,
    }
    chosen = Settings.merge(settings, flags)
    planned = [_plan(chosen, choice) for choice in chosen.policy]
    if dry_run:
        _describe(chosen, planned, as_json=json)
        return 0
    try:
        _play(chosen, planned, as_json=json)
    except KeyboardInterrupt:
        print(
            f"budget-envs: stopped. Finished episodes are saved in {visible(chosen.database)}; "
            "run the same command to continue.",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0


@dataclass(frozen=True, slots=True)
class _Planned:
    """One policy, and what it is going to play."""

    policy: Policy
    plan: Plan


def _plan(settings: Settings, choice: PolicyChoice) -> _Planned:
    policy = make_policy(choice.name, **choice.settings)
    env_id = find_id(settings.id).rpartition(":")[2]
    with explained_keywords(env_id, settings.set):
        plan = make_plan(
            policy,
            env_id,
            settings.budgets,
            k=settings.k,
            num_rollouts=settings.rollouts,
            tasks=settings.tasks,
            split=settings.split,
            protocol=settings.protocol,  # type: ignore[arg-type]  # make_plan checks it
            seed=settings.seed,
            env_kwargs=settings.set,
        )
    return _Planned(policy, plan)


def _describe(settings: Settings, planned: Iterable[_Planned], *, as_json: bool) -> None:
    runs = [_describe_run(settings, each.plan) for each in planned]
    if as_json:
        print_json({"settings": settings.plain(), "runs": runs})
        return
    print(settings.to_toml())
    for run in runs:
        print(
            f"run {run['run_id']} of {visible(run['policy'])}: {run['num_tasks']:,} tasks, budgets "
            f"{', '.join(map(str, run['budgets']))}, {run['num_episodes']:,} episodes "
            f"({run['num_stored']:,} are stored), at most {run['max_turns']:,} turns."
        )
    print("Nothing was played: this was a dry run.")


def _describe_run(settings: Settings, plan: Plan) -> dict[str, Any]:
    stored = 0
    if Path(settings.database).exists():
        with Store.open(settings.database) as store:
            stored = len(store.keys(plan.run.run_id))
    return {
        "run_id": plan.run.run_id,
        "policy": plan.run.policy,
        "num_tasks": len(plan.run.task_ids),
        "budgets": plan.run.budgets,
        "num_episodes": plan.num_episodes,
        "num_stored": stored,
        "max_turns": plan.max_turns,
    }


def _play(settings: Settings, planned: Iterable[_Planned], *, as_json: bool) -> None:
    check_workers(settings.workers)  # type: ignore[arg-type]  # it is what finds out
    Path(settings.database).parent.mkdir(parents=True, exist_ok=True)
    with Store.open(settings.database, create=True) as store:
        run_ids = [_play_run(settings, each, store) for each in planned]
        if as_json:
            print_json(as_plain(summarize(store, run_ids)))
        else:
            print_report(store, run_ids, console())
            print(f"Results: {settings.database}")


def _play_run(settings: Settings, planned: _Planned, store: Store) -> str:
    policy, plan = planned.policy, planned.plan
    with shown_progress(plan.run.policy, plan.num_episodes) as progress:
        run_plan(
            plan,
            policy,
            store=store,
            workers=settings.workers,  # type: ignore[arg-type]  # run_plan checks it
            progress=progress,
        )
    return plan.run.run_id
