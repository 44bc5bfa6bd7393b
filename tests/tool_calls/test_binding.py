from __future__ import annotations

import pytest

from budget_envs.tool_calls.binding import bind
from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.written_calls import RawCall


def tool(name: str, *parameters: str) -> Tool:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    return Tool(name, "", {"type": "object", "properties": properties})


TOOLS = (tool("mv", "source", "destination"), tool("pwd"), Tool("bare", "", {}))


@pytest.mark.parametrize(
    ("raw", "call"),
    [
        (RawCall("pwd"), Call("pwd")),
        (RawCall("mv", ("a", "b")), Call("mv", {"source": "a", "destination": "b"})),
        (
            RawCall("mv", ("a",), {"destination": "b"}),
            Call("mv", {"source": "a", "destination": "b"}),
        ),
        (RawCall("mv", (), {"destination": "b"}), Call("mv", {"destination": "b"})),
        (RawCall("mv", (None,)), Call("mv", {"source": None})),
        (Call("mv", {"source": 1}), Call("mv", {"source": 1})),
        (RawCall("bare"), Call("bare")),
    ],
)
def test_positional_arguments_get_their_names(raw: RawCall | Call, call: Call) -> None:
    assert bind(raw, TOOLS) == call


def test_names_keep_the_order_in_which_they_were_written() -> None:
    call = bind(RawCall("mv", (), {"destination": 1, "source": 2}), TOOLS)
    assert isinstance(call, Call)
    assert list(call.arguments) == ["destination", "source"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (RawCall("mw", ("a",)), "Expected the name of a tool; got 'mw'. Did you mean 'mv'?"),
        (RawCall("os.system", ("x",)), "Expected the name of a tool; got 'os.system'."),
        (RawCall("Files.pwd"), "Expected the name of a tool; got 'Files.pwd'. Did you mean 'pwd'?"),
        (
            RawCall("mv", ("a", "b", "c")),
            "Expected at most 2 arguments of 'mv'; got 3 without a name.",
        ),
        (RawCall("pwd", (1,)), "Expected at most 0 arguments of 'pwd'; got 1 without a name."),
        (
            RawCall("mv", ("a",), {"source": "b"}),
            "Expected each argument of 'mv' once; got 'source' by place and by name.",
        ),
        (
            RawCall("mv", ("a",), {"to": "b"}),
            "Expected arguments of 'mv' (source, destination); got 'to'.",
        ),
        (Call("mv", {"to": 1}), "Expected arguments of 'mv' (source, destination); got 'to'."),
        (Call("pwd", {"x": 1}), "Expected arguments of 'pwd' (none); got 'x'."),
        (Call("bare", {"x": 1}), "Expected arguments of 'bare' (none); got 'x'."),
    ],
)
def test_what_fits_no_tool_is_refused_as_text(raw: RawCall | Call, reason: str) -> None:
    assert bind(raw, TOOLS) == reason


def test_a_name_of_any_length_gives_a_short_reason() -> None:
    reason = bind(RawCall("x" * 1_000_000), TOOLS)
    assert isinstance(reason, str)
    assert len(reason) < 200
