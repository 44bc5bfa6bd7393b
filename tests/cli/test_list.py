import dataclasses

import gymnasium as gym
import pytest

from budget_envs.errors import DependencyNotInstalled, TaskDataUnavailable
from budget_envs.registration import FAMILIES, PRESETS


def test_every_id_is_listed_once(cli):
    listed = [row["id"] for row in cli("list", "--json").document]
    assert listed == [preset.id for preset in PRESETS]


def test_a_row_says_budget_oracle_and_vector_environment(cli):
    rows = {row["id"]: row for row in cli("list", "--json").document}
    assert rows["budget_envs/FrozenLake-8x8-v0"] == {
        "id": "budget_envs/FrozenLake-8x8-v0",
        "turns": 20,
        "settings": {"size": 8},
        "oracle": "exact",
        "has_native_vector": True,
        "missing": [],
    }


def test_the_table_names_every_id(cli):
    table = cli("list").out
    assert all(preset.id in table for preset in PRESETS)


@pytest.mark.parametrize(
    "error",
    [
        DependencyNotInstalled('sqlglot is missing. Run: pip install "budget-envs[sql]"'),
        TaskDataUnavailable("the tasks are nowhere. Run: budget-envs tasks fetch sql"),
        gym.error.DependencyNotInstalled("box2d is missing"),
        OSError("no device"),
    ],
)
def test_what_an_environment_lacks_is_listed_with_what_to_do(cli, monkeypatch, error):
    def fail(*args, **keywords):
        raise error

    monkeypatch.setattr(gym, "make", fail)
    done = cli("list", "--json")
    assert done.code == 0
    assert all(row["missing"] == [str(error)] for row in done.document)
    assert str(error)[:20] in cli("list").out


def test_an_environment_without_an_oracle_says_none(cli, monkeypatch):
    without = dataclasses.replace(FAMILIES["frozen_lake"], oracle=None)
    monkeypatch.setitem(FAMILIES, "frozen_lake", without)
    assert cli("list", "--json").document[0]["oracle"] is None
    assert "none" in cli("list").out
