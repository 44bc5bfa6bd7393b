"""The texts of DeepCoder-MT: the problem, and what an attempt is told about its failures."""

from __future__ import annotations

from typing import Final

from budget_envs.envs.deepcoder_mt.program import write_program
from budget_envs.judging import Judgement, TestOutcome, clip, shown
from budget_envs.tasks.code_task import CodeTask, UnitTest

__all__ = ["first_observation", "no_program_observation", "verdict_observation"]

MAX_SHOWN_TESTS: Final = 2
_FORM: Final = (
    "Answer with one complete Python program in a fenced block (```python ... ```); the last such "
    "block counts."
)


def first_observation(task: CodeTask) -> str:
    """Return the problem and how to answer it."""
    parts = [task.statement.strip(), _interface(task)]
    starter = task.starter_code.strip()
    if starter and starter not in task.statement:
        parts.append(f"Start from this code:\n\n{write_program(task.starter_code.rstrip())}")
    elif not starter and task.kind == "assert" and task.public:  # nothing else tells the arguments
        parts.append(f"For example:\n\n{write_program(task.public[0].input.rstrip())}")
    parts.append(
        f"{_FORM} After each attempt you see at most {MAX_SHOWN_TESTS} failing public tests; "
        "hidden tests decide."
    )
    return _encodable("\n\n".join(parts))


def _interface(task: CodeTask) -> str:
    if task.kind == "stdin":
        return "The program reads standard input and prints to standard output."
    if task.kind == "functional" and "class Solution" in task.starter_code:
        return f"The tests call the method `{task.function_name}` of the class `Solution`."
    return f"The tests call the function `{task.function_name}`."


def no_program_observation() -> str:
    """Return the answer to a text without a program."""
    return f"Expected a program and found no closed fenced block of Python. {_FORM}"


def verdict_observation(task: CodeTask, judgement: Judgement) -> str:
    """Return what an attempt is told: counts, and at most two failing public tests."""
    if judgement.is_success:
        return "All hidden tests pass."
    outcomes = judgement.public
    passed, total = sum(outcome.passed for outcome in outcomes), len(outcomes)
    if not total:
        return "There are no public tests, and a hidden test fails. Revise the program."
    if passed == total:
        return f"{_count(passed, total)}, but a hidden test fails. Revise the program."
    pairs = zip(task.public, outcomes, strict=True)
    failing = [(test, outcome) for test, outcome in pairs if not outcome.passed]
    parts = [f"{_count(passed, total)}. Revise the program."]
    parts += [_failure(task, test, outcome) for test, outcome in failing[:MAX_SHOWN_TESTS]]
    return _encodable("\n\n".join(parts))


def _count(passed: int, total: int) -> str:
    tests = "test passes" if passed == total == 1 else "tests pass"
    return f"{passed} of {total} public {tests}"


def _failure(task: CodeTask, test: UnitTest, outcome: TestOutcome) -> str:
    lines = ["Failing test:", *_given_and_expected(task, test)]
    if outcome.got or not outcome.error:
        lines.append(_labelled("got", outcome.got))
    if outcome.error:
        lines.append(_labelled("error", outcome.error))
    return "\n".join(lines)


def _given_and_expected(task: CodeTask, test: UnitTest) -> list[str]:
    if test.kind == "assert":
        return [_labelled("test", test.input)]
    if test.kind == "stdin":
        return [_labelled("input", test.input), _labelled("expected", test.output)]
    call = f"{task.function_name}({', '.join(map(shown, test.arguments))})"
    return [_labelled("call", call), _labelled("expected", shown(test.expected))]


def _labelled(label: str, text: str) -> str:
    """Return a text behind its label, or below it if it has several lines."""
    text = clip(text.rstrip()) or "(nothing)"
    return f"{label}:\n{text}" if "\n" in text else f"{label}: {text}"


def _encodable(text: str) -> str:
    """Return a text without half characters, which no encoding can write."""
    return text.encode("utf-8", "replace").decode("utf-8")
