from __future__ import annotations

import keyword
import pickle
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.tool_calls.formats import FORMATS, ToolFormat, by_name
from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.output_state import Output
from budget_envs.tool_calls.values import MAX_DEPTH, MAX_INTEGER
from budget_envs.tool_calls.written_calls import MalformedCall

NASTY = (
    *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tool_", "tool_call>"),
    *("<|im_end|>", "<|im_start|>", "<think>", "</think>", "<", "\\u003c", "\\x3c", "&lt;"),
    *("'", '"', '\\"', "'''", '"""', "\\", "\\\\", "\n", "\r\n", "\t", "\0", "\x1b", "\u2028"),
    *("[f(a=1)]", ")]", "[f(", "]", "[", "{", "}", '"tool_calls": [', "```", "`", "{x}", "%s"),
    *("é", "日本", "🙂", "\ufeff", "None", "a=1, b=2", "#", " "),
)
TEXTS = st.lists(st.sampled_from(NASTY) | st.text(max_size=5), max_size=6).map("".join)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name)
) | st.sampled_from(["größe", "Files.cd", "a.b.c", "exec", "print"])


def json_values(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3)


def python_values(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return json_values(children) | st.lists(children, max_size=3).map(tuple)


def calls_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Call]]:
    arguments = st.dictionaries(NAMES.filter(str.isidentifier), values, max_size=3)
    return st.lists(st.builds(Call, NAMES, arguments), min_size=1, max_size=3)


JSON_CALLS = calls_of(st.recursive(SCALARS, json_values, max_leaves=8))
PYTHON_CALLS = calls_of(st.recursive(SCALARS, python_values, max_leaves=8))
CD = Tool(
    "cd",
    "Change the folder.",
    {"type": "object", "properties": {"folder": {"type": "string"}}, "required": ["folder"]},
)
every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))


def assert_reads_back(form: ToolFormat, calls: list[Call], message: str) -> Output:
    output = form.parse(message)
    assert output.state == "healthy_call"
    assert repr(list(output.items)) == repr(calls)  # repr: 1, 1.0 and True are not the same
    assert output.opens == output.closes > 0
    assert output.errors == ()
    return output


@every_format
@given(calls=JSON_CALLS)
def test_what_a_format_writes_it_reads(form: ToolFormat, calls: list[Call]) -> None:
    assert_reads_back(form, calls, form.render_calls(calls))


@given(calls=PYTHON_CALLS)
def test_bracket_syntax_keeps_tuples(calls: list[Call]) -> None:
    assert_reads_back(by_name("bracket"), calls, by_name("bracket").render_calls(calls))


@every_format
def test_json_writes_tuples_as_lists_and_python_as_tuples(form: ToolFormat) -> None:
    (call,) = form.parse(form.render_calls([Call("f", {"a": (1, (2,))})])).calls
    expected = (1, (2,)) if form.name == "bracket" else [1, [2]]
    assert call == Call("f", {"a": expected})


@every_format
@given(calls=JSON_CALLS)
def test_a_think_block_and_an_end_token_change_nothing(form: ToolFormat, calls: list[Call]) -> None:
    written = form.render_calls(calls)
    message = f"<think>\nI could call [f(1)] or <tool_call>.\n</think>\n\n{written}<|im_end|>\n"
    assert form.parse(message) == form.parse(written)


@every_format
@given(calls=JSON_CALLS)
def test_a_rendered_message_has_no_tags_but_its_own(form: ToolFormat, calls: list[Call]) -> None:
    written = form.render_calls(calls)
    tags = len(calls) if form.name == "hermes" else 0
    assert written.count("<tool_") == written.count("</tool_") == tags
    assert not any(tag in written for tag in ("<|", "<think>", "</think>"))


@every_format
def test_text_beside_calls_is_kept_where_there_is_room(form: ToolFormat) -> None:
    calls = [Call("ls", {"a": True})]
    output = assert_reads_back(form, calls, form.render_calls(calls, "Let me look."))
    assert output.text == ("" if form.name == "bracket" else "Let me look.")


@every_format
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="<>[](){}`\"'"), min_size=1))
def test_plain_text_ends_a_turn_and_is_healthy(form: ToolFormat, text: str) -> None:
    output = form.parse(form.render_calls([], text))
    if "im_start" not in text:
        assert output.state == ("healthy_text" if text.strip() else "collapsed")
    assert output.items == ()
    assert output.text == text.strip()


@every_format
@given(
    st.lists(
        st.sampled_from([*NASTY, '{"name": "f", "arguments": {}}', '"arguments"', "[f(1)]"])
        | st.text(st.characters(), max_size=8),
        max_size=12,
    ).map("".join)
)
@example("[" * 100_000)
@example("<tool_call>" + '{"a":' * 19_000 + "</tool_call>")
@example('{"tool_calls":' * 5_000 + "}" * 5_000)
@example("\ud800<tool_call>\ud800</tool_call>")
@example("[f(a='\ud800')]")
@example("[f(a='\\ud800')]")
@example('<tool_call>{"name": "f", "arguments": {"a": "\\ud800"}}</tool_call>')
@example('{"tool_calls": [{"function": {"name": "f", "arguments": "\\ud800"}}]}')
@example("[f(a='\\N{no such name}')]")
@example("[f(a='\\x')]")
def test_any_text_can_be_read_and_answered(form: ToolFormat, message: str) -> None:
    output = form.parse(message)
    assert output.state in ("healthy_call", "healthy_text", "polluted", "collapsed")
    assert len(output.items) == len(output.calls) + len(output.errors)
    assert (output.state == "healthy_call") <= bool(output.items and not output.errors)
    assert (output.state == "healthy_text") <= (not output.items)
    results = [item.reason if isinstance(item, MalformedCall) else "{}" for item in output.items]
    form.render_results(output.items, results).encode()


@every_format
@given(JSON_CALLS)
def test_cut_short_anywhere_a_message_is_not_healthy_calls_of_all(
    form: ToolFormat, calls: list[Call]
) -> None:
    written = form.render_calls(calls)
    for length in range(len(written)):
        output = form.parse(written[:length])
        assert output.state != "healthy_call" or len(output.calls) < len(calls)


@every_format
def test_results_stand_in_order_and_cannot_end_their_block(form: ToolFormat) -> None:
    calls = (Call("cd", {"folder": "x"}), MalformedCall("?", "Expected a call; got '?'."))
    shown = form.render_results(calls, ["first </tool_response><|im_end|>", "second"])
    assert shown.index("first") < shown.index("second")
    assert shown.count("</tool_response>") == (2 if form.name == "hermes" else 0)
    assert "<|im_end|>" not in shown


@every_format
def test_every_call_needs_one_result(form: ToolFormat) -> None:
    with pytest.raises(ValueError, match="zip"):
        form.render_results([Call("f")], [])


@every_format
def test_tools_are_described_with_how_to_call_them(form: ToolFormat) -> None:
    shown = form.render_tools([CD])
    assert '"name": "cd"' in shown
    assert "Change the folder." in shown
    assert '"required": ["folder"]' in shown
    assert "ends your turn" in shown
    late = form.render_late_tools([CD])
    assert '"name": "cd"' in late
    assert len(late) < len(shown)


@every_format
def test_the_example_that_is_shown_can_be_read(form: ToolFormat) -> None:
    how = form.render_tools([]).splitlines()
    starts = {"hermes": "<tool_call>", "bracket": "[first_tool", "openai": '{"role"'}
    start = next(n for n, line in enumerate(how) if line.startswith(starts[form.name]))
    lines = how[start : start + (3 if form.name == "hermes" else 1)]
    assert form.parse("\n".join(lines)).state == "healthy_call"


@every_format
@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        MAX_INTEGER + 1,
        -MAX_INTEGER - 1,
        {1: 2},
        {1},
        b"x",
        1j,
        "\ud800",
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_read_is_not_written(form: ToolFormat, value: object) -> None:
    with pytest.raises(OptionError, match="Expected"):
        form.render_calls([Call("f", {"a": [value]})])


@every_format
def test_arguments_may_be_nested_to_a_depth(form: ToolFormat) -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH - 2):
        value = [value]
    calls = [Call("f", {"a": value})]
    assert_reads_back(form, calls, form.render_calls(calls))
    with pytest.raises(OptionError, match="nested"):
        form.render_calls([Call("f", {"a": [[[value]]]})])


@every_format
def test_a_format_is_found_by_its_name_and_pickles(form: ToolFormat) -> None:
    assert by_name(form.name) is form
    assert pickle.loads(pickle.dumps(form)) == form


def test_an_unknown_format_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match="Did you mean 'hermes'"):
        by_name("hermess")
