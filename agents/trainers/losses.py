"""Losses over the tokens that an agent generated, as pure functions of tensors.

=================  =============  =========================================================
symbol             shape          meaning
=================  =============  =========================================================
``logprobs``       any            log-probability of each token under the policy being trained
``old_logprobs``   the same       that of the policy that sampled it
``advantages``     the same       advantage of the turn that the token belongs to
``mask``           ``(B, L)``     the tokens that count: generated, and not of a void trajectory
``weights``        ``(B, L)``     share of each token in the batch's loss, 0 where masked
=================  =============  =========================================================

A loss of a batch is ``sum(weights * loss per token)``. The weights come from
:func:`token_weights`, once for the whole batch and before it is cut into micro-batches, so that
gradients are the same in one piece and accumulated over many.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from budget_envs.errors import OptionError, did_you_mean

__all__ = [
    "Normalisation",
    "clipped_share",
    "entropy",
    "k3",
    "policy_loss",
    "token_weights",
    "value_loss",
]

Normalisation = Literal["token", "sequence", "constant"]


def token_weights(
    mask: Tensor, normalisation: Normalisation = "token", *, constant: int | None = None
) -> Tensor:
    """Return the share of each token in the loss of a batch.

    ``"token"``
        All tokens weigh the same (DAPO, Yu et al., 2025, arXiv:2503.14476): a trajectory weighs
        by its length.
    ``"sequence"``
        All trajectories weigh the same, whatever their number of turns or tokens (GRPO, Shao et
        al., 2024, arXiv:2402.03300). A token of a long trajectory weighs less, so long failures
        are punished less than short ones.
    ``"constant"``
        Tokens are summed and divided by a constant length (Dr. GRPO, Liu et al., 2025,
        arXiv:2503.20783): neither of the two biases, but the scale is the constant's.

    Rows without a token that counts change nothing, in any of them.

    Args:
        mask: ``(B, L) bool``, of the whole batch, not of a micro-batch.
        normalisation: See above.
        constant: Length of ``"constant"``; must be left out otherwise.

    Returns:
        ``(B, L) float32``; all 0 if nothing counts.

    Raises:
        OptionError: If the normalisation is unknown, or lacks its constant.
    """
    known = get_args(Normalisation)
    if normalisation not in known:
        raise OptionError(
            f"normalisation must be one of {', '.join(known)}, got {normalisation!r}."
            + did_you_mean(normalisation, known)
        )
    if (normalisation == "constant") != (constant is not None):
        raise OptionError("normalisation='constant' and constant go together: give both or none.")
    counted = mask.float()
    lengths = counted.sum(dim=1, keepdim=True)
    num_rows = (lengths > 0).sum().clamp(min=1)
    if normalisation == "token":
        return counted / counted.sum().clamp(min=1)
    if normalisation == "sequence":
        return counted / (lengths.clamp(min=1) * num_rows)
    return counted / (num_rows * constant)  # type: ignore[operator]  # checked above


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
) -> Tensor:
    """Return the clipped policy-gradient loss of each token.

    Args:
        logprobs: Any shape; the gradient flows through these.
        old_logprobs: The same shape.
        advantages: The same shape.
        clip_low: The ratio counts down to ``1 - clip_low``.
        clip_high: The ratio counts up to ``1 + clip_high``; larger than ``clip_low`` lets unlikely
            tokens grow faster ("clip-higher" of DAPO, arXiv:2503.14476).
        dual_clip: Bound above 1 on the ratio where the advantage is negative, without which one
            token that became much likelier can outweigh a batch; ``None`` for none.

    Returns:
        The same shape, to be minimised.

    Raises:
        OptionError: If ``dual_clip`` is not above 1.

    Reference: Schulman et al., 2017, arXiv:1707.06347, eq. 7; Ye et al., 2020, arXiv:1912.09729,
        eq. 5 (dual clip).
    """
    if dual_clip is not None and not dual_clip > 1:
        raise OptionError(f"dual_clip must be above 1, got {dual_clip!r}.")
    ratio = (logprobs - old_logprobs).exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    loss = torch.maximum(-advantages * ratio, -advantages * clipped)
    if dual_clip is None:
        return loss
    return torch.where(advantages < 0, torch.minimum(loss, -advantages * dual_clip), loss)


def clipped_share(
    logprobs: Tensor, old_logprobs: Tensor, weights: Tensor, *, clip_low: float, clip_high: float
) -> Tensor:
    """Return the weighted share of tokens whose ratio is outside the clip range, a scalar."""
    ratio = (logprobs - old_logprobs).exp()
    is_outside = (ratio < 1 - clip_low) | (ratio > 1 + clip_high)
    return (weights * is_outside).sum()


def k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Estimate KL(policy || reference) for each token sampled from the policy.

    Unbiased, never negative, and of low variance where the two are close:
    ``r - 1 - log r`` with ``r = reference / policy``.

    Args:
        logprobs: Any shape.
        reference_logprobs: The same shape.

    Returns:
        The same shape, in nats.

    Reference: Schulman, 2020, "Approximating KL divergence", estimator k3.
    """
    log_ratio = reference_logprobs - logprobs
    return log_ratio.exp() - 1 - log_ratio


def entropy(logits: Tensor) -> Tensor:
    """Return the entropy of next-token distributions.

    Args:
        logits: ``(..., V)``.

    Returns:
        ``(...)``, in nats.
    """
    logprobs = logits.log_softmax(dim=-1)
    return -(logprobs.exp() * logprobs).sum(dim=-1)


def value_loss(
    values: Tensor, returns: Tensor, *, old_values: Tensor | None = None, clip: float | None = None
) -> Tensor:
    """Return half the squared error of each value, with PPO's clipped form where asked for.

    Args:
        values: Any shape; the gradient flows through these.
        returns: The same shape.
        old_values: The same shape; values when the batch was sampled, needed by ``clip``.
        clip: A value counts only within this distance of its old one; ``None`` for no clipping.

    Returns:
        The same shape.

    Raises:
        OptionError: If ``clip`` is given without ``old_values``.
    """
    loss = (values - returns).square()
    if clip is not None:
        if old_values is None:
            raise OptionError("clip needs old_values, the values that it clips around.")
        near = old_values + (values - old_values).clamp(-clip, clip)
        loss = torch.maximum(loss, (near - returns).square())
    return 0.5 * loss
