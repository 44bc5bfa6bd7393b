"""BFCL's files as dialogues: made-up ones, and the published ones where they are at hand."""

import ast
import json
import random

import pytest

from budget_envs import tasks
from budget_envs.errors import TaskDataInvalid, TaskDataUnavailable
from budget_envs.tasks import bfcl, locate
from budget_envs.tasks.bfcl import CATEGORIES, LATE_FUNCTIONS, dataset_of
from budget_envs.tool_calls.model import Call

CODE = """
class Lamp:
    def switch(self, room, on, colour="white"):
        raise AssertionError("executed while it was read")
    def _hidden(self): ...
"""
DOCS = [
    {
        "name": "switch",
        "description": "Switches a lamp.",
        "parameters": {
            "type": "dict",
            "properties": {
                "on": {"type": "boolean", "description": "Whether."},
                "colour": {"type": "string"},
                "room": {"type": "string"},
            },
            "required": ["room", "on"],
        },
        "response": {"type": "dict"},
    }
]
QUESTION = {
    "id": "multi_turn_miss_func_3",
    "question": [[{"role": "user", "content": "Light, please."}], []],
    "initial_config": {"Lamp": {"rooms": 2}},
    "involved_classes": ["Lamp"],
    "missed_function": {"1": ["switch"]},
}
TRUTH = [[], ["switch('hall', on=True)"]]


@pytest.fixture
def read(tmp_path, register, pin):
    """Read a dataset with one dialogue."""

    def read_one(question=QUESTION, truth=TRUTH, answer=None):
        contents = {
            "questions.json": question,
            "answers.json": (
                {"id": question["id"], "ground_truth": truth} if answer is None else answer
            ),
            "lamp.json": DOCS[0],
        }
        for name, row in contents.items():
            (tmp_path / name).write_text(json.dumps(row) + "\n")
        (tmp_path / "lamp.py").write_text(CODE)
        roles = {
            "questions": "questions.json",
            "answers": "answers.json",
            "docs/Lamp": "lamp.json",
            "code/Lamp": "lamp.py",
        }
        files = [{**pin(tmp_path / name), "role": role} for role, name in roles.items()]
        register(
            "bfcl_tiny",
            adapter="budget_envs.tasks.bfcl:read",
            files=files,
            options={"category": "miss_func"},
        )
        return tasks.load("bfcl_tiny", tmp_path)

    return read_one


def test_a_row_becomes_a_dialogue_and_no_code_is_executed(read):
    (dialogue,) = read()
    assert (dialogue.task_id, dialogue.category) == ("multi_turn_miss_func_3", "miss_func")
    first, second = dialogue.turns
    assert (first.message, first.calls, first.arrivals) == ("Light, please.", (), ())
    assert (second.message, second.arrivals) == (LATE_FUNCTIONS, ("switch",))
    assert second.calls == (Call("switch", {"room": "hall", "on": True}),)
    assert dialogue.world == {
        "classes": ["Lamp"],
        "initial_config": {"Lamp": {"rooms": 2}},
        "long_context": False,
    }
    assert dialogue.tools_at(0) == ()
    assert dialogue.tools_at(1) == dialogue.tools


def test_parameters_stand_in_the_order_of_the_code_with_json_schemas_types(read):
    (tool,) = read()[0].tools
    assert (tool.name, tool.description) == ("switch", "Switches a lamp.")
    assert tool.parameters["type"] == "object"
    assert list(tool.parameters["properties"]) == ["room", "on", "colour"]
    assert tool.parameters["required"] == ["room", "on"]


@pytest.mark.parametrize(
    "source",
    [
        "switch(room='hall', on=__import__('os'))",
        "switch(room=switch('a', True), on=True)",
        "lamp.switch('hall', True)",
        "switch('hall', True, 'red', 4)",
        "switch('hall', room='hall', on=True)",
        "switch(room='hall'",
        "unknown()",
        "3",
        "",
    ],
)
def test_ground_truth_that_is_no_plain_call_is_refused(read, source):
    with pytest.raises(TaskDataInvalid, match="multi_turn_miss_func_3"):
        read(truth=[[], [source]])


@pytest.mark.parametrize(
    "change",
    [
        {"question": [[], [{"role": "user", "content": "Now?"}]]},  # no message, nothing late
        {"question": [[{"role": "system", "content": "?"}], []]},
        {"question": [[{"role": "user", "content": "One turn only."}]]},
        {"involved_classes": ["Radio"]},
        {"id": "no number"},
        {"missed_function": None},
    ],
)
def test_a_row_that_is_no_dialogue_is_refused(read, change):
    with pytest.raises(TaskDataInvalid):
        read({**QUESTION, **change})


@pytest.mark.parametrize("answer", [{"id": QUESTION["id"]}, {"ground_truth": []}, {}])
def test_an_answer_without_its_fields_is_refused(read, answer):
    with pytest.raises(TaskDataInvalid, match="multi_turn_miss_func_3"):
        read(answer=answer)


def test_the_split_is_the_papers_halves_with_a_validation_part():
    order = list(range(200))
    random.Random(42).shuffle(order)
    split = [bfcl._split(number) for number in range(200)]
    assert {n for n in range(200) if split[n] == "train"} == set(order[:90])
    assert {n for n in range(200) if split[n] == "validation"} == set(order[90:100])
    assert {n for n in range(200) if split[n] == "test"} == set(order[100:])


# The published files.


@pytest.fixture(params=CATEGORIES)
def published(request):
    try:
        return tasks.load(dataset_of(request.param))
    except TaskDataUnavailable as error:
        pytest.skip(f"bfcl-eval is not at hand: {str(error).splitlines()[0]}")


def test_every_published_dialogue_is_read(published):
    assert len(published) == 200
    assert published.split_sizes == {"train": 90, "validation": 10, "test": 100}
    assert all(file.pinned for file in published.manifest.files)
    assert not published.excluded
    name = published.manifest.name.removeprefix("bfcl_")
    turns = sum(len(dialogue.turns) for dialogue in published)
    empty = sum(not turn.calls for dialogue in published for turn in dialogue.turns)
    missing = name.startswith("miss")
    assert (turns, empty) == ((934, 203) if missing else (734, 3))
    late = [turn for dialogue in published for turn in dialogue.turns if turn.arrivals]
    assert len(late) == (200 if name == "miss_func" else 0)
    assert all(turn.message == LATE_FUNCTIONS for turn in late)


def test_published_tools_have_distinct_names_and_take_what_the_ground_truth_gives(published):
    for dialogue in published:
        tools = {tool.name: tool.parameters for tool in dialogue.tools}
        assert len(tools) == len(dialogue.tools)
        for turn in dialogue.turns:
            assert set(turn.arrivals) <= set(tools)
            for call in turn.calls:
                assert set(call.arguments) <= set(tools[call.name]["properties"])
                assert set(tools[call.name]["required"]) <= set(call.arguments)


def test_published_ground_truth_keeps_every_argument(published):
    """The number of literals in the files is the number of arguments read."""
    (file,) = (each for each in locate(published.manifest.name) if each.role == "answers")
    rows = [json.loads(line) for line in file.path.read_text("utf-8").splitlines()]
    for row, dialogue in zip(rows, published, strict=True):
        for sources, turn in zip(row["ground_truth"], dialogue.turns, strict=True):
            for source, call in zip(sources, turn.calls, strict=True):
                node = ast.parse(source.strip(), mode="eval").body
                written = [*node.args, *(each.value for each in node.keywords)]
                values = [ast.literal_eval(each) for each in written]
                assert list(call.arguments.values()) == values


def test_one_scenario_is_in_the_same_split_in_every_category(published):
    base = tasks.load("bfcl_base")
    for dialogue in published:
        number = dialogue.task_id.rpartition("_")[2]
        split = published.split_of(dialogue.task_id)
        assert split == base.split_of(f"multi_turn_base_{number}")


def test_the_absent_files_come_with_the_command_that_brings_them(monkeypatch):
    from importlib import metadata

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("budget_envs.tasks.sources.metadata.distribution", missing)
    with pytest.raises(TaskDataUnavailable, match=r"pip install --no-deps bfcl-eval==2026\.3\.23"):
        tasks.load("bfcl_base")
