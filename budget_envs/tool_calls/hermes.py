"""The Hermes format, which Qwen models are trained on: JSON between ``<tool_call>`` tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from budget_envs.actions import quote
from budget_envs.tool_calls.documentation import END_OF_TURN, LATE_TOOLS, tool_lines
from budget_envs.tool_calls.json_text import JSON_LESS_THAN, JsonRefused, read_json, write_json
from budget_envs.tool_calls.message import CONTROL_FRAGMENTS, END_TOKEN, body_of, escape_tags
from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.output_state import Output, classify
from budget_envs.tool_calls.written_calls import MalformedCall, WrittenCall

__all__ = ["HermesFormat"]

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_FRAGMENTS: Final = ("tool_call>", "<tool_", "</tool_", *CONTROL_FRAGMENTS)
_CONTROLS: Final = (_OPEN, _CLOSE, END_TOKEN)
_KEYS: Final = frozenset(("name", "arguments"))
_EXPECTED: Final = '{"name": <text>, "arguments": <object>}'
_HOW: Final = f"""\
To call a tool, write a JSON object with its name and its arguments between tags:
{_OPEN}
{{"name": "tool_name", "arguments": {{"parameter": "value"}}}}
{_CLOSE}
For several calls, write several such blocks. {END_OF_TURN}"""


@dataclass(frozen=True, slots=True)
class HermesFormat:
    """Calls as ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, text around them free.

    A block reaches from a ``<tool_call>`` to the next ``</tool_call>``, and every closed block is a
    call or a malformed one. A fragment of a tag is ``tool_call>``, ``<tool_`` or ``</tool_``
    outside of a block, or, as in every format, ``im_start``, ``<|im_end|>`` before the message's
    end, or ``<think>`` and ``</think>`` other than around a leading block. The control tokens are
    the two tags and ``<|im_end|>``.
    """

    @property
    def name(self) -> str:
        """``"hermes"``."""
        return "hermes"

    def render_tools(self, tools: Sequence[Tool]) -> str:
        """Return the tools as JSON lines, and how to call them."""
        return f"You can call these tools:\n{_listed(tools)}\n\n{_HOW}"

    def render_late_tools(self, tools: Sequence[Tool]) -> str:
        """Return the description of tools that arrive during a dialogue."""
        return f"{LATE_TOOLS}\n{_listed(tools)}"

    def render_calls(self, calls: Sequence[Call], text: str = "") -> str:
        """Return a message: the text, then one block for each call."""
        blocks = [f"{_OPEN}\n{write_json(_as_object(call))}\n{_CLOSE}" for call in calls]
        return "\n".join([text, *blocks] if text else blocks)

    def render_results(self, calls: Sequence[WrittenCall], results: Sequence[str]) -> str:
        r"""Return one ``<tool_response>`` block for each result.

        A ``<`` that begins a tag is written ``\u003c``, so that no result ends its own block.
        """
        return "\n".join(
            f"<tool_response>\n{escape_tags(result, JSON_LESS_THAN)}\n</tool_response>"
            for _, result in zip(calls, results, strict=True)
        )

    def parse(self, message: str) -> Output:
        """Read a message. Never raises; time is linear in its length."""
        body = body_of(message)
        blocks, text = _split(body)
        items = tuple(map(_read_block, blocks))
        opens, closes = body.count(_OPEN), body.count(_CLOSE)
        has_fragment = bool(text) and any(fragment in text for fragment in _FRAGMENTS)
        well_formed = all(type(item) is Call for item in items)
        healthy = opens == closes > 0 and well_formed and not has_fragment
        state = classify(
            body,
            healthy_call=healthy,
            has_fragment=has_fragment or bool(items),
            controls=_CONTROLS,
        )
        return Output(state, items, text, opens, closes)


def _listed(tools: Sequence[Tool]) -> str:
    return f"<tools>\n{tool_lines(tools)}\n</tools>"


def _as_object(call: Call) -> dict[str, object]:
    return {"name": call.name, "arguments": dict(call.arguments)}


def _split(body: str) -> tuple[list[str], str]:
    """Return the contents of the closed blocks, and the text outside of them."""
    blocks: list[str] = []
    outside: list[str] = []
    position = 0
    while True:
        start = body.find(_OPEN, position)
        end = body.find(_CLOSE, start) if start >= 0 else -1
        if end < 0:
            outside.append(body[position:])
            return blocks, "\n".join(filter(None, map(str.strip, outside)))
        outside.append(body[position:start])
        blocks.append(body[start + len(_OPEN) : end])
        position = end + len(_CLOSE)


def _read_block(block: str) -> Call | MalformedCall:
    try:
        value = read_json(block)
    except JsonRefused as refused:
        return _malformed(block, f"{refused}: {quote(block.strip())}")
    if type(value) is dict and value.keys() == _KEYS:
        name, arguments = value["name"], value["arguments"]
        if type(name) is str and type(arguments) is dict:
            return Call(name, arguments)
    return _malformed(block, quote(block.strip()))


def _malformed(block: str, came: str) -> MalformedCall:
    reason = f"Expected {_EXPECTED} between {_OPEN} and {_CLOSE}; got {came}."
    return MalformedCall(block, reason)
