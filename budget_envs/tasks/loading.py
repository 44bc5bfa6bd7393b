"""From a dataset's name to a `TaskSet`: find the files, read them, split, leave out, record."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from budget_envs.errors import OptionError, TaskDataInvalid, did_you_mean
from budget_envs.tasks.checksums import text_sha256
from budget_envs.tasks.registry import DatasetInfo, dataset
from budget_envs.tasks.sources import LocatedFile, locate
from budget_envs.tasks.splits import hash_split
from budget_envs.tasks.task_set import Contents, Entry, FileRecord, Manifest, TaskSet

__all__ = ["exclusions", "exclusions_text", "load"]

_PRECEDENCE = ("test", "validation", "train")
"""Which split keeps a problem that occurs in two official ones."""


def load(
    name: str,
    path: str | os.PathLike[str] | None = None,
    *,
    split: str | None = None,
    include_excluded: bool = False,
) -> TaskSet[Any]:
    """Load a dataset.

    Tasks are read once per process and version of the files. Splits are the official ones, or
    80/10/10 % of the groups of near-identical problems by checksum. By default some tasks are
    left out and listed in the set's ``excluded``: those that comparing outputs cannot judge,
    those whose own reference solution fails, and those that a later official split repeats.

    Args:
        name: A dataset of the registry; `budget_envs.tasks.datasets` lists them.
        path: A file or folder to read instead of the registry's sources. Its content may differ
            from the published one; the manifest then says so and holds its checksum.
        split: One split; ``None`` for all tasks.
        include_excluded: Keep the tasks that are left out by default.

    Returns:
        The tasks, a `TaskSet` of `CodeTask` for the code datasets.

    Raises:
        OptionError: If there is no such dataset or split.
        TaskDataUnavailable: If a file is in none of its sources; the message gives the command
            that brings it. There is no fallback to other data.
        TaskDataInvalid: If a file is not the pinned one, or a row is not a task.
    """
    info = dataset(name)
    files = locate(name, path)
    contents = _contents(name, files)
    splits = {entry.task.task_id: _split(entry) for entry in contents.entries}
    if split is not None and split not in splits.values():
        known = sorted(set(splits.values()))
        raise OptionError(
            f"{name} has the splits {known}; got {split!r}.{did_you_mean(split, known)}"
        )
    excluded = {**contents.unreadable, **_exclusions(info, files, contents)}
    tasks = [
        entry.task
        for entry in contents.entries
        if split in (None, splits[entry.task.task_id])
        and (include_excluded or entry.task.task_id not in excluded)
    ]
    manifest = Manifest(
        name=name,
        version=info.version,
        license=info.license,
        files=tuple(FileRecord(f.path.name, f.sha256, f.source, f.pinned) for f in files),
        split=split,
        tasks=len(tasks),
        excluded=len(excluded),
        include_excluded=include_excluded,
        split_sha256=_pairs_sha256(splits),
        exclusions_sha256=_pairs_sha256(excluded),
    )
    return TaskSet(tasks, manifest, splits, excluded)


@lru_cache(maxsize=16)
def _contents(name: str, files: tuple[LocatedFile, ...]) -> Contents[Any]:
    info = dataset(name)
    module, function = info.adapter.split(":")
    read = getattr(importlib.import_module(module), function)
    contents: Contents[Any] = read(files, info)
    _check(info, files, contents)
    return contents


def _check(info: DatasetInfo, files: Sequence[LocatedFile], contents: Contents[Any]) -> None:
    seen: set[str] = set()
    for entry in contents.entries:
        if entry.task.task_id in seen:
            raise TaskDataInvalid(f"{info.name} has two tasks named {entry.task.task_id!r}.")
        seen.add(entry.task.task_id)
    if not seen:
        raise TaskDataInvalid(f"{info.name}: the files hold no task.")
    if info.items is not None and all(file.pinned for file in files) and len(seen) != info.items:
        raise TaskDataInvalid(
            f"{info.name} has {info.items} tasks; {len(seen)} were read. "
            "The pinned files are right, so the adapter or the registry is wrong."
        )


def _split(entry: Entry[Any]) -> str:
    return entry.split if entry.split is not None else hash_split(entry.group)


def _pairs_sha256(pairs: Mapping[str, str]) -> str:
    return text_sha256(f"{key}\t{value}" for key, value in sorted(pairs.items()))


def _exclusions(
    info: DatasetInfo, files: Sequence[LocatedFile], contents: Contents[Any]
) -> Mapping[str, str]:
    """The reviewed record for the published files; for any others, what the rules say."""
    if info.files and all(file.pinned for file in files):
        folder = resources.files("budget_envs.tasks") / "exclusions"
        record = folder / f"{info.name}.json"
        if record.is_file():
            reasons: dict[str, str] = json.loads(record.read_text("utf-8"))
            return reasons
    return exclusions(info, contents)


def exclusions(info: DatasetInfo, contents: Contents[Any]) -> dict[str, str]:
    """Work out which tasks to leave out, and why.

    Args:
        info: The dataset.
        contents: What its adapter read.

    Returns:
        Task id -> reason: what the adapter said, what the registry says of a bad task, or
        ``"same problem as X in the split Y"`` where an official split repeats a problem of
        another; the test split keeps it first, then validation, then train.
    """
    reasons = {
        entry.task.task_id: entry.exclusion
        for entry in contents.entries
        if entry.exclusion is not None
    }
    if info.expected is not None:
        reasons.update(info.expected.bad)
    keepers: dict[str, tuple[str, str]] = {}
    for entry in sorted(contents.entries, key=_rank):
        task_id, split = entry.task.task_id, _split(entry)
        keeper, kept_in = keepers.setdefault(entry.group, (task_id, split))
        if split != kept_in:
            reasons.setdefault(task_id, f"same problem as {keeper} in the split {kept_in}")
    order = [entry.task.task_id for entry in contents.entries]
    return {task_id: reasons[task_id] for task_id in order if task_id in reasons}


def _rank(entry: Entry[Any]) -> int:
    split = _split(entry)
    return _PRECEDENCE.index(split) if split in _PRECEDENCE else len(_PRECEDENCE)


def exclusions_text(name: str, path: str | os.PathLike[str] | None = None) -> str:
    """The text of ``exclusions/<name>.json``, worked out anew from the dataset's files.

    Raises:
        TaskDataUnavailable: If the dataset's files are not at hand.
    """
    files = locate(name, path)
    contents = _contents(name, files)
    return json.dumps(exclusions(dataset(name), contents), indent=1) + "\n"
