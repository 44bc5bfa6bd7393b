from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks import CodeTask, load
from budget_envs.tasks.mbpp import official_split

Write = Callable[[str, Any], Path]
INTERCODE = {
    "query": "Write a function to add.",
    "gold": "import math\r\ndef helper(x): return x\r\ndef add(a, b):\r\n  return helper(a) + b",
    "tests": ["assert add(1, 2) == 3", "assert add(0, 0) == 0", "assert add(1, 1) == 2 "],
    "task_id": 601,
    "test_setup_code": "",
}
ORIGINAL = {
    "text": INTERCODE["query"],
    "code": INTERCODE["gold"],
    "test_list": INTERCODE["tests"],
    "task_id": 601,
    "test_setup_code": "",
    "challenge_test_list": ["assert add(10**9, 1) == 10**9 + 1"],
}


def one(write: Write, row: dict[str, Any]) -> CodeTask:
    (task,) = load("mbpp", write("mbpp.jsonl", [row]), include_excluded=True)
    assert isinstance(task, CodeTask)
    return task


def test_both_files_give_the_same_task(write: Write) -> None:
    assert one(write, INTERCODE) == one(write, ORIGINAL)


def test_a_row_becomes_a_task(write: Write) -> None:
    task = one(write, INTERCODE)
    assert (task.task_id, task.statement) == ("MBPP/601", "Write a function to add.")
    assert (task.kind, task.function_name, task.source) == ("assert", "add", "mbpp")
    assert [test.input for test in task.hidden] == [
        "assert add(1, 2) == 3",
        "assert add(0, 0) == 0",
        "assert add(1, 1) == 2",
    ]
    assert task.public == task.hidden[:1]
    assert "\r" not in (task.reference_solution or "")


def test_the_function_under_test_is_one_that_the_solution_defines(write: Write) -> None:
    tests = ["assert set(add([1], len([2]))) == {3}"]
    assert one(write, {**INTERCODE, "tests": tests}).function_name == "add"


def test_a_function_may_bear_the_name_of_a_builtin(write: Write) -> None:
    row = {**INTERCODE, "gold": "def sum(a): return a", "tests": ["assert sum(1) == 1"]}
    assert one(write, row).function_name == "sum"


def test_equal_assertions_count_once_and_the_only_one_is_not_public(write: Write) -> None:
    task = one(write, {**INTERCODE, "tests": ["assert add(1, 2) == 3", "assert add(1, 2) == 3 "]})
    assert (len(task.hidden), task.public) == (1, ())


def test_setup_code_is_kept_for_the_judge_after_the_solutions_imports(write: Write) -> None:
    row = {**INTERCODE, "gold": "def add(a, b):\n    return a + b"}
    assert one(write, {**row, "test_setup_code": "x = 1\r\ny = 2"}).test_setup == "x = 1\ny = 2"
    assert one(write, {**row, "test_setup_code": None}).test_setup == ""
    imports = "import sys\nfrom math import pi\n"
    task = one(write, {**row, "gold": imports + row["gold"], "test_setup_code": "x = 1"})
    assert task.test_setup == "import sys\nfrom math import pi\nx = 1"


@pytest.mark.parametrize(
    "changes",
    [
        {"tests": []},
        {"tests": ["assert other(1) == 2"]},
        {"tests": ["assert add(1"]},
        {"tests": ["add(1, 2)"]},
        {"gold": "def add(:"},
        {"query": ""},
        {"task_id": 975},
        {"task_id": "x"},
    ],
)
def test_a_broken_row_is_an_error_that_names_it(write: Write, changes: dict[str, Any]) -> None:
    row = {**INTERCODE, **changes}
    with pytest.raises(TaskDataInvalid, match=f"row {row['task_id']!r} is not an MBPP problem"):
        one(write, row)


@pytest.mark.parametrize("field", ["query", "gold", "tests", "task_id"])
def test_a_missing_field_is_an_error(write: Write, field: str) -> None:
    row = {key: value for key, value in INTERCODE.items() if key != field}
    with pytest.raises(TaskDataInvalid, match="is not an MBPP problem"):
        one(write, row)


def test_splits_are_the_papers() -> None:
    splits = [official_split(number) for number in range(1, 975)]
    assert {name: splits.count(name) for name in splits} == {
        "prompt": 10,
        "test": 500,
        "validation": 90,
        "train": 374,
    }
    assert [official_split(n) for n in (1, 10, 11, 510, 511, 600, 601, 974)] == [
        "prompt",
        "prompt",
        "test",
        "test",
        "validation",
        "validation",
        "train",
        "train",
    ]


@pytest.mark.parametrize("number", [0, -1, 975])
def test_there_are_no_other_problems(number: int) -> None:
    with pytest.raises(TaskDataInvalid, match="numbered 1 to 974"):
        official_split(number)


def test_a_training_problem_that_the_test_split_repeats_is_left_out(write: Write) -> None:
    rows = [
        {**INTERCODE, "task_id": 20},
        {**INTERCODE, "query": "Write a function, to ADD!", "task_id": 550},
        {**INTERCODE, "task_id": 700},
        {**INTERCODE, "task_id": 701, "query": "Write another."},
    ]
    tasks = load("mbpp", write("mbpp.json", rows))
    assert tasks.task_ids == ("MBPP/20", "MBPP/701")
    assert tasks.excluded == {
        "MBPP/550": "same problem as MBPP/20 in the split test",
        "MBPP/700": "same problem as MBPP/20 in the split test",
    }


@pytest.mark.parametrize(
    ("tests", "is_excluded"),
    [
        (["assert add(1, 2) == True", "assert add(3, 4) == True"], True),
        (["assert add(1, 2) == False", "assert add(3, 4) == False"], True),
        (["assert add(1, 2) == True", "assert add(3, 4) == False"], False),
        (["assert add(1, 2) == True", "assert add(3, 4)"], False),
        (["assert add(1, 2) == True"], False),
        (["assert add(1, 2) == 3", "assert add(2, 1) == 3"], False),
    ],
)
def test_a_question_that_all_tests_answer_alike_is_left_out(
    write: Write, tests: list[str], is_excluded: bool
) -> None:
    (task,) = load(
        "mbpp", write("mbpp.json", [{**INTERCODE, "tests": tests}]), include_excluded=True
    )
    loaded = load("mbpp", write("mbpp.json", [{**INTERCODE, "tests": tests}]))
    assert loaded.excluded.keys() == ({task.task_id} if is_excluded else set())
