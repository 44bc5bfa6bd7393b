"""What a user may say about an endpoint, checked: where it is, how to sample, what tokens cost."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from budget_envs.budget import as_limit
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.evaluation.policy import shown

if TYPE_CHECKING:
    from budget_envs.agents.policies.openai_replies import Reply

__all__ = ["Limits", "Prices", "Sampling", "checked_url", "variable_name"]

_MAX_TOKENS_FIELDS: Final = ("max_tokens", "max_completion_tokens")
_OURS: Final = ("messages", "model", "stream", "n", "tools", *_MAX_TOKENS_FIELDS)
_SEED_BITS: Final = 31  # the range that every server takes
_MILLION: Final = 1_000_000
_MAX_NUMBER: Final = 1e15


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the model is asked.

    Attributes:
        model: Name of the model.
        temperature: At least 0; ``None`` is not sent.
        top_p: In (0, 1]; ``None`` is not sent.
        max_tokens: Most tokens of one answer; ``None`` for no limit of its own.
        max_tokens_field: Name of the field for it.
        logprobs: Whether log-probabilities are asked for.
        extra_body: Further fields.

    Raises:
        OptionError: If one is not valid.
    """

    model: str
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    max_tokens_field: str
    logprobs: bool
    extra_body: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model:
            raise OptionError(f"model must be the name of a model, got {self.model!r}.")
        _check_number("temperature", self.temperature, 0.0, math.inf)
        _check_number("top_p", self.top_p, 0.0, 1.0)
        if self.top_p == 0:
            raise OptionError("top_p must be above 0; temperature=0 takes the likeliest token.")
        if self.max_tokens is not None:
            as_limit(self.max_tokens, "max_tokens")
        if self.max_tokens_field not in _MAX_TOKENS_FIELDS:
            raise OptionError(
                f"max_tokens_field must be one of {', '.join(_MAX_TOKENS_FIELDS)}, got "
                f"{self.max_tokens_field!r}."
                + did_you_mean(self.max_tokens_field, _MAX_TOKENS_FIELDS)
            )
        if not isinstance(self.logprobs, bool):
            raise OptionError(f"logprobs must be True or False, got {self.logprobs!r}.")
        self._check_extra_body()

    def settings(self) -> dict[str, Any]:
        """Return them as a run's settings have them."""
        return {
            "model": self.model,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "logprobs": self.logprobs,
            "extra_body": dict(self.extra_body),
        }

    def fields(self, token_limit: int | None, seed: int) -> dict[str, Any]:
        """Return the fields of a request, its messages aside.

        Args:
            token_limit: Tokens that the episode has left; ``None`` if unlimited.
            seed: 64-bit key, of which the upper bits are sent.
        """
        limits = [limit for limit in (self.max_tokens, token_limit) if limit is not None]
        optional = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            self.max_tokens_field: max(1, min(limits)) if limits else None,
            "logprobs": self.logprobs or None,
        }
        sent = {name: value for name, value in optional.items() if value is not None}
        return {"model": self.model, "seed": seed >> (64 - _SEED_BITS), **sent, **self.extra_body}

    def _check_extra_body(self) -> None:
        if not isinstance(self.extra_body, Mapping):
            raise OptionError(
                f'extra_body must be fields such as {{"top_k": 20}}, got {self.extra_body!r}.'
            )
        for name in self.extra_body:
            if name in _OURS:
                raise OptionError(f"extra_body cannot set {name!r}, which the policy sets itself.")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is asked of an endpoint.

    Attributes:
        concurrency: Requests in flight at once.
        timeout_s: Seconds for one attempt, from the connection to the last byte.
        deadline_s: Seconds for one request, with all attempts and the pauses between them.
        max_retries: Attempts after the first.

    Raises:
        OptionError: If one is not valid.
    """

    concurrency: int
    timeout_s: float
    deadline_s: float
    max_retries: int

    def __post_init__(self) -> None:
        as_limit(self.concurrency, "concurrency")
        for name in ("timeout_s", "deadline_s"):
            value = getattr(self, name)
            _check_number(name, value, 0.0, math.inf)
            if not value:
                raise OptionError(f"{name} must be a number of seconds above 0, got {value!r}.")
        retries = self.max_retries
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise OptionError(f"max_retries must be an integer of at least 0, got {retries!r}.")


@dataclass(frozen=True, slots=True)
class Prices:
    """What tokens cost, in the unit of the budget's cost for a million of them.

    Attributes:
        prompt: A million tokens read.
        completion: A million tokens generated.
    """

    prompt: float
    completion: float

    @classmethod
    def of(cls, prompt: float | None, completion: float | None) -> Prices | None:
        """Return the prices; ``None`` if neither is given.

        Raises:
            OptionError: If one is given without the other, or is not a number of at least 0.
        """
        if prompt is None and completion is None:
            return None
        if prompt is None or completion is None:
            raise OptionError(
                "prompt_price and completion_price belong together: give both, 0 for what is free."
            )
        _check_number("prompt_price", prompt, 0.0, math.inf)
        _check_number("completion_price", completion, 0.0, math.inf)
        return cls(prompt, completion)

    def cost(self, reply: Reply) -> float | None:
        """Return what an answer costs; ``None`` if the endpoint did not count its tokens."""
        if reply.num_prompt_tokens is None or reply.num_tokens is None:
            return None
        total = reply.num_prompt_tokens * self.prompt + reply.num_tokens * self.completion
        return total / _MILLION


def checked_url(url: Any) -> str:
    """Return an endpoint's address without a slash at its end.

    Raises:
        OptionError: If it is none, or holds a secret, which would be stored with the results.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_bare = not (parts.username or parts.password or parts.query or parts.fragment)
        _ = parts.port  # raises where it is no number
    except (ValueError, TypeError, AttributeError):
        is_address = is_bare = False
    is_plain = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url
    if not is_address or not is_bare or not is_plain:
        raise OptionError(
            "base_url must be an address such as http://localhost:8000/v1, without user, password "
            "and query: it is stored with the results."
        )
    address = str(url).rstrip("/")
    if address.endswith("/chat/completions"):
        raise OptionError(f"base_url ends before /chat/completions, got {address!r}.")
    return address


def variable_name(name: Any) -> str:
    """Return the name of an environment variable.

    Raises:
        OptionError: If it is none; the value is not shown, as it may be the key itself.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise OptionError(
            "api_key_env is the name of the environment variable that holds the key, such as "
            "'OPENAI_API_KEY', and not the key."
        )
    return name


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or value >= _MAX_NUMBER:
        span = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"of at least {low:g}"
        raise OptionError(f"{name} must be a number {span}, got {shown(value)}.")
