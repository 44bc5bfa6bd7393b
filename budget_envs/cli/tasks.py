"""``budget-envs tasks``: the datasets, where their files lie, and whether their solutions pass."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from budget_envs.cli.output import console, print_json
from budget_envs.cli.parameters import Flag, Integer, OptionalInteger
from budget_envs.errors import OptionError

if TYPE_CHECKING:
    from budget_envs.tasks import DatasetInfo, VerifyReport

__all__ = ["tasks"]


def tasks(
    action: Literal["list", "show", "verify"],
    dataset: str | None = None,
    /,
    *,
    path: Path | None = None,
    limit: OptionalInteger = None,
    sandbox: str = "auto",
    workers: Integer = 1,
    json: Flag = False,
) -> int:
    """List the datasets, describe one, or check one.

    "verify" plays each reference solution, and an empty answer, through the environment's own
    reward. The exit code is 1 if a verdict is not what the registry expects.

    Args:
        action: list, show or verify.
        dataset: The dataset; "verify" without one checks every dataset whose files are here.
        path: A file or folder to read instead of the registry's sources.
        limit: Check so many tasks, spread evenly over the dataset.
        sandbox: Where programs run: process, bubblewrap, docker, or auto for the strongest here;
            for code only.
        workers: Tasks checked at the same time.
        json: Print one JSON document.
    """
    from budget_envs.tasks import dataset as find_dataset

    if action == "list":
        _list(json)
        return 0
    if action == "show":
        if dataset is None:
            raise OptionError("tasks show describes one dataset: name it.")
        _show(find_dataset(dataset), path, json)
        return 0
    names = [find_dataset(dataset).name] if dataset is not None else _verifiable()
    settings = {"path": path, "limit": limit, "sandbox": sandbox, "workers": workers}
    reports = [_verify(name, settings, json) for name in names]
    if json:
        print_json([_plain(report) for report in reports])
    return int(any(report.surprises for report in reports))


def _list(json: bool) -> None:
    from budget_envs.tasks import datasets

    rows = [{**_facts(info), "is_here": _is_here(info)} for info in datasets()]
    if json:
        print_json(rows)
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    for column in ("dataset", "env", "items", "license", "files"):
        table.add_column(column, justify="right" if column == "items" else "left")
    for row in rows:
        where = "embedded" if row["embedded"] else "here" if row["is_here"] else "not here"
        items = "endless" if row["items"] is None else str(row["items"])
        table.add_row(row["name"], row["env"], items, row["license"], where)
    console().print(table)


def _show(info: DatasetInfo, path: Path | None, json: bool) -> None:
    from budget_envs.tasks import show as describe

    if json:
        print_json({**_facts(info), "is_here": _is_here(info), "text": describe(info.name, path)})
    else:
        console().print(describe(info.name, path))


def _verify(name: str, settings: dict[str, Any], json: bool) -> VerifyReport:
    from budget_envs.evaluation.verify import verify

    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{name}: {done} of {total}", end="", file=sys.stderr, flush=True)

    report = verify(name, progress=progress, **settings)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if not json:
        console().print(str(report))
        for line in report.surprises:
            console().print(f"  {line}")
    return report


def _facts(info: DatasetInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "env": info.env,
        "title": info.title,
        "version": info.version,
        "license": info.license,
        "items": info.items,
        "embedded": info.embedded,
    }


def _is_here(info: DatasetInfo) -> bool:
    """Return whether every file is on this machine; nothing is downloaded."""
    from budget_envs.errors import TaskDataInvalid, TaskDataUnavailable
    from budget_envs.tasks import hub, locate

    if info.embedded:
        return True
    try:
        with hub.offline():
            locate(info.name)
    except (TaskDataUnavailable, TaskDataInvalid, OptionError):
        return False
    return True


def _verifiable() -> list[str]:
    from budget_envs.evaluation.verify import VERIFIABLE
    from budget_envs.tasks import datasets

    return [info.name for info in datasets() if info.env in VERIFIABLE and _is_here(info)]


def _plain(report: VerifyReport) -> dict[str, Any]:
    return {
        **asdict(report),
        "gold_passed": report.gold_passed,
        "null_passed": report.null_passed,
        "surprises": report.surprises,
    }
