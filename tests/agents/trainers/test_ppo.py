import numpy as np
import pytest
import torch

from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.collect import Collector
from budget_envs.agents.trainers.config import EnvSettings, RolloutSettings
from budget_envs.agents.trainers.forward import forward, parts
from budget_envs.agents.trainers.ppo import (
    PPOSettings,
    explained,
    first_tokens,
    state_values,
    turn_advantages,
    value_head,
    value_terms,
)
from budget_envs.evaluation.env_maker import EnvMaker

LAKE = "budget_envs/FrozenLake-4x4-v0"
OPEN = "SFF/FFF/FFG"


@pytest.fixture
def played(imitator):
    """Play with the imitator; return its model and chat format too."""

    def play(turns=3, count=6, **keywords):
        policy = LanguageModelPolicy(imitator, max_tokens_per_turn=3, record=True)
        make_env = EnvMaker.of(LAKE, {"oracle": True, **keywords})
        settings = RolloutSettings(groups=1, group_size=count, max_tokens_per_turn=3)
        found = Collector(policy, make_env, settings, seed=0).collect(0, [(OPEN, turns)])
        return found, policy.language_model

    return play


@pytest.fixture
def head():
    """A head that is not all zeros."""
    made = value_head(16)
    with torch.no_grad():
        made.weight.copy_(torch.linspace(-1, 1, 16)[None])
        made.bias.fill_(0.5)
    return made


def _settings(**changes):
    return PPOSettings(folder="f", model="m", env=EnvSettings(id=LAKE), num_steps=1, **changes)


def _value(language_model, head, ids):
    """Return V of a conversation, by the whole model."""
    with torch.no_grad():
        states = language_model.model.get_decoder()(input_ids=torch.tensor([ids]))
        return head(states.last_hidden_state[0, -1]).item()


def test_a_value_is_read_off_before_each_action(played, head):
    found, language_model = played()
    values, _ = state_values(language_model.model, head, found, language_model.chat, _settings())
    number = 0
    for tokens, episode in zip(found.tokens, found.episodes, strict=True):
        for turn in range(len(episode.turns)):
            start = int((tokens.is_action & (tokens.turns == turn)).nonzero()[0][0])
            expected = _value(language_model, head, tokens.ids[:start].tolist())
            assert values[number] == pytest.approx(expected, abs=1e-4)
            number += 1


def test_a_truncated_rollout_is_worth_what_it_reached(played, head):
    found, language_model = played(turns=1)
    chat = language_model.chat
    _, bootstrap = state_values(language_model.model, head, found, chat, _settings())
    assert not found.is_terminated.any()
    for number, (tokens, episode) in enumerate(zip(found.tokens, found.episodes, strict=True)):
        closed = bool(tokens.ids[-1] == chat.end_id)
        rest = chat.append(episode.final_observation, is_closed=closed)
        expected = _value(language_model, head, [*tokens.ids.tolist(), *rest])
        assert bootstrap[number] == pytest.approx(expected, abs=1e-4)


def test_a_terminated_rollout_is_worth_nothing_more(played, head):
    found, language_model = played(turns=1, on_exhausted="terminate")
    _, bootstrap = state_values(language_model.model, head, found, language_model.chat, _settings())
    assert found.is_terminated.all()
    assert not bootstrap.any()


@pytest.mark.parametrize("ending", ["truncate", "terminate"])
def test_advantages_by_hand(played, ending):
    found, _ = played(turns=2, count=4, on_exhausted=ending)
    settings = _settings(gamma=0.5, gae_lambda=0.5, normalise_advantages=False)
    values = np.arange(1.0, len(found.trajectories) + 1)
    bootstrap = np.full(4, 8.0) * ~found.is_terminated
    advantages, targets = turn_advantages(found, values, bootstrap, settings)
    assert targets == pytest.approx(advantages + values)
    for number in range(4):
        turns = np.flatnonzero(found.trajectories == number)
        after, trace = bootstrap[number], 0.0
        for turn in turns[::-1]:
            trace = found.rewards[turn] + 0.5 * after - values[turn] + 0.25 * trace
            after = values[turn]
            assert advantages[turn] == pytest.approx(trace)


def test_advantages_are_normalised_over_the_turns_that_count(played):
    found, _ = played()
    found.is_void[:2] = True
    values = np.random.default_rng(0).normal(size=len(found.trajectories))
    advantages, targets = turn_advantages(found, values, np.zeros(6), _settings())
    valid = found.trajectories >= 2
    assert not advantages[~valid].any()
    assert not targets[~valid].any()
    assert advantages[valid].mean() == pytest.approx(0, abs=1e-9)
    assert advantages[valid].std() == pytest.approx(1)


def test_first_tokens_are_one_a_turn(played):
    found, _ = played()
    batch = found.batch()
    first = first_tokens(batch)
    assert sorted(batch.turns[first].tolist()) == list(range(len(found.trajectories)))
    assert not (first & ~batch.mask).any()


def test_turns_weigh_the_same_in_the_value_loss_however_it_is_cut(played, head):
    found, language_model = played()
    batch, settings = found.batch(), _settings(value_coef=0.25)
    targets = np.linspace(-1, 1, len(found.trajectories))
    rows = np.array([0, 2, 3])
    of_part = value_terms(head, batch, targets, np.zeros_like(targets), settings)(rows)

    def total(tokens_per_pass):
        terms = [
            of_part(part, forward(language_model.model, part))
            for part in parts(batch, tokens_per_pass, rows)
        ]
        return [sum(term[name].item() for term in terms) for name in ("loss", "losses/value_loss")]

    values, _ = state_values(language_model.model, head, found, language_model.chat, settings)
    chosen = np.isin(found.trajectories, rows)
    expected = 0.5 * np.mean((values - targets)[chosen] ** 2)
    assert total(10**6) == pytest.approx([0.25 * expected, expected], rel=1e-4)
    assert total(1) == pytest.approx(total(10**6), rel=1e-5)


def test_a_new_head_values_everything_at_nothing():
    before = torch.get_rng_state()
    head = value_head(4)
    assert head(torch.ones(3, 4)).tolist() == [[0], [0], [0]]
    assert torch.equal(before, torch.get_rng_state())


def test_the_variance_that_values_explain():
    targets = np.array([0.0, 1.0, 2.0])
    assert explained(targets, targets) == 1
    assert explained(np.ones(3), targets) == 0
    assert np.isnan(explained(targets, np.ones(3)))
