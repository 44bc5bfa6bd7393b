import importlib.util
from pathlib import Path

import pytest

from budget_envs.registration import PRESETS

_spec = importlib.util.spec_from_file_location(
    "playthrough", Path(__file__).with_name("playthrough.py")
)
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


@pytest.mark.parametrize("env_id", [preset.id for preset in PRESETS])
def test_a_playthrough_equals_its_golden_text(env_id):
    assert golden.playthrough(env_id) == golden.path_of(env_id).read_text(encoding="utf-8")


def test_every_golden_text_belongs_to_an_id():
    expected = {golden.path_of(preset.id).name for preset in PRESETS}
    assert {path.name for path in golden.FOLDER.glob("*.txt")} == expected
