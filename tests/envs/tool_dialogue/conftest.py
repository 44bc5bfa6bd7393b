"""A tiny tool world without data: named counters, and a place that only some calls look at."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from budget_envs.envs.tool_dialogue import ToolDialogueEnv
from budget_envs.errors import OptionError
from budget_envs.tool_calls.model import Call, Dialogue, Tool, UserTurn


class CounterWorld:
    """Counters by name; ``select`` sets the hidden one that ``bump`` works on."""

    made = 0

    def __init__(self, start: Mapping[str, int]) -> None:
        type(self).made += 1
        self.counters = dict(start)
        self.selected = next(iter(start))

    def call(self, call: Call) -> str:
        try:
            return str(getattr(self, f"do_{call.name}")(**call.arguments))
        except Exception as error:
            return f"Error: {type(error).__name__}"

    def do_select(self, name: str) -> str:
        self.selected = name if name in self.counters else self.selected
        return f"selected {self.selected}"

    def do_bump(self, by: int = 1) -> int:
        self.counters[self.selected] += by
        return self.counters[self.selected]

    def do_read(self, name: str) -> int:
        return self.counters[name]

    def state(self) -> Mapping[str, Any]:
        return self.counters

    def key(self) -> bytes:
        return repr((self.counters, self.selected)).encode()


def tool(name: str, /, **types: str) -> Tool:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return Tool(name, f"It does {name}.", {"type": "object", "properties": properties})


TOOLS = (tool("select", name="string"), tool("bump", by="integer"), tool("read", name="string"))


def call(name: str, /, **arguments: Any) -> Call:
    return Call(name, arguments)


BUMP_A = UserTurn("Please raise a by 2.", (call("bump", by=2),))
READ_B = UserTurn("What is b?", (call("read", name="b"),))
RAISE_B = UserTurn("Raise b twice.", (call("select", name="b"), call("bump"), call("bump")))
NO_TOOL = UserTurn("Raise it, please.")
LATE = UserTurn("Here is what you need.", (call("bump", by=1),), ("bump",))


def dialogue(task_id: str, *turns: UserTurn) -> Dialogue:
    return Dialogue(task_id, "test", turns, TOOLS, {"a": 0, "b": 5})


DIALOGUES = {
    each.task_id: each
    for each in (
        dialogue("one", BUMP_A),
        dialogue("three", BUMP_A, READ_B, RAISE_B),
        dialogue("late", READ_B, NO_TOOL, LATE),
        dialogue("nothing", NO_TOOL),
        dialogue("odd", BUMP_A, READ_B, LATE),
    )
}


class Source:
    """The dialogues above; all splits are the same."""

    def draw(self, key: int) -> Dialogue:
        return list(DIALOGUES.values())[key % len(DIALOGUES)]

    def at(self, split: str, index: int) -> Dialogue:
        return list(DIALOGUES.values())[index]

    def load(self, task_id: str) -> Dialogue:
        if task_id not in DIALOGUES:
            raise OptionError(f"no dialogue {task_id!r}")
        return DIALOGUES[task_id]

    def world(self, dialogue: Dialogue) -> CounterWorld:
        return CounterWorld(dialogue.world)


class Player:
    """An environment, and shorthand to say things in it."""

    def __init__(self, task_id: str, **settings: Any) -> None:
        self.env = ToolDialogueEnv(Source(), **settings)
        self.first, self.info = self.env.reset(seed=0, options={"task": task_id})
        self.steps: list[tuple[str, float, bool, bool, dict[str, Any]]] = []

    def calls(self, *calls: Call) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return self.says(self.env.format.render_calls(calls))

    def says(self, text: str = "Done.") -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.steps.append(self.env.step(text))
        return self.steps[-1]


@pytest.fixture
def play():
    return Player


@pytest.fixture(scope="session")
def tiny():
    """The names of this file."""
    return SimpleNamespace(**globals())
