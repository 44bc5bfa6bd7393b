from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_code.dsl import Type, accepts
from budget_envs.tasks.synthetic_code.sampling import (
    LEVELS,
    sample_program,
    single_step_programs,
)
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

levels = st.sampled_from(sorted(LEVELS))
seeds = st.integers(0, 2**64 - 1)


def sampled(level, seed):
    rng = SplitMix64(seed)
    while (program := sample_program(level, rng)) is None:
        pass
    return program


@settings(max_examples=150, deadline=None)
@given(levels, seeds)
def test_every_variable_but_the_last_is_read_and_the_last_is_not(level, seed):
    program = sampled(level, seed)
    read = {variable for step in program.steps for variable in step.variables()}
    assert read == set(range(len(program.arguments) + len(program.steps) - 1))


@settings(max_examples=150, deadline=None)
@given(levels, seeds)
def test_steps_read_only_what_is_defined_and_of_the_right_type(level, seed):
    program = sampled(level, seed)
    types = list(program.arguments)
    for step in program.steps:
        wanted = list(step.operation.inputs)
        if step.function is not None and step.function.takes_operand:
            wanted.append(Type.INT)
        assert len(step.inputs) == len(wanted)
        for item, type_ in zip(step.inputs, wanted, strict=True):
            if isinstance(item, int):
                assert item < len(types)
                assert accepts(type_, types[item])
        types.append(step.operation.output)


@settings(max_examples=100, deadline=None)
@given(levels, seeds)
def test_program_has_the_shape_of_its_level(level, seed):
    program = sampled(level, seed)
    assert len(program.steps) in LEVELS[level].steps
    assert program.arguments in LEVELS[level].signatures
    assert all(step.operation.level <= level for step in program.steps)


@settings(max_examples=100, deadline=None)
@given(levels, seeds)
def test_no_step_reads_one_variable_twice(level, seed):
    for step in sampled(level, seed).steps:
        variables = step.variables()
        assert len(set(variables)) == len(variables)


def test_higher_levels_have_more_steps():
    average = [sum(level.steps) / len(level.steps) for _, level in sorted(LEVELS.items())]
    assert average == sorted(average)
    assert len(set(average)) == len(average)


def test_single_step_programs_read_every_argument_once_and_differ():
    programs = list(single_step_programs((Type.INTS, Type.NAT)))
    assert len(programs) > 50
    assert all(sorted(program.steps[0].variables()) == [0, 1] for program in programs)
    assert len(set(programs)) == len(programs)


def test_single_step_programs_find_both_orders_of_two_lists():
    names = [
        (program.steps[0].operation.name, program.steps[0].inputs)
        for program in single_step_programs((Type.INTS, Type.INTS))
    ]
    assert {("concatenate", (0, 1)), ("concatenate", (1, 0))} <= set(names)
