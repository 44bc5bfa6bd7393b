import copy
import math

import numpy as np
import pytest
import torch

from budget_envs.agents.models.tokens import TokenTrajectory
from budget_envs.agents.trainers.batch import pad
from budget_envs.agents.trainers.config import LossSettings, OptimizerSettings
from budget_envs.agents.trainers.forward import compute_logprobs, forward, parts
from budget_envs.agents.trainers.sft import update_sft
from budget_envs.agents.trainers.update import (
    Optimizer,
    average,
    minibatches,
    shuffled,
    update_policy,
)

PLAIN = OptimizerSettings(learning_rate=1e-2, warmup_steps=0, max_grad_norm=1e9)


def _batch(count=8, seed=0, length=None):
    rng = np.random.default_rng(seed)
    rows = []
    for row in range(count):
        size = length or int(rng.integers(6, 24))
        actions = rng.random(size) < 0.4
        actions[0] = False
        turns = np.cumsum(rng.random(size) < 0.2)
        rows.append(
            TokenTrajectory(
                ids=rng.integers(1, 250, size),
                is_action=actions,
                logprobs=-2 * rng.random(size, np.float32),
                turns=turns + 0 * row,
            )
        )
    return pad(rows, [int(each.turns[-1]) + 1 for each in rows])


def _advantages(batch, seed=1):
    values = np.random.default_rng(seed).normal(size=int(batch.turns.max()) + 1)
    return batch.of_turns(values)


def _gradients(model, batch, settings, tokens_per_pass, reference=None):
    """Return the gradients that an update would take."""
    optimizer = Optimizer(
        model.parameters(),
        OptimizerSettings(max_grad_norm=1e9, tokens_per_pass=tokens_per_pass),
        1,
    )
    found = {}

    def grab():
        found.update({n: p.grad.clone() for n, p in model.named_parameters()})
        model.zero_grad()
        return 0.0

    optimizer.step = grab
    update_policy(
        model, optimizer, batch, _advantages(batch), settings,
        temperature=0.7, key=3, reference=reference,
    )  # fmt: skip
    return found


# The forward pass.


def test_a_pass_gives_what_the_model_gives_token_for_token(tiny):
    model, batch = tiny().model, _batch()
    (part,) = parts(batch, 10**6)
    found = forward(model, part, temperature=0.7)
    whole = (model(input_ids=part.ids).logits / 0.7).log_softmax(-1)
    rows, columns = part.mask.nonzero(as_tuple=True)
    expected = whole[rows, columns - 1, part.ids[rows, columns]]
    assert torch.allclose(found.logprobs, expected, atol=1e-5)
    assert found.hidden.shape == (len(expected), 16)
    assert torch.equal(part.take(batch.old_logprobs), batch.old_logprobs[part.rows][part.mask])


def test_padding_and_passes_change_no_log_probability(tiny):
    model, batch = tiny().model, _batch()
    one = compute_logprobs(model, batch, temperature=1.0, tokens_per_pass=10**6)
    many = compute_logprobs(model, batch, temperature=1.0, tokens_per_pass=1)
    assert torch.allclose(one, many, atol=1e-5)
    assert not one[~batch.mask].any()
    assert (one[batch.mask] < 0).all()


def test_the_hook_on_the_output_layer_is_gone_afterwards(tiny):
    model, batch = tiny().model, _batch()
    compute_logprobs(model, batch, temperature=1.0, tokens_per_pass=100)
    assert model(input_ids=batch.ids).logits.shape[:2] == batch.ids.shape


# Accumulation.


@pytest.mark.parametrize("normalisation", ["token", "sequence", "constant"])
def test_one_pass_of_eight_and_eight_of_one_give_the_same_gradient(tiny, normalisation):
    constant = 20 if normalisation == "constant" else None
    settings = LossSettings(
        normalisation=normalisation, constant=constant, entropy_coef=0.01, kl_coef=0.1
    )
    model, batch, reference = tiny().model, _batch(), tiny(seed=1).model
    one = _gradients(model, batch, settings, 10**6, reference)
    eight = _gradients(model, batch, settings, 1, reference)
    for name, gradient in one.items():
        assert torch.allclose(gradient, eight[name], atol=1e-6), name
    assert max(gradient.abs().max() for gradient in one.values()) > 1e-3


def test_rows_that_nothing_pulls_at_are_skipped_without_a_difference(tiny, monkeypatch):
    model, batch = tiny().model, _batch()
    advantages = _advantages(batch)
    advantages[2:6] = 0

    def step(tokens_per_pass, entropy_coef):
        learner = copy.deepcopy(model)
        optimizer = Optimizer(learner.parameters(), PLAIN, 1)
        update_policy(
            learner, optimizer, batch, advantages,
            LossSettings(entropy_coef=entropy_coef), temperature=1.0, key=0,
        )  # fmt: skip
        return learner.state_dict()

    skipping, going_through = step(10**6, 0.0), step(10**6, 1e-30)
    for name, weight in skipping.items():
        assert torch.allclose(weight, going_through[name], atol=1e-6), name


def test_a_void_row_changes_nothing_for_the_others(tiny):
    model, batch = tiny().model, _batch()
    batch.mask[3] = False
    with_void = _gradients(model, batch, LossSettings(normalisation="sequence"), 10**6)
    others = [row for row in range(8) if row != 3]
    rest = type(batch)(
        batch.ids[others], batch.mask[others], batch.old_logprobs[others], batch.turns[others],
        batch.lengths[others],
    )  # fmt: skip
    advantages = _advantages(batch)[others]
    optimizer = Optimizer(model.parameters(), PLAIN, 1)
    found = {}
    optimizer.step = lambda: (
        found.update({n: p.grad.clone() for n, p in model.named_parameters()}) or math.nan
    )
    update_policy(
        model, optimizer, rest, advantages, LossSettings(normalisation="sequence"),
        temperature=0.7, key=3,
    )  # fmt: skip
    for name, gradient in with_void.items():
        assert torch.allclose(gradient, found[name], atol=1e-6), name


def test_a_batch_of_nothing_but_void_rows_changes_nothing(tiny):
    model, batch = tiny().model, _batch()
    batch.mask[:] = False
    before = copy.deepcopy(model.state_dict())
    optimizer = Optimizer(model.parameters(), PLAIN, 4)
    for _ in range(2):
        update_policy(
            model, optimizer, batch, _advantages(batch), LossSettings(), temperature=1.0, key=0
        )
    assert all(torch.equal(before[n], w) for n, w in model.state_dict().items())
    assert optimizer.num_done == 2


# Minibatches.


def test_minibatches_cover_the_batch_in_each_epoch():
    batch = _batch(count=10)
    batch.mask[4] = False
    found = list(minibatches(batch, LossSettings(epochs=2, minibatches=3), key=1))
    assert len(found) == 6
    for epoch in (found[:3], found[3:]):
        assert sorted(np.concatenate([rows for rows, _ in epoch])) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert [rows.tolist() for rows, _ in found[:3]] != [rows.tolist() for rows, _ in found[3:]]
    for rows, weights in found:
        assert weights.sum().item() == pytest.approx(1)
        assert not weights[[row for row in range(10) if row not in rows]].any()


def test_an_order_is_a_function_of_its_key():
    assert shuffled(50, 1).tolist() == shuffled(50, 1).tolist() != shuffled(50, 2).tolist()
    assert sorted(shuffled(50, 2**64 - 1)) == list(range(50))


# The optimiser.


def test_the_rate_warms_up_and_decays():
    settings = OptimizerSettings(learning_rate=1.0, warmup_steps=4, decay=0.5)
    optimizer = Optimizer([torch.nn.Parameter(torch.zeros(1))], settings, 10)
    rates = []
    for _ in range(10):
        rates.append(optimizer.learning_rate)
        optimizer.step()
    assert rates[:4] == pytest.approx([0.25, 0.5 * 0.95, 0.75 * 0.9, 0.85])
    assert rates[-1] == pytest.approx(1 - 0.5 * 0.9)


@pytest.mark.parametrize("nonsense", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_is_dropped(nonsense):
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = Optimizer([weight], PLAIN, 1)
    weight.grad = torch.tensor([1.0, nonsense])
    optimizer.step()
    assert weight.tolist() == [1, 1]
    weight.grad = torch.tensor([1.0, 1.0])
    optimizer.step()
    assert (weight < 1).all()


def test_gradients_are_scaled_down_to_the_bound():
    weight = torch.nn.Parameter(torch.zeros(1))
    settings = OptimizerSettings(max_grad_norm=0.5)
    optimizer = Optimizer([weight], settings, 1)
    weight.grad = torch.tensor([3.0])
    assert optimizer.step() == 3
    assert weight.grad is None


def test_an_optimiser_goes_on_where_it_was():
    def run(interrupted):
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = Optimizer([weight], OptimizerSettings(), 10)
        for step in range(6):
            if interrupted and step == 3:
                state = copy.deepcopy(optimizer.state_dict())
                optimizer = Optimizer([weight], OptimizerSettings(), 10)
                optimizer.load_state_dict(state)
            weight.grad = torch.tensor([1.0, -2.0, 0.1 * step])
            optimizer.step()
        return weight.tolist()

    assert run(True) == run(False)


# Learning.


def test_a_token_with_a_positive_advantage_becomes_likelier(tiny):
    model, batch = tiny().model, _batch(length=12)
    good = torch.zeros(batch.mask.shape)
    good[0], good[1] = 1.0, -1.0
    batch.old_logprobs[:] = compute_logprobs(model, batch, temperature=1.0, tokens_per_pass=10**6)
    optimizer = Optimizer(model.parameters(), PLAIN, 1)
    found = update_policy(
        model, optimizer, batch, good * batch.mask, LossSettings(), temperature=1.0, key=0
    )
    after = compute_logprobs(model, batch, temperature=1.0, tokens_per_pass=10**6)
    change = (after - batch.old_logprobs).sum(dim=1)
    assert change[0] > 0 > change[1]
    assert found["losses/approx_kl"] == pytest.approx(0, abs=1e-6)
    assert found["losses/entropy"] > 0


def test_supervised_steps_make_the_tokens_likely(tiny):
    model, batch = tiny().model, _batch(count=2)
    optimizer = Optimizer(model.parameters(), OptimizerSettings(learning_rate=2e-2), 60)
    history = [update_sft(model, optimizer, batch, "token") for _ in range(60)]
    assert history[-1]["losses/sft_loss"] < 0.5 * history[0]["losses/sft_loss"]
    assert history[-1]["losses/token_accuracy"] > 0.9


def test_means_are_over_what_has_the_key():
    assert average([{"a": 1.0}, {"a": 3.0, "b": 5.0}, {}]) == {"a": 2.0, "b": 5.0}
