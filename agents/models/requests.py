"""What a sampler is asked for, and what it gives; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from budget_envs.agents.models.sampling import Sampling
from budget_envs.agents.models.tokens import Finish

__all__ = ["Generated", "Request", "Usage"]

_PLAIN: Final = Sampling()


@dataclass(frozen=True, slots=True)
class Request:
    """One generation in one conversation.

    Attributes:
        conversation: Names the conversation; its earlier tokens are remembered.
        new_ids: Tokens that came after what was generated last, at least one.
        max_new_tokens: At most so many are generated, at least 1.
        key: 64-bit key; token i of this generation is drawn with ``streams.uniform(key, i)``.
        sampling: How its tokens are drawn.
    """

    conversation: str
    new_ids: Sequence[int]
    max_new_tokens: int
    key: int
    sampling: Sampling = _PLAIN


@dataclass(frozen=True, slots=True)
class Generated:
    """What came of a request.

    Attributes:
        ids: The sampled tokens, a stop token at the end included.
        logprobs: Of each token, in nats, under the model's distribution **at the sampling
            temperature** and before top-p: what a trainer's ratio is taken against, if it divides
            its logits by the same temperature. At temperature 0: as at temperature 1.
        model_logprobs: The same at temperature 1.
        finish: ``"stop"``: a stop token or stop string; ``"length"``: ``max_new_tokens``.
        seconds: Wall time from the call to this row's last token.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    model_logprobs: tuple[float, ...]
    finish: Finish
    seconds: float


@dataclass(slots=True)
class Usage:
    """What a sampler has done since it was made.

    Attributes:
        prefill_tokens: Tokens read: prompts, observations, and each turn's last sampled token.
        prefill_seconds: Wall time of reading.
        decode_tokens: Tokens sampled.
        decode_seconds: Wall time of sampling.
    """

    prefill_tokens: int = 0
    prefill_seconds: float = 0.0
    decode_tokens: int = 0
    decode_seconds: float = 0.0
