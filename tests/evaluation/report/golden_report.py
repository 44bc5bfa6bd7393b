"""The report of a small fixed database: ``python tests/evaluation/report/golden_report.py``.

Writes the golden files; review the difference as text. The page is kept without its style sheet
and scripts, which have tests of their own.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

from rich.console import Console

from budget_envs.evaluation.report import as_plain, print_report, summarize
from budget_envs.evaluation.report.html import render
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Episode, Run, Turn

GOLDEN = Path(__file__).parent / "golden"
TASKS = ("lake-a", "lake-b", "lake-c")
BOUNDS = {"lake-a": (0.25, 0.5, 1.0), "lake-b": (0.25, 0.8, 1.0), "lake-c": (1.0, 1.0, 1.0)}
BUDGETS = (1, 2, 4)


def make_run(policy="alpha", **changes):
    """Return a run of three tasks under three budgets."""
    settings = {
        "run_id": f"{policy}-0123456789",
        "env_id": "budget_envs/FrozenLake-v0",
        "env_kwargs": {"oracle": True},
        "policy": policy,
        "policy_settings": {},
        "protocol": "rerun",
        "budgets": BUDGETS,
        "k": 2,
        "num_rollouts": 4,
        "task_ids": TASKS,
        "split": "test",
        "seed": 7,
        "env_spec": '{"id": "budget_envs/FrozenLake-v0"}',
        "versions": {"python": "3.11.0", "budget_envs": "0.0.0"},
        "git_commit": "0123456789abcdef",
        "dataset_checksums": {},
        "command": f"budget-envs evaluate --policy {policy}",
        "created": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:01:00+00:00",
    }
    return Run(**(settings | changes))


def make_turn(number, limit, **changes):
    """Return turn ``number`` of an episode that may take ``limit``."""
    used = {"limit": limit, "used": number, "remaining": limit - number}
    settings = {
        "turn": number,
        "observation": f"P _ _\n_ O G\nturn {number}",
        "action": "Right",
        "executed_action": "Right",
        "budget": {"turns": used, "binding": "turns", "exhausted": None},
        "oracle": {"value": 0.5, "best": 0.75, "regret": 0.25, "best_actions": ["Down", "Up"]},
    }
    return Turn(**(settings | changes))


def make_episode(task, budget, rollout, outcome, **changes):
    """Return an episode; ``outcome`` is the turn of success, ``None`` or ``"void"``."""
    num_turns = outcome if isinstance(outcome, int) else budget
    passed, void = isinstance(outcome, int), outcome == "void"
    turns = tuple(
        make_turn(number, budget, reward=float(passed and number == num_turns))
        for number in range(1, num_turns + 1)
    )
    settings = {
        "task_id": task,
        "budget": budget,
        "rollout": rollout,
        "seed": rollout,
        "verdict": "void" if void else "pass" if passed else "fail",
        "success_turn": outcome if passed else None,
        "num_turns": num_turns,
        "episode_return": None if void else float(passed),
        "boundary": "env" if void else None if passed else "budget",
        "error": "RuntimeError: the lake is gone" if void else None,
        "final_observation": f"end of {task}",
        "budget_report": {"turns": {"limit": budget, "used": num_turns, "remaining": 0}},
        "mean_regret": 0.25 if num_turns else None,
        "turns": turns,
    }
    return Episode(**(settings | changes))


def add(store, run, outcome, bounds=BOUNDS, **changes):
    """Add a run whose episodes do what ``outcome(task number, budget, rollout)`` says."""
    store.add_run(run)
    limits = run.budgets[-1:] if run.protocol == "truncate" else run.budgets
    episodes = [
        make_episode(
            task,
            budget,
            rollout,
            outcome(place, budget, rollout),
            upper_bounds=None if bounds is None else dict(zip(BUDGETS, bounds[task], strict=True)),
            **changes,
        )
        for place, task in enumerate(run.task_ids)
        for budget in limits
        for rollout in range(run.num_rollouts)
        if outcome(place, budget, rollout) != "missing"
    ]
    store.add_episodes(run.run_id, episodes)
    return episodes


def often(place, budget, rollout):
    """Solve the later tasks more often, and sooner."""
    turn = 1 + (3 * rollout + 5) % (4 - place)
    return turn if turn <= budget else None


def sometimes_void(place, budget, rollout):
    """Leave one task without a judged episode."""
    return "void" if place == 0 or (rollout == 3 and budget == 4) else often(place, budget, rollout)


def half_missing(place, budget, rollout):
    """Stop after half of the rollouts."""
    return "missing" if rollout >= 2 else often(place, budget, rollout)


def fixed_store():
    """Return the database behind the golden files."""
    store = Store.in_memory()
    add(store, make_run("alpha"), often)
    add(store, make_run("beta", policy_settings={"temperature": 0.7}), sometimes_void)
    truncated = make_run("alpha", run_id="cut-0123456789", protocol="truncate", finished=None)
    add(store, truncated, half_missing, bounds=None)
    add(store, make_run("none", env_id="other/Env-v0"), lambda *_: "missing")
    return store


def terminal_text(store, summary, width=80):
    """Return what the terminal shows, without blanks at line ends."""
    console = Console(file=io.StringIO(), width=width)
    print_report(store, console=console, summary=summary)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def page_text(store, summary):
    """Return the page without style sheet, scripts and their hashes."""
    page = render(store, summary, 10_000_000)
    page = re.sub(r"(<style>|<script>).*?(</)", r"\1\2", page, flags=re.DOTALL)
    return re.sub(r"sha256-[\w+/=]+", "sha256-", page)


def golden_texts(store, summary):
    """Return the golden files of the fixed database by name."""
    return {
        "report.json": json.dumps(as_plain(summary), indent=1, allow_nan=False) + "\n",
        "report.txt": terminal_text(store, summary),
        "report.html": page_text(store, summary),
    }


if __name__ == "__main__":
    with fixed_store() as fixed:
        for name, text in golden_texts(fixed, summarize(fixed, num_resamples=200)).items():
            (GOLDEN / name).write_text(text, encoding="utf-8", newline="\n")
