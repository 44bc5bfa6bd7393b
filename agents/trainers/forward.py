"""The forward pass of training: log-probabilities of the tokens that count, and of no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from budget_envs.agents.trainers.batch import TokenBatch, in_passes

__all__ = ["Forward", "Part", "compute_logprobs", "forward", "parts"]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows of a batch that go through the model together.

    Attributes:
        rows: ``(b,) int64``, their numbers in the batch.
        ids: ``(b, l) int64``.
        mask: ``(b, l) bool``, with K true elements.
    """

    rows: Tensor
    ids: Tensor
    mask: Tensor

    def take(self, values: Tensor) -> Tensor:
        """Return the values ``(K,)`` of this part's counted tokens, of values ``(B, L)``."""
        return values[self.rows, : self.ids.shape[1]][self.mask]


@dataclass(frozen=True, slots=True, eq=False)
class Forward:
    """What a model makes of the K tokens that count, in the row-major order of their mask.

    Attributes:
        logprobs: ``(K,)``, of the tokens, in nats.
        logits: ``(K, V)``, divided by the temperature.
        hidden: ``(K, H)``, last hidden states, from which the tokens are predicted.
    """

    logprobs: Tensor
    logits: Tensor
    hidden: Tensor


def parts(
    batch: TokenBatch, tokens_per_pass: int, rows: NDArray[np.int64] | None = None
) -> Iterator[Part]:
    """Cut a batch, or some of its rows, into parts that fit into a pass."""
    for chosen, length in in_passes(batch.lengths, tokens_per_pass, rows):
        yield Part(chosen, batch.ids[chosen, :length], batch.mask[chosen, :length])


def forward(model: Any, part: Part, *, temperature: float = 1.0) -> Forward:
    """Put a part through a model.

    The output layer sees the positions that count only: where these are few and the vocabulary is
    large, it would otherwise be most of the time and memory of a pass. Whatever a model does to its
    logits afterwards, it still does.

    Args:
        model: A Hugging Face causal LM.
        part: The part; the first token of a row has nothing before it and does not count.
        temperature: That of sampling.
    """
    with _head_at(model, part.mask[:, 1:]) as seen:
        logits = model(input_ids=part.ids[:, :-1], use_cache=False).logits[0]
    logits = logits.float() / temperature
    tokens = part.ids[part.mask][:, None]
    logprobs = logits.log_softmax(dim=-1).gather(-1, tokens)[:, 0]
    return Forward(logprobs, logits, seen[0][0])


def compute_logprobs(
    model: Any, batch: TokenBatch, *, temperature: float, tokens_per_pass: int
) -> Tensor:
    """Return a model's log-probabilities ``(B, L)`` of a batch, without gradients.

    They are 0 where the batch's mask is false.
    """
    found = torch.zeros(batch.ids.shape)
    with torch.no_grad():
        for part in parts(batch, tokens_per_pass):
            logprobs = torch.zeros(part.ids.shape)
            logprobs[part.mask] = forward(model, part, temperature=temperature).logprobs
            found[part.rows, : part.ids.shape[1]] = logprobs
    return found


@contextmanager
def _head_at(model: Any, mask: Tensor) -> Iterator[list[Tensor]]:
    """Let a model's output layer see the positions of a mask only, and keep what it sees."""
    seen: list[Tensor] = []

    def select(module: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append(arguments[0][mask][None])
        return (seen[0],)

    hook = model.get_output_embeddings().register_forward_pre_hook(select)
    try:
        yield seen
    finally:
        hook.remove()
