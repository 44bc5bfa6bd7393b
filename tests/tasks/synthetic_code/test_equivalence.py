import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_code import generate, program_of
from budget_envs.tasks.synthetic_code.dsl import Literal, Program, Step, Type
from budget_envs.tasks.synthetic_code.equivalence import (
    fingerprint,
    is_worthwhile,
    single_step_fingerprints,
)
from budget_envs.tasks.synthetic_code.functions import FUNCTIONS
from budget_envs.tasks.synthetic_code.inputs import SHAPES, draw_arguments
from budget_envs.tasks.synthetic_code.sampling import OPERATIONS
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

INTS, NAT, WORDS = Type.INTS, Type.NAT, Type.WORDS


def step(name, *inputs, function=None, element=Type.INT):
    operation = next(
        operation
        for operation in OPERATIONS
        if operation.name == name
        and (operation.function is None or operation.function[0] is element)
    )
    if function is None:
        return Step(operation, inputs)
    options = FUNCTIONS[operation.function]
    return Step(operation, inputs, next(f for f in options if f.name == function))


def program(arguments, *steps):
    return Program(arguments, steps)


EQUAL = {
    "reversed twice": (
        program((INTS,), step("reverse", 0), step("reverse", 1), step("take", 2, Literal(2))),
        program((INTS,), step("take", 0, Literal(2))),
    ),
    "sum in another order": (
        program((INTS,), step("sort", 0), step("sum", 1)),
        program((INTS,), step("sum", 0)),
    ),
    "commuting filters": (
        program(
            (INTS,),
            step("filter", 0, function="even"),
            step("filter", 1, function="positive"),
        ),
        program(
            (INTS,),
            step("filter", 0, function="positive"),
            step("filter", 1, function="even"),
        ),
    ),
    "arguments of one type swapped": (
        program((INTS, INTS), step("concatenate", 0, 1)),
        program((INTS, INTS), step("concatenate", 1, 0)),
    ),
    "strictly less than one more": (
        program((INTS,), step("filter", 0, Literal(3), function="at_most")),
        program((INTS,), step("filter", 0, Literal(4), function="less")),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_programs_that_compute_the_same_share_their_fingerprint(name):
    left, right = EQUAL[name]
    assert fingerprint(left) == fingerprint(right)


DIFFERENT = {
    "neighbouring literal": (
        program((INTS,), step("take", 0, Literal(2))),
        program((INTS,), step("take", 0, Literal(3))),
    ),
    "strict and not strict": (
        program((INTS,), step("filter", 0, Literal(3), function="at_least")),
        program((INTS,), step("filter", 0, Literal(3), function="greater")),
    ),
    "empty default": (
        program((INTS,), step("maximum", 0)),
        program((INTS,), step("sort", 0), step("first", 1)),
    ),
    "roles of two lists beyond renaming": (
        program((INTS, INTS), step("concatenate", 0, 1), step("differences", 2)),
        program((INTS, INTS), step("interleave", 0, 1), step("differences", 2)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_programs_that_compute_different_things_have_different_fingerprints(name):
    left, right = DIFFERENT[name]
    assert fingerprint(left) != fingerprint(right)


def test_fingerprint_is_sixteen_hexadecimal_digits():
    value = fingerprint(program((INTS,), step("sum", 0)))
    assert len(value) == 16
    assert int(value, 16) >= 0


DEGENERATE = {
    "identity": program((INTS,), step("reverse", 0), step("reverse", 1)),
    "constant": program(
        (INTS,), step("filter", 0, function="positive"), step("any", 1, function="negative")
    ),
    "nearly constant": program((INTS,), step("is_palindrome", 0)),
    "useless step": program((INTS,), step("sort", 0), step("sum", 1)),
    "useless argument": program((INTS, NAT), step("rotate", 0, 1), step("sum", 2)),
    "useless last step": program((INTS,), step("sort", 0), step("running_maximum", 1)),
    "branch hardly ever taken": program(  # some element is not 0, except in an empty list
        (INTS, INTS),
        step("any", 0, Literal(0), function="beyond"),
        step("choose", 2, 0, 1),
        step("sum", 3),
    ),
    "huge": program(
        (INTS,),
        step("map", 0, function="square"),
        step("map", 1, function="square"),
        step("map", 2, function="square"),
        step("sum", 3),
    ),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_program_is_rejected(name):
    assert not is_worthwhile(DEGENERATE[name])


@pytest.mark.parametrize(
    "worthwhile",
    [
        program((INTS,), step("sum", 0)),
        program((INTS,), step("sort", 0), step("differences", 1)),
        program((INTS, NAT), step("take", 0, 1), step("sum", 2)),
        program(
            (WORDS,), step("map", 0, function="upper", element=Type.STR), step("join_dashes", 1)
        ),
    ],
    ids=["sum", "sorted differences", "sum of first", "shout"],
)
def test_ordinary_program_is_accepted(worthwhile):
    assert is_worthwhile(worthwhile)


def test_single_step_fingerprints_hold_what_one_step_can_do():
    known = single_step_fingerprints((INTS,))
    longer = program(
        (INTS,),
        step("map", 0, Literal(1), function="add"),
        step("map", 1, Literal(2), function="add"),
    )
    assert fingerprint(longer) in known  # adding 1 and then 2 is adding 3
    other = program((INTS,), step("sort", 0), step("differences", 1))
    assert fingerprint(other) not in known


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10**6))
def test_no_task_of_several_steps_equals_a_single_step(level, index):
    chosen = program_of(level, index)
    assert len(chosen.steps) > 1
    assert generate(level, index).fingerprint not in single_step_fingerprints(chosen.arguments)


def drawn_inputs(arguments, count, seed):
    rng = SplitMix64(seed)
    for _ in range(count):
        shapes = tuple(rng.choice(SHAPES) if rng.chance(30) else "any" for _ in arguments)
        yield draw_arguments(arguments, shapes, [], rng)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10**6), st.integers(0, 2**32))
def test_tasks_are_not_constant_nor_identity_on_inputs_they_were_not_chosen_by(level, index, seed):
    chosen = program_of(level, index)
    inputs = list(drawn_inputs(chosen.arguments, 60, seed))
    outputs = [chosen(*arguments) for arguments in inputs]
    assert len({repr(output) for output in outputs}) > 1
    for position in range(len(chosen.arguments)):
        assert any(
            output != arguments[position] for output, arguments in zip(outputs, inputs, strict=True)
        )


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_every_argument_of_a_task_matters(level, index):
    chosen = program_of(level, index)
    inputs = list(drawn_inputs(chosen.arguments, 150, 7))
    for position in range(len(chosen.arguments)):
        assert any(
            chosen(*first) != chosen(*first[:position], second[position], *first[position + 1 :])
            for first, second in itertools.pairwise(inputs)
        )


def test_tasks_with_different_fingerprints_of_one_signature_differ_on_some_input():
    by_signature = {}
    for index in range(400):
        chosen = program_of(1, index)
        if chosen.arguments == (INTS,):
            by_signature.setdefault(fingerprint(chosen), chosen)
    inputs = list(drawn_inputs((INTS,), 300, 3))
    behaviours = {repr([p(*arguments) for arguments in inputs]) for p in by_signature.values()}
    assert len(by_signature) > 50
    assert len(behaviours) == len(by_signature)


def test_tasks_that_agree_on_many_inputs_are_known_to_be_the_same():
    behaviours = {}
    for index in range(600):
        chosen = program_of(1, index)
        inputs = drawn_inputs(chosen.arguments, 150, 5)
        key = chosen.arguments, repr([chosen(*arguments) for arguments in inputs])
        behaviours.setdefault(key, set()).add(fingerprint(chosen))
    assert all(len(prints) == 1 for prints in behaviours.values())
    assert len(behaviours) < 600  # the test saw tasks that repeat
