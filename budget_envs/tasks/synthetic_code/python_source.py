"""Writes a program as ordinary Python: the reference solution, and the starter code."""

from __future__ import annotations

from budget_envs.tasks.synthetic_code.dsl import Literal, Program, Step, Type

__all__ = ["argument_names", "function_source", "script_source", "signature", "variable_names"]

_ARGUMENT_NAMES = {
    Type.NAT: ("k", "m"),
    Type.STR: ("text", "other"),
    Type.INTS: ("xs", "ys"),
    Type.WORDS: ("words", "others"),
}
_STEP_NAMES = "abcdefgh"
_INDENT = "    "
_READERS = {
    Type.NAT: "int(input())",
    Type.STR: "input()",
    Type.INTS: "[int(token) for token in input().split()]",
    Type.WORDS: "input().split()",
}
_PRINTERS = {
    Type.INT: ("print(result)",),
    Type.NAT: ("print(result)",),
    Type.BOOL: ('print("YES" if result else "NO")',),
    Type.STR: ("print(result)",),
    Type.INTS: ("print(*result)",),
    Type.WORDS: ("print(len(result))", "for item in result:", f"{_INDENT}print(item)"),
}


def argument_names(arguments: tuple[Type, ...]) -> list[str]:
    """Return the names of the arguments, such as ``["xs", "ys", "k"]``."""
    return [
        _ARGUMENT_NAMES[type_][arguments[:position].count(type_)]
        for position, type_ in enumerate(arguments)
    ]


def variable_names(program: Program) -> list[str]:
    """Return the names of all variables of a program: arguments, then ``a``, ``b``, ..."""
    return argument_names(program.arguments) + list(_STEP_NAMES[: len(program.steps)])


def signature(program: Program) -> str:
    """Return the first line of the function, such as ``def solve(xs: list[int]) -> int:``."""
    names = argument_names(program.arguments)
    typed = (f"{n}: {t.annotation}" for n, t in zip(names, program.arguments, strict=True))
    return f"def solve({', '.join(typed)}) -> {program.output.annotation}:"


def function_source(program: Program) -> str:
    """Return a Python module whose function ``solve`` computes the program."""
    names = variable_names(program)
    count = len(program.arguments)
    lines = [signature(program)]
    for number, step in enumerate(program.steps[:-1]):
        lines.append(f"{_INDENT}{names[count + number]} = {_expression(step, names)}")
    lines.append(f"{_INDENT}return {_expression(program.steps[-1], names)}")
    return _preamble(program) + "\n".join(lines) + "\n"


def script_source(program: Program) -> str:
    """Return a Python script that reads the arguments, one a line, and prints the result."""
    names = argument_names(program.arguments)
    reads = [f"{n} = {_READERS[t]}" for n, t in zip(names, program.arguments, strict=True)]
    lines = [*reads, f"result = solve({', '.join(names)})", *_PRINTERS[program.output]]
    return function_source(program) + "\n\n" + "\n".join(lines) + "\n"


def _expression(step: Step, names: list[str]) -> str:
    inputs = [str(i.value) if isinstance(i, Literal) else names[i] for i in step.inputs]
    function = step.function
    if function is None:
        return step.operation.code.format(*inputs)
    operand = inputs.pop() if function.takes_operand else ""
    applied = function.code.format(x=step.element_name(inputs[0]), c=operand)
    return step.operation.code.format(*inputs, f=applied)


def _preamble(program: Program) -> str:
    """Return the imports and helper functions that the steps call, each once."""
    operations = [step.operation for step in program.steps]
    imports = sorted({name for operation in operations for name in operation.imports})
    helpers = dict.fromkeys(operation.helper for operation in operations if operation.helper)
    parts = [f"from itertools import {', '.join(imports)}\n"] if imports else []
    return "".join(part + "\n\n" for part in [*parts, *helpers])
