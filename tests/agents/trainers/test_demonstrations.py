import numpy as np
import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.agents.trainers.demonstrations import (
    DemonstrationSettings,
    NoisyPolicy,
    as_messages,
    encode,
    play_demonstrations,
    recorded,
)
from budget_envs.errors import DataError, UnsupportedError
from budget_envs.evaluation import evaluate
from budget_envs.evaluation.env_maker import EnvMaker

LAKE = "budget_envs/FrozenLake-4x4-v0"
OPEN = "SFFF/FFFF/FFFF/FFFG"


def _play(count=1, budget=10, keywords=None, **settings):
    make_env = EnvMaker.of(LAKE, keywords or {})
    tasks = [(OPEN, budget)] * count
    return play_demonstrations(DemonstrationSettings(**settings), make_env, tasks, seed=0)


def test_an_oracle_shows_the_shortest_way():
    (episode,) = _play()
    assert (episode.verdict, episode.num_turns) == ("pass", 6)


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_so_many_actions_are_random(noise):
    first = [episode.turns[0].action for episode in _play(count=300, noise=noise)]
    best = [action in ("Right", "Down") for action in first]
    assert np.mean(best) == pytest.approx(1 - noise / 2, abs=0.05)


def test_noise_is_a_function_of_seed_and_task():
    first, again = _play(count=20, noise=0.5), _play(count=20, noise=0.5)
    assert first == again
    assert len({tuple(turn.action for turn in e.turns) for e in first}) > 10


def test_a_noisy_player_says_what_it_is():
    policy = NoisyPolicy(make_policy("oracle"), 0.25)
    assert policy.needs_env
    assert policy.settings["noise"] == 0.25


def test_failures_can_be_left_out():
    everything = _play(count=50, budget=6, noise=0.3)
    successes = _play(count=50, budget=6, noise=0.3, only_successes=True)
    assert successes == [episode for episode in everything if episode.verdict == "pass"]
    assert 0 < len(successes) < 50


def test_a_player_that_cannot_play_here_is_refused():
    with pytest.raises(UnsupportedError):
        _play(policy="sql_gold")


def test_a_conversation_ends_with_the_last_action():
    (episode,) = _play()
    messages = as_messages(episode)
    assert [message["role"] for message in messages] == ["user", "assistant"] * 6
    assert messages[0]["content"] == episode.turns[0].observation
    assert messages[-1]["content"] == episode.turns[-1].action


def test_only_the_agents_tokens_are_learned(tiny):
    (episode,) = _play()
    chat = tiny().chat
    tokens = encode(chat, episode)
    for number, turn in enumerate(episode.turns):
        said = tokens.ids[tokens.is_action & (tokens.turns == number)].tolist()
        assert chat.decode(said) == turn.action
        assert said[-1] == chat.end_id
    others = tokens.ids[~tokens.is_action].tolist()
    assert "You are on a frozen lake" in chat.decode(others)


def test_an_injected_error_is_seen_and_not_learned(tiny):
    keywords = {"error_states": {"rate": 0.5, "kind": "wrong_action"}}
    episodes = _play(count=10, keywords=keywords)
    replaced = [(e, n) for e in episodes for n, turn in enumerate(e.turns) if turn.injected]
    assert replaced
    chat = tiny().chat
    for episode, number in replaced:
        tokens = encode(chat, episode)
        assert not (tokens.is_action & (tokens.turns == number)).any()
        said = as_messages(episode)[2 * number + 1]["content"]
        assert said == episode.turns[number].injected["executed"]
    taken = {turn.injected is None for episode, _ in replaced for turn in episode.turns}
    assert taken == {True, False}


def test_recorded_episodes_are_those_of_the_database(tmp_path):
    database = str(tmp_path / "results.sqlite")
    result = evaluate(make_policy("random"), LAKE, [4], k=1, tasks=20, store=database)
    run = result.run.run_id
    found = recorded(DemonstrationSettings(database=database, run=run[:6], episodes=7))
    assert len(found) == 7
    assert all(episode.turns for episode in found)
    wins = recorded(DemonstrationSettings(database=database, run=run, only_successes=True))
    assert {episode.verdict for episode in wins} == {"pass"}


def test_no_database_and_nothing_in_it(tmp_path):
    with pytest.raises(DataError, match="no results database"):
        recorded(DemonstrationSettings(database=str(tmp_path / "x.sqlite"), run="a"))
    database = str(tmp_path / "results.sqlite")
    evaluate(make_policy("scripted", actions=["Up"]), LAKE, [1], k=1, tasks=[OPEN], store=database)
    with pytest.raises(DataError, match="no run 'zz'"):
        recorded(DemonstrationSettings(database=database, run="zz"))
    from budget_envs.evaluation.store import Store

    with Store.open(database) as store:
        run = store.runs()[0].run_id
    with pytest.raises(DataError, match="no episode to learn from"):
        recorded(DemonstrationSettings(database=database, run=run, only_successes=True))
