"""A fake environment whose tasks say what happens in them, and policies that keep count."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import gymnasium as gym
import pytest

from budget_envs.errors import OptionError
from budget_envs.evaluation.policy import Action, Conversation, Policy
from budget_envs.text_env import StepResult, TextEnv

FAKE_ID = "fake/Scripted-v0"
KINDS = (
    "pass",
    "fail",
    "void",
    "raise",
    "sandbox",
    "mute",
    "number",
    "endless",
    "solved",
    "broken",
)


class SandboxError(Exception):
    boundary = "sandbox"


class ScriptedEnv(TextEnv[str]):
    """Task ``pass-3`` is solved by turn 3 whatever is played, ``void-2`` is void at turn 2, ..."""

    resets: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__(action_examples=("go", "stay", "turn"))
        self.kind, self.last = "endless", 0

    def draw_task(self, key: int) -> str:
        return f"pass-{1 + key % 5}"

    def load_task(self, task_id: str) -> str:
        kind, _, number = str(task_id).partition("-")
        if kind not in KINDS or not number.isdecimal():
            raise OptionError(f"no task {task_id!r}.")
        return task_id

    def task_at(self, split: str, index: int) -> str:
        if index >= 20:
            raise OptionError(f"{split} has 20 tasks, so index {index} is out of range.")
        return f"pass-{index + 1}"

    def name_task(self, task: str) -> str:
        return task

    def begin(self, task: str) -> tuple[str, dict[str, Any]]:
        kind, _, number = task.partition("-")
        self.kind, self.last = kind, int(number)
        if kind == "broken":
            raise RuntimeError("cannot start")
        return f"start of {task}", {"is_success": True} if kind == "solved" else {}

    def act(self, action: str) -> StepResult:
        info = {"invalid_action": action == "nonsense", "executed_action": action}
        observation = f"turn {self.turn} of {self.name_task(self.task or '')}: {action}"
        if self.kind == "endless" or self.turn < self.last:
            return observation, 0.0, None, info
        if self.kind == "raise":
            raise ValueError("the environment broke")
        if self.kind == "sandbox":
            raise SandboxError("the sandbox is gone")
        if self.kind == "number":
            return 7, 0.0, "fail", info  # type: ignore[return-value]
        if self.kind == "mute":
            return observation, 0.0, "unheard-of", info  # type: ignore[return-value]
        return observation, float(self.kind == "pass"), self.kind, info  # type: ignore[return-value]

    @property
    def state_key(self) -> str:
        return f"{self.task}:{self.turn}"

    def save(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "last": self.last}

    def load(self, state: Mapping[str, Any]) -> None:
        self.kind, self.last = state["kind"], state["last"]

    def describe(self) -> str:
        return self.state_key


class CountingPolicy(Policy):
    """Says "go", and notes what it was asked; ``respond`` may replace an answer, or raise."""

    def __init__(self, respond: Callable[[Conversation], Any] | None = None) -> None:
        self.name = "counting"
        self.settings = {}
        self.respond = respond
        self.asked: list[tuple[str, int]] = []
        self.batches: list[int] = []
        self.begun: list[str] = []
        self.ended: list[str] = []

    def act(self, conversations: Sequence[Conversation]) -> list[Any]:
        self.batches.append(len(conversations))
        answers = []
        for conversation in conversations:
            answers.append(self.respond(conversation) if self.respond else Action("go"))
        self.asked += [(conversation.id, conversation.turn) for conversation in conversations]
        return answers

    def begin(self, conversations: Sequence[Conversation]) -> None:
        self.begun += [conversation.id for conversation in conversations]

    def end(self, conversations: Sequence[Conversation]) -> None:
        self.ended += [conversation.id for conversation in conversations]


@pytest.fixture(scope="session", autouse=True)
def fake_id() -> Iterator[str]:
    gym.register(id=FAKE_ID, entry_point=ScriptedEnv, order_enforce=False, disable_env_checker=True)
    yield FAKE_ID
    del gym.registry[FAKE_ID]


@pytest.fixture
def counting() -> type[CountingPolicy]:
    return CountingPolicy


@pytest.fixture(scope="session")
def same() -> Callable[[Any, Any], bool]:
    """Compare two runs without when and where they were made."""
    unstable = {"created": "", "finished": None, "command": None, "git_commit": None}

    def equal(one: Any, other: Any) -> bool:
        return dataclasses.replace(one, **unstable) == dataclasses.replace(other, **unstable)

    return equal
