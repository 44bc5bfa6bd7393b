"""One dataset on one page of text, for people."""

from __future__ import annotations

import os
from collections import Counter

from budget_envs.errors import TaskDataInvalid, TaskDataUnavailable
from budget_envs.tasks import hub
from budget_envs.tasks.loading import load
from budget_envs.tasks.registry import DatasetInfo, dataset
from budget_envs.tasks.sources import locate

__all__ = ["show"]


def show(name: str, path: str | os.PathLike[str] | None = None) -> str:
    """Describe a dataset: what it is, where its files lie, its splits, what is left out and why.

    Looks at this machine only, and downloads nothing.

    Args:
        name: A dataset of the registry.
        path: A file or folder to look at instead of the registry's sources.

    Returns:
        Several lines of text. Where the files are missing or wrong, the commands that help.

    Raises:
        OptionError: If there is no such dataset.
    """
    info = dataset(name)
    lines = [f"{info.name}: {info.title}", *_facts(info)]
    with hub.offline():
        try:
            for file in locate(name, path):
                pin = "pinned" if file.pinned else "not the published file"
                lines.append(f"  file      {file.path} ({file.source}, {pin})")
            lines += _contents(name, path)
        except (TaskDataUnavailable, TaskDataInvalid) as error:
            lines += [f"  {line}" for line in str(error).splitlines()]
    return "\n".join(lines)


def _facts(info: DatasetInfo) -> list[str]:
    rows = [
        ("env", info.env),
        ("version", info.version),
        ("license", info.license),
        ("homepage", info.homepage),
        ("cite", info.citation),
    ]
    return [f"  {label:<9} {text}" for label, text in rows]


def _contents(name: str, path: str | os.PathLike[str] | None) -> list[str]:
    tasks = load(name, path)
    splits = ", ".join(f"{split} {count}" for split, count in tasks.split_sizes.items())
    lines = [f"  tasks     {len(tasks)} ({splits})"]
    reasons = Counter(reason.split(" as ")[0].split(":")[0] for reason in tasks.excluded.values())
    lines += [f"  left out  {count}: {reason}" for reason, count in sorted(reasons.items())]
    return lines
