from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks import CodeTask, UnitTest, load
from budget_envs.tasks.deepcoder import MAX_HIDDEN_TESTS, longest_inputs, public_tests
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.splits import hash_split, statement_key

Write = Callable[[str, Any], Path]
STDIN_ROW = {
    "problem": "Add.",
    "tests": [{"input": "1", "output": "1"}, {"input": "2", "output": "2"}],
}


def one(write: Write, row: dict[str, Any], name: str = "deepcoder") -> CodeTask:
    (task,) = load(name, write("rows.json", [row]), include_excluded=True)
    assert isinstance(task, CodeTask)
    return task


def test_a_row_becomes_a_task(write: Write) -> None:
    task = one(write, {**STDIN_ROW, "solutions": ["print(input())", "other"]})
    assert task.task_id == "deepcoder/0"
    assert task.statement == "Add."
    assert task.source == "deepcoder"
    assert task.kind == "stdin"
    assert task.function_name is None
    assert task.time_limit_s == 12.0
    assert task.reference_solution == "print(input())"
    assert task.hidden == (UnitTest("stdin", "1", "1"), UnitTest("stdin", "2", "2"))


@pytest.mark.parametrize("field", ["problem", "question", "question_content", "statement"])
def test_the_statement_has_several_names(write: Write, field: str) -> None:
    assert one(write, {field: " Add. \n", "tests": STDIN_ROW["tests"]}).statement == "Add."


@pytest.mark.parametrize(
    ("solutions", "expected"),
    [
        ('["a = 1", "b"]', "a = 1"),
        ("print(1)", "print(1)"),
        ("[x for x in y", None),
        ([], None),
        ("", None),
        ([3], None),
        (None, None),
    ],
)
def test_the_first_solution_is_the_reference(
    write: Write, solutions: Any, expected: str | None
) -> None:
    assert one(write, {**STDIN_ROW, "solutions": solutions}).reference_solution == expected


def test_a_method_of_class_solution_gets_the_sites_imports(write: Write) -> None:
    starter = "class Solution:\n    def twice(self, xs: List[int]) -> int:\n        "
    row = {
        "problem": "Twice.",
        "starter_code": starter,
        "metadata": {"func_name": "twice"},
        "tests": [{"testtype": "functional", "input": "[1]", "output": "2"}],
    }
    task = one(write, row)
    assert (task.kind, task.function_name, task.starter_code) == ("functional", "twice", starter)
    namespace: dict[str, Any] = {}
    exec(task.preamble + starter + "return 2 * xs[0]", namespace)
    assert namespace["Solution"]().twice([1]) == 2
    assert namespace["pow"](2, 3, 5) == 3


def test_livecodebenchs_own_rows_keep_public_and_private_apart(write: Write) -> None:
    private = json.dumps([{"input": "5", "output": "6", "testtype": "stdin"}])
    row = {
        "question_id": "abc301_a",
        "question_content": "Add one.",
        "public_test_cases": json.dumps([{"input": "1", "output": "2", "testtype": "stdin"}]),
        "private_test_cases": base64.b64encode(zlib.compress(pickle.dumps(private))).decode(),
        "metadata": "{}",
        "starter_code": "",
    }
    task = one(write, row, "deepcoder_lcbv5")
    assert task.task_id == "abc301_a"
    assert task.public == (UnitTest("stdin", "1", "2"),)
    assert task.hidden == (UnitTest("stdin", "1", "2"), UnitTest("stdin", "5", "6"))
    assert task.time_limit_s == 6.0


def test_livecodebenchs_public_tests_alone_will_do(write: Write) -> None:
    row = {
        "question_content": "Add one.",
        "public_test_cases": [{"input": "1", "output": "2"}],
        "private_test_cases": "",
    }
    assert one(write, row).hidden == (UnitTest("stdin", "1", "2"),)


# ---- which tests decide, and which are shown ---------------------------------------------------

tests_strategy = st.lists(
    st.builds(UnitTest, st.just("stdin"), st.text("ab", max_size=6), st.text("ab", max_size=1)),
    max_size=12,
    unique=True,
)


@given(tests_strategy, st.integers(0, 12))
def test_the_longest_inputs_are_kept_in_their_order(tests: list[UnitTest], count: int) -> None:
    kept = longest_inputs(tests, count)
    dropped = [test for test in tests if test not in kept]
    assert len(kept) == min(count, len(tests))
    assert list(kept) == [test for test in tests if test in kept]
    assert all(len(k.input) >= len(d.input) for k in kept for d in dropped)


def test_at_most_fifteen_tests_decide(write: Write) -> None:
    tests = [{"input": "x" * (n % 20), "output": str(n)} for n in range(40)]
    task = one(write, {"problem": "p", "tests": tests})
    assert len(task.hidden) == MAX_HIDDEN_TESTS == 15
    assert min(len(test.input) for test in task.hidden) == 12


@given(tests_strategy)
def test_without_samples_the_first_two_are_shown_but_never_all(tests: list[UnitTest]) -> None:
    shown = public_tests("nothing here", tests)
    assert list(shown) == tests[: len(shown)]
    assert len(shown) == max(0, min(2, len(tests) - 1))


def test_inputs_that_the_statement_shows_are_public() -> None:
    tests = [UnitTest("stdin", text, "") for text in ("7\n", "3\n1 2  3\n", "1 2\n", "3\n1 2 4\n")]
    assert public_tests("Input\n\n3\n1 2 3\n\nOutput\n6", tests) == (tests[1], tests[2])


def test_a_number_inside_a_longer_number_is_not_shown() -> None:
    tests = [UnitTest("stdin", "2", ""), UnitTest("stdin", "12", ""), UnitTest("stdin", "5", "")]
    assert public_tests("Example: 12 gives 24", tests) == (tests[1],)


def test_an_empty_input_is_not_shown_by_every_statement() -> None:
    tests = [UnitTest("stdin", "", "a"), UnitTest("stdin", "b", "c")]
    assert public_tests("b is an example", tests) == (tests[1],)


def test_calls_are_public_where_all_their_arguments_are_shown() -> None:
    tests = [UnitTest.functional([[2, 7], 9], 1), UnitTest.functional([[3, 3], 6], 1)]
    assert public_tests("Input: nums = [2, 7], target = 9", tests) == (tests[0],)


# ---- what is refused, excluded and split -------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"problem": "p", "tests": []}, "'deepcoder/0' has no hidden tests"),
        ({"problem": "p"}, "has tests; this one has the fields"),
        ({"tests": STDIN_ROW["tests"]}, "has a problem statement"),
        ({"problem": "  ", "tests": STDIN_ROW["tests"]}, "has a problem statement"),
        ({"problem": "p", "tests": "{oops"}, "Tests are JSON"),
    ],
)
def test_a_row_that_is_no_task_is_an_error_that_names_it(
    write: Write, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(TaskDataInvalid, match=message) as caught:
        one(write, row)
    assert "rows.json: 'deepcoder/0'" in str(caught.value)


def test_the_hubs_own_sets_list_unreadable_rows_instead(write: Write) -> None:
    path = write("rows.json", [STDIN_ROW, {"problem": "p", "tests": []}, STDIN_ROW])
    tasks = load("deepcoder_taco", path, include_excluded=True)
    assert tasks.task_ids == ("taco/0", "taco/2")
    assert list(tasks.excluded) == ["taco/1"]
    assert tasks.excluded["taco/1"].startswith("unreadable: 'taco/1' has no hidden tests")


def test_problems_with_several_answers_are_left_out_and_listed(write: Write) -> None:
    rows = [STDIN_ROW, {**STDIN_ROW, "problem": "If there are several answers, print any of them."}]
    path = write("rows.json", rows)
    assert load("deepcoder", path).task_ids == ("deepcoder/0",)
    assert load("deepcoder", path).excluded == {"deepcoder/1": "several answers"}
    assert len(load("deepcoder", path, include_excluded=True)) == 2


def test_numbers_of_reviewed_rows_hold_for_the_published_file_only(
    register: Callable[..., DatasetInfo],
    write: Write,
    pin: Callable[..., dict[str, Any]],
    rows: list[dict[str, Any]],
) -> None:
    path = write("tiny.json", rows)
    options = {"source": "tiny", "time_limit_s": 1.0, "several_answers": [3]}
    register("tiny", files=[pin(path)], items=len(rows), options=options)
    assert load("tiny", path).excluded == {"tiny/3": "several answers"}
    assert load("tiny", write("other.json", rows[::-1])).excluded == {}


def test_yes_in_any_case_is_noted_for_standard_output(write: Write) -> None:
    assert one(write, {**STDIN_ROW, "problem": "Print YES, in any case."}).ignore_case
    assert not one(write, STDIN_ROW).ignore_case


def test_a_row_may_name_its_split(write: Write) -> None:
    rows = [{**STDIN_ROW, "problem": f"p{n}", "split": split} for n, split in enumerate("aab")]
    assert load("deepcoder", write("rows.json", rows)).split_sizes == {"a": 2, "b": 1}


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_files_name_may_give_the_split(write: Write, split: str) -> None:
    path = write(f"{split}-00000-of-00002.jsonl", [STDIN_ROW])
    assert load("deepcoder_lcbv5", path).split_sizes == {split: 1}


def test_a_name_that_only_begins_like_a_split_gives_none(write: Write) -> None:
    path = write("trainer.jsonl", [STDIN_ROW])
    assert load("deepcoder_lcbv5", path).split_sizes == {hash_split(statement_key("Add.")): 1}


def test_ids_of_several_files_name_the_file(write: Write) -> None:
    write("set/train-0.json", [STDIN_ROW])
    folder = write("set/train-1.json", [{**STDIN_ROW, "problem": "other"}]).parent
    assert load("deepcoder", folder).task_ids == ("deepcoder/train-0/0", "deepcoder/train-1/0")


def test_without_official_splits_equal_problems_share_one(write: Write) -> None:
    rows = [{**STDIN_ROW, "problem": f"Problem {n % 40}."} for n in range(200)]
    tasks = load("deepcoder", write("rows.json", rows))
    splits: dict[str, set[str]] = {}
    for task in tasks:
        splits.setdefault(task.statement, set()).add(tasks.split_of(task.task_id))
    assert all(len(names) == 1 for names in splits.values())
    assert set(tasks.split_sizes) == {"train", "validation", "test"}
