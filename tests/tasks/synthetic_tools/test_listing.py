"""The generated dialogues as a dataset of the registry."""

import pytest

from budget_envs.errors import OptionError
from budget_envs.tasks import dataset, load, show
from budget_envs.tasks.synthetic_tools import fingerprint, split_of, task_from_id

NAME = "tool_use_synthetic"


@pytest.fixture(scope="module")
def listed():
    return load(NAME)


def test_the_listing_has_every_kind_in_equal_shares(listed):
    assert len(listed) == dataset(NAME).expected.gold
    counts = {}
    for dialogue in listed:
        kind = dialogue.task_id.rsplit("/", 1)[0]
        counts[kind] = counts.get(kind, 0) + 1
    assert len(counts) == 4 * 3 * 2 * 3
    assert set(counts.values()) == {dataset(NAME).options["per_kind"]}


def test_a_listed_task_is_the_generators_and_in_the_split_that_its_id_names(listed):
    for dialogue in listed[::17]:
        assert dialogue == task_from_id(dialogue.task_id)
        assert listed.split_of(dialogue.task_id) == split_of(dialogue.task_id)


def test_no_task_is_listed_twice_and_none_is_left_out(listed):
    assert len(set(map(fingerprint, listed))) == len(listed)
    assert listed.excluded == {}


def test_it_has_no_files_and_needs_no_network(listed):
    assert listed.manifest.files == ()
    assert listed.manifest.pinned
    assert "tasks     288" in show(NAME)


def test_a_split_can_be_loaded():
    assert set(load(NAME, split="test").split_sizes) == {"test"}
    with pytest.raises(OptionError, match="Did you mean 'test'"):
        load(NAME, split="tets")
