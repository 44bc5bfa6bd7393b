"""Gradient steps: what is added up over the parts of a batch, and the optimiser that follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from budget_envs.agents.trainers.batch import TokenBatch
from budget_envs.agents.trainers.config import LossSettings, OptimizerSettings
from budget_envs.agents.trainers.forward import Forward, Part, compute_logprobs, forward, parts
from budget_envs.agents.trainers.losses import (
    clipped_share,
    entropy,
    k3,
    policy_loss,
    token_weights,
)
from budget_envs.streams import derive_key, derive_keys

__all__ = [
    "MoreTerms",
    "Optimizer",
    "accumulate",
    "minibatches",
    "policy_terms",
    "shuffled",
    "update_policy",
]

Terms = dict[str, Tensor]
MoreTerms = Callable[[NDArray[np.int64]], Callable[[Part, Forward], Terms]]
"""Given the rows of an update, gives what is added to the terms of each of their parts."""


class Optimizer:
    """AdamW with a linear warm-up, a linear decay and a bound on the gradient's norm.

    Args:
        parameters: What is trained.
        settings: See `OptimizerSettings`.
        num_updates: Updates in all, at which the decay ends.

    Attributes:
        num_done: Updates so far, of which the learning rate is a function.
    """

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        settings: OptimizerSettings,
        num_updates: int,
    ) -> None:
        self.settings = settings
        self.num_updates = num_updates
        self.num_done = 0
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._adam = torch.optim.AdamW(
            self.parameters,
            lr=settings.learning_rate,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
        )

    @property
    def learning_rate(self) -> float:
        """Rate of the next update."""
        warm = min(1.0, (self.num_done + 1) / max(1, self.settings.warmup_steps))
        lost = self.settings.decay * min(1.0, self.num_done / max(1, self.num_updates))
        return self.settings.learning_rate * warm * (1 - lost)

    def step(self) -> float:
        """Update with the gradients that were accumulated; return their norm before the bound.

        Gradients that are not finite are dropped, as one of them would end the run for good.
        """
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.max_grad_norm).item()
        for group in self._adam.param_groups:
            group["lr"] = self.learning_rate
        if math.isfinite(norm):
            self._adam.step()
        self._adam.zero_grad(set_to_none=True)
        self.num_done += 1
        return norm

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the next update depends on."""
        return {"adam": self._adam.state_dict(), "num_done": self.num_done}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the state."""
        self._adam.load_state_dict(state["adam"])
        self.num_done = state["num_done"]


def accumulate(
    batch: TokenBatch,
    rows: NDArray[np.int64],
    tokens_per_pass: int,
    terms_of: Callable[[Part], Terms],
) -> dict[str, float]:
    """Add up the gradients of some rows, however many passes they take.

    Args:
        batch: All rows.
        rows: Those that are used.
        tokens_per_pass: Most tokens of a pass, padding included.
        terms_of: Gives the terms of a part, each a sum over its tokens whose weights are shares of
            the whole; ``"loss"`` is what is differentiated.

    Returns:
        The sum of each term.
    """
    totals: dict[str, float] = {}
    for part in parts(batch, tokens_per_pass, rows):
        terms = terms_of(part)
        terms["loss"].backward()  # type: ignore[no-untyped-call]
        for name, term in terms.items():
            totals[name] = totals.get(name, 0.0) + term.item()
    return totals


def policy_terms(
    found: Forward, share: Tensor, old: Tensor, advantages: Tensor, settings: LossSettings
) -> Terms:
    """Return the terms of the clipped policy loss for the K tokens of a part.

    Args:
        found: What the model makes of them.
        share: ``(K,)``, their weights.
        old: ``(K,)``, their log-probabilities when they were sampled.
        advantages: ``(K,)``.
        settings: The loss.

    Returns:
        ``"loss"``, and by the key of the log what it consists of and what to watch.
    """
    clip = {"clip_low": settings.clip_low, "clip_high": settings.clip_high}
    each = policy_loss(found.logprobs, old, advantages, dual_clip=settings.dual_clip, **clip)
    loss = (share * each).sum()
    with torch.set_grad_enabled(settings.entropy_coef != 0):
        randomness = (share * entropy(found.logits)).sum()
    watched = found.logprobs.detach()
    return {
        "loss": loss - settings.entropy_coef * randomness,
        "losses/policy_loss": loss.detach(),
        "losses/entropy": randomness.detach(),
        "losses/approx_kl": (share * k3(old, watched)).sum(),
        "losses/clipfrac": clipped_share(watched, old, share, **clip),
        "share": share.sum(),
    }


def update_policy(
    model: Any,
    optimizer: Optimizer,
    batch: TokenBatch,
    advantages: Tensor,
    settings: LossSettings,
    *,
    temperature: float,
    key: int,
    reference: Any = None,
    more: MoreTerms | None = None,
) -> dict[str, float]:
    """Train on a batch of rollouts: epochs of minibatches, each an update of one or more passes.

    Args:
        model: A Hugging Face causal LM.
        optimizer: Of its parameters.
        batch: The rollouts.
        advantages: ``(B, L)``, by token.
        settings: The loss.
        temperature: That of sampling.
        key: Of the shuffling of minibatches.
        reference: Model that the KL term compares with; ``None`` for none.
        more: Further terms, whose ``"loss"`` is added; ``None`` for none.

    Returns:
        Means over the updates, by the key of the log. Rows that no term pulls at are left out of
        the passes, so the means are over the others.
    """
    passes = optimizer.settings.tokens_per_pass
    anchor = None
    if reference is not None:
        anchor = compute_logprobs(reference, batch, temperature=temperature, tokens_per_pass=passes)
    pulled = (advantages != 0).any(dim=1).numpy()
    pulls_all = anchor is not None or more is not None or settings.entropy_coef != 0
    history = []
    for rows, weights in minibatches(batch, settings, key):
        more_of = more(rows) if more is not None else None

        def terms_of(part: Part, weights: Tensor = weights, more_of: Any = more_of) -> Terms:
            found = forward(model, part, temperature=temperature)
            share = part.take(weights)
            old = part.take(batch.old_logprobs)
            terms = policy_terms(found, share, old, part.take(advantages), settings)
            if anchor is not None:
                distance = (share * k3(found.logprobs, part.take(anchor))).sum()
                terms["loss"] = terms["loss"] + settings.kl_coef * distance
                terms["losses/kl_to_reference"] = distance.detach()
            if more_of is not None:
                added = more_of(part, found)
                terms |= {**added, "loss": terms["loss"] + added["loss"]}
            return terms

        used = rows if pulls_all else rows[pulled[rows]]
        history.append(finish_update(optimizer, accumulate(batch, used, passes, terms_of)))
    return average(history)


def finish_update(optimizer: Optimizer, totals: dict[str, float]) -> dict[str, float]:
    """Take the optimiser's step; return what the log shows of it.

    Without a row to learn from there is no step, but it counts: the learning rate goes on.
    """
    if not totals:
        optimizer.num_done += 1
        return {}
    rate, share = optimizer.learning_rate, totals.pop("share", 1.0)
    loss = totals.pop("loss")
    shown = {name: total / share for name, total in totals.items()}
    norm = optimizer.step()
    return {**shown, "losses/loss": loss, "losses/grad_norm": norm, "charts/learning_rate": rate}


def minibatches(
    batch: TokenBatch, settings: LossSettings, key: int
) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
    """Yield the rows of each update, and the weights ``(B, L)`` of tokens in its loss.

    Rows without a token that counts are in none.
    """
    useful = batch.mask.any(dim=1).numpy().nonzero()[0]
    for epoch in range(settings.epochs):
        order = useful[shuffled(len(useful), derive_key(key, epoch))]
        for rows in np.array_split(order, settings.minibatches):
            weights = torch.zeros(batch.mask.shape)
            weights[rows] = token_weights(
                batch.mask[rows], settings.normalisation, constant=settings.constant
            )
            yield np.sort(rows), weights


def shuffled(count: int, key: int) -> NDArray[np.int64]:
    """Return 0..count-1 in an order that is a function of the key."""
    counters = np.arange(count, dtype=np.uint64) + np.uint64(derive_key(key))
    return np.argsort(derive_keys(counters, 0), kind="stable")


def average(history: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each key, over the mappings that have it."""
    found: dict[str, list[float]] = {}
    for values in history:
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in found.items()}
