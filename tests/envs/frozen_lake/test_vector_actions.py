import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.actions import read_choice
from budget_envs.envs.frozen_lake.vector_actions import _CODES, read_batch
from budget_envs.envs.frozen_lake.vector_lakes import STAY

CHOICES = {"left": 0, "down": 1, "right": 2, "up": 3}


def read(text):
    chosen = read_choice(text, CHOICES)
    return STAY if chosen is None else chosen


@pytest.mark.parametrize("spelling", list(_CODES))
def test_spellings_that_are_looked_up_mean_what_they_are_read_as(spelling):
    assert _CODES[spelling] == read(spelling)


@given(st.lists(st.text(max_size=30) | st.sampled_from(list(_CODES)), max_size=8))
def test_batches_are_read_by_the_one_rule(texts):
    assert read_batch(texts).tolist() == [read(text) for text in texts]


def test_what_was_read_once_is_not_remembered():
    before = len(_CODES)
    read_batch([f"I think {number}\nLeft" for number in range(100)])
    assert len(_CODES) == before


def test_only_actions_that_count_must_be_strings():
    assert read_batch(["Up", [], "Left"], unread=[1]).tolist()[::2] == [3, 0]
    with pytest.raises(TypeError, match="as a str"):
        read_batch(["Up", [], "Left"], unread=[2])
