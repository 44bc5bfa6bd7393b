"""Giving positional arguments their names, by the order of a tool's parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from budget_envs.actions import quote
from budget_envs.errors import did_you_mean
from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.written_calls import RawCall

__all__ = ["bind"]


def bind(call: Call | RawCall, tools: Iterable[Tool]) -> Call | str:
    """Return a call with all of its arguments by name, or why that is not possible.

    The tool must be known, every argument must be one of its parameters, and none may be given
    twice. Missing arguments and wrong types are for the tool to refuse: it knows its defaults.

    Args:
        call: A call as it was read; one without positional arguments is checked too.
        tools: The tools that can be called.
    """
    tools = tuple(tools)
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        hint = did_you_mean(call.name[:80], [known.name for known in tools])
        return f"Expected the name of a tool; got {quote(call.name, 80)}.{hint}"
    parameters = tuple(tool.parameters.get("properties", ()))
    if isinstance(call, Call):
        return _refusal(call.name, call.arguments, parameters) or call
    return _bound(call, parameters)


def _bound(call: RawCall, parameters: tuple[str, ...]) -> Call | str:
    if len(call.positional) > len(parameters):
        return (
            f"Expected at most {len(parameters)} arguments of {call.name!r}; "
            f"got {len(call.positional)} without a name."
        )
    named = dict(zip(parameters, call.positional, strict=False))
    twice = next((name for name in call.keywords if name in named), None)
    if twice is not None:
        return f"Expected each argument of {call.name!r} once; got {twice!r} by place and by name."
    arguments = {**named, **call.keywords}
    return _refusal(call.name, arguments, parameters) or Call(call.name, arguments)


def _refusal(name: str, arguments: Mapping[str, Any], parameters: tuple[str, ...]) -> str | None:
    unknown = next((argument for argument in arguments if argument not in parameters), None)
    if unknown is None:
        return None
    known = ", ".join(parameters) if parameters else "none"
    return f"Expected arguments of {name!r} ({known}); got {quote(unknown, 80)}."
