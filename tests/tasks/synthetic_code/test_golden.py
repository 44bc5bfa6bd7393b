"""Five tasks, byte for byte: the promise that an id names the same task for good."""

import importlib.util
from pathlib import Path

import pytest

from budget_envs.tasks.synthetic_code import task_from_id

_SPEC = importlib.util.spec_from_file_location(
    "regenerate_golden", Path(__file__).with_name("regenerate_golden.py")
)
golden = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(golden)


@pytest.mark.parametrize("task_id", golden.TASK_IDS)
def test_task_equals_its_golden_text(task_id):
    expected = golden.golden_path(task_id).read_text(encoding="utf-8")
    assert golden.golden_text(task_from_id(task_id)) == expected


def test_there_is_no_golden_file_without_a_task():
    expected = {golden.golden_path(task_id) for task_id in golden.TASK_IDS}
    assert set(golden.GOLDEN.iterdir()) == expected


def test_golden_tasks_cover_every_level_and_both_kinds():
    tasks = [task_from_id(task_id) for task_id in golden.TASK_IDS]
    assert {task.level for task in tasks} == {1, 2, 3, 4, 5}
    assert {task.kind for task in tasks} == {"functional", "stdin"}
