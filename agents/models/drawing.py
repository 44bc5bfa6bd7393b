"""Drawing one token for each row of a batch from its logits, by random numbers that are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from budget_envs.agents.models.sampling import Sampling
from budget_envs.errors import DataError

__all__ = ["Drawn", "RowSampling", "draw"]

_LIKELY: Final = 256  # most nuclei are smaller, and a partial sort is much cheaper than a full one


class RowSampling:
    """The settings of the rows of a batch, as tensors.

    Args:
        rows: One for each row.
        device: Where the logits are.
    """

    def __init__(self, rows: Sequence[Sampling], device: torch.device) -> None:
        temperature = torch.tensor([row.temperature for row in rows], device=device)
        self._set(temperature, torch.tensor([row.top_p for row in rows], device=device))

    def select(self, rows: torch.Tensor) -> RowSampling:
        """Return the settings of some rows. ``rows``: ``(m,) int64``."""
        chosen = RowSampling.__new__(RowSampling)
        chosen._set(self.temperature[rows], self.top_p[rows])
        return chosen

    def _set(self, temperature: torch.Tensor, top_p: torch.Tensor) -> None:
        self.temperature = temperature
        self.top_p = top_p
        self.is_greedy = temperature == 0
        self.divisor = torch.where(self.is_greedy, 1.0, temperature)[:, None]
        self.any_greedy = bool(self.is_greedy.any())
        self.all_plain = bool((self.divisor == 1).all())
        self.any_nucleus = bool((top_p < 1).any())


class Drawn(NamedTuple):
    """Tokens ``(n,) int64`` and their log-probabilities ``(n,) float32`` in nats.

    ``logprobs`` are at each row's temperature (1 where greedy), ``model_logprobs`` at 1; neither
    knows of top-p.
    """

    tokens: torch.Tensor
    logprobs: torch.Tensor
    model_logprobs: torch.Tensor


def draw(logits: torch.Tensor, sampling: RowSampling, uniforms: NDArray[np.float64]) -> Drawn:
    """Draw a token for each row by inverting its cumulative distribution.

    Args:
        logits: ``(n, V)``.
        sampling: Settings of the n rows.
        uniforms: ``(n,)`` in [0, 1), one for each row: equal rows with equal numbers draw equal
            tokens, whatever the batch.

    Raises:
        DataError: If a row's logits are not numbers: the model has diverged.
    """
    logits = logits.float()
    scores = torch.log_softmax(_divided(logits, sampling), dim=-1)
    tokens = _invert(_kept(scores.exp(), sampling), uniforms)
    if sampling.any_greedy:
        tokens = torch.where(sampling.is_greedy, logits.argmax(-1), tokens)
    tokens = tokens.clamp_(max=logits.shape[-1] - 1)  # where NaN is, any index may come out
    logprobs = scores.gather(1, tokens[:, None])[:, 0]
    if not bool(logprobs.isfinite().all()):
        raise DataError(
            "the model's logits are not finite: its weights are not what they should be (a "
            "training run that diverged, a damaged file)."
        )
    if sampling.all_plain:
        return Drawn(tokens, logprobs, logprobs)
    own = torch.log_softmax(logits, dim=-1).gather(1, tokens[:, None])[:, 0]
    return Drawn(tokens, logprobs, own)


def _divided(logits: torch.Tensor, sampling: RowSampling) -> torch.Tensor:
    if sampling.all_plain:
        return logits
    below = logits - logits.amax(-1, keepdim=True)  # no overflow, however small the divisor
    return below / sampling.divisor


def _invert(probabilities: torch.Tensor, uniforms: NDArray[np.float64]) -> torch.Tensor:
    """Return the first token of each row at which the summed probability exceeds u times the total.

    It always has a probability above 0: the sum grows there, and u times the total stays below it.
    """
    cumulative = probabilities.cumsum(-1, dtype=torch.float64)
    total = cumulative[:, -1:]
    aim = torch.from_numpy(uniforms).to(total.device)[:, None] * total
    aim = torch.minimum(aim, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, aim, right=True)[:, 0]


def _kept(probabilities: torch.Tensor, sampling: RowSampling) -> torch.Tensor:
    """Return the probabilities with 0 for what is outside the nucleus."""
    if not sampling.any_nucleus:
        return probabilities
    top_p = sampling.top_p[:, None]
    top, summed = _most_likely(probabilities, _LIKELY)
    if not bool((summed[:, -1:] >= top_p).all()):
        top, summed = _most_likely(probabilities, probabilities.shape[-1])
    last = (summed < top_p).sum(-1, keepdim=True).clamp_(max=top.shape[-1] - 1)
    least = torch.where(top_p < 1, top.gather(1, last), 0.0)
    return torch.where(probabilities >= least, probabilities, 0.0)


def _most_likely(probabilities: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    top = probabilities.topk(min(count, probabilities.shape[-1])).values
    return top, top.cumsum(-1)
