"""BFCL's bracket syntax: the whole message is a list of calls ``[f(a=1), g(b=2)]``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from budget_envs.tool_calls import literals
from budget_envs.tool_calls.documentation import END_OF_TURN, LATE_TOOLS, tool_lines
from budget_envs.tool_calls.message import (
    CONTROL_FRAGMENTS,
    END_TOKEN,
    body_of,
    escape_tags,
    without_fence,
)
from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.output_state import Output, classify
from budget_envs.tool_calls.written_calls import MalformedCall, RawCall, WrittenCall

__all__ = ["BracketFormat"]

_LIST_START: Final = re.compile(r"\[\s*[A-Za-z_][\w.]*\(")
_CALL_START: Final = re.compile(r"\[?\s*[A-Za-z_][\w.]*\(")
_ONLY_BRACKETS: Final = re.compile(r"[\[\]\s]+")
_LESS_THAN: Final = r"\x3c"
_CONTROLS: Final = ("[", "]", END_TOKEN)
_HOW: Final = f"""\
To call tools, answer with a list of calls in Python syntax and nothing else, for instance
[first_tool(parameter='value', other=2), second_tool(items=[1, 2])]
Arguments are literals: no names, no expressions, no calls inside of calls. {END_OF_TURN}"""


@dataclass(frozen=True, slots=True)
class BracketFormat:
    """Calls as one list in Python syntax, with nothing around it.

    The whole message, or the code fence or backticks that are the whole message, is the list. An
    element that is no call with literal arguments is malformed; so is the whole list, if it begins
    like one with a call and ends with ``]`` but is none. Where one or both of the outer brackets
    are missing and what stands there is otherwise well-formed, the calls count, which is the rule
    of BFCL's decoder, but the message is not healthy.

    A fragment of a tag is ``[name(`` anywhere, ``)]`` at the end, or what is one in every format
    (see `HermesFormat`). The control tokens are ``[``, ``]`` and ``<|im_end|>``; a message of
    nothing but brackets is collapsed. ``opens`` and ``closes`` are 1 for a healthy call, and
    elsewhere count the fragments ``[name(`` and ``)]``.
    """

    @property
    def name(self) -> str:
        """``"bracket"``."""
        return "bracket"

    def render_tools(self, tools: Sequence[Tool]) -> str:
        """Return the tools as JSON lines, and how to call them."""
        return f"You can call these tools:\n{tool_lines(tools)}\n\n{_HOW}"

    def render_late_tools(self, tools: Sequence[Tool]) -> str:
        """Return the description of tools that arrive during a dialogue."""
        return f"{LATE_TOOLS}\n{tool_lines(tools)}"

    def render_calls(self, calls: Sequence[Call], text: str = "") -> str:
        """Return a message: the list, which leaves no room for text, or the text if it is empty."""
        return literals.render_calls(calls) if calls else text

    def render_results(self, calls: Sequence[WrittenCall], results: Sequence[str]) -> str:
        r"""Return one result after the other, each with its call's number and name.

        A ``<`` that begins a tag is written ``\x3c``.
        """
        pairs = zip(calls, results, strict=True)
        return "\n".join(
            f"{number}. {_name(call)} -> {escape_tags(result, _LESS_THAN)}"
            for number, (call, result) in enumerate(pairs, start=1)
        )

    def parse(self, message: str) -> Output:
        """Read a message. Never raises; time is linear in its length."""
        body = without_fence(body_of(message))
        items = _read_items(body)
        complete = body.startswith("[") and body.endswith("]")
        if items and complete and not any(isinstance(item, MalformedCall) for item in items):
            return Output("healthy_call", items, opens=1, closes=1)
        state = classify(
            body,
            healthy_call=False,
            has_fragment=bool(items) or _has_fragment(body),
            controls=_CONTROLS,
        )
        opens, closes = len(_LIST_START.findall(body)), body.count(")]")
        return Output(state, items, "" if items else body, opens, closes)


def _read_items(body: str) -> tuple[WrittenCall, ...]:
    opened, closed = body.startswith("["), body.endswith("]")
    if opened and closed:
        return _read_list(body)
    if not _CALL_START.match(body) or not body.endswith((")", "]")):
        return ()
    items = _read_list(f"{'' if opened else '['}{body}{'' if closed else ']'}")
    return () if any(isinstance(item, MalformedCall) for item in items) else items


def _read_list(source: str) -> tuple[WrittenCall, ...]:
    read = literals.read_calls(source)
    if isinstance(read, str):
        return (MalformedCall(source, read),) if _LIST_START.match(source) else ()
    return tuple(map(_named, read))


def _named(call: RawCall | MalformedCall) -> WrittenCall:
    if isinstance(call, RawCall) and not call.positional:
        return Call(call.name, call.keywords)
    return call


def _has_fragment(body: str) -> bool:
    return (
        _LIST_START.search(body) is not None
        or body.endswith(")]")
        or _ONLY_BRACKETS.fullmatch(body) is not None
        or any(fragment in body for fragment in CONTROL_FRAGMENTS)
    )


def _name(call: WrittenCall) -> str:
    return "malformed call" if isinstance(call, MalformedCall) else call.name
