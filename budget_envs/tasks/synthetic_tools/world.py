"""`ToolWorld`: the hidden state of a dialogue's APIs, and the executor of all their tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from budget_envs.tasks.synthetic_tools.api import Api, Method, Result, State
from budget_envs.tasks.synthetic_tools.apis import HELD_OUT, SEEN
from budget_envs.tasks.synthetic_tools.schemas import Refusal, bind, shown
from budget_envs.tool_calls.model import Call, Dialogue

__all__ = ["ToolWorld", "methods", "open_world"]


@cache
def methods() -> Mapping[str, tuple[Api, Method]]:
    """Return every tool's name -> its API and what it does."""
    return {method.tool.name: (api, method) for api in (*SEEN, *HELD_OUT) for method in api.methods}


class ToolWorld:
    """Executes calls. Nothing is evaluated: a call names a tool and holds plain values.

    Args:
        states: API -> its state; copied.
        tools: Names of the tools that exist; ``None`` for all tools of these APIs.
    """

    def __init__(self, states: Mapping[str, State], tools: Iterable[str] | None = None) -> None:
        self._states: dict[str, State] = {name: _copied(state) for name, state in states.items()}
        own = (name for name, (api, _) in methods().items() if api.name in states)
        self._tools = frozenset(own if tools is None else tools)

    def call(self, call: Call) -> str:
        """Execute a call and return its result as JSON: ``{"error": ...}`` where it is refused."""
        try:
            result = self._run(call)
        except Refusal as refusal:
            result = {"error": str(refusal)}
        # Sorted, so that worlds of the same key answer alike however they came about.
        return json.dumps(result, sort_keys=True)

    def _run(self, call: Call) -> Result:
        if call.name not in self._tools:
            raise Refusal(f"There is no tool {shown(call.name)}.")
        api, method = methods()[call.name]
        arguments = bind(method.tool.parameters, call.arguments)
        return method.run(self._states[api.name], **arguments)

    def state(self) -> Mapping[str, State]:
        """Return API -> its state itself: not to be changed."""
        return self._states

    def key(self) -> bytes:
        """Return the state as JSON, in which the order of keys has no meaning."""
        return json.dumps(self._states, sort_keys=True).encode()

    def copy(self, apis: Iterable[str] | None = None) -> ToolWorld:
        """Return a world that goes on alike and shares nothing with this one.

        Args:
            apis: The APIs that it has; ``None`` for all.
        """
        kept = self._states if apis is None else {name: self._states[name] for name in apis}
        return ToolWorld(kept, self._tools)


def open_world(dialogue: Dialogue) -> ToolWorld:
    """Return the world of a generated dialogue as it is at its start."""
    return ToolWorld(dialogue.world["apis"], [tool.name for tool in dialogue.tools])


def _copied(value: Any) -> Any:
    # Half of the time that a dialogue takes to be generated goes here: copy.deepcopy is slower.
    kind = type(value)
    if kind is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if kind is list else value
