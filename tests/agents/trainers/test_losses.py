import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.agents.trainers.losses import (
    clipped_share,
    entropy,
    k3,
    policy_loss,
    token_weights,
    value_loss,
)
from budget_envs.errors import OptionError

MASK = torch.tensor([[1, 1, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _assert_gradient(loss, point, step=1e-6):
    """Compare the gradient of a scalar loss with central differences."""
    point = point.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(point), point)
    for index in range(point.numel()):
        shift = torch.zeros(point.numel(), dtype=point.dtype)
        shift[index] = step
        shift = shift.view_as(point)
        with torch.no_grad():
            slope = (loss(point + shift) - loss(point - shift)) / (2 * step)
        assert gradient.flatten()[index].item() == pytest.approx(slope.item(), abs=1e-7)


# How tokens are weighed.


def test_all_tokens_weigh_the_same():
    assert torch.equal(token_weights(MASK, "token"), MASK / 5)


def test_all_trajectories_weigh_the_same():
    expected = [[0.125] * 4, [0, 0.5, 0, 0], [0.0] * 4]
    assert token_weights(MASK, "sequence").tolist() == expected


def test_tokens_are_summed_over_a_constant():
    assert token_weights(MASK, "constant", constant=10).sum(dim=1).tolist() == pytest.approx(
        [0.2, 0.05, 0]
    )


@pytest.mark.parametrize("how", ["token", "sequence"])
def test_masked_rows_change_nothing(how):
    assert torch.equal(token_weights(MASK, how)[:2], token_weights(MASK[:2], how))


@pytest.mark.parametrize("how", ["token", "sequence"])
def test_nothing_to_learn_from_is_no_division_by_zero(how):
    assert not token_weights(torch.zeros(2, 3, dtype=torch.bool), how).any()


# The policy loss.


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [
        (1.1, 2.0, -2.2),
        (1.5, 2.0, -2.6),  # clipped at 1.3
        (0.5, 2.0, -1.0),  # a good token that became unlikely pulls back in full
        (0.5, -2.0, 1.6),  # clipped at 0.8
        (2.0, -2.0, 4.0),
        (9.0, -2.0, 6.0),  # dual clip at 3
        (9.0, 2.0, -2.6),
    ],
)
def test_the_clip_is_asymmetric_and_dual(ratio, advantage, expected):
    loss = policy_loss(
        torch.tensor(math.log(ratio)),
        torch.tensor(0.0),
        torch.tensor(advantage),
        clip_low=0.2,
        clip_high=0.3,
        dual_clip=3.0,
    )
    assert loss.item() == pytest.approx(expected, rel=1e-6)


def test_without_a_dual_clip_a_bad_token_counts_in_full():
    loss = policy_loss(torch.tensor(math.log(9.0)), torch.tensor(0.0), torch.tensor(-2.0))
    assert loss.item() == pytest.approx(18)


def test_at_the_sampling_policy_the_gradient_is_the_policy_gradient():
    logprobs = torch.tensor([-1.0, -2.0], requires_grad=True)
    advantages = torch.tensor([3.0, -4.0])
    policy_loss(logprobs, logprobs.detach(), advantages).sum().backward()
    assert logprobs.grad.tolist() == [-3.0, 4.0]


@pytest.mark.parametrize("dual_clip", [None, 1.5])
def test_the_gradient_of_the_policy_loss(dual_clip):
    old, advantages = _draw(2, 5, seed=1), _draw(2, 5, seed=2)
    weights = token_weights(torch.ones(2, 5, dtype=torch.bool)).double()
    _assert_gradient(
        lambda x: (weights * policy_loss(x, old, advantages, dual_clip=dual_clip)).sum(),
        old + 0.4 * _draw(2, 5, seed=3),
    )


def test_the_share_of_clipped_tokens():
    ratio = torch.tensor([[1.0, 1.5, 0.5, 1.25]])
    share = clipped_share(
        ratio.log(), torch.zeros(1, 4), torch.full((1, 4), 0.25), clip_low=0.2, clip_high=0.3
    )
    assert share.item() == 0.5


# The other terms.


def test_k3_by_hand():
    assert k3(torch.tensor(0.0), torch.tensor(math.log(2.0))).item() == pytest.approx(
        1 - math.log(2)
    )


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_k3_is_never_negative(one, other):
    found = k3(torch.tensor(one, dtype=torch.float64), torch.tensor(other, dtype=torch.float64))
    assert found >= -1e-12


def test_k3_is_unbiased():
    policy, reference = _draw(6, seed=1).log_softmax(0), _draw(6, seed=2).log_softmax(0)
    expected = (policy.exp() * (policy - reference)).sum()
    assert (policy.exp() * k3(policy, reference)).sum().item() == pytest.approx(expected.item())


def test_the_gradient_of_k3():
    reference = _draw(4, seed=1)
    _assert_gradient(lambda x: k3(x, reference).sum(), _draw(4, seed=2))


def test_entropy_of_even_odds_is_the_logarithm():
    assert entropy(torch.zeros(3, 8)).tolist() == pytest.approx([math.log(8)] * 3)


def test_the_gradient_of_the_entropy():
    _assert_gradient(lambda x: entropy(x).sum(), _draw(2, 4))


@pytest.mark.parametrize(("value", "expected"), [(1.0, 0.5), (0.1, 1.805), (-3.0, 12.5)])
def test_a_value_is_clipped_around_its_old_one(value, expected):
    # Return 2, old value 0, clip 0.5: near is 0.5 for 1.0, 0.1 for 0.1, -0.5 for -3.
    loss = value_loss(
        torch.tensor(value), torch.tensor(2.0), old_values=torch.tensor(0.0), clip=0.5
    )
    assert loss.item() == pytest.approx(max(expected, 1.125 if value == 1.0 else expected))


@pytest.mark.parametrize("clip", [None, 0.3])
def test_the_gradient_of_the_value_loss(clip):
    returns, old = _draw(5, seed=1), _draw(5, seed=2)
    _assert_gradient(
        lambda x: value_loss(x, returns, old_values=old, clip=clip).sum(), _draw(5, seed=3)
    )


# What is refused.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: token_weights(MASK, "tokens"), "Did you mean 'token'"),
        (lambda: token_weights(MASK, "constant"), "go together"),
        (lambda: token_weights(MASK, "token", constant=3), "go together"),
        (lambda: policy_loss(*torch.zeros(3, 1), dual_clip=1.0), "dual_clip must be above 1"),
        (lambda: value_loss(*torch.zeros(2, 1), clip=0.2), "clip needs old_values"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()
