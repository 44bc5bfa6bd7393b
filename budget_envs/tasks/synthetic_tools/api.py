"""An API: tools that share a hidden state, and what a user can ask of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.scene import Kind
from budget_envs.tasks.synthetic_tools.schemas import Schema, parameters
from budget_envs.tool_calls.model import Tool

__all__ = ["Api", "Method", "Result", "State", "action", "query"]

State: TypeAlias = dict[str, Any]
"""The hidden state of one API: what JSON holds, texts as keys."""
Result: TypeAlias = Mapping[str, Any]
"""What a tool answers. It repeats the arguments, so that the answer says what it is about."""


@dataclass(frozen=True, slots=True)
class Method:
    """A tool and what it does.

    Attributes:
        tool: What an agent is told.
        run: Takes the state and the checked arguments by name, changes the state and returns a
            result; or raises `Refusal` and leaves the state as it was.
        acts: Whether it can change the state.
    """

    tool: Tool
    run: Callable[..., Result]
    acts: bool


@dataclass(frozen=True, slots=True)
class Api:
    """One class of tools.

    Attributes:
        name: Its name.
        start: Draws a state for a level.
        methods: Its tools.
        kinds: What a user can ask for.
    """

    name: str
    start: Callable[[Draws, int], State]
    methods: tuple[Method, ...]
    kinds: tuple[Kind, ...]


def query(run: Callable[..., Result], description: str, **properties: Schema) -> Method:
    """Return a tool that only answers. It has the name of its function, less the underscore."""
    return Method(_tool(run, description, properties), run, acts=False)


def action(run: Callable[..., Result], description: str, **properties: Schema) -> Method:
    """Return a tool that changes the state. It has the name of its function, less underscore."""
    return Method(_tool(run, description, properties), run, acts=True)


def _tool(run: Callable[..., Result], description: str, properties: Mapping[str, Schema]) -> Tool:
    return Tool(run.__name__.removeprefix("_"), description, parameters(properties))
