import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.agents.models.tokens import TokenTrajectory
from budget_envs.agents.trainers.batch import in_passes, pad


def _trajectory(actions, turns):
    """Make a trajectory of which token i is 10 + i."""
    count = len(actions)
    return TokenTrajectory(
        ids=np.arange(10, 10 + count),
        is_action=np.array(actions, bool),
        logprobs=-np.arange(count, dtype=np.float32),
        turns=np.array(turns, np.int64),
    )


LONG = _trajectory([0, 1, 1, 0, 1], [0, 0, 0, 1, 1])
SHORT = _trajectory([0, 1], [0, 0])


def test_trajectories_are_padded_on_the_right():
    batch = pad([LONG, SHORT], [2, 1])
    assert batch.ids.tolist() == [[10, 11, 12, 13, 14], [10, 11, 0, 0, 0]]
    assert batch.mask.int().tolist() == [[0, 1, 1, 0, 1], [0, 1, 0, 0, 0]]
    assert batch.old_logprobs.tolist() == [[0, -1, -2, 0, -4], [0, -1, 0, 0, 0]]
    assert batch.lengths.tolist() == [5, 2]


def test_values_of_turns_reach_their_tokens():
    batch = pad([LONG, SHORT], [2, 1])
    spread = batch.of_turns(np.array([1.0, 2.0, 3.0]))
    assert spread.tolist() == [[0, 1, 1, 0, 2], [0, 3, 0, 0, 0]]


def test_tokens_of_turns_that_do_not_count_are_in_no_loss():
    batch = pad([LONG, SHORT], [1, 1])
    assert batch.mask.int().tolist() == [[0, 1, 1, 0, 0], [0, 1, 0, 0, 0]]
    assert batch.of_turns(np.array([1.0, 3.0])).tolist()[1] == [0, 3, 0, 0, 0]


def test_a_trajectory_may_be_empty():
    batch = pad([_trajectory([], []), SHORT], [0, 1])
    assert batch.mask.int().tolist() == [[0, 0], [0, 1]]
    assert batch.of_turns(np.array([5.0])).tolist() == [[0, 0], [0, 5]]


def test_no_trajectories_are_a_batch_too():
    assert len(pad([], [])) == 0


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 120))
def test_a_pass_holds_so_many_tokens_and_every_row_is_in_one(lengths, limit):
    array = np.array(lengths)
    seen = []
    for rows, width in in_passes(array, limit):
        assert width == max(array[rows.numpy()])
        assert len(rows) == 1 or width * len(rows) <= limit
        seen += rows.tolist()
    assert sorted(seen) == list(range(len(lengths)))


def test_some_rows_only():
    parts = list(in_passes(np.array([3, 9, 4, 1]), 8, np.array([0, 2])))
    assert [(rows.tolist(), width) for rows, width in parts] == [([0, 2], 4)]


@pytest.mark.parametrize("limit", [4, 10, 1000])
def test_cutting_keeps_rows_of_like_length_together(limit):
    widths = [width for _, width in in_passes(np.array([9, 1, 5, 2, 7, 7]), limit)]
    assert widths == sorted(widths)
    assert isinstance(next(in_passes(np.array([1]), limit))[0], torch.Tensor)
