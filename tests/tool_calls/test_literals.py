from __future__ import annotations

import ast
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.tool_calls.literals import (
    RawCall,
    read_call,
    read_calls,
    render_call,
    render_calls,
)
from budget_envs.tool_calls.model import Call
from budget_envs.tool_calls.written_calls import MalformedCall

ATTACKS = (
    "__import__('os').system('x')",
    "__import__('os').system(command='x')",
    "().__class__.__bases__[0].__subclasses__()",
    "f.__globals__['os'].system('x')",
    "getattr(f, 'x')(1)",
    "f(a=__import__('os'))",
    "f(a=os.environ)",
    "f(a=g())",
    "f(g(1))",
    "f(a=lambda: 1)",
    "(lambda: f)()",
    "f(a=[x for x in (1, 2)])",
    "f(x for x in (1, 2))",
    "f(a={x: 1 for x in (1, 2)})",
    "f(a={x for x in (1, 2)})",
    "f(a=(b := 1))",
    "f(b := 1)",
    "(f := g)(a=1)",
    "f(a=f'{g()}')",
    "f(a='x' f'{1}')",
    "f(a=f'')",
    "f(a='%s' % 'x')",
    "f(a='x' * 10**9)",
    "f(a=9**9**9)",
    "f(a=1 + 1)",
    "f(a=1 << 10**9)",
    "f(a=not True)",
    "f(a=~1)",
    "f(a=--1)",
    "f(a=-True)",
    "f(a=-'x')",
    "f(a=1 if True else 2)",
    "f(a=True or False)",
    "f(a=1 < 2)",
    "f(a=x)",
    "f(a=true)",
    "f(a=x[0])",
    "f(a='x'[0])",
    "f(a='x'.upper())",
    "f(*[1])",
    "f(**{'a': 1})",
    "f(a=[*'ab'])",
    "f(a={**{}})",
    "f(a={1, 2})",
    "f(a={1: 2})",
    "f(a={None: 2})",
    "f(a={('x',): 2})",
    "f(a={'x': 1, 'x': 2})",
    "f(a=1, a=2)",
    "f(a=b'x')",
    "f(a=1j)",
    "f(a=1+2j)",
    "f(a=...)",
    "f(a=1e999)",
    "f(a=-1e999)",
    "f(a='\\ud800')",
    "f(a=await g)",
    "f(a=(yield))",
    "f(a=0x" + "f" * 50_000 + ")",
    "f(a=" + "1" * 301 + ")",
    "f(a=" + "9" * 4_000 + ")",
    "f(a=" + "1" * 90_000 + ")",
    "f()()",
    "f[0](a=1)",
    "'x'.format(a=1)",
    "[f(a=1)][0]",
    "[f(a=1)] + [g()]",
    "f(a=1); g()",
    "f(a=1)\ng()",
    "@f\ndef g(): pass",
    "import os",
    "print 1",
    "f(a=1",
    "f(a=1))",
    "f(a=)",
    "f(a 1)",
    "f(a='x)",
    "f(a=0777)",
    "f(a=1or 2)",
    "f(a='\\x')",
    "f(a='\\N{x}')",
    "f(a=\0)",
    "f(a='\ud800')",
    "f",
    "1",
    "'f(a=1)'",
    "",
    "#",
    "\\",
    *(token * 100_000 for token in ("[", "(", "f(a=", "-", "a.", "not ", "1 if 1 else ")),
    *(token * 16_000 for token in ("[", "f(a=", "-", "a.", "f()", "lambda:", "{'a':", "await ")),
    "f(a=" + "[" * 100 + "]" * 100 + ")",
    "f(a=" + "[" * 34 + "]" * 34 + ")",
    "f(a=" + "-" * 500 + "1)",
    "f" + ".a" * 300 + "(a=1)",
    "f" + ".a" * 16_000 + "(a=1)",
    "f" + "()" * 16_000,
    "f(a=" + "-" * 5_000 + "1)",
    "f(a=" + "1 if 1 else " * 7_000 + "1)",
    "f(a=" + "'x' + " * 20_000 + "'x')",
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack[:30])
def test_what_is_no_literal_is_refused_as_text(attack: str) -> None:
    reason = read_call(attack)
    assert isinstance(reason, str)
    assert reason.startswith("Expected a call with literal arguments")
    assert len(reason) < 300
    reason.encode()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack[:30])
def test_in_a_list_too(attack: str) -> None:
    read = read_calls(f"[{attack}]")
    assert isinstance(read, str) or any(isinstance(entry, MalformedCall) for entry in read)


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("f()", RawCall("f")),
        (" f ( ) ", RawCall("f")),
        ("f(1, 'x', b=None)", RawCall("f", (1, "x"), {"b": None})),
        (
            "f(a=-1, b=+2, c=-0.5, d=1_000)",
            RawCall("f", (), {"a": -1, "b": 2, "c": -0.5, "d": 1000}),
        ),
        ("f(a=True, b=False, c=None)", RawCall("f", (), {"a": True, "b": False, "c": None})),
        ("f([1, [2]], (3,), {'a': {'b': ()}})", RawCall("f", ([1, [2]], (3,), {"a": {"b": ()}}))),
        ("f('a' \"b\" u'c' r'\\d')", RawCall("f", ("abc\\d",))),
        ("f('''a\nb''')", RawCall("f", ("a\nb",))),
        ("f(\n  a = 1,  # why\n  b = 2,\n)", RawCall("f", (), {"a": 1, "b": 2})),
        ("f(a='\\u003c\\x00\\'')", RawCall("f", (), {"a": "<\0'"})),
        ("f(a=0x1f, b=0b11, c=1e3)", RawCall("f", (), {"a": 31, "b": 3, "c": 1000.0})),
        ("Files.cd(folder='x')", RawCall("Files.cd", (), {"folder": "x"})),
        ("os.system('x')", RawCall("os.system", ("x",))),
        ("f(b=1, a=2)", RawCall("f", (), {"b": 1, "a": 2})),
        ("f(a=" + "9" * 300 + ")", RawCall("f", (), {"a": 10**300 - 1})),
    ],
)
def test_literals_are_read_with_their_types(source: str, call: RawCall) -> None:
    assert repr(read_call(source)) == repr(call)


def test_a_list_keeps_the_order_and_the_places_of_what_is_malformed() -> None:
    source = "[f(1),\n g(a=é),\tk('é', b=x), 5,\n h(a='''x\ny''', b=g()), g()]"
    read = read_calls(source)
    assert isinstance(read, tuple)
    assert [entry.text if isinstance(entry, MalformedCall) else entry.name for entry in read] == [
        "f",
        "g(a=é)",
        "k('é', b=x)",
        "5",
        "h(a='''x\ny''', b=g())",
        "g",
    ]
    assert "the name 'x', which is no literal" in read[2].reason  # type: ignore[union-attr]
    assert "got a value: '5'" in read[3].reason  # type: ignore[union-attr]
    assert "a call inside of a call" in read[4].reason  # type: ignore[union-attr]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_malformed_text_is_found_whatever_ends_a_line(line_end: str) -> None:
    read = read_calls(f"[f(),{line_end}{line_end} g(x),{line_end} g()]")
    assert isinstance(read, tuple)
    assert read[1].text == "g(x)"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "source", ["[]", "[1, 2]", "['f()']", "f()", "(f(), g())", "[f() for x in y]"]
)
def test_what_is_no_list_of_calls_is_said_to_be_none(source: str) -> None:
    reason = read_calls(source)
    assert isinstance(reason, str)
    assert reason.startswith("Expected a list of calls with literal arguments")


@given(st.text() | st.from_regex(r"\[?f\([a-z=\[\]{}'\", 0-9*.:]*\)\]?", fullmatch=True))
def test_no_text_raises(source: str) -> None:
    assert isinstance(read_call(source), RawCall | str)
    assert isinstance(read_calls(source), tuple | str)


@given(st.text(max_size=20))
def test_what_is_read_as_a_literal_is_what_python_reads(inside: str) -> None:
    read = read_call(f"f({inside!r}, ({inside!r},))")
    assert read == RawCall("f", (ast.literal_eval(repr(inside)), (inside,)))


@pytest.mark.parametrize("source", [r"[f(a='C:\dir\d', b='\('), g()]", "[f(a=1or 2), g()]"])
def test_the_reading_does_not_depend_on_warning_filters(source: str) -> None:
    def read(action: str) -> object:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter(action)  # type: ignore[arg-type]
            filters = list(warnings.filters)
            result = read_calls(source)
            assert list(warnings.filters) == filters
        assert seen == []
        return result

    assert read("error") == read("always")


def test_the_reading_does_not_depend_on_the_stack_around_it() -> None:
    sources = [f"[f(a={'-' * n}1)]" for n in (90, 120, 200, 400, 900)]
    sources += [f"[f{'.a' * n}(1)]" for n in (90, 120, 200, 400, 900)]

    def at_depth(depth: int) -> list[object]:
        return at_depth(depth - 1) if depth else [read_calls(source) for source in sources]

    assert at_depth(0) == at_depth(sys.getrecursionlimit() // 2)


@pytest.mark.parametrize(
    "call",
    [
        Call("my-tool"),
        Call("a..b"),
        Call(""),
        Call("f", {"from": 1}),
        Call("f", {"a b": 1}),
        Call("f", {"": 1}),
        Call("ﬁle", {}),
        Call("class.f", {}),
    ],
    ids=repr,
)
def test_names_that_python_cannot_write_are_refused(call: Call) -> None:
    with pytest.raises(OptionError, match="identifier"):
        render_call(call)


def test_a_call_is_written_as_python_writes_it() -> None:
    call = Call("f", {"a": 1, "b": "it's", "c": [True, None], "d": (1.5,), "e": {"k": -2}})
    assert render_call(call) == "f(a=1, b=\"it's\", c=[True, None], d=(1.5,), e={'k': -2})"
    assert render_calls([call, Call("g")]) == f"[{render_call(call)}, g()]"


@pytest.mark.parametrize("text", ["<tool_call>", "\\<tool_call>", "\\\\</think>", "<|x|>", "a < b"])
def test_tags_in_texts_are_escaped_and_read_back(text: str) -> None:
    written = render_call(Call("f", {"a": text}))
    assert read_call(written) == RawCall("f", (), {"a": text})
    assert ("<" in written) == (text == "a < b")
