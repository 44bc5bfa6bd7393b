"""`Game`: one episode played by a person, line by line, with turns that can be taken back."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

import gymnasium as gym
import numpy as np

from budget_envs.cli.actions import read_action
from budget_envs.errors import OptionError, SnapshotError
from budget_envs.evaluation.report.text import visible
from budget_envs.snapshot import Snapshot, inner_snapshot, restore_inner
from budget_envs.wrappers.base import has_text, layers
from budget_envs.wrappers.show_budget import ShowBudget

__all__ = ["Game"]

_WELCOME: Final = "Type an action and Enter. :undo takes a turn back, :help says more, :q quits.\n"
_FENCE: Final = '"""'
_PROMPT: Final = "> "
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_HELP: Final = """\
:undo  take the last turn back
:help  this list
:q     quit
Three quotes on a line of their own begin an action of several lines, and end it.
An action that starts with a colon gets a second one in front: ::w sends :w"""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn as it was played, and the state before it; ``None`` if that cannot be saved."""

    action: Any
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    before: Snapshot | None


class Game:
    """An episode in progress, played from standard input.

    Args:
        env: The environment.
        stream: Where the game is shown.
        shows_budget: Say what remains where the observation does not.
    """

    def __init__(self, env: gym.Env[Any, Any], stream: TextIO, *, shows_budget: bool) -> None:
        self.env = env
        self._stream = stream
        self._is_text = has_text(env.observation_space)
        self._shows_budget = shows_budget and not _is_told(env)
        self._first: tuple[Any, dict[str, Any]] = ("", {})
        self._turns: list[_Turn] = []

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self._turns) and (self._turns[-1].terminated or self._turns[-1].truncated)

    def begin(self, seed: int) -> None:
        """Start the episode; show how to play, and the first observation."""
        self._first = self.env.reset(seed=seed)  # where it fails, nothing has been shown yet
        self._turns = []
        self.say(_WELCOME)
        self._show(*self._first)

    def play_on(self) -> None:
        """Read and carry out lines until the episode ends, the input ends, or ``:q``."""
        while (line := self._read()) is not None:
            if self.is_over and line != ":undo":
                return
            if line == ":q":
                return
            if line.startswith(":") and not line.startswith("::"):
                self._obey(line)
            else:
                self._act(line.removeprefix(":") if line.startswith("::") else line)

    def say(self, text: str) -> None:
        """Show a line to the person."""
        print(visible(text), file=self._stream, flush=True)

    def record(self) -> dict[str, Any]:
        """Return the game as values for JSON; turns that were taken back are not in it."""
        observation, info = self._first
        last = self._turns[-1].info if self._turns else info
        return {
            "task_id": info.get("task_id"),
            "first_observation": observation,
            "turns": [
                {
                    "action": turn.action,
                    "observation": turn.observation,
                    "reward": turn.reward,
                    "terminated": turn.terminated,
                    "truncated": turn.truncated,
                    "info": {k: v for k, v in turn.info.items() if k != "observation"},
                }
                for turn in self._turns
            ],
            "is_over": self.is_over,
            "verdict": last.get("verdict"),
        }

    # Input.

    def _read(self) -> str | None:
        """Return the next action or command; ``None`` at the end of the input."""
        line = self._read_line()
        if line != _FENCE:
            return line
        lines = []
        while (line := self._read_line()) not in (None, _FENCE):
            lines.append(line)
        return "\n".join(str(line) for line in lines)

    def _read_line(self) -> str | None:
        if sys.stdin.isatty() and self._stream is sys.stdout and sys.stdout.isatty():
            try:
                return input(_PROMPT)  # with the terminal's line editing
            except EOFError:
                self.say("")
                return None
        line = sys.stdin.readline()
        text = line.rstrip("\r\n")
        if line and (text == ":undo" or not self.is_over):
            self.say(f"{_PROMPT}{text}")
        return text if line else None

    def _obey(self, command: str) -> None:
        if command == ":undo":
            self._undo()
        elif command == ":help":
            self.say(_HELP)
        else:
            near = difflib.get_close_matches(command, (":undo", ":help", ":q"), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            self.say(f"No command {command!r}.{hint} :help lists them.")

    def _undo(self) -> None:
        if not self._turns:
            self.say("There is no turn to take back.")
            return
        before = self._turns[-1].before
        if before is None:
            self.say("This environment cannot take turns back.")
            return
        restore_inner(self.env, before)
        self._turns.pop()
        if self._turns:
            self._show_turn(self._turns[-1])
        else:
            self._show(*self._first)

    # Turns.

    def _act(self, text: str) -> None:
        try:
            action = read_action(self.env.action_space, text)
        except OptionError as error:
            self.say(f"{error}")
            return
        before = self._saved()
        observation, reward, terminated, truncated, info = self.env.step(action)
        turn = _Turn(action, observation, float(reward), terminated, truncated, info, before)
        self._turns.append(turn)
        self._show_turn(turn)
        if self.is_over:
            self.say(self._ending(turn))
            if sys.stdin.isatty():
                self.say(":undo takes the last turn back, Enter ends.")

    def _saved(self) -> Snapshot | None:
        try:
            return inner_snapshot(self.env)
        except SnapshotError:
            return None

    def _show_turn(self, turn: _Turn) -> None:
        self._show(turn.observation, turn.info)
        self._judge(turn)

    def _show(self, observation: Any, info: dict[str, Any]) -> None:
        if self.env.render_mode == "ansi" and not self._is_text:
            self._draw(str(self.env.render()))
        self.say(observation if self._is_text else _compact(observation))
        left = _left(_fields(info, "budget")) if self._shows_budget else ""
        if left:
            self.say(f"[left: {left}]")

    def _draw(self, picture: str) -> None:
        """Show a picture in text, with its colours only where there are any."""
        if not self._stream.isatty():
            self.say(_COLOUR.sub("", picture))
            return
        parts = _COLOUR.split(picture)
        colours = [*_COLOUR.findall(picture), ""]
        shown = [visible(part) + colour for part, colour in zip(parts, colours, strict=True)]
        print("".join(shown), file=self._stream, flush=True)

    def _judge(self, turn: _Turn) -> None:
        if turn.info.get("injected"):
            self.say(f"(injected: {turn.info['injected']})")
        oracle = _fields(turn.info, "oracle")
        if {"value", "best", "best_actions"} <= oracle.keys():
            best = " or ".join(str(action) for action in oracle["best_actions"])
            named = f" ({best})" if best else ""
            self.say(f"(oracle: worth {oracle['value']:.3f}, best {oracle['best']:.3f}{named})")

    def _ending(self, turn: _Turn) -> str:
        info, count = turn.info, len(self._turns)
        turns = f"{count} turn{'s' if count != 1 else ''}"
        verdict = info.get("verdict")
        exhausted = _fields(info, "budget").get("exhausted")
        if verdict == "pass":
            return f"Solved in {turns}."
        if verdict == "void":
            return f"Void after {turns}: the environment could not judge."
        if exhausted:
            return f"Out of {exhausted} after {turns}: not solved."
        if verdict == "fail":
            return f"Failed after {turns}."
        total = sum(turn.reward for turn in self._turns)
        return f"The episode ended after {turns}, with a return of {total:g}."


def _is_told(env: gym.Env[Any, Any]) -> bool:
    """Return whether a layer tells what remains in its text, or was made to keep it quiet."""
    is_text = has_text(env.observation_space)
    shown = [layer for layer in layers(env) if isinstance(layer, ShowBudget)]
    return any(is_text or layer.when == "never" for layer in shown)


def _fields(info: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a mapping of an info; other projects may use the name for something else."""
    value = info.get(name)
    return value if isinstance(value, Mapping) else {}


def _left(budget: Mapping[str, Any]) -> str:
    amounts = {name: amount for name, amount in budget.items() if isinstance(amount, Mapping)}
    return ", ".join(
        f"{_short(amount['remaining'])} of {_short(amount['limit'])} {name}"
        for name, amount in amounts.items()
        if {"remaining", "limit"} <= amount.keys()
    )


def _short(amount: Any) -> Any:
    """Return an amount as people write it: whole numbers without a point, others to 0.01."""
    if not isinstance(amount, float):
        return amount
    return int(amount) if amount.is_integer() else round(amount, 2)


def _compact(observation: Any) -> str:
    return np.array2string(np.asarray(observation), precision=3, threshold=32)
