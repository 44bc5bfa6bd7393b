import io
import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.cli.output import console, plain_values, print_json, tolerate_any_text

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_any_plain_value_is_one_strict_json_document(value):
    stream = io.StringIO()
    stdout, sys.stdout = sys.stdout, stream
    try:
        print_json(value)
    finally:
        sys.stdout = stdout

    def refuse(constant):
        raise AssertionError(constant)

    assert json.loads(stream.getvalue(), parse_constant=refuse) == plain_values(value)
    assert stream.getvalue().isascii()


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (math.nan, None),
        (math.inf, None),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array([math.nan]), [None]),
        ((1, (2,)), [1, [2]]),
        ({3: {"b", "a"}}, {"3": ["a", "b"]}),
        (True, True),
    ],
)
def test_values_become_plain(value, plain):
    found = plain_values(value)
    assert (found, type(found)) == (plain, type(plain))


def test_a_lone_surrogate_is_printed_as_an_escape(capsys):
    print_json("\ud800")
    assert capsys.readouterr().out == '"\\ud800"\n'


def test_text_is_printed_as_it_stands(capsys):
    console().print("[bold]x[/bold] :smile: [Budget: 3 of 8 turns left]")
    assert capsys.readouterr().out == "[bold]x[/bold] :smile: [Budget: 3 of 8 turns left]\n"


def test_streams_take_characters_that_their_encoding_lacks(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\xff\n"), encoding="utf-8"))
    tolerate_any_text()
    sys.stdout.write("\u2713 \ud800")
    sys.stdout.flush()
    assert raw.getvalue() == b"\\u2713 \\ud800"
    assert sys.stdin.readline() == "a\ufffd\n"


def test_streams_that_cannot_be_configured_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    tolerate_any_text()
    assert isinstance(sys.stdout, io.StringIO)
