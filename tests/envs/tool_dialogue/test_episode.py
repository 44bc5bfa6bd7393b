import pickle

import pytest

from budget_envs.envs.tool_dialogue.episode import Episode, Progress
from budget_envs.tool_calls.model import Call


def call(name, /, **arguments):
    return Call(name, arguments)


@pytest.fixture
def begun(tiny):
    return lambda *progress: Episode(tiny.DIALOGUES["three"], tiny.Source().world, *progress)


def test_progress_restores_the_world_by_repeating_the_calls(begun):
    episode = begun()
    for each in (call("bump", by=3), call("select", name="b"), call("bump")):
        episode.call(each)
    episode.end_turn("pass")
    again = begun(pickle.loads(pickle.dumps(episode.progress)))
    assert again.progress == episode.progress
    assert again.world.key() == episode.world.key()
    assert again.call(call("bump")) == episode.call(call("bump")) == "7"


def test_the_world_is_made_only_when_it_is_needed(begun, tiny):
    before = tiny.CounterWorld.made
    episode = begun(Progress(calls=(call("bump"),), results=("1",)))
    assert (episode.number_of_calls, episode.results) == (1, {"1": 1})
    assert tiny.CounterWorld.made == before
    episode.world.key()
    assert tiny.CounterWorld.made == before + 1


def test_a_fork_shares_nothing(begun):
    episode = begun()
    episode.call(call("bump"))
    fork = episode.fork()
    fork.call(call("bump"))
    fork.end_turn("fail")
    assert (episode.turn, episode.world.counters, episode.results) == (
        0,
        {"a": 1, "b": 5},
        {"1": 1},
    )
    assert fork.world.counters == {"a": 2, "b": 5}


def test_a_repetition_is_the_same_call_again_in_the_same_user_turn(begun):
    episode = begun()
    assert not episode.is_repeated(call("bump"))
    episode.call(call("bump"))
    assert episode.is_repeated(call("bump"))
    assert not episode.is_repeated(call("bump", by=1))
    episode.end_turn("skip")
    assert not episode.is_repeated(call("bump"))


def test_it_is_over_after_the_last_user_turn(begun):
    episode = begun()
    for _ in range(3):
        assert not episode.is_over
        episode.end_turn("pass")
    assert episode.is_over
    assert list(episode.history()) == []
