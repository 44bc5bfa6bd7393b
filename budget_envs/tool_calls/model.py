"""What a tool dialogue is, whichever dataset it comes from: `Call`, `Tool`, `UserTurn`, `Dialogue`.

All are frozen and hold plain values, so that a task pickles, hashes into a state key and prints
the same in every process. What happens when a tool is called is a `World`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Call", "Dialogue", "Tool", "UserTurn", "World"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.

    Attributes:
        name: The tool's name.
        arguments: Plain values by parameter name, in the order in which they were written. Values
            are what JSON holds, and tuples, which bracket syntax can write too.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """What an agent is told about a tool.

    Attributes:
        name: Its name, unique in a dialogue.
        description: What it does.
        parameters: A JSON Schema of type ``"object"``. The order of its ``properties`` is the order
            of positional arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One message of the user, and what must be done before the next one.

    Attributes:
        message: What the user says.
        calls: The ground truth, in order; empty where nothing may be called, because a function or
            a parameter is missing.
        arrivals: Names of the tools that are delivered with this turn; before it they do not exist
            for the agent.
    """

    message: str
    calls: tuple[Call, ...] = field(default=(), repr=False)
    arrivals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One task: a user with several requests, and the tools to serve them.

    Attributes:
        task_id: Unique in its dataset.
        category: Name of the kind of dialogue, e.g. ``"base"`` or ``"miss_func"``.
        turns: The user's messages in order, at least one.
        tools: All tools, those that arrive late included, in the order in which they are listed.
        world: Plain values from which the dialogue's source makes its `World`.
    """

    task_id: str
    category: str
    turns: tuple[UserTurn, ...]
    tools: tuple[Tool, ...]
    world: Mapping[str, Any] = field(repr=False)

    def tools_at(self, turn: int) -> tuple[Tool, ...]:
        """Return the tools that the agent has in user turn ``turn`` (from 0)."""
        late = {name for later in self.turns[turn + 1 :] for name in later.arrivals}
        return tuple(tool for tool in self.tools if tool.name not in late)


class World(Protocol):
    """The hidden state that tools act on: one object for each episode, shared with nobody.

    A world is a function of its dialogue and of the calls made so far: making it again and
    repeating the calls gives the same state and the same results. That is how it is saved.
    """

    def call(self, call: Call) -> str:
        """Execute a call and return its result as text; what goes wrong is a result too.

        Never raises, whatever the arguments are.
        """
        ...

    def state(self) -> Mapping[str, Any]:
        """Return what verdicts compare, by name of the part, each part by ``==``.

        The values may be those that the world works on: nobody changes them, and who keeps them
        copies them first.
        """
        ...

    def key(self) -> bytes:
        """Return bytes that are equal if and only if no later call can tell two worlds apart.

        Unlike `state`, this covers what no verdict looks at, such as a current directory.
        """
        ...
