import itertools
import json
import pickle
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
torch.set_num_threads(1)

from budget_envs.agents.models.tiny import TinyConfig, make_tiny  # noqa: E402
from budget_envs.agents.policies import make_policy  # noqa: E402
from budget_envs.agents.policies.language_model import LanguageModelPolicy  # noqa: E402
from budget_envs.errors import (  # noqa: E402
    BudgetError,
    OptionError,
    PolicyUnavailable,
)
from budget_envs.evaluation.live_episode import request_episode  # noqa: E402
from budget_envs.evaluation.policy import Action, Conversation, Failure, check_policy  # noqa: E402
from budget_envs.evaluation.rollout import ask, rollout  # noqa: E402
from budget_envs.evaluation.trajectory import Episode  # noqa: E402
from budget_envs.streams import derive_key  # noqa: E402

LAKE = "budget_envs/FrozenLake-v0"
MAPS = ("SFFF/FHFH/FFFH/HFFG", "SFFF/FFFH/FFFF/HFFG", "SFFG")
SHAPE = TinyConfig(hidden_size=32, num_layers=2, vocab_size=320, context_length=4096)


@pytest.fixture(scope="module")
def tiny() -> Any:
    """A model with weights large enough to prefer some tokens, and to depend on what it reads."""
    env = gym.make(LAKE)
    texts = [env.reset(seed=seed)[0] for seed in range(5)]
    model = make_tiny([*texts, *["Left", "Right", "Up", "Down"] * 4], SHAPE, seed=4)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for weight in model.model.parameters():
            if weight.ndim > 1:
                weight.normal_(0.0, 0.3, generator=generator)
    return model


def conversation(*texts: str, key: int = 7, id: str = "a", limit: int | None = None) -> Any:
    roles = itertools.cycle(("user", "assistant"))
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return Conversation(id, key, gym.spaces.Discrete(1), messages, limit)


def play(policy: Any, *, batch_size: int = 64, rollouts: int = 3, **env: Any) -> list[Episode]:
    requests = [request_episode(0, task, 4, number) for task in MAPS for number in range(rollouts)]
    played = rollout(
        policy, lambda: gym.make(LAKE, budget=4, **env), requests, batch_size=batch_size
    )
    episodes = {episode.key: episode for batch in played for episode in batch}
    return [episodes[request.key] for request in requests]


def fresh_logprobs(model: Any, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        scores = model(torch.tensor(ids)[None]).logits[0].log_softmax(-1)
    return scores[torch.arange(len(ids) - 1), torch.tensor(ids)[1:]].numpy()


def test_episodes_are_played_and_their_tokens_counted(tiny):
    episodes = play(LanguageModelPolicy(tiny, max_tokens_per_turn=6))
    assert {episode.error for episode in episodes} == {None}
    assert all(1 <= turn.num_tokens <= 6 for episode in episodes for turn in episode.turns)
    assert all(turn.logprob < 0 for episode in episodes for turn in episode.turns)


def test_actions_do_not_depend_on_the_batch(tiny):
    def actions(batch_size: int) -> list[list[str]]:
        policy = LanguageModelPolicy(tiny, max_tokens_per_turn=5)
        episodes = play(policy, batch_size=batch_size)
        return [[turn.action for turn in episode.turns] for episode in episodes]

    together = actions(64)
    assert together == actions(1) == actions(4)
    assert len(set(map(tuple, together))) > 3


@pytest.mark.parametrize("env", [{}, {"error_states": {"rate": 0.7}, "oracle": True}])
def test_recorded_tokens_have_the_logprobs_of_a_fresh_forward_pass(tiny, env):
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=5, record=True)
    episodes = play(policy, **env)
    for episode in episodes:
        trajectory = policy.pop_trajectory(f"{episode.task_id}#4#{episode.rollout}")
        where = np.flatnonzero(trajectory.is_action)
        fresh = fresh_logprobs(tiny.model, trajectory.ids)[where - 1]
        assert np.abs(fresh - trajectory.logprobs[where]).max(initial=0) < 1e-4
        assert len(trajectory.finishes) == len(episode.turns)
        landed = [turn.injected is not None for turn in episode.turns]
        assert [finish == "replaced" for finish in trajectory.finishes] == landed
        executed = [turn for turn, hit in zip(episode.turns, landed, strict=True) if not hit]
        assert trajectory.is_action.sum() == sum(turn.num_tokens for turn in executed)
    if env:
        assert any(turn.injected for episode in episodes for turn in episode.turns)


def test_logprobs_at_another_temperature_are_recorded_at_that_temperature(tiny):
    policy = LanguageModelPolicy(tiny, temperature=0.5, top_p=0.8, record=True)
    [action] = policy.act([conversation("Go.")])
    policy.end([conversation("Go.", action.text, "Over.")])
    trajectory = policy.pop_trajectory("a")
    with torch.no_grad():
        logits = tiny.model(torch.tensor(trajectory.ids)[None]).logits[0]
    where = np.flatnonzero(trajectory.is_action)
    for temperature, given in ((0.5, trajectory.logprobs[where]), (1.0, action.logprobs)):
        scores = (logits / temperature).log_softmax(-1).numpy()
        assert np.abs(scores[where - 1, trajectory.ids[where]] - given).max() < 1e-4


def test_the_text_is_what_the_tokens_say(tiny):
    policy = LanguageModelPolicy(tiny, record=True)
    [action] = policy.act([conversation("Go.")])
    policy.end([conversation("Go.", action.text, "Over.")])
    trajectory = policy.pop_trajectory("a")
    assert tiny.chat.decode(trajectory.ids[trajectory.is_action].tolist()) == action.text
    assert action.num_tokens == len(action.logprobs) == trajectory.is_action.sum()
    assert action.seconds > 0


def test_each_turn_reads_the_newest_message_only(tiny):
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=3)
    [action] = policy.act([conversation("Go. " * 50)])
    before = policy.sampler.usage.prefill_tokens
    policy.act([conversation("Go. " * 50, action.text, "Next.")])
    read = policy.sampler.usage.prefill_tokens - before
    assert read <= len(tiny.chat.append("Next.")) + 2


def test_turns_have_luck_of_their_own(tiny):
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=12)
    texts = {policy.act([conversation("Go.", key=key, id=str(key))])[0].text for key in range(8)}
    assert len(texts) > 4
    again = LanguageModelPolicy(tiny, max_tokens_per_turn=12)
    assert {again.act([conversation("Go.", key=key)])[0].text for key in range(8)} == texts


def test_the_key_of_a_generation_is_that_of_its_turn(tiny, monkeypatch):
    policy, keys = LanguageModelPolicy(tiny, max_tokens_per_turn=2), []
    generate = policy.sampler.extend_and_generate

    def spy(requests: Any) -> Any:
        keys.extend(request.key for request in requests)
        return generate(requests)

    monkeypatch.setattr(policy.sampler, "extend_and_generate", spy)
    text = policy.act([conversation("Go.")])[0].text
    policy.act([conversation("Go.", text, "Next.")])
    assert keys == [derive_key(7, 0), derive_key(7, 1)]


def test_greedy_is_the_same_whatever_the_key(tiny):
    policy = LanguageModelPolicy(tiny, temperature=0, max_tokens_per_turn=20)
    texts = {policy.act([conversation("Go.", key=key, id=str(key))])[0].text for key in range(5)}
    assert len(texts) == 1


@pytest.mark.parametrize("limit", [1, 3])
def test_the_token_limit_of_the_episode_is_kept(tiny, limit):
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=50)
    actions = policy.act([conversation("Go.", id=str(n), key=n, limit=limit) for n in range(6)])
    assert max(action.num_tokens for action in actions) == limit


def test_without_tokens_left_the_episode_has_run_out_of_budget(tiny):
    [failure] = LanguageModelPolicy(tiny).act([conversation("Go.", limit=0)])
    assert failure == Failure("no tokens are left to answer with.", "budget")


def test_a_budget_of_tokens_is_never_overspent(tiny):
    requests = [request_episode(0, task, 4, number) for task in MAPS for number in range(3)]
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=8)
    budget = {"turns": 4, "tokens": 13}
    played = rollout(policy, lambda: gym.make(LAKE, budget=budget), requests)
    for episode in (episode for batch in played for episode in batch):
        assert episode.error is None
        assert episode.num_tokens <= 13
        assert episode.budget_report["tokens"]["used"] == episode.num_tokens


def test_a_conversation_that_outgrows_the_context_fails_alone(tiny):
    policy = LanguageModelPolicy(tiny)
    long = conversation("word " * 5000, id="long")
    answers = policy.act([conversation("Go.", id="x"), long, conversation("Go.", id="y")])
    assert [type(answer) for answer in answers] == [Action, Failure, Action]
    assert answers[1].boundary == "agent"
    assert "the context of tiny ends at 4096" in answers[1].error


def test_the_last_room_of_the_context_is_used_and_no_more(tiny):
    def length(words: int) -> int:
        return len(tiny.chat.first([{"role": "user", "content": "Left " * words}]))

    words = next(n for n in range(1400, 0, -1) if length(n) < tiny.context_length)
    room = tiny.context_length - length(words)
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=50)
    texts = [conversation("Left " * words, key=k, id=str(k), limit=500) for k in range(4)]
    assert max(action.num_tokens for action in policy.act(texts)) == room


def test_a_stop_text_ends_an_action_and_stays_in_it(tiny):
    free = LanguageModelPolicy(tiny, max_tokens_per_turn=60)
    texts = [free.act([conversation("Go.", key=key, id=str(key))])[0].text for key in range(6)]
    text = max(texts, key=len)
    wanted = text[len(text) // 2 :][:2]
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=60, stop=[wanted])
    action = policy.act([conversation("Go.", key=texts.index(text))])[0]
    assert wanted in action.text
    assert len(action.text) < len(text)
    assert text.startswith(action.text)
    next_action = policy.act([conversation("Go.", action.text, "Next.")])[0]
    assert isinstance(next_action, Action)


def test_a_replaced_action_is_what_the_model_is_shown(tiny):
    policy, other = (LanguageModelPolicy(tiny, max_tokens_per_turn=20) for _ in range(2))
    policy.act([conversation("Go.")])
    replaced = conversation("Go.", "Something else.", "Next.")
    [action] = policy.act([replaced])
    [expected] = other.act([replaced])
    assert action.text == expected.text
    assert action.logprobs == pytest.approx(expected.logprobs, abs=1e-4)


def test_ending_a_conversation_forgets_it(tiny):
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=4)
    first = policy.act([conversation("Go.")])[0]
    policy.end([conversation("Go.", first.text, "Over."), conversation("x", id="unknown")])
    assert policy.sampler.ids("a") == []
    assert policy.act([conversation("Go.")])[0].text == first.text
    with pytest.raises(KeyError):
        policy.pop_trajectory("a")


def test_a_trajectory_is_taken_once(tiny):
    policy = LanguageModelPolicy(tiny, max_tokens_per_turn=4, record=True)
    action = policy.act([conversation("Go.")])[0]
    with pytest.raises(KeyError):
        policy.pop_trajectory("a")
    policy.end([conversation("Go.", action.text, "Over.")])
    policy.pop_trajectory("a")
    with pytest.raises(KeyError):
        policy.pop_trajectory("a")


def test_messages_out_of_turn_fail_that_conversation_alone(tiny):
    bad = conversation("Go.", "Left", id="bad")
    good = conversation("Go.", id="good")
    answers = ask(LanguageModelPolicy(tiny, max_tokens_per_turn=4).act, [bad, good])
    assert [type(answer) for answer in answers] == [Failure, Action]


@pytest.fixture
def folder(tiny, tmp_path):
    tiny.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_saved_model_plays_like_the_one_in_memory(tiny, folder):
    loaded = make_policy("language_model", model=str(folder), max_tokens_per_turn=5)
    in_memory = LanguageModelPolicy(tiny, max_tokens_per_turn=5)
    assert [e.turns for e in play(loaded)] == [e.turns for e in play(in_memory)]


def test_settings_tell_models_apart(tiny, folder):
    policy = LanguageModelPolicy(folder, temperature=0.5, stop=["x"])
    check_policy(policy)
    settings = json.loads(json.dumps(policy.settings))
    assert settings["model"] == str(folder)
    assert settings["temperature"] == 0.5
    (folder / "generation_config.json").write_text("{}", encoding="utf-8")
    assert LanguageModelPolicy(folder).settings["checksum"] != settings["checksum"]


@pytest.mark.parametrize("source", ["folder", "tiny"])
def test_a_policy_can_be_sent_to_another_process_while_it_plays(source, request):
    policy = LanguageModelPolicy(request.getfixturevalue(source), max_tokens_per_turn=4)
    expected = policy.act([conversation("Go.")])[0]
    sent = pickle.loads(pickle.dumps(policy))
    assert sent.settings == policy.settings
    got = sent.act([conversation("Go.")])[0]
    assert (got.text, got.logprobs) == (expected.text, expected.logprobs)


def test_another_template_can_be_given(tiny):
    template = "{{ 'Be good. ' }}" + tiny.tokenizer.chat_template
    policy = LanguageModelPolicy(tiny, chat_template=template, max_tokens_per_turn=4)
    policy.act([conversation("Go.")])
    assert tiny.tokenizer.decode(policy.sampler.ids("a")).startswith("Be good. <|im_start|>user")
    assert policy.settings["chat_template"] == template


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -1},
        {"top_p": 0},
        {"stop": "text"},
        {"stop": [""]},
        {"model": "/no/such/folder"},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_at_once(tiny, settings):
    with pytest.raises(OptionError):
        LanguageModelPolicy(**{"model": tiny} | settings)


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_room_for_less_than_a_token_is_refused(tiny, most):
    with pytest.raises(BudgetError, match="max_tokens_per_turn"):
        LanguageModelPolicy(tiny, max_tokens_per_turn=most)


def test_a_model_that_cannot_be_loaded_ends_the_evaluation(tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PolicyUnavailable, match="no language model could be loaded"):
        play(LanguageModelPolicy(tmp_path))


def test_a_template_that_rewrites_history_ends_the_evaluation(tiny):
    template = "{{ messages[-1]['content'] }}"
    with pytest.raises(PolicyUnavailable, match="chat template"):
        play(LanguageModelPolicy(tiny, chat_template=template))


def test_making_a_policy_loads_neither_torch_nor_the_model(folder):
    code = (
        "import sys; from budget_envs.agents.policies import make_policy; "
        f"make_policy('language_model', model={str(folder)!r}); "
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
