"""Writes a program as a task statement: what the arguments are, the steps, and examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from budget_envs.tasks.synthetic_code.dsl import Literal, Program, Step, Type
from budget_envs.tasks.synthetic_code.inputs import DOMAIN_TEXT
from budget_envs.tasks.synthetic_code.python_source import (
    argument_names,
    signature,
    variable_names,
)

__all__ = ["function_statement", "script_statement"]

_INPUT_LINES = {
    Type.NAT: "the integer `{}`",
    Type.STR: "the string `{}` (an empty line if it is empty)",
    Type.INTS: "the elements of `{}` separated by single spaces (an empty line if it is empty)",
    Type.WORDS: "the elements of `{}` separated by single spaces (an empty line if it is empty)",
}
_OUTPUT_LINES = {
    Type.INT: "Print the result on one line.",
    Type.NAT: "Print the result on one line.",
    Type.BOOL: "Print `YES` if the result is `True` and `NO` if it is `False`.",
    Type.STR: "Print the result on one line (an empty line if it is empty).",
    Type.INTS: "Print the elements of the result on one line, separated by single spaces (an empty "
    "line if it is empty).",
    Type.WORDS: "Print the number of elements of the result on the first line, and then the "
    "elements, one a line.",
}


def function_statement(program: Program, examples: Sequence[tuple[tuple[Any, ...], Any]]) -> str:
    """Return the statement of the function-call form of a task.

    Args:
        program: What the function computes.
        examples: Pairs of arguments and result, shown as worked examples.
    """
    shown = [
        f"- `solve({', '.join(map(repr, arguments))})` returns `{result!r}`"
        for arguments, result in examples
    ]
    parts = [
        f"Write a Python function `solve`:\n\n    {signature(program)}",
        "Arguments:\n" + "\n".join(_argument_lines(program)),
        _steps(program, "Return {}."),
        _notes(program),
        "Examples:\n" + "\n".join(shown),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def script_statement(program: Program, examples: Sequence[tuple[str, str]]) -> str:
    """Return the statement of the standard input and output form of a task.

    Args:
        program: What the script computes.
        examples: Pairs of input and output text, shown as worked examples.
    """
    names = argument_names(program.arguments)
    lines = [
        f"- line {number}: {_INPUT_LINES[type_].format(name)}"
        for number, (name, type_) in enumerate(zip(names, program.arguments, strict=True), 1)
    ]
    parts = [
        "Write a Python program that reads its input from standard input and prints its result to "
        "standard output.",
        "Input:\n" + "\n".join(lines),
        "where\n" + "\n".join(_argument_lines(program)),
        _steps(program, "The result is {}."),
        "Output:\n" + _OUTPUT_LINES[program.output],
        _notes(program),
        *(f"Example input:\n```\n{given}```\nExample output:\n```\n{printed}```"
          for given, printed in examples),
    ]  # fmt: skip
    return "\n\n".join(filter(None, parts)) + "\n"


def _argument_lines(program: Program) -> list[str]:
    names = argument_names(program.arguments)
    pairs = zip(names, program.arguments, strict=True)
    return [f"- `{name}` is {DOMAIN_TEXT[type_]}" for name, type_ in pairs]


def _steps(program: Program, last: str) -> str:
    """Return the steps as a numbered list, or a program of one step as one sentence."""
    names = variable_names(program)
    quoted = [f"`{name}`" for name in names]
    phrases = [_phrase(step, quoted) for step in program.steps]
    sentences = [
        f"Let {name} be {phrase}."
        for name, phrase in zip(quoted[len(program.arguments) :], phrases[:-1], strict=False)
    ]
    sentences.append(last.format(phrases[-1]))
    if len(sentences) == 1:
        return sentences[0]
    numbered = (f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
    return "Steps:\n" + "\n".join(numbered)


def _phrase(step: Step, quoted: list[str]) -> str:
    inputs = [str(i.value) if isinstance(i, Literal) else quoted[i] for i in step.inputs]
    function = step.function
    if function is None:
        return step.operation.english.format(*inputs)
    operand = inputs.pop() if function.takes_operand else ""
    applied = function.english.format(x=step.element_name(inputs[0]), c=operand)
    return step.operation.english.format(*inputs, f=applied)


def _notes(program: Program) -> str:
    notes = dict.fromkeys(
        note
        for step in program.steps
        for note in (step.operation.note, step.function.note if step.function else "")
        if note
    )
    return "Notes:\n" + "\n".join(f"- {note}" for note in notes) if notes else ""
