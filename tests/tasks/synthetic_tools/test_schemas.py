import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_tools.schemas import (
    LONGEST_TEXT,
    Refusal,
    bind,
    choice,
    flag,
    integer,
    number,
    parameters,
    shown,
    text,
    texts,
    tidy,
)

SCHEMA = parameters(
    {
        "name": text("Whose it is"),
        "size": choice("small", "large"),
        "count": integer(1, 9, default=1),
        "litres": number(0.5, 20),
        "on": flag(default=False),
        "tags": texts(),
    }
)
GOOD = {"name": "Ada", "size": "small", "litres": 2.5, "tags": ["a", "b"]}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


def refusal(**changes):
    with pytest.raises(Refusal) as caught:
        bind(SCHEMA, {**GOOD, **changes})
    return str(caught.value)


def test_parameters_without_a_default_are_required():
    assert SCHEMA["required"] == ["name", "size", "litres", "tags"]
    assert SCHEMA["properties"]["name"] == {"type": "string", "description": "Whose it is"}
    assert SCHEMA["properties"]["count"] == {
        "type": "integer", "minimum": 1, "maximum": 9, "default": 1,
    }  # fmt: skip


def test_defaults_are_filled_in_in_the_order_of_the_schema():
    assert list(bind(SCHEMA, GOOD).items()) == [
        ("name", "Ada"), ("size", "small"), ("count", 1), ("litres", 2.5), ("on", False),
        ("tags", ["a", "b"]),
    ]  # fmt: skip


def test_an_unknown_a_missing_and_a_wrong_argument_are_named():
    assert refusal(colour="red") == (
        "Unknown parameter 'colour'. Parameters: name, size, count, litres, on, tags."
    )
    with pytest.raises(Refusal, match="Missing parameter 'name'"):
        bind(SCHEMA, {key: value for key, value in GOOD.items() if key != "name"})
    assert refusal(count="five") == "'count' must be an integer, got 'five'."
    assert refusal(size="huge") == "'size' must be one of small, large, got 'huge'."
    assert refusal(litres=21) == "'litres' must be from 0.5 to 20, got 21."


@pytest.mark.parametrize(
    "changes",
    [
        {"name": 3}, {"name": None}, {"name": "x" * (LONGEST_TEXT + 1)}, {"count": 0},
        {"count": True}, {"count": 2.5}, {"count": "2"}, {"litres": math.nan},
        {"litres": math.inf}, {"litres": False}, {"on": 1}, {"on": "true"}, {"tags": "a"},
        {"tags": []}, {"tags": [1]}, {"tags": ["a"] * 21}, {"tags": {"a": 1}}, {"size": ["small"]},
        {"count": 10**400},
    ],
)  # fmt: skip
def test_what_is_of_another_type_or_range_is_refused(changes):
    assert "must be" in refusal(**changes)


def test_integral_floats_are_integers_and_tuples_are_lists():
    bound = bind(SCHEMA, {**GOOD, "count": 3.0, "litres": 4.0, "tags": ("a",)})
    assert bound["count"] == 3
    assert type(bound["count"]) is int
    assert type(bound["litres"]) is int
    assert bound["tags"] == ["a"]


def test_a_list_belongs_to_the_caller():
    tags = ["a"]
    assert bind(SCHEMA, {**GOOD, "tags": tags})["tags"] is not tags


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x"]), anything))
def test_any_arguments_are_bound_to_the_right_types_or_refused(arguments):
    try:
        bound = bind(SCHEMA, arguments)
    except Refusal:
        return
    assert list(bound) == list(SCHEMA["properties"])
    assert type(bound["name"]) is str
    assert bound["size"] in ("small", "large")
    assert type(bound["count"]) is int
    assert 0.5 <= bound["litres"] <= 20
    assert type(bound["on"]) is bool
    assert all(type(tag) is str for tag in bound["tags"])


@given(anything)
def test_any_value_can_be_described_in_few_characters(value):
    assert 0 < len(shown(value)) <= 60


def test_descriptions_say_what_json_says():
    values = [None, True, False, 3, 2.5, 10**400, "a" * 50, [1], (1,), {"a": 1}]
    assert [shown(value) for value in values] == [
        "null", "true", "false", "3", "2.5", "a large number", f"'{'a' * 40}'...", "a list",
        "a list", "an object",
    ]  # fmt: skip


@pytest.mark.parametrize(("value", "tidied"), [(0.1 + 0.2, 0.3), (21.0, 21), (7, 7), (-0.0, 0)])
def test_numbers_are_tidied(value, tidied):
    assert tidy(value) == tidied
    assert type(tidy(value)) is type(tidied)
