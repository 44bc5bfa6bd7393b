"""Names that tell runs apart, and which runs belong side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from budget_envs.evaluation.report.text import visible
from budget_envs.evaluation.trajectory import Run

__all__ = ["facts", "group_runs", "label_runs", "task_keywords"]

_SHOWN_ONLY: Final = frozenset({"show_budget", "oracle"})  # the tasks are the same without them


def task_keywords(run: Run) -> dict[str, Any]:
    """Return the keywords of a run's environment that make its tasks what they are."""
    return {name: value for name, value in run.env_kwargs.items() if name not in _SHOWN_ONLY}


def group_runs(runs: Iterable[Run]) -> list[list[Run]]:
    """Group runs of the same environment, protocol and tasks, in order of appearance.

    Runs under different protocols estimate different things, and are never put side by side.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        kind = [run.env_id, task_keywords(run), run.protocol, sorted(run.task_ids)]
        groups.setdefault(json.dumps(kind, sort_keys=True, default=repr), []).append(run)
    return list(groups.values())


def label_runs(runs: Sequence[Run]) -> list[str]:
    """Name runs by their policy, and where that is ambiguous by the settings that differ."""
    labels = [visible(run.policy) for run in runs]
    for policy in {label for label in labels if labels.count(label) > 1}:
        places = [place for place, label in enumerate(labels) if label == policy]
        details = [_details(runs[place]) for place in places]
        differing = _differing(details)
        for place, detail in zip(places, details, strict=True):
            parts = [detail[name] for name in differing if name in detail]
            labels[place] = f"{policy} ({', '.join(parts)})" if parts else policy
    return [
        label if labels.count(label) == 1 else f"{label} #{run.run_id[:6]}"
        for label, run in zip(labels, runs, strict=True)
    ]


def facts(runs: Sequence[Run]) -> list[str]:
    """Return what the runs of a comparison have in common, or where they differ, in few words."""
    tasks, split = len(runs[0].task_ids), runs[0].split
    counters = {run.token_counter for run in runs} - {None}
    return [
        f"{tasks} {'task' if tasks == 1 else 'tasks'}" + (f" ({split} split)" if split else ""),
        f"{_either(run.num_rollouts for run in runs)} rollouts of each task"
        + (" and budget" if runs[0].protocol == "rerun" else ""),
        _either(map(_shown, runs)),
        f"seed {_either(run.seed for run in runs)}",
        *(f"tokens counted by {visible(str(counter))}" for counter in sorted(map(str, counters))),
        *(f"{visible(name)}={visible(_text(v))}" for name, v in task_keywords(runs[0]).items()),
    ]


def _details(run: Run) -> Mapping[str, str]:
    settings = {name: f"{name}={_text(value)}" for name, value in run.policy_settings.items()}
    own = {
        "shown": _shown(run),
        "budgets": f"T = {', '.join(map(str, run.budgets))}",
        "n": f"n = {run.num_rollouts}",
        "seed": f"seed {run.seed}",
        "class": f"class {(run.versions or {}).get('policy')}",
        "version": f"version {(run.versions or {}).get('budget_envs')}",
    }
    return {name: visible(text) for name, text in {**settings, **own}.items()}


def _differing(details: Sequence[Mapping[str, str]]) -> list[str]:
    names = dict.fromkeys(name for detail in details for name in detail)
    return [name for name in names if len({detail.get(name) for detail in details}) > 1]


def _shown(run: Run) -> str:
    if not run.is_budget_shown:
        return "budget hidden"
    when = run.env_kwargs.get("show_budget", True)
    return "budget shown" if when is True else f"budget shown: {_text(when)}"


def _either(values: Iterable[object]) -> str:
    return " or ".join(sorted({str(value) for value in values}))


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=repr)
    return text if len(text) <= 40 else f"{text[:39]}…"
