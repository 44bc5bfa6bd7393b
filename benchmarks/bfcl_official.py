"""The official executor and checker of bfcl-eval, for the benchmarks that compare with them.

They evaluate calls as Python text and keep instances in a module's globals, so they are given only
calls written here, under a name that no other dialogue had, and what they leave is removed.
"""

import importlib
import itertools
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from budget_envs.errors import BudgetEnvsError
from budget_envs.tasks import locate
from budget_envs.tasks.bfcl import CATEGORIES, dataset_of
from budget_envs.tool_calls.model import Call

PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval"
Turns = list[list[list[str]]]
"""The calls of a dialogue as text: user turn -> message -> call."""


@dataclass(frozen=True)
class Entry:
    """A dialogue in the official form."""

    category: str
    question: dict[str, Any]
    ground_truth: list[list[str]]

    @property
    def task_id(self) -> str:
        return str(self.question["id"])


@dataclass(frozen=True)
class Judged:
    """What the official checker said.

    Attributes:
        valid: Its verdict.
        turn: The user turn at which it failed; ``None`` if valid.
        kind: Its name for the failure.
        results: The results of all calls up to there.
    """

    valid: bool
    turn: int | None
    kind: str
    results: list[list[str]]


def entries() -> list[Entry]:
    """Read the 800 dialogues; the process ends with the command that brings them, if need be."""
    found = []
    for category in CATEGORIES:
        try:
            files = {file.role: file.path for file in locate(dataset_of(category))}
        except BudgetEnvsError as error:
            raise SystemExit(str(error)) from error
        for question, answer in zip(rows(files["questions"]), rows(files["answers"]), strict=True):
            found.append(Entry(category, question, answer["ground_truth"]))
    return found


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class Official:
    """The official code of the installed distribution, and its housekeeping."""

    def __init__(self) -> None:
        self._names = (f"m{number}" for number in itertools.count())
        self.load()

    def load(self) -> None:
        """Load the modules anew, and with them whatever they keep between dialogues."""
        for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
            del sys.modules[name]
        self.utils: ModuleType = importlib.import_module(f"{PACKAGE}.multi_turn_utils")
        self.checker: ModuleType = importlib.import_module(f"{PACKAGE}.multi_turn_checker")

    def judge(self, entry: Entry, turns: Turns) -> Judged:
        """Return the checker's verdict."""
        name = next(self._names)
        try:
            said = self.check(entry, turns, name)
        except Exception as error:  # a crash of the checker ends the official evaluation
            return Judged(False, None, f"crash: {type(error).__name__}", [])
        finally:
            self.clean(name)
        if said["valid"]:
            return Judged(True, None, "", [])
        done = said.get("execution_result") or said["details"].get("execution_result")
        named = re.search(r"turn (\d+)", said["error_message"])
        turn = len(done) - 1 if done else int(named[1]) if named else None
        return Judged(False, turn, said["error_type"].partition(":")[2], [])

    def check(self, entry: Entry, turns: Turns, name: str) -> dict[str, Any]:
        return self.checker.multi_turn_checker(
            turns, entry.ground_truth, entry.question, entry.category, name
        )

    def execute(self, entry: Entry, turns: Turns, name: str) -> list[list[str]]:
        """Execute message after message, as the runner does while a model generates."""
        question, results = entry.question, []
        for turn in turns:
            results.append([])
            for calls in turn:
                said, _ = self.utils.execute_multi_turn_func_call(
                    calls,
                    question["initial_config"],
                    question["involved_classes"],
                    name,
                    entry.task_id,
                    long_context=entry.category == "long_context",
                )
                results[-1].extend(said)
        return results

    def results(self, entry: Entry, turns: Turns) -> list[list[str]]:
        """Return the results of all calls, by user turn."""
        name = next(self._names)
        try:
            return self.execute(entry, turns, name)
        finally:
            self.clean(name)

    def clean(self, name: str) -> None:
        """Remove the instances made under a name."""
        kept = vars(self.utils)
        for key in [key for key in kept if key.startswith(f"{name}_")]:
            del kept[key]


def as_text(call: Call) -> str:
    """Write a call as official handlers do with what a model answers in JSON."""
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"
