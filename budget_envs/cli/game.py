"""`Game`: one episode played by a person, line by line, with turns that can be taken back."""

from __future__ import annotations

import difflib
import json
import re
import sys
from dataclasses import dataclass
from typing import Any, Final, TextIO

import gymnasium as gym
import numpy as np

from budget_envs.errors import OptionError, SnapshotError, UnsupportedError
from budget_envs.evaluation.report.text import visible
from budget_envs.snapshot import Snapshot, inner_snapshot, restore_inner
from budget_envs.wrappers.base import has_text

__all__ = ["Game", "read_action"]

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
        self._shows_budget = shows_budget and not self._is_text
        self._first: tuple[Any, dict[str, Any]] = ("", {})
        self._turns: list[_Turn] = []

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self._turns) and (self._turns[-1].terminated or self._turns[-1].truncated)

    def begin(self, seed: int) -> None:
        """Start the episode and show the first observation."""
        self._first = self.env.reset(seed=seed)
        self._turns = []
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
        last = self._turns[-1] if self._turns else None
        self._show(*((last.observation, last.info) if last else self._first))

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
        self._show(observation, info)
        self._judge(turn)
        if self.is_over:
            self.say(self._ending(turn))
            if sys.stdin.isatty():
                self.say(":undo takes the last turn back, Enter ends.")

    def _saved(self) -> Snapshot | None:
        try:
            return inner_snapshot(self.env)
        except SnapshotError:
            return None

    def _show(self, observation: Any, info: dict[str, Any]) -> None:
        if self.env.render_mode == "ansi" and not self._is_text:
            self._draw(str(self.env.render()))
        self.say(observation if self._is_text else _compact(observation))
        budget = info.get("budget") or {}
        if self._shows_budget and budget:
            amounts = {name: amount for name, amount in budget.items() if isinstance(amount, dict)}
            left = [f"{a['remaining']} of {a['limit']} {name}" for name, a in amounts.items()]
            self.say(f"[left: {', '.join(left)}]")

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
        oracle = turn.info.get("oracle")
        if oracle:
            best = " or ".join(str(action) for action in oracle["best_actions"])
            named = f" ({best})" if best else ""
            self.say(f"(oracle: worth {oracle['value']:.3f}, best {oracle['best']:.3f}{named})")

    def _ending(self, turn: _Turn) -> str:
        info, count = turn.info, len(self._turns)
        turns = f"{count} turn{'s' if count != 1 else ''}"
        verdict = info.get("verdict")
        exhausted = (info.get("budget") or {}).get("exhausted")
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


def read_action(space: gym.Space[Any], text: str) -> Any:
    """Return the action that a line means: text, an integer, or an array as a JSON list.

    Raises:
        OptionError: If the line is no member of the space; it says what is.
        UnsupportedError: If the space has other members than these.
    """
    if has_text(space):
        return text
    if not isinstance(
        space,
        gym.spaces.Discrete | gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary,
    ):
        raise UnsupportedError(f"play reads text, integers and lists of numbers, not {space}.")
    action = _read_numbers(text, space.dtype)
    if action is None or not space.contains(action):
        raise OptionError(f"expected an action of {space}, got {text!r:.80}.")
    return action


def _read_numbers(text: str, dtype: Any) -> Any:
    """Return JSON as numbers of a type that holds them exactly, or ``None``."""
    try:
        numbers = np.asarray(json.loads(text))
    except (ValueError, RecursionError):  # no JSON, or lists of different lengths
        return None
    wanted = np.dtype(dtype)
    if numbers.dtype.kind not in ("iuf" if wanted.kind == "f" else "iu"):
        return None
    if wanted.kind != "f" and np.any(numbers != numbers.astype(wanted)):
        return None
    return numbers.astype(wanted)[()]


def _compact(observation: Any) -> str:
    return np.array2string(np.asarray(observation), precision=3, threshold=32)
