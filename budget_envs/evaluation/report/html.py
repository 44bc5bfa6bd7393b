"""`write_html`: the report as one HTML file that needs neither network nor server."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from budget_envs.errors import DataError, OptionError, require
from budget_envs.evaluation.report import charts, text
from budget_envs.evaluation.report.embedded import embedded_json
from budget_envs.evaluation.report.labels import facts
from budget_envs.evaluation.report.model import Comparison, ReportData
from budget_envs.evaluation.report.plain import task_table
from budget_envs.evaluation.report.summary import summarize
from budget_envs.evaluation.report.trajectories import (
    MAX_PER_CELL,
    Trajectories,
    pick_trajectories,
)
from budget_envs.evaluation.store import Store

__all__ = ["check_target", "render", "write_html"]

_DATABASE: Final = b"SQLite format 3\0"  # how any results database starts, whatever its name
_PAGE: Final = b"<!doctype html"
_STYLES: Final = ("page.css", "viewer.css")
_SCRIPTS: Final = ("page.js", "tasks.js", "viewer.js")


def write_html(
    store: Store,
    path: str | os.PathLike[str],
    run_ids: Iterable[str] | None = None,
    *,
    summary: ReportData | None = None,
    max_bytes: int = 10_000_000,
) -> Path:
    """Write the report as one HTML file.

    Everything is inside: styles, scripts, charts and trajectories. The file asks for nothing
    else, and forbids itself to (Content-Security-Policy). Text of agents and environments is shown
    as text, whatever it holds.

    Args:
        store: The results database.
        path: The file; a page that is there is replaced, and no other file.
        run_ids: Ids of the runs, or their first digits; all runs by default.
        summary: What `summarize` returned, where it is there already.
        max_bytes: Size that the trajectories in the file fill up to.

    Returns:
        The file's path.

    Raises:
        OptionError: If the path is the database, or another file that is no page.
        DataError: If a run is not there, the database cannot be read, or the folder is missing.
        DependencyNotInstalled: If jinja2 is missing.
    """
    target = Path(path)
    check_target(target)
    if target.is_dir() or not target.parent.is_dir():
        state = "is a folder" if target.is_dir() else "is in a folder that does not exist"
        raise DataError(f"report {str(target)!r} {state}. Give the path of a file to write.")
    report = summarize(store, run_ids) if summary is None else summary
    page = render(store, report, max_bytes)
    partial = target.with_name(f"{target.name}.partial")
    partial.write_text(page, encoding="utf-8", newline="\n")
    partial.replace(target)
    return target


def check_target(target: Path) -> None:
    """Refuse to replace a file that is no page, such as the database itself.

    Raises:
        OptionError: If it would be lost.
    """
    if not target.is_file():
        return
    with target.open("rb") as file:
        start = file.read(len(_DATABASE))
    is_page = target.suffix.lower() in (".html", ".htm") or start.lower().startswith(_PAGE)
    if start == _DATABASE or (start and not is_page):
        raise OptionError(
            f"{str(target)!r} is there and is no HTML page: a report would replace it. Name a new "
            "file, such as report.html."
        )


def render(store: Store, report: ReportData, max_bytes: int) -> str:
    """Return the page; see `write_html`."""
    empty = Trajectories(embedded_json({"values": [], "episodes": []}), 0, 0)
    rest = len(_page(report, empty).encode())
    return _page(report, pick_trajectories(store, report, max_bytes - rest))


def _page(report: ReportData, trajectories: Trajectories) -> str:
    style, script = _assets()
    page: str = (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            sections=[_section(place, c) for place, c in enumerate(report.comparisons)],
            trajectories=trajectories,
            max_per_cell=MAX_PER_CELL,
            tasks=embedded_json([_tasks(comparison) for comparison in report.comparisons]),
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
    )
    return page


def _section(place: int, comparison: Comparison) -> dict[str, Any]:
    return {
        "place": place,
        "comparison": comparison,
        "facts": facts([report.run for report in comparison.runs]),
        "charts": charts.curves(comparison),
    }


def _tasks(comparison: Comparison) -> dict[str, Any]:
    """Return the table of tasks, with names that can be shown."""
    table = task_table(comparison)
    names = [text.visible(task) for task in comparison.task_ids]
    name = f"{text.visible(comparison.env_id)}, {comparison.protocol}"
    return {**table, "task_ids": names, "name": name}


@cache
def _assets() -> tuple[str, str]:
    """Return the page's style sheet and script."""
    folder = files(__package__) / "templates"
    styles, scripts = (
        "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
        for names in (_STYLES, _SCRIPTS)
    )
    return styles, scripts


def _hash(source: str) -> str:
    """Return the hash by which the page's policy knows its own style and script."""
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


@cache
def _environment() -> Any:
    jinja2 = require("jinja2", "eval")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("budget_envs.evaluation.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    environment.filters |= {
        "heat": _heat,
        "interval": lambda cell: text.interval(cell.low, cell.high),
        "json": lambda value: json.dumps(value, ensure_ascii=False, default=repr),
        "marker": charts.marker,
        "number": text.number,
        "percent": text.percent,
        "strict_interval": lambda cell: text.interval(cell.strict_low, cell.strict_high),
    }
    environment.globals |= {
        "axes": charts,
        "bound_note": text.BOUND_NOTE,
        "missing": text.MISSING,
        "styles": charts.NUM_STYLES,
    }
    return environment


def _seen(value: Any) -> Any:
    """Write out what cannot be seen, in every text that the templates insert."""
    return text.visible(value) if type(value) is str else value


def _heat(share: float) -> str:
    """Return the class of a cell's colour, from ``h0`` to ``h10``."""
    return "hx" if math.isnan(share) else f"h{round(10 * share)}"
