"""Draws random programs of a level: every argument and every result is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from budget_envs.tasks.synthetic_code.dsl import (
    Function,
    Literal,
    Operation,
    Program,
    Step,
    Type,
    accepts,
)
from budget_envs.tasks.synthetic_code.functions import FUNCTIONS
from budget_envs.tasks.synthetic_code.number_operations import NUMBER_OPERATIONS
from budget_envs.tasks.synthetic_code.probes import ORDINARY_COUNT, probes, varied
from budget_envs.tasks.synthetic_code.sequence_operations import elementwise
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64
from budget_envs.tasks.synthetic_code.text_operations import TEXT_OPERATIONS

__all__ = ["LEVELS", "OPERATIONS", "Level", "sample_program", "single_step_programs"]

OPERATIONS: tuple[Operation, ...] = (
    *elementwise(Type.INT, Type.INTS),
    *elementwise(Type.STR, Type.WORDS),
    *NUMBER_OPERATIONS,
    *TEXT_OPERATIONS,
)
"""All operations of the language, in a fixed order that task ids depend on."""


@dataclass(frozen=True, slots=True)
class Level:
    """What the programs of one difficulty level look like.

    Attributes:
        steps: Numbers of steps to draw from.
        signatures: Argument types to draw from, in the order they are written.
    """

    steps: tuple[int, ...]
    signatures: tuple[tuple[Type, ...], ...]


_NAT, _STR, _INTS, _WORDS = Type.NAT, Type.STR, Type.INTS, Type.WORDS
_ONE = ((_INTS,), (_STR,), (_WORDS,))
_WITH_NUMBER = ((_INTS, _NAT), (_WORDS, _NAT), (_STR, _NAT))
_TWO = ((_INTS, _INTS), (_WORDS, _WORDS), (_WORDS, _INTS), (_WORDS, _STR), (_STR, _STR))
_THREE = ((_INTS, _INTS, _NAT), (_WORDS, _INTS, _NAT), (_WORDS, _STR, _NAT), (_INTS, _NAT, _NAT))

LEVELS: dict[int, Level] = {
    1: Level((1, 2, 2, 2), (*_ONE, *_WITH_NUMBER, (_INTS,), (_WORDS,), (_INTS, _NAT))),
    2: Level((2, 3), (*_ONE, *_WITH_NUMBER, *_TWO)),
    3: Level((3, 4), (*_ONE, *_WITH_NUMBER, *_TWO)),
    4: Level((4, 5), (*_WITH_NUMBER, *_TWO, *_THREE)),
    5: Level((6, 7), (*_WITH_NUMBER, *_TWO, *_THREE)),
}
"""The difficulty levels: more steps, more arguments and harder operations from 1 to 5."""

_TRIES = 8  # draws of one step before the whole draft is given up
_Reader = tuple[Operation, int]  # an operation and the number of one of its inputs


def _readers(level: int, type_: Type) -> list[_Reader]:
    return [
        (operation, slot)
        for operation in OPERATIONS
        if operation.level <= level
        for slot, wanted in enumerate(operation.inputs)
        if accepts(wanted, type_)
    ]


_READERS = {(level, type_): _readers(level, type_) for level in LEVELS for type_ in Type}
_JOINERS = {
    key: [(op, slot) for op, slot in readers if len(op.inputs) > 1 or op.function is not None]
    for key, readers in _READERS.items()
}


def sample_program(level: int, rng: SplitMix64) -> Program | None:
    """Draw a program of a level, or None where the draw reached a dead end.

    Every argument and every result except the last is read by a later step, and every result
    is varied on the ordinary probes. The program may still be equal to a shorter one.

    Args:
        level: A key of `LEVELS`.
        rng: Where the randomness comes from.
    """
    arguments = rng.choice(LEVELS[level].signatures)
    draft = _Draft(level, arguments, rng)
    steps: list[Step] = []
    for remaining in reversed(range(rng.choice(LEVELS[level].steps))):
        step = draft.next_step(must_join=len(draft.unread) > remaining + 1)
        if step is None:
            return None
        steps.append(step)
    return Program(arguments, tuple(steps))


class _Draft:
    """The variables of a program that is being drawn.

    Attributes:
        types: Their types.
        columns: Their values on the ordinary probes.
        unread: Those that no step has read yet.
    """

    def __init__(self, level: int, arguments: tuple[Type, ...], rng: SplitMix64) -> None:
        self.level = level
        self.types = list(arguments)
        self.columns = list(zip(*probes(arguments)[:ORDINARY_COUNT], strict=True))
        self.unread = list(range(len(arguments)))
        self.rng = rng

    def next_step(self, must_join: bool) -> Step | None:
        """Draw a step that reads an unread variable, most often the newest, or two of them.

        Args:
            must_join: Whether the steps left are too few unless this one reads two.

        Returns:
            The step, or None where several tries found none that gives a varied result.
        """
        for _ in range(_TRIES):
            step = self._try_step(must_join)
            if step is not None and self._accept(step):
                return step
        return None

    def _accept(self, step: Step) -> bool:
        """Add the step's result, unless it is hardly varied or repeats an earlier variable."""
        run, type_ = step.compiled(), step.operation.output
        column = tuple(map(run, zip(*self.columns, strict=True)))
        if not varied(type_, column, self.columns):
            return False
        read = step.variables()
        self.unread = [*(v for v in self.unread if v not in read), len(self.types)]
        self.types.append(type_)
        self.columns.append(column)
        return True

    def _try_step(self, must_join: bool) -> Step | None:
        focus = self.unread[-1] if self.rng.chance(65) else self.rng.choice(self.unread)
        readers = (_JOINERS if must_join else _READERS)[self.level, self.types[focus]]
        if not readers:
            return None
        operation, slot = self.rng.choice(readers)
        inputs = self._draw_inputs(operation, slot, focus, 100 if must_join else 80)
        if inputs is None:
            return None
        function = None
        if operation.function is not None:
            function = self.rng.choice(FUNCTIONS[operation.function])
            if function.takes_operand:
                inputs.append(self._draw_operand(function, inputs))
        step = Step(operation, tuple(inputs), function)
        if must_join and sum(v in self.unread for v in step.variables()) < 2:
            return None
        return step

    def _draw_inputs(
        self, operation: Operation, slot: int, focus: int, eager: int
    ) -> list[int | Literal] | None:
        literals = dict(operation.literals)
        inputs: list[int | Literal] = []
        for position, wanted in enumerate(operation.inputs):
            if position == slot:
                inputs.append(focus)
                continue
            drawn = self._draw(wanted, literals.get(position, ()), [focus, *inputs], eager)
            if drawn is None:
                return None
            inputs.append(drawn)
        return inputs

    def _draw_operand(self, function: Function, taken: list[int | Literal]) -> int | Literal:
        if function.variable_operand:
            drawn = self._draw(Type.INT, function.literals, taken, 80)
            if drawn is not None:
                return drawn
        return Literal(self.rng.choice(function.literals))

    def _draw(
        self, wanted: Type, literals: tuple[int, ...], taken: list[int | Literal], eager: int
    ) -> int | Literal | None:
        """Draw a variable of a type, ``eager`` percent unread ones, or else a literal."""
        types = self.types
        fitting = [v for v in range(len(types)) if accepts(wanted, types[v]) and v not in taken]
        fresh = [variable for variable in fitting if variable in self.unread]
        if fresh and self.rng.chance(eager):
            return self.rng.choice(fresh)
        if literals and (not fitting or self.rng.chance(70)):
            return Literal(self.rng.choice(literals))
        return self.rng.choice(fitting) if fitting else None


def single_step_programs(arguments: tuple[Type, ...]) -> Iterator[Program]:
    """Yield every program of one step that reads each argument exactly once.

    Args:
        arguments: Argument types, in the order of a level's signature.
    """
    for operation in OPERATIONS:
        for function in FUNCTIONS[operation.function] if operation.function else (None,):
            for inputs in _assignments(operation, function, arguments):
                yield Program(arguments, (Step(operation, inputs, function),))


def _assignments(
    operation: Operation, function: Function | None, arguments: tuple[Type, ...]
) -> Iterator[tuple[int | Literal, ...]]:
    """Yield the ways to fill an operation's inputs with each argument once, and literals."""
    literals = dict(operation.literals)
    slots = [(wanted, literals.get(i, ()), True) for i, wanted in enumerate(operation.inputs)]
    if function is not None and function.takes_operand:
        slots.append((Type.INT, function.literals, function.variable_operand))
    partial: list[tuple[int | Literal, ...]] = [()]
    for wanted, values, variable_allowed in slots:
        choices: list[int | Literal] = [Literal(value) for value in values]
        if variable_allowed:
            choices += [i for i, given in enumerate(arguments) if accepts(wanted, given)]
        partial = [
            (*done, choice)
            for done in partial
            for choice in choices
            if isinstance(choice, Literal) or choice not in done
        ]
    for inputs in partial:
        if sum(isinstance(item, int) for item in inputs) == len(arguments):
            yield inputs
