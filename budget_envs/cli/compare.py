"""``budget-envs compare``: runs side by side, with paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Final

from budget_envs.cli.output import console, print_json
from budget_envs.cli.parameters import Flag
from budget_envs.cli.results import find_runs
from budget_envs.errors import OptionError
from budget_envs.evaluation import Run, Store, SuccessCounts
from budget_envs.evaluation.cell_intervals import (
    PassKTIntervals,
    pass_kt_difference_intervals,
    pass_kt_intervals,
)
from budget_envs.evaluation.measures import stored_counts
from budget_envs.evaluation.report.labels import label_runs, task_keywords
from budget_envs.evaluation.report.summary import run_notes
from budget_envs.evaluation.report.text import MISSING, visible

__all__ = ["compare"]

Intervals = Sequence[PassKTIntervals]


_SEED: Final = 0  # of the bootstrap


def compare(database: Path, /, *runs: str, json: Flag = False) -> None:
    """Compare runs on the same tasks and budgets: each with the first one named.

    Differences of Pass@(K,T) are taken task by task, and their intervals draw tasks with
    replacement. An asterisk marks a difference whose 95 % interval leaves out 0.

    Args:
        database: File of the results.
        runs: Two or more ids of runs, their first digits, or names of policies. By default all.
        json: Print one JSON document.
    """
    with Store.open(database) as store:
        found = find_runs(store, runs)
        if len(found) < 2:
            raise OptionError(f"compare needs two different runs, got {found[0].policy!r} only.")
        _check_alike(found)
        played = [store.episodes(run.run_id) for run in found]
    counts = [stored_counts(run, episodes) for run, episodes in zip(found, played, strict=True)]
    notes = [list(run_notes(*each)) for each in zip(found, played, counts, strict=True)]
    ks = _shared_ks(found)
    rates, differences = _rates(counts, ks), _differences(counts, ks)
    if json:
        print_json({"database": database, **_as_plain(found, rates, differences, notes)})
    else:
        _print_notes(found, notes)
        _print_table(found, rates, differences)


def _check_alike(runs: Sequence[Run]) -> None:
    """Refuse runs whose cells are not those of the first one, and name both."""
    first = runs[0]
    for run in runs[1:]:
        conflicts = list(_conflicts(first, run))
        if conflicts:
            raise OptionError(
                f"run {first.run_id} ({first.policy}) and run {run.run_id} ({run.policy}) cannot "
                f"be compared: {'; '.join(conflicts)}. Runs need the same tasks, "
                "budgets, protocol and environment; name those that have."
            )


def _conflicts(first: Run, run: Run) -> Iterator[str]:
    if first.env_id != run.env_id:
        yield f"environments {first.env_id} and {run.env_id}"
    ours, theirs = set(first.task_ids), set(run.task_ids)
    if ours != theirs:
        yield f"{len(ours)} and {len(theirs)} tasks, {len(ours & theirs)} of them the same"
    if first.budgets != run.budgets:
        sides = (", ".join(map(str, each.budgets)) for each in (first, run))
        yield f"budgets {' and '.join(sides)}"
    if first.protocol != run.protocol:
        yield f"protocols {first.protocol} and {run.protocol}"


def _differing_keywords(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """Return the keywords that make the environments of runs different, by run."""
    keywords = [task_keywords(run) for run in runs]
    names = dict.fromkeys(name for each in keywords for name in each)
    values = {name: [each.get(name) for each in keywords] for name in names}
    return {name: each for name, each in values.items() if any(v != each[0] for v in each)}


def _shared_ks(runs: Sequence[Run]) -> list[int]:
    """Return 1, and the largest K that every run can estimate and some run asked for."""
    fewest = min(run.num_rollouts for run in runs)
    return sorted({1, *(run.k for run in runs if run.k <= fewest)})


def _rates(counts: Sequence[SuccessCounts], ks: list[int]) -> Intervals:
    return [pass_kt_intervals(side, ks, seed=_SEED) for side in counts]


def _differences(counts: Sequence[SuccessCounts], ks: list[int]) -> Intervals:
    first, *others = counts
    return [pass_kt_difference_intervals(side, first, ks, seed=_SEED) for side in others]


def _as_plain(
    runs: Sequence[Run], rates: Intervals, differences: Intervals, notes: Sequence[list[str]]
) -> dict[str, Any]:
    first, *others = runs
    return {
        "protocol": first.protocol,
        "differing_keywords": _differing_keywords(runs),
        "runs": [
            {
                "run_id": run.run_id,
                "policy": run.policy,
                "id": run.env_id,
                "notes": said,
                "pass_kt": _cells(rate),
            }
            for run, rate, said in zip(runs, rates, notes, strict=True)
        ],
        "differences": [
            {"run_id": run.run_id, "minus": first.run_id, "pass_kt": _cells(difference)}
            for run, difference in zip(others, differences, strict=True)
        ],
    }


def _cells(intervals: PassKTIntervals) -> list[dict[str, Any]]:
    return [
        {
            "k": k,
            "budget": budget,
            "estimate": intervals.estimate[i, j],
            "low": intervals.low[i, j],
            "high": intervals.high[i, j],
            "num_tasks": intervals.num_tasks[i, j],
        }
        for i, k in enumerate(intervals.ks.tolist())
        for j, budget in enumerate(intervals.budgets.tolist())
    ]


def _print_notes(runs: Sequence[Run], notes: Sequence[list[str]]) -> None:
    labels = label_runs(runs)
    for name, values in _differing_keywords(runs).items():
        sides = (f"{v!r} in {label}" for v, label in zip(values, labels, strict=True))
        console().print(visible(f"The environments differ in {name}: {', '.join(sides)}."))
    for label, said in zip(labels, notes, strict=True):
        for note in said:
            console().print(visible(f"{label}: {note}"))


def _print_table(runs: Sequence[Run], rates: Intervals, differences: Intervals) -> None:
    from rich import box
    from rich.table import Table

    first, *others = names = label_runs(runs)
    title = f"Pass@(K,T) in %, protocol {runs[0].protocol}, with 95 % intervals over tasks"
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    for column in ("K", "T", *names, *(f"{name}\nminus {first}" for name in others)):
        table.add_column(column, justify="right")
    for row in _rows(rates, differences):
        table.add_row(*row)
    console().print(table)


def _rows(rates: Intervals, differences: Intervals) -> Iterator[list[str]]:
    for i, k in enumerate(rates[0].ks.tolist()):
        for j, budget in enumerate(rates[0].budgets.tolist()):
            sides = [_cell(rate, i, j, "") for rate in rates]
            changes = [_cell(each, i, j, "+") + _mark(each, i, j) for each in differences]
            yield [str(k), str(budget), *sides, *changes]


def _cell(intervals: PassKTIntervals, i: int, j: int, sign: str) -> str:
    ends = (intervals.estimate, intervals.low, intervals.high)
    if isnan(intervals.estimate[i, j]):
        return MISSING
    center, low, high = (round(100 * float(array[i, j]), 1) + 0.0 for array in ends)  # no -0.0
    return f"{center:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def _mark(difference: PassKTIntervals, i: int, j: int) -> str:
    return " *" if difference.low[i, j] > 0 or difference.high[i, j] < 0 else "  "
