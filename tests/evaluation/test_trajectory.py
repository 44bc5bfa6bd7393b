import dataclasses
import pickle

import pytest

from budget_envs.evaluation.trajectory import Episode, EpisodeKey, Run, Turn

RUN = Run("0", "fake", {}, "p", {}, "rerun", (2, 5, 8), 1, 4, ("a", "b"), None, 0)


@pytest.mark.parametrize(("protocol", "expected"), [("rerun", 24), ("truncate", 8)])
def test_the_number_of_requested_episodes(protocol, expected):
    assert dataclasses.replace(RUN, protocol=protocol).num_requested == expected


def test_an_episode_knows_its_key():
    assert Episode("a", 5, 2, 0, "fail").key == EpisodeKey("a", 5, 2)


@pytest.mark.parametrize(("turn", "expected"), [(0, True), (1, False), (None, False)])
def test_success_at_turn_zero_is_success_at_reset(turn, expected):
    assert Episode("a", 5, 2, 0, "pass", turn).is_solved_at_reset is expected


@pytest.mark.parametrize("record", [RUN, Episode("a", 5, 2, 0, "fail"), Turn(1, "see", "do")])
def test_records_can_be_sent_and_not_changed(record):
    assert pickle.loads(pickle.dumps(record)) == record
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, dataclasses.fields(record)[0].name, 1)
