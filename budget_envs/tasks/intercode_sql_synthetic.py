"""The embedded procedural questions as `SqlTask` objects, and a listing of the first ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from budget_envs.tasks.intercode_sql import SqlTask
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.synthetic_sql import Hardness, Split, SyntheticSqlTask, tasks
from budget_envs.tasks.task_set import Contents, Entry

__all__ = ["from_synthetic", "read"]


def from_synthetic(task: SyntheticSqlTask) -> SqlTask:
    """Return a generated task in the form of the published ones; it names all tables there are."""
    return SqlTask(
        task_id=task.task_id,
        database=task.database,
        question=task.question,
        gold=task.gold,
        hardness=task.hardness,
        tables=tuple((name, tuple(columns)) for name, columns in task.tables.items()),
    )


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[SqlTask]:
    """List the first tasks of the endless set.

    Args:
        files: None.
        info: The dataset; its option ``per_level`` says how many tasks of each level and split.
    """
    entries = [
        Entry(from_synthetic(task), task.fingerprint, task.split)
        for hardness in get_args(Hardness)
        for split in get_args(Split)
        for task in tasks(split, hardness, info.options["per_level"])
    ]
    return Contents(tuple(entries))
