"""`print_report`: the report as tables that fit into 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from budget_envs.errors import require
from budget_envs.evaluation.report.labels import facts
from budget_envs.evaluation.report.model import Cell, Comparison, ReportData, RunReport
from budget_envs.evaluation.report.summary import summarize
from budget_envs.evaluation.report.text import (
    BOUND_NOTE,
    MISSING,
    interval,
    number,
    percent,
    visible,
)
from budget_envs.evaluation.store import Store

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

__all__ = ["print_report"]

_LABEL_WIDTH: Final = 16
_BOUND: Final = "structural bound"


def print_report(
    store: Store,
    run_ids: Iterable[str] | None = None,
    console: Console | None = None,
    *,
    summary: ReportData | None = None,
) -> None:
    """Print Pass@(K,T), the use of budgets, and where the numbers come from.

    Args:
        store: The results database.
        run_ids: Ids of the runs, or their first digits; all runs by default.
        console: Where to; standard output by default.
        summary: What `summarize` returned, where it is there already.

    Raises:
        DataError: If a run is not there, or the database cannot be read.
        DependencyNotInstalled: If rich is missing.
    """
    rich = require("rich.console", "eval")
    target = rich.Console() if console is None else console
    report = summarize(store, run_ids) if summary is None else summary
    if not report.runs:
        target.print(_line(f"No runs are stored in {report.database}."))
    for comparison in report.comparisons:
        for part in _parts(comparison, report.level):
            target.print(part)


def _parts(comparison: Comparison, level: float) -> Iterator[RenderableType]:
    yield _line(comparison.env_id, "bold")
    yield _line(", ".join(facts([report.run for report in comparison.runs])))
    budgets = comparison.headline_budgets
    if len(budgets) < len(comparison.budgets):
        yield _line(f"{len(budgets)} of {len(comparison.budgets)} budgets are shown.")
    for report in comparison.runs:
        for note in report.notes:
            yield _line(f"{report.label}: {note}", "bold")
    yield _line("")
    yield _pass_table(comparison, budgets, level)
    if comparison.bounds:
        yield _line("")  # below the caption
    if comparison.has_void:
        yield _strict_table(comparison, budgets)
    yield _use_table(comparison, budgets)
    yield _line("")
    yield from _sources(comparison.runs)
    yield _line("")


# Tables.


def _pass_table(comparison: Comparison, budgets: Sequence[int], level: float) -> Table:
    ks = comparison.headline_ks
    table = _table(
        f"Pass@(K,T) in % [{level:.0%} interval over tasks], protocol {comparison.protocol}",
        [*(f"Pass@({k},T)" for k in ks), "tasks", "n"],
    )
    for budget in budgets:
        rows = []
        for report in comparison.runs_at(budget):
            cells = [report.cells.get((k, budget)) for k in ks]
            rates = [_rate(cell.rate, cell.low, cell.high) if cell else MISSING for cell in cells]
            rows.append([report.label, *rates, *_sizes(cells)])
        if budget in comparison.bounds:
            bounds = [_rate(comparison.pass_bounds[k, budget]) for k in ks]
            rows.append([_BOUND, *bounds, "", ""])
        _add_section(table, budget, rows)
    if comparison.bounds:
        _add_caption(table, f"{_BOUND}: {BOUND_NOTE}")
    return table


def _strict_table(comparison: Comparison, budgets: Sequence[int]) -> Table:
    ks = comparison.headline_ks
    table = _table(
        f"Strict Pass@(K,T) in %: void counts as failure, protocol {comparison.protocol}",
        [*(f"strict ({k},T)" for k in ks), "void"],
    )
    for budget in budgets:
        rows = []
        for report in comparison.runs_at(budget):
            cells = [report.cells.get((k, budget)) for k in ks]
            rates = [
                _rate(cell.strict, cell.strict_low, cell.strict_high) if cell else MISSING
                for cell in cells
            ]
            rows.append([report.label, *rates, str(report.voids(budget))])
        _add_section(table, budget, rows)
    return table


def _use_table(comparison: Comparison, budgets: Sequence[int]) -> Table:
    table = _table(
        f"Use of the budget, means over tasks, protocol {comparison.protocol}",
        ["solved at", "unused", "ran out", "overrun", "invalid", "regret"],
    )
    for budget in budgets:
        rows = [[report.label, *_use(report, budget)] for report in comparison.runs_at(budget)]
        _add_section(table, budget, rows)
    _add_caption(
        table,
        "solved at: turn of the first success; unused: % of T that was left then; ran out, "
        "overrun: % of episodes; invalid: % of turns; regret: best value minus the action's.",
    )
    return table


def _use(report: RunReport, budget: int) -> list[str]:
    use, quality = report.use_at(budget), report.quality_at(budget)
    return [
        number(use.turns_when_solved.estimate, 2) if use else MISSING,
        percent(use.unused_share.estimate) if use else MISSING,
        percent(use.exhausted.estimate) if use else MISSING,
        percent(quality.overrun.estimate) if quality else MISSING,
        percent(quality.invalid_rate.estimate) if quality else MISSING,
        number(quality.mean_regret.estimate, 3) if quality else MISSING,
    ]


def _table(title: str, columns: Iterable[str]) -> Table:
    box, table = require("rich.box", "eval"), require("rich.table", "eval")
    made: Table = table.Table(
        title=_line(title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    made.add_column("T", justify="right", no_wrap=True)
    made.add_column("policy", max_width=_LABEL_WIDTH, overflow="fold")  # gives way to numbers
    for column in columns:
        made.add_column(column, justify="right", no_wrap=True)
    return made


def _add_caption(table: Table, text: str) -> None:
    table.caption, table.caption_justify = text, "left"


def _add_section(table: Table, budget: int, rows: Iterable[Sequence[str]]) -> None:
    """Add the rows of one budget, which only the first of them names."""
    rows, name = list(rows), str(budget)
    for row in rows:
        style = "italic" if row[0] == _BOUND else ""
        table.add_row(*(_line(text, style) for text in (name, *row)))
        name = ""
    if len(rows) > 1:
        table.add_section()


# Pieces.


def _line(text: str, style: str = "") -> RenderableType:
    """Return a text as it stands: neither markup nor control characters do anything."""
    made: RenderableType = require("rich.text", "eval").Text(visible(text), style)
    return made


def _rate(rate: float, low: float = float("nan"), high: float = float("nan")) -> str:
    return f"{percent(rate)} {interval(low, high):>14}"


def _sizes(cells: Sequence[Cell | None]) -> list[str]:
    """Return the tasks and the episodes behind the cells."""
    tasks = dict.fromkeys(str(cell.num_tasks) for cell in cells if cell)
    episodes = dict.fromkeys(str(cell.num_episodes) for cell in cells if cell)
    return ["/".join(tasks), "/".join(episodes)]


def _sources(runs: Sequence[RunReport]) -> Iterator[RenderableType]:
    """Yield what it takes to get the same numbers again; runs of one command share its lines."""
    sources: dict[tuple[str, str], list[str]] = {}
    for report in runs:
        run = report.run
        commit = f" at commit {run.git_commit[:12]}" if run.git_commit else ""
        versions = ", ".join(f"{name} {version}" for name, version in (run.versions or {}).items())
        source = (run.command or "command not recorded", f"{versions or 'no versions'}{commit}")
        sources.setdefault(source, []).append(f"{report.label} (run {run.run_id})")
    for (command, versions), names in sources.items():
        yield _line(f"{', '.join(names)}:")
        yield _line(f"  {command}")
        yield _line(f"  {versions}", "dim")
