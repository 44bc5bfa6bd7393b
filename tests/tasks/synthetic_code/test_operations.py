"""Every operation and function: its meaning, its Python and its English agree."""

import copy
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_code.dsl import Literal, Program, Step, Type, accepts
from budget_envs.tasks.synthetic_code.english import function_statement
from budget_envs.tasks.synthetic_code.functions import FUNCTIONS
from budget_envs.tasks.synthetic_code.python_source import function_source
from budget_envs.tasks.synthetic_code.sampling import LEVELS, OPERATIONS

_NUMBERS = st.integers(-1000, 1000)
_LETTERS = st.sampled_from("abcdeiouxyzABEIUZ -*2")
_TEXTS = st.text(_LETTERS, max_size=8)
# Intermediate values are wilder than arguments: any sign, empty strings, spaces, digits.
VALUES = {
    Type.INT: _NUMBERS,
    Type.NAT: st.integers(0, 40),
    Type.BOOL: st.booleans(),
    Type.STR: _TEXTS,
    Type.INTS: st.lists(st.one_of(st.integers(-4, 4), _NUMBERS), max_size=8),
    Type.WORDS: st.lists(st.one_of(st.sampled_from(["a", "Abba", ""]), _TEXTS), max_size=6),
}
ANNOTATED = {"int": int, "bool": bool, "str": str, "list[int]": list, "list[str]": list}


def single_steps():
    """Every operation with every function, its operand a literal and, if allowed, a variable."""
    for operation in OPERATIONS:
        inputs = tuple(range(len(operation.inputs)))
        for function in FUNCTIONS[operation.function] if operation.function else [None]:
            if function is None or not function.takes_operand:
                yield Program(operation.inputs, (Step(operation, inputs, function),))
                continue
            for literal in function.literals:
                step = Step(operation, (*inputs, Literal(literal)), function)
                yield Program(operation.inputs, (step,))
            if function.variable_operand:
                arguments = (*operation.inputs, Type.INT)
                yield Program(arguments, (Step(operation, (*inputs, len(inputs)), function),))


SINGLE_STEPS = list(single_steps())


def python_of(program):
    """The rendered function, with arguments named so that any types are allowed."""
    names = [f"v{i}" for i in range(len(program.arguments))]
    step = program.steps[0]
    inputs = [str(i.value) if isinstance(i, Literal) else names[i] for i in step.inputs]
    applied = ""
    if step.function is not None:
        operand = inputs.pop() if step.function.takes_operand else ""
        applied = step.function.code.format(x=step.element_name(inputs[0]), c=operand)
    namespace = {}
    exec("from itertools import *\n" + step.operation.helper, namespace)
    body = step.operation.code.format(*inputs, f=applied)
    return eval(f"lambda {', '.join(names)}: {body}", namespace)


PYTHON = [python_of(program) for program in SINGLE_STEPS]


def test_there_are_well_over_a_hundred_operations_and_a_thousand_single_steps():
    assert len(OPERATIONS) > 150
    assert len(SINGLE_STEPS) > 1000


@settings(max_examples=25, deadline=None)
@given(st.fixed_dictionaries({type_: st.tuples(*[VALUES[type_]] * 4) for type_ in Type}))
def test_python_and_interpretation_agree_on_every_operation_and_function(same, pool):
    for program, python in zip(SINGLE_STEPS, PYTHON, strict=True):
        arguments = [pool[type_][i] for i, type_ in enumerate(program.arguments)]
        before = copy.deepcopy(arguments)
        result = program(*arguments)
        assert arguments == before, program
        assert same(result, python(*arguments)), (program, arguments)
        assert type(result) is ANNOTATED[program.output.annotation], program
        if program.output is Type.NAT:
            assert result >= 0, (program, arguments)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_python_and_english_mention_every_input(operation):
    wanted = {str(i) for i in range(len(operation.inputs))} | (
        {"f"} if operation.function else set()
    )
    if operation.code == "{f}":
        wanted = {"f"}
    assert set(re.findall(r"{(\w+)}", operation.code)) == wanted
    assert set(re.findall(r"{(\w+)}", operation.english)) == wanted


@pytest.mark.parametrize("key", FUNCTIONS, ids=lambda key: f"{key[0].name}-{key[1].name}")
def test_functions_mention_their_element_and_operand(key):
    for function in FUNCTIONS[key]:
        assert (function.domain, function.codomain) == key
        operand = {"c"} if function.takes_operand else set()
        assert set(re.findall(r"{(\w+)}", function.code)) == {"x"} | operand
        element = set() if function.codomain is Type.BOOL else {"x"}
        assert set(re.findall(r"{(\w+)}", function.english)) == element | operand


@pytest.mark.parametrize("key", FUNCTIONS, ids=lambda key: f"{key[0].name}-{key[1].name}")
def test_function_names_are_unique(key):
    names = [function.name for function in FUNCTIONS[key]]
    assert len(set(names)) == len(names)


def test_no_two_operations_share_name_and_input_types():
    keys = [(operation.name, operation.inputs) for operation in OPERATIONS]
    assert len(set(keys)) == len(keys)


def test_no_two_operations_or_functions_are_said_alike():
    spoken = [
        (operation.english, operation.inputs) for operation in OPERATIONS if not operation.function
    ]
    spoken += [(f.english, key) for key, functions in FUNCTIONS.items() for f in functions]
    assert len(set(spoken)) == len(spoken)


def test_every_operation_appears_at_some_level():
    assert {operation.level for operation in OPERATIONS} <= set(LEVELS)


def test_a_literal_is_never_negative():
    literals = [v for operation in OPERATIONS for _, values in operation.literals for v in values]
    literals += [v for functions in FUNCTIONS.values() for f in functions for v in f.literals]
    assert min(literals) >= 0


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("median", ([4, 1, 3, 2],), 2),
        ("best_slice", ([-1, 3, -1, 4, -9],), 6),
        ("best_slice", ([-1],), 0),
        ("longest_climb", ([1, 2, 2, 3, 4],), 3),
        ("rotate", ([1, 2, 3], 4), [2, 3, 1]),
        ("rotate", ([], 4), []),
        ("interleave", ([1, 2, 3], [9]), [1, 9, 2, 3]),
        ("run_lengths", ([5, 5, 1, 5],), [2, 1, 1]),
        ("occurrences", ([5, 1, 5],), [2, 1]),
        ("peaks", ([1, 3, 2, 9],), [3]),
        ("ranks", ([5, 1, 5],), [1, 0, 1]),
        ("inversions", ([3, 1, 2],), 2),
        ("circular_item", ([1, 2, 3], 5), 3),
        ("take_last", ([1, 2, 3], 0), []),
        ("drop_last", ([1, 2, 3], 5), []),
        ("block_sums_2", ([1, 2, 3],), [3, 3]),
        ("digits", (-120,), [1, 2, 0]),
        ("count_up", (25,), list(range(1, 21))),
        ("encode_runs", ("aab",), "a2b1"),
        ("common_prefix", ("apple", "apt"), "ap"),
        ("split_words", ("a  b ",), ["a", "b"]),
        ("initials", (["ab", "", "c"],), "ac"),
        ("select_words", (["a", "b"], [1, -1, 2, 0, 1]), ["b", "a", "b"]),
        ("repeat_each", (["ab", "c", "d"], [2, 0, 9]), ["abab", "ddddd"]),
        ("most_common_character", ("abba",), "a"),
        ("position_of_largest", ([1, 7, 7],), 1),
        ("choose", (False, [1], [2]), [2]),
    ],
)
def test_operation_gives_the_known_result(name, arguments, expected):
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    assert operation.evaluate(*arguments) == expected


@pytest.mark.parametrize(
    ("name", "operand", "element", "expected"),
    [
        ("floor_divide", 2, -3, -2),
        ("remainder", 3, -1, 2),
        ("digit_sum", 0, -123, 6),
        ("sign", 0, -9, -1),
        ("halve_or_triple", 1, 7, 22),
        ("halve_or_triple", 1, -4, -2),
        ("distance", 5, 3, 2),
        ("within", 3, -3, True),
        ("beyond", 3, -3, False),
        ("odd", 0, -3, True),
        ("caesar", 1, "Zaz-", "Aba-"),
        ("last_characters", 3, "ab", "ab"),
        ("distinct_characters", 0, "abcabA", "abcA"),
        ("starred_vowels", 0, "Eye", "*y*"),
        ("alphabet_sum", 0, "aB-", 3),
        ("starts_with_vowel", 0, "", False),
        ("ends_with_vowel", 0, "xE", True),
        ("mirrored", 0, "ab", "abba"),
    ],
)
def test_function_gives_the_known_result(name, operand, element, expected):
    function = next(f for functions in FUNCTIONS.values() for f in functions if f.name == name)
    assert function.bind(operand)(element) == expected


def test_a_natural_number_is_accepted_as_an_integer_and_not_the_other_way_round():
    assert accepts(Type.INT, Type.NAT)
    assert not accepts(Type.NAT, Type.INT)
    assert not accepts(Type.INT, Type.BOOL)


def test_function_with_a_variable_operand_reads_the_variable(call):
    keep = next(operation for operation in OPERATIONS if operation.name == "filter")
    greater = next(f for f in FUNCTIONS[Type.INT, Type.BOOL] if f.name == "greater")
    program = Program((Type.INTS, Type.NAT), (Step(keep, (0, 1), greater),))
    assert program([1, 5, 9], 4) == [5, 9]
    assert "if x > k" in function_source(program)
    assert call(function_source(program), ([1, 5, 9], 4)) == [5, 9]
    assert "are greater than `k`" in function_statement(program, [])
