"""Wrong versions of calls, one small edit away: what a model's slips look like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from budget_envs.streams import derive_key
from budget_envs.tool_calls.model import Call, Tool

__all__ = ["wrong_calls"]

_SUFFIX = "_2"  # what a name becomes: no tool knows it, and nothing is spoiled by it


def wrong_calls(
    calls: Sequence[Call], tools: Sequence[Tool], key: int
) -> Iterator[tuple[Call, ...]]:
    """Yield every edit of some calls: one call left out, of another tool, or of another value.

    Args:
        calls: The calls to spoil, in order.
        tools: Tools that a call can be mistaken for.
        key: 64-bit key that orders the edits; all of them come, each once.

    Yields:
        Calls that differ from those given; at least one, since none at all would be a text.
    """
    edits = [*_omissions(calls), *_other_tools(calls, tools), *_other_values(calls)]
    yield from (edits[at] for at in _shuffled(len(edits), key))


def _shuffled(count: int, key: int) -> list[int]:
    return sorted(range(count), key=lambda at: derive_key(key, at))


def _omissions(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    if len(calls) > 1:
        for at in range(len(calls)):
            yield (*calls[:at], *calls[at + 1 :])


def _other_tools(calls: Sequence[Call], tools: Sequence[Tool]) -> Iterator[tuple[Call, ...]]:
    for at, call in enumerate(calls):
        for tool in tools:
            if tool.name != call.name:
                yield _replaced(calls, at, Call(tool.name, call.arguments))


def _other_values(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    for at, call in enumerate(calls):
        for name, value in call.arguments.items():
            for wrong in _near(value):
                yield _replaced(calls, at, Call(call.name, {**call.arguments, name: wrong}))
            rest = {other: call.arguments[other] for other in call.arguments if other != name}
            yield _replaced(calls, at, Call(call.name, rest))


def _replaced(calls: Sequence[Call], at: int, call: Call) -> tuple[Call, ...]:
    return (*calls[:at], call, *calls[at + 1 :])


def _near(value: Any) -> list[Any]:
    """Return values of the same type that are easily taken for this one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1] if value + 1 != value else []
    if isinstance(value, str):
        return [value + _SUFFIX]
    if isinstance(value, list | tuple) and value:
        return [value[:-1]]
    return []
