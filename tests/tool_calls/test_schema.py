from __future__ import annotations

import pytest

from budget_envs.errors import OptionError
from budget_envs.tool_calls.schema import json_schema


@pytest.mark.parametrize(
    ("bfcl", "standard"),
    [
        ("dict", "object"),
        ("float", "number"),
        ("array", "array"),
        ("tuple", "array"),
        ("integer", "integer"),
        ("string", "string"),
        ("boolean", "boolean"),
        ("HashMap", "object"),
        ("long", "integer"),
        ("number", "number"),
    ],
)
def test_a_type_has_its_name_in_json_schema(bfcl: str, standard: str) -> None:
    assert json_schema({"type": bfcl}) == {"type": standard}


def test_any_is_every_type() -> None:
    assert json_schema({"type": "any", "description": "x"}) == {"description": "x"}


def test_types_are_mapped_at_every_depth_and_nothing_else_changes() -> None:
    described = {
        "type": "dict",
        "description": "dict",
        "properties": {
            "type": {"type": "float", "default": 1.0, "enum": ["float", "dict"]},
            "items": {"type": "array", "items": {"type": "tuple", "items": [{"type": "any"}]}},
            "properties": {"type": "dict", "additionalProperties": {"type": "dict"}},
            "either": {"anyOf": [{"type": "float"}, {"type": "dict"}]},
        },
        "required": ["type", "float"],
        "additionalProperties": False,
    }
    assert json_schema(described) == {
        "type": "object",
        "description": "dict",
        "properties": {
            "type": {"type": "number", "default": 1.0, "enum": ["float", "dict"]},
            "items": {"type": "array", "items": {"type": "array", "items": [{}]}},
            "properties": {"type": "object", "additionalProperties": {"type": "object"}},
            "either": {"anyOf": [{"type": "number"}, {"type": "object"}]},
        },
        "required": ["type", "float"],
        "additionalProperties": False,
    }


def test_the_order_of_parameters_is_kept() -> None:
    properties = {name: {"type": "string"} for name in "zyxabc"}
    assert list(json_schema({"type": "dict", "properties": properties})["properties"]) == [
        *"zyxabc"
    ]


def test_mapping_twice_changes_nothing() -> None:
    once = json_schema({"type": "dict", "properties": {"a": {"type": "float"}}})
    assert json_schema(once) == once


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(OptionError, match="got 'strnig'"):
        json_schema({"type": "dict", "properties": {"a": {"type": "strnig"}}})
