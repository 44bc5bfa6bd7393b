from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import pytest

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks import UnitTest
from budget_envs.tasks.deepcoder_rows import decoded, function_name, unit_tests


def read(row: dict[str, Any]) -> tuple[UnitTest, ...]:
    unpacked = decoded(row)
    return unit_tests(unpacked["tests"], function_name(unpacked))


STDIN = (UnitTest("stdin", "1 2\n", "3\n"), UnitTest("stdin", "4 5\n", "9\n"))
CALLS = (UnitTest.functional([1, 2], 3), UnitTest.functional([4, 5], 9))

CODEFORCES = [{"input": "1 2\n", "output": "3\n"}, {"input": "4 5\n", "output": "9\n"}]
PRIMEINTELLECT = [{"type": "stdin_stdout", "fn_name": None, **case} for case in CODEFORCES]
LIVECODEBENCH = [{"testtype": "stdin", **case} for case in CODEFORCES]
TACO = {"inputs": ["1 2\n", "4 5\n"], "outputs": ["3\n", "9\n"]}


@pytest.mark.parametrize("tests", [CODEFORCES, PRIMEINTELLECT, LIVECODEBENCH, TACO])
@pytest.mark.parametrize("as_text", [False, True])
def test_every_shape_of_standard_input_tests(tests: Any, as_text: bool) -> None:
    assert read({"tests": json.dumps(tests) if as_text else tests}) == STDIN


def test_packed_private_tests_are_read_in_place() -> None:
    packed = base64.b64encode(zlib.compress(pickle.dumps(json.dumps(LIVECODEBENCH)))).decode()
    assert read({"tests": packed}) == STDIN


FUNCTIONAL = [
    {"tests": {"fn_name": "add", "inputs": [[1, 2], [4, 5]], "outputs": [3, 9]}},
    {"tests": {"fn_name": "add", "inputs": [[1, 2], [4, 5]], "outputs": [[3], [9]]}},
    {"fn_name": "add", "tests": {"inputs": [[1, 2], [4, 5]], "outputs": [3, 9]}},
    {
        "tests": [
            {"type": "function_call", "fn_name": "add", "input": [1, 2], "output": 3},
            {"type": "function_call", "fn_name": "add", "input": [4, 5], "output": 9},
        ]
    },
    {
        "metadata": {"func_name": "add"},
        "tests": [
            {"testtype": "functional", "input": "1\n2", "output": "3"},
            {"testtype": "functional", "input": "4\n5", "output": "9"},
        ],
    },
    {
        "metadata": '{"func_name": "add"}',
        "tests": json.dumps(
            [
                {"testtype": "functional", "input": "1\n2\n", "output": "3"},
                {"testtype": "functional", "input": "4\n5\n", "output": "9"},
            ]
        ),
    },
    {
        "tests": [
            {
                "testtype": "functional",
                "metadata": {"func_name": "add"},
                "input": "1\n2",
                "output": "3",
            },
            {"testtype": "functional", "input": "4\n5", "output": "9"},
        ]
    },
]


@pytest.mark.parametrize("row", FUNCTIONAL)
def test_every_shape_of_function_calls(row: dict[str, Any]) -> None:
    assert read(row) == CALLS
    assert function_name(decoded(row)) == "add"


def test_a_function_that_returns_lists_of_several_lengths_is_not_unwrapped() -> None:
    tests = {"fn_name": "f", "inputs": [[1], [2]], "outputs": [[1], [1, 2]]}
    assert [test.expected for test in read({"tests": tests})] == [[1], [1, 2]]


def test_a_list_of_one_in_json_text_is_not_unwrapped() -> None:
    tests = [{"testtype": "functional", "input": "[1]", "output": "[1]"}]
    (test,) = read({"tests": tests, "metadata": {"func_name": "f"}})
    assert (test.arguments, test.expected) == ([[1]], [1])


def test_bare_words_stand_for_themselves() -> None:
    tests = [{"testtype": "functional", "input": "abc\n[1]", "output": "yes"}]
    (test,) = read({"tests": tests, "metadata": {"func_name": "f"}})
    assert (test.arguments, test.expected) == (["abc", [1]], "yes")


def test_a_single_value_is_one_argument() -> None:
    tests = [{"type": "function_call", "fn_name": "f", "input": 5, "output": 6}]
    assert read({"tests": tests}) == (UnitTest.functional([5], 6),)


def test_huge_integers_stay_exact() -> None:
    number = 10**40 + 1
    tests = {"fn_name": "f", "inputs": [[number]], "outputs": [number * number]}
    (test,) = read({"tests": json.dumps(tests)})
    assert (test.arguments, test.expected) == ([number], number * number)


def test_missing_standard_input_is_empty_and_not_the_word_none() -> None:
    (test,) = read({"tests": [{"input": None, "output": "1"}]})
    assert test.input == ""


def test_lines_in_lists_are_joined() -> None:
    tests = {"inputs": [["1", "2"]], "outputs": [["3", 4]]}
    assert read({"tests": tests}) == (UnitTest("stdin", "1\n2", "3\n4"),)


def test_numbers_become_text() -> None:
    assert read({"tests": [{"input": 7, "output": 8}]}) == (UnitTest("stdin", "7", "8"),)


def test_an_empty_expected_output_is_kept() -> None:
    assert read({"tests": [{"input": "1", "output": ""}]}) == (UnitTest("stdin", "1", ""),)


def test_equal_tests_count_once() -> None:
    assert read({"tests": CODEFORCES + CODEFORCES}) == STDIN


def test_a_single_test_needs_no_list() -> None:
    assert read({"tests": CODEFORCES[0]}) == STDIN[:1]


@pytest.mark.parametrize("tests", [[], {"inputs": [], "outputs": []}])
def test_no_tests_give_no_tests(tests: Any) -> None:
    assert read({"tests": tests}) == ()


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ({"inputs": ["1"], "outputs": []}, "1 inputs and 0 outputs"),
        ({"inputs": ["1"]}, "a list of inputs and a list of outputs"),
        ({"inputs": "1", "outputs": "2"}, "a list of inputs and a list of outputs"),
        ([{"input": "1"}], "an input and an output"),
        (["1"], "an input and an output"),
        (7, "a list or a dict of lists"),
        ("7", "a list or a dict of lists"),
        ("{broken", "Tests are JSON"),
        ([{"testtype": "functional", "input": "1", "output": "2"}], "need a function name"),
    ],
)
def test_a_broken_shape_says_what_was_expected(tests: Any, message: str) -> None:
    with pytest.raises(TaskDataInvalid, match=message):
        read({"tests": tests})


def test_broken_metadata_is_said() -> None:
    with pytest.raises(TaskDataInvalid, match="Metadata is a JSON object"):
        function_name({"metadata": "{func_name"})


@pytest.mark.parametrize("row", [{}, {"metadata": ""}, {"metadata": None}, {"tests": []}])
def test_a_row_may_name_no_function(row: dict[str, Any]) -> None:
    assert function_name(row) is None
