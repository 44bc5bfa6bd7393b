"""`TokenBatch`: trajectories as padded tensors, cut into parts that fit into a forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from budget_envs.agents.models.tokens import TokenTrajectory

__all__ = ["TokenBatch", "in_passes", "pad"]


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Trajectories, padded on the right, where causal attention lets padding touch nothing.

    Attributes:
        ids: ``(B, L) int64``, 0 where padded.
        mask: ``(B, L) bool``, the tokens that a loss may count.
        old_logprobs: ``(B, L) float32``, log-probabilities of sampling, 0 where not ``mask``.
        turns: ``(B, L) int64``, for tokens of ``mask`` the number of their turn among all turns of
            the batch; 0 elsewhere.
        lengths: ``(B,) int64``, tokens of each trajectory.
    """

    ids: Tensor
    mask: Tensor
    old_logprobs: Tensor
    turns: Tensor
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        """Number of trajectories B."""
        return len(self.ids)

    def of_turns(self, values: NDArray[np.float64]) -> Tensor:
        """Spread values of turns over their tokens.

        Args:
            values: ``(M,)``, by the number of the turn.

        Returns:
            ``(B, L) float32``, 0 where not ``mask``.
        """
        known = torch.from_numpy(np.append(values, 0.0)).float()
        return known[self.turns] * self.mask


def pad(trajectories: Sequence[TokenTrajectory], num_turns: Sequence[int]) -> TokenBatch:
    """Put trajectories into one batch.

    Args:
        trajectories: B of them.
        num_turns: Turns of each that count: tokens of later ones are in no loss, and turns of the
            batch are numbered as if each trajectory had so many.

    Returns:
        The batch.
    """
    lengths = np.array([len(trajectory) for trajectory in trajectories], dtype=np.int64)
    shape = (len(trajectories), int(lengths.max(initial=1)))
    ids, turns = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    mask, logprobs = np.zeros(shape, bool), np.zeros(shape, np.float32)
    first = 0
    for row, (trajectory, count) in enumerate(zip(trajectories, num_turns, strict=True)):
        used = slice(len(trajectory))
        counted = trajectory.is_action & (trajectory.turns < count)
        ids[row, used], mask[row, used] = trajectory.ids, counted
        turns[row, used] = np.where(counted, trajectory.turns + first, 0)
        logprobs[row, used] = np.where(counted, trajectory.logprobs, 0.0)
        first += count
    as_tensor = torch.from_numpy
    return TokenBatch(
        as_tensor(ids), as_tensor(mask), as_tensor(logprobs), as_tensor(turns), lengths
    )


def in_passes(
    lengths: NDArray[np.int64], tokens_per_pass: int, rows: NDArray[np.int64] | None = None
) -> Iterator[tuple[Tensor, int]]:
    """Cut a batch into parts of similar lengths, so that little of a pass is padding.

    Args:
        lengths: ``(B,)``.
        tokens_per_pass: Most tokens of a part, padding included; a row that is longer is a part of
            its own.
        rows: The rows to cut; ``None`` for all.

    Yields:
        Rows ``(b,) int64``, and the length that they are padded to.
    """
    wanted = np.arange(len(lengths)) if rows is None else rows
    order = wanted[np.argsort(lengths[wanted], kind="stable")]
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and lengths[order[stop]] * (stop + 1 - start) <= tokens_per_pass:
            stop += 1
        part = order[start:stop]
        yield torch.from_numpy(part), int(lengths[part[-1]])
        start = stop
