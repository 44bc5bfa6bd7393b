from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks import CodeTask, load
from budget_envs.tasks.humaneval import docstring_examples

Write = Callable[[str, Any], Path]

PROMPT = '''from typing import List

def helper(x):
    """ Twice. """
    return 2 * x

def total(xs: List[int]) -> int:
    """ Sum of the numbers, twice.
    >>> total([1, 2])
    6
    """
'''
ROW = {
    "task_id": "HumanEval/0",
    "prompt": PROMPT,
    "entry_point": "total",
    "canonical_solution": "    return helper(sum(xs))\n",
    "test": "METADATA = {}\n\ndef check(candidate):\n    assert True, 'hi'\n"
    "    assert candidate([1]) == helper(1)\n    assert candidate([]) == 0, 'empty'\n",
}


def one(write: Write, **changes: Any) -> CodeTask:
    path = write("HumanEval.jsonl", [{**ROW, **changes}])
    (task,) = load("humaneval", path)
    assert isinstance(task, CodeTask)
    return task


def test_a_row_becomes_a_task(write: Write) -> None:
    task = one(write)
    assert task.task_id == "HumanEval/0"
    assert (task.kind, task.function_name, task.source) == ("assert", "total", "humaneval")
    assert task.starter_code == PROMPT
    assert "total" in task.statement
    assert task.time_limit_s == 3.0


def test_each_assertion_of_check_is_a_hidden_test(write: Write) -> None:
    sources = [test.input for test in one(write).hidden]
    assert sources == ["assert total([1]) == helper(1)", "assert total([]) == 0"]


def test_docstring_examples_are_public(write: Write) -> None:
    assert [test.input for test in one(write).public] == ["assert total([1, 2]) == 6"]


def test_the_reference_solution_passes_all_tests_in_the_preambles_namespace(write: Write) -> None:
    task = one(write)
    program: dict[str, Any] = {}
    exec(task.reference_solution or "", program)
    for test in (*task.public, *task.hidden):
        namespace: dict[str, Any] = {}
        exec(task.preamble, namespace)
        namespace["total"] = program["total"]
        exec(test.input, namespace)


def test_the_preamble_defines_what_stands_around_the_function_but_not_the_function(
    write: Write,
) -> None:
    namespace: dict[str, Any] = {}
    exec(one(write).preamble, namespace)
    assert namespace["helper"](2) == 4
    assert "total" not in namespace
    assert "List" in namespace


def test_without_examples_the_first_assertion_is_public(write: Write) -> None:
    task = one(write, prompt='def total(xs):\n    """ Sum. """\n')
    assert [test.input for test in task.public] == ["assert total([1]) == helper(1)"]


def test_without_a_docstring_the_first_assertion_is_public(write: Write) -> None:
    assert len(one(write, prompt="def total(xs):\n").public) == 1


def test_the_only_assertion_is_not_made_public(write: Write) -> None:
    check = "def check(candidate):\n    assert candidate([]) == 0\n"
    assert one(write, prompt="def total(xs):\n", test=check).public == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "def other(xs):\n"},
        {"prompt": "def total(xs:\n"},
        {"test": "x = 1"},
        {"test": "def check(candidate):\n    assert candidate(\n"},
        {"test": "def check(candidate):\n    pass\n"},
        {"test": "def check():\n    assert total([])\n"},
        {"entry_point": None},
        {"canonical_solution": None},
    ],
)
def test_a_broken_row_is_an_error_that_names_it(write: Write, changes: dict[str, Any]) -> None:
    with pytest.raises(TaskDataInvalid, match="'HumanEval/0'"):
        one(write, **changes)


def test_a_missing_field_is_named(write: Write) -> None:
    row = {key: value for key, value in ROW.items() if key != "test"}
    with pytest.raises(TaskDataInvalid, match="is not a HumanEval problem: KeyError: 'test'"):
        load("humaneval", write("h.jsonl", [row]))


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (">>> f(1)\n2", ["assert f(1) == 2"]),
        (">>> f(1)\n2\n>>> f('a')\n'b'", ["assert f(1) == 2", "assert f('a') == 'b'"]),
        (">>> f(1)", []),
        (">>> f(1) == 2", ["assert f(1) == 2"]),
        ("For example:\n    f([1, 2], k=3) == {'a': 1}", ["assert f([1, 2], k=3) == {'a': 1}"]),
        ("f(1) => 2", ["assert f(1) == 2"]),
        ("f(1) -> -2", ["assert f(1) == -2"]),
        ("f((1, 2)) ➞ (2, 1)", ["assert f((1, 2)) == (2, 1)"]),
        ("* f(1) returns 2", ["assert f(1) == 2"]),
        ("- f(1) should return None", ["assert f(1) == None"]),
        (">>> round(f(1), 2)\n0.5", ["assert round(f(1), 2) == 0.5"]),
        (">>> sorted(f([2]))\n[2]", ["assert sorted(f([2])) == [2]"]),
        ("f(1) ==> 2", ["assert f(1) == 2"]),
        ("f(1) => true", ["assert f(1) == True"]),
        ("f(1) should return False.", ["assert f(1) == False"]),
        ('f(1)   # returns "a.b"', ["assert f(1) == 'a.b'"]),
        ("f(1) == 2\nf(1) == 2", ["assert f(1) == 2"]),
        ("f(1) == 2 + 2", []),
        ("f(n) == n", []),
        ("f(x) == 2", []),
        ("f(1) = 2", []),
        ("g(1) == 2", []),
        (">>> open('x').write(f(1))\n3", []),
        (">>> f(__import__('os'))\n3", []),
        (">>> x = f(1)\n3", []),
        (">>> return f(1)\n3", []),
        (">>> assert f(1)\n3", []),
        (">>> f(1); f(2)\n3", []),
        (">>> f(1)\nTraceback (most recent call last):", []),
        (r"f('\d') == '\w'", [r"assert f('\\d') == '\\w'"]),
        ("f(1) == 2 because", []),
        ("The value f(1) is 2.", []),
        ("", []),
    ],
)
def test_examples_are_read_and_never_run(docstring: str, expected: list[str]) -> None:
    assert docstring_examples(docstring, "f") == expected
