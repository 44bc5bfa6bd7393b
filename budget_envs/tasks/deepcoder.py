"""DeepCoder-Preview, CodeContests, and a user's own problems in any of their row shapes.

Rules, after DeepCoder's own reward (Luo et al., 2025):

- Hidden tests are at most 15, those with the longest inputs, in the order of the row.
- Public tests are those whose inputs stand in the statement, else the first two. Unlike there,
  an input that the statement does not show stays hidden if nothing else would: an agent that was
  shown every expected output could print them.
- Where a row tells public from private tests (LiveCodeBench), public are the public ones, and
  both decide.

Problems that accept several answers, and interactive ones, are marked for exclusion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks.answer_rules import ignores_case, unjudgeable
from budget_envs.tasks.code_task import CodeTask, UnitTest
from budget_envs.tasks.deepcoder_rows import decoded, function_name, unit_tests
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.rows import Row, read_rows
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.splits import statement_groups
from budget_envs.tasks.task_set import Contents, Entry

__all__ = ["MAX_HIDDEN_TESTS", "longest_inputs", "public_tests", "read"]

MAX_HIDDEN_TESTS = 15
_MAX_PUBLIC_FALLBACK = 2
_SPLITS = ("train", "validation", "test")
_SOLUTION_CLASS_IMPORTS = """\
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from typing import *
from builtins import *
"""
"""What the site of a ``class Solution`` problem imports for every program; builtins last, since
`math` has a `pow` of its own."""


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[CodeTask]:
    """Read files of rows.

    A row's split is its own ``split`` field, else the one that the registry names, else the word
    that its file's name begins with (``train-00000-of-00004.parquet``), else by checksum. Its
    name is its ``task_id``, ``question_id`` or ``uid``, else its number.

    Args:
        files: JSON, JSON lines or parquet.
        info: The dataset; its options are ``source``, ``time_limit_s``, ``split``,
            ``several_answers`` (numbers of rows) and ``unreadable="exclude"``, which lists bad
            rows instead of refusing the file.

    Raises:
        TaskDataInvalid: If a row is not a problem with tests.
    """
    tasks: list[CodeTask] = []
    splits: list[str | None] = []
    unreadable: dict[str, str] = {}
    for file in files:
        prefix = info.options["source"] + (f"/{_stem(file.path)}" if len(files) > 1 else "")
        for number, row in enumerate(read_rows(file.path)):
            task_id = _row_id(row) or f"{prefix}/{number}"
            try:
                tasks.append(_task(row, task_id, info))
            except TaskDataInvalid as error:
                if info.options.get("unreadable") != "exclude":
                    raise TaskDataInvalid(f"{file.path}: {task_id!r}: {error}") from error
                unreadable[task_id] = f"unreadable: {error}"
                continue
            splits.append(_split(row, file.path, info))
    groups = statement_groups([task.statement for task in tasks])
    reviewed = _reviewed(files, info)
    entries = [
        Entry(task, group, split, _exclusion(task, reviewed))
        for task, group, split in zip(tasks, groups, splits, strict=True)
    ]
    return Contents(tuple(entries), unreadable)


def _reviewed(files: Sequence[LocatedFile], info: DatasetInfo) -> set[str]:
    """Names of the tasks that reading found to accept several answers, in the published files."""
    if not all(file.pinned for file in files):
        return set()
    return {f"{info.options['source']}/{n}" for n in info.options.get("several_answers", ())}


def _row_id(row: Row) -> str | None:
    for key in ("task_id", "question_id", "uid"):
        if row.get(key):
            return str(row[key])
    return None


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def _split(row: Row, path: Path, info: DatasetInfo) -> str | None:
    if row.get("split"):
        return str(row["split"])
    if "split" in info.options:
        return str(info.options["split"])
    return next((split for split in _SPLITS if re.match(rf"{split}\b", path.name)), None)


def _exclusion(task: CodeTask, reviewed: set[str]) -> str | None:
    if task.kind == "assert":
        return None
    return unjudgeable(task.statement) or ("several answers" if task.task_id in reviewed else None)


def _task(packed: Row, task_id: str, info: DatasetInfo) -> CodeTask:
    statement = _statement(packed)
    row = decoded(packed)
    name = function_name(row)
    given, tests = _row_tests(row, name)
    hidden = longest_inputs(tests, MAX_HIDDEN_TESTS)
    is_functional = bool(tests) and tests[0].kind == "functional"
    starter = row.get("starter_code") or ""
    return CodeTask(
        task_id=task_id,
        statement=statement,
        public=given or public_tests(statement, tests),
        hidden=hidden,
        source=info.options["source"],
        starter_code=starter,
        function_name=name if is_functional else None,
        time_limit_s=info.options["time_limit_s"],
        reference_solution=_solution(row),
        preamble=_SOLUTION_CLASS_IMPORTS if "class Solution" in starter else "",
        ignore_case=not is_functional and ignores_case(statement),
    )


def _statement(row: Row) -> str:
    for key in ("problem", "question_content", "question", "statement"):
        if isinstance(row.get(key), str) and row[key].strip():
            return str(row[key]).strip()
    raise TaskDataInvalid(f"A row has a problem statement; this one has the fields {sorted(row)}.")


def _row_tests(row: Row, name: str | None) -> tuple[tuple[UnitTest, ...], tuple[UnitTest, ...]]:
    """The tests that the row calls public, and all of them."""
    if "public_test_cases" in row:
        public = unit_tests(row["public_test_cases"], name)
        private = row.get("private_test_cases")
        tests = (*public, *(unit_tests(private, name) if private else ()))
        return public, tuple(dict.fromkeys(tests))
    if "tests" not in row:
        raise TaskDataInvalid(f"A row has tests; this one has the fields {sorted(row)}.")
    return (), unit_tests(row["tests"], name)


def _solution(row: Row) -> str | None:
    solutions: Any = row.get("solutions") or row.get("solution")
    if isinstance(solutions, str) and solutions.lstrip().startswith("["):
        try:
            solutions = json.loads(solutions)
        except ValueError:
            return None
    if isinstance(solutions, list):
        solutions = solutions[0] if solutions else None
    return solutions if isinstance(solutions, str) and solutions.strip() else None


def longest_inputs(tests: Sequence[UnitTest], count: int) -> tuple[UnitTest, ...]:
    """The ``count`` tests with the longest inputs, in their original order; the first of equals."""
    ranked = sorted(range(len(tests)), key=lambda index: -len(tests[index].input))
    return tuple(tests[index] for index in sorted(ranked[:count]))


def public_tests(statement: str, tests: Sequence[UnitTest]) -> tuple[UnitTest, ...]:
    """The tests an agent may be shown: those that the statement shows, else the first two.

    Args:
        statement: The problem in words.
        tests: All its tests.

    Returns:
        Tests whose input stands in the statement, spaces aside; else the first two, but never
        all of them.
    """
    shown = tuple(test for test in tests if _stands_in(statement, test))
    return shown or tuple(tests[: max(0, min(_MAX_PUBLIC_FALLBACK, len(tests) - 1))])


def _stands_in(statement: str, test: UnitTest) -> bool:
    if test.kind == "functional":
        text = "".join(statement.split())
        parts = [json.dumps(argument, separators=(",", ":")) for argument in test.arguments]
        return bool(parts) and all(part in text for part in parts)
    words = " ".join(test.input.split())
    return bool(words) and f" {words} " in f" {' '.join(statement.split())} "
