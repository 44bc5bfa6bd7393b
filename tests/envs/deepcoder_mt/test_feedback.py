import pytest

from budget_envs.envs.deepcoder_mt.feedback import (
    first_observation,
    no_program_observation,
    verdict_observation,
)
from budget_envs.judging import Judgement, TestOutcome
from budget_envs.tasks import CodeTask, UnitTest

PASSED, FAILED = TestOutcome(True, "1"), TestOutcome(False, "2")


def stdin_task(*tests, **fields):
    made = tuple(UnitTest("stdin", *test) for test in tests)
    return CodeTask("t/stdin", "Add them.", made, made, "test", **fields)


def call_task(*tests, **fields):
    made = tuple(UnitTest.functional(*test) for test in tests)
    return CodeTask("t/call", "Add them.", made, made, "test", function_name="f", **fields)


def assert_task(*tests, **fields):
    made = tuple(UnitTest("assert", test) for test in tests)
    return CodeTask("t/assert", "Add them.", made, made, "test", function_name="f", **fields)


def judged(*public, hidden=(FAILED,)):
    return Judgement(public, hidden)


# The problem.


def test_the_first_observation_holds_the_problem_and_how_to_answer():
    text = first_observation(stdin_task(("1 2", "3")))
    assert text == (
        "Add them.\n\n"
        "The program reads standard input and prints to standard output.\n\n"
        "Answer with one complete Python program in a fenced block (```python ... ```); the last "
        "such block counts. After each attempt you see at most 2 failing public tests; hidden "
        "tests decide."
    )


def test_the_function_that_tests_call_is_named():
    assert "The tests call the function `f`." in first_observation(call_task(([1], 2)))


def test_a_method_is_called_one():
    task = call_task(([1], 2), starter_code="class Solution:\n    def f(self, x):\n")
    assert "The tests call the method `f` of the class `Solution`." in first_observation(task)


def test_starter_code_is_shown_in_a_fence_that_it_does_not_end():
    task = call_task(([1], 2), starter_code='def f(x):\n    """\n```\n    """\n')
    assert '````python\ndef f(x):\n    """\n```\n    """\n````' in first_observation(task)


def test_starter_code_that_the_statement_shows_is_not_shown_again():
    made = (UnitTest.functional([1], 2),)
    statement = "Write `f`:\n\n    def f(x):\n\nIt adds one."
    task = CodeTask("t/1", statement, made, made, "t", "def f(x):\n", function_name="f")
    assert first_observation(task).count("def f(x):") == 1


def test_where_nothing_else_tells_the_arguments_a_public_test_does():
    text = first_observation(assert_task("assert f(1, 'a') == 2", "assert f(7, 'b') == 8"))
    assert "For example:\n\n```python\nassert f(1, 'a') == 2\n```" in text
    assert "f(7, 'b')" not in text


def test_starter_code_tells_the_arguments():
    task = assert_task("assert f(1) == 2", starter_code="def f(x):\n")
    assert "For example" not in first_observation(task)


@pytest.mark.parametrize("kind", [stdin_task, call_task])
def test_the_problem_shows_no_hidden_test(kind):
    test = ("canary-in", "canary-out") if kind is stdin_task else (["canary-in"], "canary-out")
    assert "canary" not in first_observation(kind(test))


# The verdict.


def test_success_is_said_of_the_hidden_tests():
    judgement = judged(FAILED, hidden=(PASSED, PASSED))
    assert verdict_observation(stdin_task(("1", "1")), judgement) == "All hidden tests pass."


def test_a_failing_test_is_shown_with_input_expected_and_got():
    text = verdict_observation(stdin_task(("1\n2\n", "3\n"), ("5", "5")), judged(FAILED, PASSED))
    assert text == (
        "1 of 2 public tests pass. Revise the program.\n\n"
        "Failing test:\ninput:\n1\n2\nexpected: 3\ngot: 2"
    )


def test_a_failing_call_is_shown_as_a_call():
    outcome = TestOutcome(False, error="ValueError: no (line 2)")
    text = verdict_observation(call_task(([[1], None, "a"], True)), judged(outcome))
    assert text.endswith(
        "Failing test:\ncall: f([1], None, 'a')\nexpected: True\nerror: ValueError: no (line 2)"
    )


def test_a_failing_assertion_is_shown_with_what_the_call_gave():
    text = verdict_observation(assert_task("assert f(1) == 3"), judged(FAILED))
    assert text.endswith("Failing test:\ntest: assert f(1) == 3\ngot: 2")


def test_an_error_does_not_hide_what_was_printed_before():
    outcome = TestOutcome(False, "so far", "timeout: more than 2 seconds")
    text = verdict_observation(stdin_task(("1", "2")), judged(outcome))
    assert text.endswith("got: so far\nerror: timeout: more than 2 seconds")


def test_nothing_is_said_to_be_nothing():
    text = verdict_observation(stdin_task(("", "")), judged(TestOutcome(False)))
    assert text.endswith("input: (nothing)\nexpected: (nothing)\ngot: (nothing)")


@pytest.mark.parametrize("failing", [2, 3, 7])
def test_at_most_two_failing_tests_are_shown_the_first_ones(failing):
    tests = [(f"in{number}", "out") for number in range(failing + 1)]
    text = verdict_observation(stdin_task(*tests), judged(PASSED, *[FAILED] * failing))
    assert text.count("Failing test:") == 2
    assert "input: in1\n" in text
    assert "input: in2\n" in text
    assert "input: in0\n" not in text
    assert text.startswith(f"1 of {failing + 1} public tests pass.")


def test_hidden_tests_are_not_shown():
    public, hidden = UnitTest("stdin", "1", "2"), UnitTest("stdin", "canary-in", "canary-out")
    task = CodeTask("t/1", "Do it.", (public,), (hidden,), "test")
    secret = TestOutcome(False, "canary-got", "canary-error")
    for outcome in (PASSED, FAILED):
        assert "canary" not in verdict_observation(task, judged(outcome, hidden=(secret,)))


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "There are no public tests, and"),
        (1, "1 of 1 public test passes, but"),
        (3, "3 of 3 public tests pass, but"),
    ],
)
def test_a_failure_of_hidden_tests_alone_is_said_without_a_word_about_them(number, said):
    task = CodeTask(
        "t/1",
        "Do it.",
        (UnitTest("stdin", "1", "1"),) * number,
        (UnitTest("stdin", "x", "y"),),
        "t",
    )
    text = verdict_observation(task, judged(*[PASSED] * number))
    assert text == f"{said} a hidden test fails. Revise the program."


def test_each_part_is_cut_to_300_characters_and_says_so():
    task = stdin_task(("i" * 1000, "e" * 1000))
    outcome = TestOutcome(False, "g" * 1000, "r" * 1000)
    text = verdict_observation(task, judged(outcome))
    lines = text.split("\n")[3:]
    assert [line.split(":")[0] for line in lines] == ["input", "expected", "got", "error"]
    for line in lines:
        part = line.split(": ", 1)[1]
        assert len(part) <= 300
        assert "(740 characters cut)" in part


def test_texts_can_always_be_encoded():
    task = stdin_task(("\ud800", "\ud800"))
    half = TestOutcome(False, "\ud800", "\ud800")
    for text in (first_observation(task), verdict_observation(task, judged(half))):
        text.encode("utf-8")


def test_a_text_without_a_program_is_told_what_was_expected():
    assert no_program_observation().startswith("Expected a program and found no closed fenced")
