"""The OpenAI format: the whole message is a JSON object with ``tool_calls``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from budget_envs.actions import quote
from budget_envs.tool_calls.documentation import END_OF_TURN, LATE_TOOLS, tool_lines
from budget_envs.tool_calls.json_text import JsonRefused, read_json, write_json
from budget_envs.tool_calls.message import CONTROL_FRAGMENTS, END_TOKEN, body_of, without_fence
from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.output_state import Output, classify
from budget_envs.tool_calls.written_calls import MalformedCall, WrittenCall

__all__ = ["OpenAIFormat"]

_KEY: Final = '"tool_calls"'
_FRAGMENTS: Final = (_KEY, '"arguments"', *CONTROL_FRAGMENTS)
_CONTROLS: Final = (_KEY, "{", "}", "[", "]", END_TOKEN)
_ONLY_BRACKETS: Final = re.compile(r"[{}\[\]\s]+")
_CALL_KEYS: Final = frozenset(("id", "type", "function"))
_MESSAGE_KEYS: Final = frozenset(("role", "content", "tool_calls"))
_EXPECTED_CALL: Final = (
    '{"id": <text>, "type": "function", "function": {"name": <text>, "arguments": <text that '
    "holds a JSON object>}}"
)
_EXPECTED_MESSAGE: Final = '{"role": "assistant", "content": <text or null>, "tool_calls": <list>}'


@dataclass(frozen=True, slots=True)
class OpenAIFormat:
    """Calls as ``{"role": "assistant", "content": null, "tool_calls": [...]}``, nothing around it.

    The whole message, or the code fence that is the whole message, is the object; a call's
    arguments are a text that holds a JSON object. Calls are known by their place: the first is
    ``call_1``, whatever id the agent gives, and ``id``, ``type``, ``role`` and ``content`` may be
    left out.
    A fragment is ``"tool_calls"`` or ``"arguments"``, quotes included, in a message that is no such
    object, or what is one in every format (see `HermesFormat`). The control tokens are
    ``"tool_calls"``, brackets, braces and ``<|im_end|>``; a message of nothing but brackets and
    braces is collapsed. ``opens`` counts ``"tool_calls"``, ``closes`` is 1 if the message is such
    an object.
    """

    @property
    def name(self) -> str:
        """``"openai"``."""
        return "openai"

    def render_tools(self, tools: Sequence[Tool]) -> str:
        """Return the tools as JSON lines, and how to call them."""
        return f"You can call these tools:\n{tool_lines(tools)}\n\n{_HOW}"

    def render_late_tools(self, tools: Sequence[Tool]) -> str:
        """Return the description of tools that arrive during a dialogue."""
        return f"{LATE_TOOLS}\n{tool_lines(tools)}"

    def render_calls(self, calls: Sequence[Call], text: str = "") -> str:
        """Return a message: a JSON object, or, without calls, the text itself."""
        return _render(calls, text) if calls else text

    def render_results(self, calls: Sequence[WrittenCall], results: Sequence[str]) -> str:
        """Return one JSON line for each result, which names its call by its place."""
        lines = enumerate(zip(calls, results, strict=True), start=1)
        return "\n".join(
            write_json(
                {"role": "tool", "tool_call_id": f"call_{place}", "content": _encodable(result)}
            )
            for place, (_, result) in lines
        )

    def parse(self, message: str) -> Output:
        """Read a message. Never raises; time is linear in its length."""
        body = without_fence(body_of(message))
        is_object = body.startswith("{") and body.endswith("}") and _KEY in body
        items, text = _read_message(body) if is_object else ((), body)
        if items and all(type(item) is Call for item in items):
            return Output("healthy_call", items, text, opens=1, closes=1)
        state = classify(
            body,
            healthy_call=False,
            has_fragment=any(part in body for part in _FRAGMENTS)
            or _ONLY_BRACKETS.fullmatch(body) is not None,
            controls=_CONTROLS,
        )
        return Output(state, items, text, opens=body.count(_KEY), closes=int(is_object))


def _encodable(result: str) -> str:
    return result if result.isascii() else result.encode(errors="replace").decode()


def _render(calls: Sequence[Call], text: str) -> str:
    written = [_as_object(place, call) for place, call in enumerate(calls, start=1)]
    return write_json({"role": "assistant", "content": text or None, "tool_calls": written})


def _as_object(place: int, call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": write_json(dict(call.arguments))}
    return {"id": f"call_{place}", "type": "function", "function": function}


def _read_message(body: str) -> tuple[tuple[WrittenCall, ...], str]:
    """Return the calls, malformed ones included, and the content beside them."""
    try:
        value = read_json(body)
    except JsonRefused as refused:
        return (_malformed(body, _EXPECTED_MESSAGE, f"{refused}: "),), ""
    match value:
        case {"tool_calls": list(written)} if _is_message(value):
            return tuple(map(_read_call, written)), value.get("content") or ""
    return (_malformed(body, _EXPECTED_MESSAGE),), ""


def _is_message(value: dict[str, Any]) -> bool:
    speaks = value.get("role", "assistant") == "assistant"
    return speaks and isinstance(value.get("content"), str | None) and value.keys() <= _MESSAGE_KEYS


def _read_call(written: Any) -> Call | MalformedCall:
    match written:
        case {"function": {"name": str(name), "arguments": str(arguments)}} if _is_call(written):
            return _read_arguments(name, arguments)
    return _malformed(write_json(written), _EXPECTED_CALL)


def _is_call(written: dict[str, Any]) -> bool:
    is_function = written.get("type", "function") == "function"
    has_id = isinstance(written.get("id", ""), str)
    only_known = written.keys() <= _CALL_KEYS and len(written["function"]) == 2
    return is_function and has_id and only_known


def _read_arguments(name: str, arguments: str) -> Call | MalformedCall:
    why = ""
    try:
        read = read_json(arguments)
        if isinstance(read, dict):
            return Call(name, read)
    except JsonRefused as refused:
        why = f"{refused}: "
    expected = f"the arguments of {quote(name)} as a text that holds a JSON object"
    return _malformed(arguments, expected, why)


def _malformed(text: str, expected: str, why: str = "") -> MalformedCall:
    return MalformedCall(text, f"Expected {expected}; got {why}{quote(text.strip())}.")


_EXAMPLE: Final = _render([Call("tool_name", {"parameter": "value"})], "")
_HOW: Final = f"""\
To call tools, answer with one JSON object and nothing else, the arguments as a text of JSON:
{_EXAMPLE}
For several calls, list several objects; the ids are call_1, call_2 and so on. {END_OF_TURN}"""
