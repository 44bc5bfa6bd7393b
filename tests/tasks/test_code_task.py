from __future__ import annotations

import dataclasses
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks import CodeTask, UnitTest

ECHO = UnitTest("stdin", "1\n", "1\n")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def task(**fields: object) -> CodeTask:
    settings_ = {
        "task_id": "t/0",
        "statement": "Print the input.",
        "public": (),
        "hidden": (ECHO,),
        "source": "t",
        **fields,
    }
    return CodeTask(**settings_)  # type: ignore[arg-type]


def test_a_task_without_hidden_tests_is_refused() -> None:
    with pytest.raises(TaskDataInvalid, match="'t/0' has no hidden tests: every program would"):
        task(hidden=(), public=(ECHO,))


@pytest.mark.parametrize("field", ["task_id", "statement", "source"])
@pytest.mark.parametrize("value", ["", "  \n", None, 3])
def test_a_missing_text_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(TaskDataInvalid, match=f"needs a {field}"):
        task(**{field: value})


def test_tests_of_two_kinds_are_refused() -> None:
    with pytest.raises(
        TaskDataInvalid, match=r"mixes tests of the kinds \['functional', 'stdin'\]"
    ):
        task(hidden=(ECHO, UnitTest.functional([1], 1)), function_name="f")


@pytest.mark.parametrize("name", [None, "", "two words", 3])
@pytest.mark.parametrize("test", [UnitTest.functional([1], 1), UnitTest("assert", "assert f(1)")])
def test_calls_need_a_function_name(test: UnitTest, name: object) -> None:
    with pytest.raises(TaskDataInvalid, match="function_name is an identifier"):
        task(hidden=(test,), function_name=name)


@pytest.mark.parametrize("limit", [0, -1.0, float("inf"), float("nan"), "1", None])
def test_a_time_limit_is_a_positive_number(limit: object) -> None:
    with pytest.raises(TaskDataInvalid, match="time_limit_s is a positive number"):
        task(time_limit_s=limit)


def test_things_that_are_not_tests_are_refused() -> None:
    with pytest.raises(TaskDataInvalid, match="UnitTest objects only"):
        task(hidden=("1",))


def test_printing_a_task_shows_no_answer() -> None:
    shown = task(
        public=(UnitTest("stdin", "q", "PUBLIC-ANSWER"),),
        hidden=(UnitTest("stdin", "HIDDEN-INPUT", "HIDDEN-ANSWER"),),
        reference_solution="SOLUTION",
        test_setup="SETUP",
    )
    for secret in ("ANSWER", "HIDDEN", "SOLUTION", "SETUP"):
        assert secret not in repr(shown)
        assert secret not in str(shown)


def test_held_out_counts_the_hidden_tests_that_are_not_shown() -> None:
    tests = tuple(UnitTest("stdin", str(n), str(n)) for n in range(4))
    assert task(public=tests[:1], hidden=tests).held_out == 3
    assert task(public=tests, hidden=tests[1:3]).held_out == 0


def test_kind_is_the_kind_of_its_tests() -> None:
    assert task().kind == "stdin"
    assert task(hidden=(UnitTest.functional([], 1),), function_name="f").kind == "functional"


def test_a_task_is_frozen_hashable_and_survives_pickling() -> None:
    original = task(public=(ECHO,))
    assert pickle.loads(pickle.dumps(original)) == original
    assert len({original, task(public=(ECHO,))}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        original.statement = "other"  # type: ignore[misc]


def test_an_unknown_kind_of_test_is_refused() -> None:
    with pytest.raises(TaskDataInvalid, match=r"kind is one of .* got 'regex'"):
        UnitTest("regex", "a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["input", "output"])
@pytest.mark.parametrize("value", [None, 1, b"x"])
def test_inputs_and_outputs_are_text(field: str, value: object) -> None:
    with pytest.raises(TaskDataInvalid, match=f"stdin test's {field} is text"):
        UnitTest("stdin", **{"input": "", "output": "", field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("given_input", "output"), [("[1", "1"), ("[1]", "yes"), ("", "1")])
def test_a_functional_test_that_is_not_json_is_refused(given_input: str, output: str) -> None:
    with pytest.raises(TaskDataInvalid, match="holds JSON"):
        UnitTest("functional", given_input, output)


def test_a_functional_tests_input_is_a_list_of_arguments() -> None:
    with pytest.raises(TaskDataInvalid, match="JSON list of arguments"):
        UnitTest("functional", '{"a": 1}', "1")


def test_values_that_json_cannot_hold_are_refused() -> None:
    with pytest.raises(TaskDataInvalid, match="holds JSON values"):
        UnitTest.functional([{1, 2}], 1)


@pytest.mark.parametrize("source", ["f(1) == 2", "", "import os"])
def test_an_assert_test_that_asserts_nothing_is_refused(source: str) -> None:
    with pytest.raises(TaskDataInvalid, match="asserts something"):
        UnitTest("assert", source)


@pytest.mark.parametrize("source", ["assert f(", "assert \0"])
def test_an_assert_test_that_is_not_python_is_refused(source: str) -> None:
    with pytest.raises(TaskDataInvalid, match="is Python source"):
        UnitTest("assert", source)


def test_only_functional_tests_have_arguments() -> None:
    with pytest.raises(TaskDataInvalid, match="this one is 'stdin'"):
        _ = ECHO.arguments


def test_arguments_are_fresh_copies() -> None:
    test = UnitTest.functional([[1, 2]], [3])
    test.arguments[0].append(9)
    test.expected.append(9)
    assert (test.arguments, test.expected) == ([[1, 2]], [3])


@given(st.lists(json_values, max_size=3), json_values)
@settings(max_examples=60)
def test_functional_values_come_back_as_they_went_in(
    arguments: list[object], value: object
) -> None:
    test = UnitTest.functional(arguments, value)
    assert test.arguments == arguments
    assert test.expected == value
    assert json.loads(test.input) == arguments
