"""The typed language the tasks are written in: types, functions, operations, programs.

A program is a straight line of steps in the spirit of DeepCoder's language (Balog et al., 2017,
"DeepCoder: Learning to Write Programs", arXiv:1611.01989): every step applies one operation,
first order or higher order, to arguments, earlier results and small literals. Every operation
and function has three faces that are kept side by side in one row of a table: what it computes
(`Operation.evaluate`), how it is written in Python (`code`) and how it is said (`english`).
The language and its catalogue are this project's own.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Function", "Literal", "Operation", "Program", "Step", "Type", "Value", "accepts"]

Value = int | bool | str | list[int] | list[str]
"""What a variable of a program holds: plain data, compared by type and value."""


class Type(enum.Enum):
    """The type of a variable. ``NAT`` is an ``int`` that is never negative."""

    INT = enum.auto()
    NAT = enum.auto()
    BOOL = enum.auto()
    STR = enum.auto()
    INTS = enum.auto()
    WORDS = enum.auto()

    @property
    def annotation(self) -> str:
        """The Python annotation of the type, e.g. ``"list[int]"``."""
        return _ANNOTATIONS[self]


_ANNOTATIONS = {
    Type.INT: "int",
    Type.NAT: "int",
    Type.BOOL: "bool",
    Type.STR: "str",
    Type.INTS: "list[int]",
    Type.WORDS: "list[str]",
}


def accepts(wanted: Type, given: Type) -> bool:
    """Return whether a value of type ``given`` may stand where ``wanted`` is asked for."""
    return wanted is given or (wanted is Type.INT and given is Type.NAT)


@dataclass(frozen=True, slots=True)
class Literal:
    """A small non-negative integer written in the program."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of one element, handed to a higher-order operation.

    Attributes:
        name: Unique name, for debugging.
        domain: Type of the element, ``INT`` or ``STR``.
        codomain: ``INT``, ``STR`` or ``BOOL``.
        bind: ``bind(operand)`` is the function of the element; without operand it gets 0.
        code: Python expression of ``{x}`` (element) and ``{c}`` (operand).
        english: The same in words. A noun phrase, or for ``BOOL`` a predicate in the plural
            ("are even") that follows "elements that".
        literals: Literals that make sense as operand; empty if there is no operand.
        variable_operand: Whether the operand may be an integer variable.
        note: A sentence for the end of the statement, or ``""``.
    """

    name: str
    domain: Type
    codomain: Type
    bind: Callable[[int], Callable[[Any], Any]]
    code: str
    english: str
    literals: tuple[int, ...] = ()
    variable_operand: bool = False
    note: str = ""

    @property
    def takes_operand(self) -> bool:
        """Whether the function has an integer operand besides the element."""
        return bool(self.literals)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation of the language.

    Attributes:
        name: Unique name, for debugging.
        inputs: Types of the inputs, without a function's operand.
        output: Type of the result.
        evaluate: Computes the result from the bound function (if any), then the inputs. It
            never changes its inputs.
        code: Python expression of the inputs ``{0}``, ``{1}``, ... and the function ``{f}``.
        english: Noun phrase of the same placeholders.
        function: ``(domain, codomain)`` of the function it takes, or None.
        literals: For each input position that may be a literal, the literals to draw from.
        level: The lowest level in which the operation appears.
        note: A sentence for the end of the statement, or ``""``.
        imports: Names that ``code`` needs from `itertools`.
        helper: Source of a Python function that ``code`` calls, or ``""``.
    """

    name: str
    inputs: tuple[Type, ...]
    output: Type
    evaluate: Callable[..., Any]
    code: str
    english: str
    function: tuple[Type, Type] | None = None
    literals: tuple[tuple[int, tuple[int, ...]], ...] = ()
    level: int = 1
    note: str = ""
    imports: tuple[str, ...] = ()
    helper: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """An operation applied to inputs; the operand of its function, if any, comes last.

    Attributes:
        operation: What is applied.
        inputs: Variable numbers (arguments first, then results in order) or literals.
        function: The function handed to a higher-order operation.
    """

    operation: Operation
    inputs: tuple[int | Literal, ...]
    function: Function | None = None

    def variables(self) -> list[int]:
        """Return the numbers of the variables that the step reads."""
        return [item for item in self.inputs if isinstance(item, int)]

    def element_name(self, whole: str) -> str:
        """Return the name of what the function is applied to: an element, or the whole input.

        Args:
            whole: How the step's first input is written.
        """
        if self.operation.code == "{f}":
            return whole
        return "x" if self.function and self.function.domain is Type.INT else "w"

    def compiled(self) -> Callable[[Sequence[Any]], Any]:
        """Return the step as a function of the values of all variables before it."""
        inputs, evaluate = list(self.inputs), self.operation.evaluate
        if self.function is not None:
            operand = inputs.pop() if self.function.takes_operand else Literal(0)
            if isinstance(operand, int):
                return _with_variable_operand(evaluate, self.function.bind, operand, inputs)
            evaluate = functools.partial(evaluate, self.function.bind(operand.value))
        return _with_inputs(evaluate, inputs)


def _with_inputs(
    evaluate: Callable[..., Any], inputs: Sequence[int | Literal]
) -> Callable[[Sequence[Any]], Any]:
    """Bind inputs to an operation; the common arities avoid building an argument list."""
    match inputs:
        case [int(i)]:
            return lambda variables: evaluate(variables[i])
        case [int(i), int(j)]:
            return lambda variables: evaluate(variables[i], variables[j])
        case [int(i), Literal(value)]:
            return lambda variables: evaluate(variables[i], value)
    return lambda variables: evaluate(
        *(variables[item] if isinstance(item, int) else item.value for item in inputs)
    )


def _with_variable_operand(
    evaluate: Callable[..., Any],
    bind: Callable[[int], Callable[[Any], Any]],
    operand: int,
    inputs: Sequence[int | Literal],
) -> Callable[[Sequence[Any]], Any]:
    def run(variables: Sequence[Any]) -> Any:
        function = functools.partial(evaluate, bind(variables[operand]))
        return _with_inputs(function, inputs)(variables)

    return run


@dataclass(frozen=True)
class Program:
    """A straight-line program; its value is the result of the last step.

    Attributes:
        arguments: Types of the arguments: variables 0, 1, ...
        steps: Step ``i`` defines variable ``len(arguments) + i``.
    """

    arguments: tuple[Type, ...]
    steps: tuple[Step, ...]

    @property
    def output(self) -> Type:
        """The type of the program's value."""
        return self.steps[-1].operation.output

    @functools.cached_property
    def runs(self) -> tuple[Callable[[Sequence[Any]], Any], ...]:
        """The steps as functions of the values of all variables before them."""
        return tuple(step.compiled() for step in self.steps)

    def trace(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the values of all variables: the arguments, then every step's result."""
        variables = list(arguments)
        for run in self.runs:
            variables.append(run(variables))
        return variables

    def __call__(self, *arguments: Any) -> Any:
        """Interpret the program on the given arguments."""
        return self.trace(arguments)[-1]

    def literals(self) -> list[int]:
        """Return the literals written in the program, in order, with repetitions."""
        return [i.value for step in self.steps for i in step.inputs if isinstance(i, Literal)]
