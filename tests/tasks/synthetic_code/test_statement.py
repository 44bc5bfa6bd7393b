import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_code import generate, program_of
from budget_envs.tasks.synthetic_code.inputs import DOMAIN_TEXT
from budget_envs.tasks.synthetic_code.python_source import argument_names, variable_names

numbers = st.tuples(st.integers(1, 5), st.integers(0, 10**6))
kinds = st.sampled_from(["functional", "stdin"])


@settings(max_examples=40, deadline=None)
@given(numbers, kinds)
def test_statement_describes_every_argument(number, kind):
    program, statement = program_of(*number), generate(*number, kind).statement
    for name, type_ in zip(argument_names(program.arguments), program.arguments, strict=True):
        assert f"- `{name}` is {DOMAIN_TEXT[type_]}" in statement


@settings(max_examples=40, deadline=None)
@given(numbers, kinds)
def test_statement_defines_every_step_once_and_before_its_use(number, kind):
    program = program_of(*number)
    statement = generate(*number, kind).statement
    names = variable_names(program)[len(program.arguments) : -1]
    for name in names:
        definition = f"Let `{name}` be "
        assert statement.count(definition) == 1
        steps = statement[statement.index("Steps:") : statement.index("Example")]
        assert steps.index(f"`{name}`") == steps.index(definition) + len("Let ")
        assert steps.count(f"`{name}`") > 1


@settings(max_examples=40, deadline=None)
@given(numbers, kinds)
def test_statement_has_no_unfilled_placeholder_and_no_double_space(number, kind):
    statement = generate(*number, kind).statement
    prose = statement[: statement.index("Example")]
    assert "{" not in prose
    assert "}" not in prose
    assert "  " not in prose.replace("\n    def solve", "\ndef solve")


@settings(max_examples=40, deadline=None)
@given(numbers)
def test_function_statement_shows_signature_and_public_tests(number):
    task = generate(*number)
    assert task.starter_code.strip() in task.statement
    for arguments, result in task.public_tests:
        call = f"`solve({', '.join(map(repr, arguments))})` returns `{result!r}`"
        assert call in task.statement


@settings(max_examples=40, deadline=None)
@given(numbers)
def test_script_statement_shows_public_tests_and_every_input_line(number):
    task, program = generate(*number, "stdin"), program_of(*number)
    for stdin, stdout in task.public_tests:
        assert (
            f"Example input:\n```\n{stdin}```\nExample output:\n```\n{stdout}```" in task.statement
        )
    lines = re.findall(r"^- line (\d+): ", task.statement, re.MULTILINE)
    assert lines == [str(i + 1) for i in range(len(program.arguments))]


@settings(max_examples=60, deadline=None)
@given(numbers)
def test_no_hidden_test_is_in_the_statement(number):
    task = generate(*number)
    for arguments, _ in task.hidden_tests:
        assert f"solve({', '.join(map(repr, arguments))})" not in task.statement


def test_a_note_is_given_once():
    statements = [generate(3, index).statement for index in range(150)]
    noted = [statement for statement in statements if "Notes:" in statement]
    assert len(noted) > 10
    for statement in noted:
        notes = statement[statement.index("Notes:") : statement.index("Example")].split("\n")[1:]
        notes = [note for note in notes if note]
        assert len(set(notes)) == len(notes)


def test_vowels_are_explained_wherever_they_are_mentioned():
    statements = [generate(level, index).statement for level in (2, 4) for index in range(150)]
    mentioned = [statement for statement in statements if "vowel" in statement]
    assert len(mentioned) > 10
    assert all("Vowels are a, e, i, o and u" in statement for statement in mentioned)


def test_what_happens_to_an_empty_list_is_said_wherever_it_is_not_obvious():
    words = ("largest element", "smallest element", "the first element of", "the last element of")
    for index in range(200):
        statement = generate(2, index).statement
        for line in statement.splitlines():
            if any(f"be the {word[4:] if word[:4] == 'the ' else word} " in line for word in words):
                assert "empty" in line


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_tasks_of_a_level_are_phrased_in_many_ways(level):
    def skeleton(index):
        statement = generate(level, index).statement
        return re.sub(r"`\w+`|\d+", "_", statement[: statement.index("Example")])

    assert len({skeleton(index) for index in range(100)}) > 60
