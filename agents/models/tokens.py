"""`TokenTrajectory`: an episode as the tokens that the model read and wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Finish", "TokenTrajectory"]

Finish = Literal["stop", "length"]
"""Why a generation ended: the model said so (or wrote a stop string), or its room was used up."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenTrajectory:
    """One episode, token for token as it was sampled: nothing in it was ever tokenised again.

    Attributes:
        ids: ``(L,) int64``, the whole conversation in the model's chat format.
        is_action: ``(L,) bool``, the tokens that the policy sampled, the end of a message included
            where it was sampled. False for prompts, observations, what the template adds, and an
            action that the environment put in place of the policy's.
        logprobs: ``(L,) float32``, log-probability in nats with which a token was sampled, under
            the model's distribution **at the sampling temperature**, before top-p (a greedy
            sampler's: at temperature 1). 0 where not ``is_action``. ``logprobs[i]`` is that of
            ``ids[i]`` after ``ids[:i]``.
        turns: ``(L,) int64``, the turn from 0 that a token belongs to: the observation, the action
            that answers it, and what closes the message.
        finishes: For each turn, why its generation ended; ``"replaced"`` where the environment put
            another action in its place.
    """

    ids: NDArray[np.int64]
    is_action: NDArray[np.bool_]
    logprobs: NDArray[np.float32]
    turns: NDArray[np.int64]
    finishes: tuple[Finish | Literal["replaced"], ...] = ()

    def __len__(self) -> int:
        """Number of tokens L."""
        return len(self.ids)
