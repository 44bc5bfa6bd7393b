"""BFCL multi-turn: dialogues in which a user wants things done on stateful APIs.

Four sets of 200 dialogues. Files of a set: questions, ground truth (calls as Python text, read by
`ast`), the documentation of the API classes, and their code. One scenario has the same number in
all four sets, so the split goes by number: numbers shuffled with seed 42, the first half to learn
from (90 for training, 10 for validation), the second half for testing, as in paper 2.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks.bfcl_classes import parameter_names
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.rows import Row, read_rows
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.task_set import Contents, Entry
from budget_envs.tool_calls.model import Call, Dialogue, Tool, UserTurn
from budget_envs.tool_calls.schema import json_schema

__all__ = ["CATEGORIES", "LATE_FUNCTIONS", "dataset_of", "read"]

CATEGORIES: Final = ("base", "miss_func", "miss_param", "long_context")
LATE_FUNCTIONS: Final = "I have updated some more functions you can choose from. What about now?"
"""What the user says where BFCL has no message: in the turns that functions arrive with."""

_SCENARIOS: Final = 200
_TRAIN, _VALIDATION = 90, 10

Parameters = Mapping[str, Sequence[str]]


def dataset_of(category: str) -> str:
    """Return the name of a category's dataset."""
    return f"bfcl_{category}"


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[Dialogue]:
    """Read a set; none of the code is executed.

    Raises:
        TaskDataInvalid: If a row is no dialogue, or its ground truth is not made of plain calls.
    """
    at = {file.role: file for file in files}
    apis = _Apis(at)
    answers = {str(row.get("id")): row for row in read_rows(at["answers"].path)}
    entries = []
    for row in read_rows(at["questions"].path):
        try:
            calls = answers[row["id"]]["ground_truth"]
            dialogue = _dialogue(row, calls, info.options["category"], apis)
            number = int(dialogue.task_id.rpartition("_")[2])
        except (KeyError, TypeError, ValueError, AttributeError, SyntaxError) as error:
            raise TaskDataInvalid(
                f"{at['questions'].path}: {row.get('id')!r} is no dialogue with question, "
                f"initial_config, involved_classes and ground truth: {error!r}."
            ) from error
        entries.append(Entry(dialogue, f"scenario {number}", _split(number)))
    return Contents(tuple(entries))


class _Apis:
    """What the files say of each API class, read when it is first needed."""

    def __init__(self, at: Mapping[str, LocatedFile]) -> None:
        self._at = at
        self._tools: dict[tuple[str, ...], tuple[Tool, ...]] = {}
        self._parameters: dict[str, Parameters] = {}

    def parameters(self, classes: Sequence[str]) -> Parameters:
        """Return method -> parameter names in the order of the code."""
        for name in classes:
            if name not in self._parameters:
                file = self._at[f"code/{name}"]
                self._parameters[name] = parameter_names(file.path, name)
        return {
            method: names for name in classes for method, names in self._parameters[name].items()
        }

    def tools(self, classes: Sequence[str]) -> tuple[Tool, ...]:
        """Return the tools of some classes: one tuple for all dialogues that have the same."""
        key = tuple(classes)
        if key not in self._tools:
            order = self.parameters(classes)
            rows = [row for name in classes for row in read_rows(self._at[f"docs/{name}"].path)]
            self._tools[key] = tuple(_tool(row, order[row["name"]]) for row in rows)
        return self._tools[key]


def _tool(row: Row, order: Sequence[str]) -> Tool:
    """Return a tool; its parameters in the order of the code, which decides for calls by place."""
    schema = json_schema(row["parameters"])
    schema["properties"] = {name: schema["properties"][name] for name in order}
    return Tool(row["name"], row["description"], schema)


def _dialogue(row: Row, answers: Sequence[Sequence[str]], category: str, apis: _Apis) -> Dialogue:
    classes = row["involved_classes"]
    parameters = apis.parameters(classes)
    late = row.get("missed_function", {})
    turns = tuple(
        UserTurn(
            _message(messages, place in late),
            tuple(_call(source, parameters) for source in calls),
            tuple(late.get(place, ())),
        )
        for place, messages, calls in zip(
            map(str, range(len(answers))), row["question"], answers, strict=True
        )
    )
    world = {
        "classes": list(classes),
        "initial_config": row["initial_config"],
        "long_context": category == "long_context",
    }
    return Dialogue(row["id"], category, turns, apis.tools(classes), world)


def _message(messages: Sequence[Mapping[str, str]], is_late: bool) -> str:
    if is_late and not messages:
        return LATE_FUNCTIONS
    if len(messages) != 1 or messages[0]["role"] != "user":
        raise ValueError(f"expected one message of the user, got {messages!r}")
    return messages[0]["content"]


def _call(source: str, parameters: Parameters) -> Call:
    """Read a call of the ground truth: a name, and literals by place or by name."""
    node = ast.parse(source.strip(), mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"not a call of a function by its name: {source!r}")
    name = node.func.id
    by_place = dict(zip(parameters[name], map(ast.literal_eval, node.args), strict=False))
    by_name = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
    if len(by_place) < len(node.args) or by_place.keys() & by_name:
        raise ValueError(f"its arguments do not fit {name!r}: {source!r}")
    return Call(name, {**by_place, **by_name})


@cache
def _order() -> Mapping[int, int]:
    numbers = list(range(_SCENARIOS))
    random.Random(42).shuffle(numbers)
    return {number: place for place, number in enumerate(numbers)}


def _split(number: int) -> str:
    place = _order()[number]
    if place < _TRAIN:
        return "train"
    return "validation" if place < _TRAIN + _VALIDATION else "test"
