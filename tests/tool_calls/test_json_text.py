from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.tool_calls.json_text import JsonRefused, read_json, write_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_written_is_read(value: object) -> None:
    assert repr(read_json(write_json(value))) == repr(value)
    assert "\n" not in write_json(value)


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": 1} x', "not valid JSON"),
        ('"a\nb"', "not valid JSON"),
        ('"\\q"', "not valid JSON"),
        ("01", "not valid JSON"),
        ('["' + "[" * 50, "not valid JSON"),
        ('["\\"' + "[" * 50 + '", x]', "not valid JSON"),
        ('{"a": 1, "a": 1}', "the same key twice"),
        ('[{"b": {"a": 1, "c": 2, "a": 3}}]', "the same key twice"),
        ('{"a": 1, "\\u0061": 2}', "the same key twice"),
        ("NaN", "NaN"),
        ("[Infinity]", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("1e999", "not finite"),
        ("[-1e999]", "not finite"),
        ("1" * 301, "300 digits"),
        ("-" + "1" * 301, "300 digits"),
        ("1" * 99_999, "300 digits"),
        ("[" * 40 + "]" * 40, "nested more than 32"),
        ("[" * 500 + "]" * 500, "nested more than 32"),
        ("[" * 99_999, "nested more than 32"),
        ('{"a":' * 19_999, "nested more than 32"),
        ("[" * 49_000 + "]" * 49_000, "nested more than 32"),
        ('"\\ud800"', "surrogate"),
        ('{"\\udc00": 1}', "surrogate"),
        ('"\ud800"', "surrogate"),
        (" " * 100_001, "100000 characters"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_refused_and_why(text: str, came: str) -> None:
    with pytest.raises(JsonRefused, match=came):
        read_json(text)


@pytest.mark.parametrize(
    "text", ["-" + "1" * 300, "1e308", "-0.0", '"\\ud83d\\ude42"', "[" * 32 + "]" * 32, " 1 "]
)
def test_what_is_not_refused(text: str) -> None:
    assert repr(read_json(text)) == repr(json.loads(text))


@given(st.text() | st.from_regex(r'[\[\]{}",:\\a0 eN-]*', fullmatch=True))
def test_only_a_refusal_is_raised(text: str) -> None:
    try:
        assert read_json(text) == json.loads(text)
    except JsonRefused as refused:
        str(refused).encode()


def test_the_reason_does_not_depend_on_the_stack_around_it() -> None:
    texts = ["[" * n + end for n in (30, 60, 300, 500, 900) for end in ("", "]" * n, "x")]

    def reason(text: str) -> str:
        try:
            return repr(read_json(text))
        except JsonRefused as refused:
            return str(refused)

    def at_depth(depth: int) -> list[str]:
        return at_depth(depth - 1) if depth else list(map(reason, texts))

    assert at_depth(0) == at_depth(sys.getrecursionlimit() // 2)
