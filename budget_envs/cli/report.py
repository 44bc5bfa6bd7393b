"""``budget-envs report``: a database of results as tables and as one HTML file."""

from __future__ import annotations

from pathlib import Path

from budget_envs.cli.output import console, print_json
from budget_envs.cli.parameters import Flag
from budget_envs.cli.results import find_runs
from budget_envs.evaluation import Store
from budget_envs.evaluation.report import as_plain, print_report, summarize, write_html
from budget_envs.evaluation.report.html import check_target

__all__ = ["report"]


def report(database: Path, /, *runs: str, html: Path | None = None, json: Flag = False) -> None:
    """Show results: a table here, and one HTML file that needs no network.

    Args:
        database: File of the results.
        runs: Ids of runs, their first digits, or names of policies. By default all.
        html: Write the report with its charts and its trajectory viewer to this file.
        json: Print one JSON document.
    """
    if html is not None:
        check_target(html)
    with Store.open(database) as store:
        run_ids = [run.run_id for run in find_runs(store, runs)]
        summary = summarize(store, run_ids)
        if html is not None:
            html.parent.mkdir(parents=True, exist_ok=True)
            write_html(store, html, run_ids, summary=summary)
        if json:
            print_json({**as_plain(summary), "html": html})
            return
        print_report(store, run_ids, console(), summary=summary)
    if html is not None:
        print(f"Report: {html}")
