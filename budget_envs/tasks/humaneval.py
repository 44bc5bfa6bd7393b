"""HumanEval: 164 function stubs, each judged by the assertions of a ``check(candidate)`` function.

Hidden tests are the assertions of ``check``, one by one where they stand alone. Public tests are
the examples in the docstring, parsed and never run: a line ``>>> f(2)`` with the value below it,
or ``f(2) == 4``, ``f(2) ==> 4``, ``f(2) returns 4`` and the like, whose parts are literals.
Examples that the benchmark's own solutions contradict are left out. Where no example can be
read, the first assertion is public, if it is not the only one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks.assertions import called_names, parse_source, split_assertions
from budget_envs.tasks.code_task import CodeTask, UnitTest
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.rows import Row, read_rows
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.splits import statement_key
from budget_envs.tasks.task_set import Contents, Entry

__all__ = ["docstring_examples", "read"]

_TIME_LIMIT_S = 3.0  # the benchmark's own
_EXAMPLE = re.compile(
    r"^\W{0,4}?(?P<call>[A-Za-z_]\w*\(.*\))\s*"
    r"(?:==>?|=>|->|➞|#?\s*(?:should )?returns?)\s*(?P<value>\S.*?)\.?$"
)
_TRUTH = {"true": "True", "false": "False"}
_PURE_BUILTINS = {"abs", "len", "list", "round", "set", "sorted", "tuple"}
_WRONG_EXAMPLES = {
    "HumanEval/47": {"assert median([-10, 4, 6, 1000, 10, 20]) == 15.0"},
    "HumanEval/116": {
        "assert sort_array([1, 5, 2, 3, 4]) == [1, 2, 3, 4, 5]",
        "assert sort_array([-2, -3, -4, -5, -6]) == [-6, -5, -4, -3, -2]",
    },
    "HumanEval/148": {"assert bf('Earth', 'Mercury') == 'Venus'"},
}
"""Examples that contradict the reference solution of their task, and so its hidden tests."""


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[CodeTask]:
    """Read the benchmark's ``HumanEval.jsonl.gz``.

    Raises:
        TaskDataInvalid: If a row lacks a field, or its code cannot be parsed.
    """
    entries = []
    for row in read_rows(files[0].path):
        try:
            task = _task(row)
        except (LookupError, SyntaxError, AttributeError, TypeError, ValueError) as error:
            raise TaskDataInvalid(
                f"{files[0].path}: {row.get('task_id')!r} is not a HumanEval problem: "
                f"{type(error).__name__}: {error}."
            ) from error
        entries.append(Entry(task, statement_key(task.starter_code), split="test"))
    return Contents(tuple(entries))


def _task(row: Row) -> CodeTask:
    prompt, name = row["prompt"], row["entry_point"]
    function, preamble = _stub(prompt, name)
    hidden = _hidden(row["test"], name)
    wrong = _WRONG_EXAMPLES.get(row["task_id"], set())
    public = tuple(
        UnitTest("assert", source)
        for source in docstring_examples(ast.get_docstring(function, clean=True) or "", name)
        if source not in wrong
    )
    return CodeTask(
        task_id=row["task_id"],
        statement=f"Complete the Python function {name}: its docstring says what it must do.",
        public=public or hidden[: min(1, len(hidden) - 1)],
        hidden=hidden,
        source="humaneval",
        starter_code=prompt,
        function_name=name,
        time_limit_s=_TIME_LIMIT_S,
        reference_solution=prompt + row["canonical_solution"],
        preamble=preamble,
    )


def _stub(prompt: str, name: str) -> tuple[ast.FunctionDef, str]:
    """The function to complete, and the source of all that stands around it."""
    tree = parse_source(prompt + "    pass\n")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    function = next((node for node in functions if node.name == name), None)
    if function is None:
        raise TaskDataInvalid(f"The prompt defines no function {name!r}.")
    around = [ast.unparse(node) for node in tree.body if node is not function]
    return function, "\n".join(around)


def _hidden(test: str, name: str) -> tuple[UnitTest, ...]:
    functions = [node for node in parse_source(test).body if isinstance(node, ast.FunctionDef)]
    checks = [node for node in functions if node.name == "check"]
    if not checks:
        raise TaskDataInvalid("The tests define no function 'check'.")
    sources = dict.fromkeys(split_assertions(checks[0], name))  # a few assertions occur twice
    return tuple(UnitTest("assert", source) for source in sources)


def docstring_examples(docstring: str, name: str) -> list[str]:
    """Assertions made from the examples of a docstring, without running any of it.

    Args:
        docstring: The docstring, indentation removed.
        name: The function that the examples call.

    Returns:
        ``assert f(...) == value`` for each example that consists of literals, a call of the
        function, and perhaps a pure builtin around it; none twice.
    """
    tests = (_assertion(call, value, name) for call, value in _pairs(docstring))
    return list(dict.fromkeys(test for test in tests if test is not None))


def _pairs(docstring: str) -> Iterator[tuple[str, str]]:
    lines = [line.strip() for line in docstring.splitlines()]
    for line, following in pairwise([*lines, ""]):
        if match := _EXAMPLE.match(line):
            yield match["call"], match["value"]
        elif line.startswith(">>>") and not following.startswith(">>>"):
            yield line.removeprefix(">>>").strip(), following


def _assertion(call: str, value: str, name: str) -> str | None:
    try:
        left = _expression(call)
        expected = ast.literal_eval(_expression(_TRUTH.get(value, value)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    names = {node.id for node in ast.walk(left) if isinstance(node, ast.Name)}
    if name not in called_names(call) or names - _PURE_BUILTINS - {name}:
        return None
    return f"assert {ast.unparse(left)} == {expected!r}"


def _expression(text: str) -> ast.expr:
    match parse_source(text).body:
        case [ast.Expr(value=value)]:
            return value
    raise ValueError(f"not one expression: {text!r}")
