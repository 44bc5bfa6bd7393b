"""The embedded procedural set as `CodeTask` objects, and a listing of its first tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from budget_envs.tasks.code_task import CodeTask, UnitTest
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.synthetic_code import DATASET, Split, SyntheticTask, task_from_id, tasks
from budget_envs.tasks.task_set import Contents, Entry

__all__ = ["from_synthetic", "read"]

TIME_LIMIT_S = 3.0  # the tasks take microseconds; a program that needs seconds is wrong
_LEVELS = (1, 2, 3, 4, 5)


def from_synthetic(task: SyntheticTask) -> CodeTask:
    """Return a generated task in the form that every dataset has."""
    return CodeTask(
        task_id=task.task_id,
        statement=task.statement,
        public=tuple(_unit_test(task, test) for test in task.public_tests),
        hidden=tuple(_unit_test(task, test) for test in task.hidden_tests),
        source=DATASET,
        starter_code=task.starter_code,
        function_name=task.function_name,
        time_limit_s=TIME_LIMIT_S,
        reference_solution=task.reference_solution,
    )


def _unit_test(task: SyntheticTask, test: tuple[object, object]) -> UnitTest:
    given, expected = test
    if task.kind == "stdin":
        return UnitTest("stdin", str(given), str(expected))
    return UnitTest.functional(given, expected)  # type: ignore[arg-type]  # a tuple of arguments


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[CodeTask]:
    """List the first tasks of the endless set, each as a function and as a script.

    Args:
        files: None.
        info: The dataset; its option ``per_level`` says how many tasks of each level and split.
    """
    entries = []
    for level in _LEVELS:
        for split in get_args(Split):
            for task in tasks(split, level, info.options["per_level"]):
                script = task_from_id(f"{task.task_id}-stdin")
                for form in (task, script):
                    entries.append(Entry(from_synthetic(form), form.fingerprint, form.split))
    return Contents(tuple(entries))
