"""Reading takes time in proportion to a message's length, whatever is repeated in it.

Counted is what CPython executes, line by line of our modules: twice the text may cost twice the
lines, and a regular expression that backtracks would not come back at all within the test's time.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from budget_envs.tool_calls.formats import FORMATS, ToolFormat

PIECES = (
    *(
        "<tool_call>",
        "</tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>[",
        "<think>",
        "<tool_",
    ),
    *("[", "]", "[f(", "[ ", "[a", "a.", ")]", "[f(a='", "f(a=1),", "[f(a=1)]", "f(x),\n", "f(x),"),
    *(
        "{",
        '{"a":',
        '"',
        '\\"',
        '"tool_calls"',
        '{"tool_calls":',
        "\\",
        "'",
        "`",
        "\n",
        " ",
        "a",
        "1",
    ),
)
WRAPPINGS = (
    ("", ""),
    ("[f(a=", ")]"),
    ("[f(),", "]"),
    ("<tool_call>", "</tool_call>"),
    ('{"tool_calls":', "}"),
)
every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))


def lines_executed(form: ToolFormat, message: str) -> int:
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace if "tool_calls" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        form.parse(message)
    finally:
        sys.settrace(before)
    return count


@every_format
@pytest.mark.parametrize("piece", PIECES)
def test_twice_the_text_takes_twice_the_lines(form: ToolFormat, piece: str) -> None:
    for before, after in WRAPPINGS:
        once, twice = (
            lines_executed(form, before + piece * (n // len(piece)) + after) for n in (3_000, 6_000)
        )
        assert twice <= 2 * once + 200


@every_format
@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_is_read(form: ToolFormat, piece: str) -> None:
    output = form.parse(piece * (1_000_000 // len(piece)))
    assert output.state != "healthy_call"


@every_format
def test_a_call_that_is_too_long_is_refused_as_text(form: ToolFormat) -> None:
    message = {
        "hermes": '<tool_call>{"name": "f", "arguments": {"a": "%s"}}</tool_call>',
        "bracket": "[f(a='%s')]",
        "openai": '{"tool_calls": [{"function": {"name": "f", '
        '"arguments": "{\\"a\\": \\"%s\\"}"}}]}',
    }[form.name]
    assert form.parse(message % ("x" * 90_000)).state == "healthy_call"
    output = form.parse(message % ("x" * 200_000))
    assert output.calls == ()
    assert "100000 characters" in output.errors[0]
