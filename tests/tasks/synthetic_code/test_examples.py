import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_code import program_of
from budget_envs.tasks.synthetic_code.examples import (
    HIDDEN_COUNT,
    PUBLIC_COUNT,
    choose_examples,
)
from budget_envs.tasks.synthetic_code.inputs import in_domain
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

tasks = st.tuples(st.integers(1, 5), st.integers(0, 10**6))


def chosen(task, seed=0):
    program = program_of(*task)
    return program, *choose_examples(program, SplitMix64(seed))


@settings(max_examples=80, deadline=None)
@given(tasks, st.integers(0, 2**32))
def test_number_of_tests_is_fixed(task, seed):
    _, public, hidden = chosen(task, seed)
    assert (len(public), len(hidden)) == (PUBLIC_COUNT, HIDDEN_COUNT)


@settings(max_examples=80, deadline=None)
@given(tasks, st.integers(0, 2**32))
def test_no_input_is_tested_twice_and_no_hidden_input_is_public(task, seed):
    _, public, hidden = chosen(task, seed)
    inputs = [repr(arguments) for arguments, _ in (*public, *hidden)]
    assert len(set(inputs)) == len(inputs)


@settings(max_examples=80, deadline=None)
@given(tasks)
def test_inputs_are_in_the_promised_ranges_and_results_are_the_programs(task):
    program, public, hidden = chosen(task)
    for arguments, result in (*public, *hidden):
        assert all(map(in_domain, program.arguments, arguments))
        assert program(*arguments) == result


@settings(max_examples=80, deadline=None)
@given(tasks)
def test_public_examples_are_not_all_the_same_answer(task):
    _, public, _ = chosen(task)
    assert len({repr(result) for _, result in public}) > 1


@settings(max_examples=80, deadline=None)
@given(tasks)
def test_hidden_tests_include_an_empty_argument(task):
    _, _, hidden = chosen(task)
    assert any(value in ("", []) for arguments, _ in hidden for value in arguments)


@settings(max_examples=80, deadline=None)
@given(tasks)
def test_no_single_answer_passes_all_hidden_tests(task):
    _, _, hidden = chosen(task)
    assert len({repr(result) for _, result in hidden}) > 1


@pytest.mark.parametrize("level", [1, 3, 5])
def test_hidden_tests_include_duplicates_negatives_and_a_single_element(level):
    numbers = []
    for index in range(40):
        _, _, hidden = chosen((level, index))
        numbers += [v for arguments, _ in hidden for v in arguments if isinstance(v, list) and v]
    numbers = [v for v in numbers if isinstance(v[0], int)]
    assert any(min(v) < 0 for v in numbers)
    assert any(len(set(v)) < len(v) for v in numbers)
    assert any(len(v) == 1 for v in numbers)
