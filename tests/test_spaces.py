import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from hypothesis import given
from hypothesis import strategies as st

from budget_envs import TextSpace
from budget_envs.errors import OptionError


@given(st.text())
def test_every_string_is_in_the_space(text):
    assert text in TextSpace()


def test_a_lone_surrogate_and_numpy_strings_are_in_the_space():
    assert "\ud800" in TextSpace()
    assert np.str_("Left") in TextSpace()


@pytest.mark.parametrize("value", [None, 3, b"Left", ["Left"], 1.5])
def test_nothing_but_strings_is_in_the_space(value):
    assert value not in TextSpace()


def test_samples_are_the_examples_and_all_of_them():
    space = TextSpace(["a", "b", "c"], seed=0)
    assert {space.sample() for _ in range(200)} == {"a", "b", "c"}


def test_equal_seeds_give_equal_samples():
    one, two = TextSpace("abcdef", seed=3), TextSpace("abcdef", seed=3)
    assert [one.sample() for _ in range(50)] == [two.sample() for _ in range(50)]


def test_sampling_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    TextSpace(["a", "b"], seed=0).sample()
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("examples", [(), [1], ["a", None]])
def test_bad_examples_are_refused(examples):
    with pytest.raises(OptionError, match="example"):
        TextSpace(examples)


def test_masks_are_refused():
    with pytest.raises(OptionError, match="mask"):
        TextSpace().sample(mask=np.ones(1))
    with pytest.raises(OptionError, match="mask"):
        TextSpace().sample(probability=np.ones(1))


def test_spaces_are_equal_by_their_examples():
    assert TextSpace(["a"]) == TextSpace(["a"])
    assert TextSpace(["a"]) != TextSpace(["b"])
    assert hash(TextSpace(["a"])) == hash(TextSpace(["a"]))
    assert TextSpace(["a"]) != gym.spaces.Text(5)


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_copies_are_equal_and_give_the_same_next_samples(copied):
    space = TextSpace("abcdef", seed=1)
    space.sample()
    twin = copied(space)
    assert twin == space
    assert [twin.sample() for _ in range(20)] == [space.sample() for _ in range(20)]


@given(st.lists(st.text(), max_size=5))
def test_json_form_reads_back(texts):
    space = TextSpace()
    assert space.from_jsonable(space.to_jsonable(texts)) == texts


def test_batched_space_carries_strings_of_any_length():
    space = TextSpace(["Left"])
    batch = batch_space(space, 3)
    texts = ["", "x" * 10_000, "\u2603"]
    empty = create_empty_array(space, 3)
    assert tuple(concatenate(space, texts, empty)) == tuple(texts)
    assert tuple(iterate(batch, tuple(texts))) == tuple(texts)


def test_shared_memory_is_refused_for_text():
    from gymnasium.error import CustomSpaceError
    from gymnasium.vector.utils import create_shared_memory

    with pytest.raises(CustomSpaceError):
        create_shared_memory(TextSpace(), 2)


def test_repr_is_short():
    assert repr(TextSpace(["a" * 50, "b"])) == f"TextSpace(['{'a' * 20}', 'b'])"
    assert repr(TextSpace("abcdef")).endswith(", ...])")
