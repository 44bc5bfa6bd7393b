"""The generated questions as a dataset of the registry."""

import pytest

from budget_envs.errors import OptionError
from budget_envs.tasks import dataset, load, show
from budget_envs.tasks.intercode_sql_synthetic import from_synthetic
from budget_envs.tasks.synthetic_sql import generate, task_from_id

NAME = "intercode_sql_synthetic"


@pytest.fixture(scope="module")
def listed():
    return load(NAME)


@pytest.mark.parametrize("hardness", ["easy", "medium", "hard", "extra"])
def test_a_generated_task_keeps_all_that_an_episode_needs(hardness):
    made = generate(hardness, 17)
    task = from_synthetic(made)
    for name in ("task_id", "database", "question", "gold", "hardness"):
        assert getattr(task, name) == getattr(made, name)
    assert {table: list(columns) for table, columns in task.tables} == {
        table: list(columns) for table, columns in made.tables.items()
    }


def test_the_listing_has_every_level_and_split_in_equal_shares(listed):
    assert len(listed) == dataset(NAME).expected.gold
    counts = {}
    for task in listed:
        key = task.hardness, listed.split_of(task.task_id)
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 4 * 3
    assert set(counts.values()) == {dataset(NAME).options["per_level"]}


def test_a_listed_task_is_the_generators(listed):
    for task in listed[::17]:
        made = task_from_id(task.task_id)
        assert task == from_synthetic(made)
        assert listed.split_of(task.task_id) == made.split


def test_no_question_is_listed_twice_and_none_is_left_out(listed):
    assert len({(task.database, task.gold) for task in listed}) == len(listed)
    assert listed.excluded == {}


def test_no_schema_is_in_two_splits(listed):
    schemas = {}
    for task in listed:
        name = task.database.rpartition("_")[0]
        schemas.setdefault(name, set()).add(listed.split_of(task.task_id))
    assert {len(splits) for splits in schemas.values()} == {1}


def test_it_has_no_files_and_needs_no_network(listed):
    assert listed.manifest.files == ()
    assert listed.manifest.pinned
    assert "tasks     300" in show(NAME)


def test_a_split_can_be_loaded():
    assert set(load(NAME, split="test").split_sizes) == {"test"}
    with pytest.raises(OptionError, match="Did you mean 'test'"):
        load(NAME, split="tets")
