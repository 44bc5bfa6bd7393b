"""Whether the ground truth of a dialogue tells right from wrong: what makes a plan a task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from budget_envs.tasks.synthetic_tools.world import ToolWorld, methods
from budget_envs.tool_calls.model import Call, UserTurn

__all__ = ["is_discriminating", "slips"]

_Results = Counter[str]


def is_discriminating(turns: Sequence[UserTurn], world: ToolWorld) -> bool:
    """Return whether the ground truth of every user turn can be met by hardly anything else.

    Every call succeeds, every action changes the state, and so does a user turn that has one. A
    user turn is not met by a harmless call, nor by its calls with one left out or one argument
    changed, where "met" is as everywhere: something was called, the state is the right one, and
    the right results were seen by then.

    Args:
        turns: The user turns.
        world: At the start of the dialogue; not changed.
    """
    world, seen = world.copy(), Counter[str]()
    for turn in turns:
        start = world.copy({methods()[call.name][0].name for call in turn.calls})
        results = Counter[str]()
        for call in turn.calls:
            if not _succeeds(world, call, results):
                return False
        if any(methods()[call.name][1].acts for call in turn.calls) and _same(start, world):
            return False
        misses = _near_misses(turn.calls, start)
        if any(_met(start, seen, calls, world, results) for calls in misses):
            return False
        seen += results
    return True


def _succeeds(world: ToolWorld, call: Call, results: _Results) -> bool:
    before, result = world.key(), world.call(call)
    results[result] += 1
    changed = world.key() != before
    return "error" not in json.loads(result) and changed == methods()[call.name][1].acts


def _met(
    start: ToolWorld, seen: _Results, calls: Sequence[Call], goal: ToolWorld, results: _Results
) -> bool:
    world, got = start.copy(), seen.copy()
    got.update(map(world.call, calls))
    return results <= got and _same(world, goal)


def _same(part: ToolWorld, whole: ToolWorld) -> bool:
    """Return whether the APIs of one world are in the same state in another that has more."""
    return all(whole.state()[api] == state for api, state in part.state().items())


def _near_misses(calls: Sequence[Call], world: ToolWorld) -> Iterator[Sequence[Call]]:
    if calls:
        yield ()  # stands for any harmless call
    for place, call in enumerate(calls):
        rest = calls[place + 1 :]
        yield (*calls[:place], *rest)
        for slip in slips(call, world):
            yield (*calls[:place], slip, *rest)


def slips(call: Call, world: ToolWorld) -> Iterator[Call]:
    """Yield a call with one argument changed, to each value that could be mistaken for it.

    Args:
        call: A call of one of the world's tools.
        world: Has the names that could be mixed up.
    """
    api, method = methods()[call.name]
    for name, schema in method.tool.parameters["properties"].items():
        value = call.arguments.get(name, schema.get("default"))
        for other in _others(schema, value, world.state()[api.name]):
            yield Call(call.name, {**call.arguments, name: other})


def _others(schema: Mapping[str, Any], value: Any, state: Mapping[str, Any]) -> Iterator[Any]:
    if "enum" in schema:
        yield from (option for option in schema["enum"] if option != value)
    elif schema["type"] == "boolean":
        yield not value
    elif schema["type"] in ("integer", "number"):
        yield from (value - 1, value + 1)
    elif schema["type"] == "array":
        yield from (value[:place] + value[place + 1 :] for place in range(len(value)))
    else:
        yield from (name for name in _names(state) if name != value)


def _names(state: Mapping[str, Any]) -> list[str]:
    """Return the keys of a state and of the mappings in it: the names of what it holds."""
    inner = (value for value in state.values() if isinstance(value, dict))
    return sorted({*state, *(key for mapping in inner for key in mapping)})
