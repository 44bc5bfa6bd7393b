"""MBPP: 974 short functions, each judged by about three assertions.

Two files hold it: InterCode's list (``query``, ``gold``, ``tests``) and the original JSON lines
(``text``, ``code``, ``test_list``). The hidden tests are all the assertions; the first is public,
because nothing else tells an agent the function's name and arguments. The ``challenge_test_list``
of the original is not used: the benchmark's own scores do not count it. A yes-or-no question
whose tests all expect the same answer is marked for exclusion.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks.assertions import called_names, comparison, parse_source
from budget_envs.tasks.code_task import CodeTask, UnitTest
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.rows import Row, read_rows
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.splits import statement_key
from budget_envs.tasks.task_set import Contents, Entry

__all__ = ["official_split", "read"]

_TIME_LIMIT_S = 10.0


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[CodeTask]:
    """Read either file of the benchmark.

    Raises:
        TaskDataInvalid: If a row lacks a field, or its code cannot be parsed.
    """
    entries = []
    for row in read_rows(files[0].path):
        try:
            task = _task(row)
            split = official_split(int(row["task_id"]))
        except (KeyError, SyntaxError, TypeError, ValueError) as error:
            raise TaskDataInvalid(
                f"{files[0].path}: row {row.get('task_id')!r} is not an MBPP problem: {error}."
            ) from error
        entries.append(Entry(task, statement_key(task.statement), split, _exclusion(task)))
    return Contents(tuple(entries))


def official_split(number: int) -> str:
    """The split of a problem by its number, as the paper draws it.

    Args:
        number: From 1 to 974.

    Returns:
        ``"prompt"`` (1-10, the few-shot examples), ``"test"`` (11-510), ``"validation"``
        (511-600) or ``"train"`` (601-974).

    Raises:
        TaskDataInvalid: If there is no such problem.
    """
    for last, split in ((10, "prompt"), (510, "test"), (600, "validation"), (974, "train")):
        if 1 <= number <= last:
            return split
    raise TaskDataInvalid(f"MBPP's problems are numbered 1 to 974; got {number}.")


def _exclusion(task: CodeTask) -> str | None:
    """Leave out a yes-or-no question whose tests all expect the same answer."""
    sides = [comparison(test.input, task.function_name or "") for test in task.hidden]
    expected = {side[1] if side else "" for side in sides}
    if len(sides) > 1 and len(expected) == 1 and expected <= {"True", "False"}:
        return f"all tests expect {expected.pop()}, so a program that always returns it passes"
    return None


def _task(row: Row) -> CodeTask:
    solution = _text(row, "gold", "code")
    sources = row["tests"] if "tests" in row else row["test_list"]
    hidden = tuple(UnitTest("assert", text) for text in dict.fromkeys(map(str.strip, sources)))
    if not hidden:
        raise TaskDataInvalid("it has no tests")
    return CodeTask(
        task_id=f"MBPP/{row['task_id']}",
        statement=_text(row, "query", "text"),
        public=hidden[: min(1, len(hidden) - 1)],
        hidden=hidden,
        source="mbpp",
        function_name=_function_name(hidden[0].input, solution),
        time_limit_s=_TIME_LIMIT_S,
        reference_solution=solution,
        test_setup=_test_setup(row, solution),
    )


def _test_setup(row: Row, solution: str) -> str:
    """The row's own set-up, after the solution's imports: tests were written in its namespace."""
    imports = [
        ast.unparse(node)
        for node in parse_source(solution).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    own = (row.get("test_setup_code") or "").replace("\r\n", "\n")
    return "\n".join([*imports, *([own] if own else [])])


def _text(row: Row, *names: str) -> str:
    for name in names:
        if name in row:
            return str(row[name]).replace("\r\n", "\n")
    raise KeyError(" or ".join(names))


def _function_name(test: str, solution: str) -> str:
    """The function under test: the first one that the test calls and the solution defines."""
    tree = parse_source(solution)
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    called = [name for name in called_names(test) if name in defined]
    if not called:
        raise TaskDataInvalid(f"the test {test[:80]!r} calls no function of the solution")
    return called[0]
