"""``budget-envs compare``: runs side by side, with paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from budget_envs.cli.output import console, print_json
from budget_envs.cli.parameters import Flag
from budget_envs.cli.results import find_runs
from budget_envs.errors import OptionError
from budget_envs.evaluation import Run, Store, SuccessCounts, success_counts
from budget_envs.evaluation.cell_intervals import (
    PassKTIntervals,
    pass_kt_difference_intervals,
    pass_kt_intervals,
)
from budget_envs.evaluation.report.labels import label_runs

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
        counts = [success_counts(run, store.episodes(run.run_id)) for run in found]
    ks = _shared_ks(found)
    rates, differences = _rates(counts, ks), _differences(counts, ks)
    if json:
        print_json({"database": database, **_as_plain(found, rates, differences)})
    else:
        _print_table(found, rates, differences)


def _shared_ks(runs: Sequence[Run]) -> list[int]:
    """Return 1, and the largest K that every run can estimate and some run asked for."""
    fewest = min(run.num_rollouts for run in runs)
    return sorted({1, *(run.k for run in runs if run.k <= fewest)})


def _rates(counts: Sequence[SuccessCounts], ks: list[int]) -> Intervals:
    return [pass_kt_intervals(side, ks, seed=_SEED) for side in counts]


def _differences(counts: Sequence[SuccessCounts], ks: list[int]) -> Intervals:
    first, *others = counts
    return [pass_kt_difference_intervals(side, first, ks, seed=_SEED) for side in others]


def _as_plain(runs: Sequence[Run], rates: Intervals, differences: Intervals) -> dict[str, Any]:
    first, *others = runs
    return {
        "protocol": first.protocol,
        "runs": [
            {"run_id": r.run_id, "policy": r.policy, "id": r.env_id, "pass_kt": _cells(rate)}
            for r, rate in zip(runs, rates, strict=True)
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
    center, low, high = (round(100 * float(array[i, j]), 1) + 0.0 for array in ends)  # no -0.0
    return f"{center:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def _mark(difference: PassKTIntervals, i: int, j: int) -> str:
    return " *" if difference.low[i, j] > 0 or difference.high[i, j] < 0 else "  "
