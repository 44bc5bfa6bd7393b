import importlib.util
from pathlib import Path

import pytest

from budget_envs.tasks.synthetic_tools import task_from_id

_SPEC = importlib.util.spec_from_file_location(
    "regenerate_golden_tools", Path(__file__).with_name("regenerate_golden.py")
)
regenerate = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(regenerate)


@pytest.mark.parametrize("task_id", regenerate.TASK_IDS)
def test_dialogue_equals_its_golden_text(task_id):
    expected = regenerate.golden_path(task_id).read_text(encoding="utf-8")
    assert regenerate.golden_text(task_from_id(task_id)) == expected


def test_every_golden_file_is_compared():
    known = {regenerate.golden_path(task_id).name for task_id in regenerate.TASK_IDS}
    assert {path.name for path in regenerate.GOLDEN.iterdir()} == known
