"""The generated set as a dataset of the registry."""

import pytest

from budget_envs.errors import OptionError
from budget_envs.tasks import dataset, load, show
from budget_envs.tasks.synthetic import from_synthetic
from budget_envs.tasks.synthetic_code import generate, task_from_id


@pytest.fixture(scope="module")
def listed():
    return load("deepcoder_synthetic")


@pytest.mark.parametrize("kind", ["functional", "stdin"])
@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_a_generated_task_keeps_all_that_it_has(level, kind):
    made = generate(level, 17, kind)
    task = from_synthetic(made)
    assert (task.task_id, task.statement, task.kind) == (made.task_id, made.statement, kind)
    assert (task.starter_code, task.function_name) == (made.starter_code, made.function_name)
    assert task.reference_solution == made.reference_solution
    for tests, originals in ((task.public, made.public_tests), (task.hidden, made.hidden_tests)):
        assert len(tests) == len(originals)
        for test, (given, expected) in zip(tests, originals, strict=True):
            if kind == "stdin":
                assert (test.input, test.output) == (given, expected)
            else:
                assert (test.arguments, test.expected) == (list(given), expected)


def test_hidden_tests_are_not_public(listed):
    assert all(task.held_out == len(task.hidden) for task in listed)


def test_the_listing_has_every_level_split_and_kind(listed):
    assert len(listed) == dataset("deepcoder_synthetic").expected.gold
    seen = {
        (task.task_id.split("/")[1], listed.split_of(task.task_id), task.kind) for task in listed
    }
    assert len(seen) == 5 * 3 * 2


def test_a_listed_task_is_the_generators(listed):
    for task in listed[::17]:
        made = task_from_id(task.task_id)
        assert task == from_synthetic(made)
        assert listed.split_of(task.task_id) == made.split


def test_both_forms_of_a_program_are_in_one_split(listed):
    for task in listed:
        assert listed.split_of(f"{task.task_id.removesuffix('-stdin')}") == listed.split_of(
            f"{task.task_id.removesuffix('-stdin')}-stdin"
        )


def test_it_has_no_files_and_needs_no_network(listed):
    assert listed.manifest.files == ()
    assert listed.manifest.pinned
    assert "tasks     300" in show("deepcoder_synthetic")


def test_a_split_can_be_loaded():
    assert set(load("deepcoder_synthetic", split="test").split_sizes) == {"test"}
    with pytest.raises(OptionError, match="Did you mean 'test'"):
        load("deepcoder_synthetic", split="tets")
