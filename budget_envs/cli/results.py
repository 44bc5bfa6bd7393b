"""Runs of a results database, found by the names that people give them."""

from __future__ import annotations

from collections.abc import Sequence

from budget_envs.errors import DataError, OptionError, did_you_mean
from budget_envs.evaluation import Run, Store

__all__ = ["find_runs"]


def find_runs(store: Store, names: Sequence[str]) -> list[Run]:
    """Return runs by id, by the first digits of an id, or by policy, each once; or all of them.

    Raises:
        OptionError: If a name means no run, or several.
        DataError: If the database holds no run.
    """
    runs = store.runs()
    if not runs:
        raise DataError(f"results database {store.path!r} holds no runs yet.")
    found = [_find_run(store, runs, name) for name in names] or runs
    return list({run.run_id: run for run in found}.values())


def _find_run(store: Store, runs: Sequence[Run], name: str) -> Run:
    found = [run for run in runs if name in (run.run_id, run.policy)]
    found = found or [run for run in runs if name and run.run_id.startswith(name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{run.run_id} ({run.policy})" for run in found or runs)
    what = "several runs match" if found else "no run matches"
    names = [name for run in runs for name in (run.policy, run.run_id)]
    hint = " Give an id." if found else did_you_mean(name, names)
    raise OptionError(f"{what} {name!r} in {store.path!r}: {known}.{hint}")
