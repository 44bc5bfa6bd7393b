"""What an endpoint's answers mean: `read_reply` for a good one, `read_refusal` for any other."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal

__all__ = ["MAX_BODY_BYTES", "Problem", "Reply", "Trouble", "read_refusal", "read_reply"]

MAX_BODY_BYTES: Final = 16 * 2**20  # the longest answers with log-probabilities are below 2 MiB

_MAX_TOKENS: Final = 2**40
_MAX_SHOWN: Final = 400  # characters of an endpoint's own words in a message
_OK, _FIRST_ERROR, _BAD_GATEWAY = 200, 400, 502
_LIKELY_TO_PASS: Final = frozenset({408, 409, 425, 429})
_FOR_GOOD: Final = frozenset({401, 402, 404})
_NO_CREDIT: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_TOO_LONG: Final = frozenset({"context_length_exceeded", "exceed_context_size_error"})
# As vLLM, llama.cpp, hosted services and gateways to them say it, most of them without a code.
_SAYS_TOO_LONG: Final = re.compile(
    r"context (length|size|window)|maximum model length|prompt is too long", re.IGNORECASE
)

Trouble = Literal["busy", "unreachable", "unusable", "rejected", "garbled", "withheld", "too_long"]


class Problem(Exception):
    """Why a request has no usable answer.

    Args:
        trouble: ``"busy"``: overloaded, broken or too slow for the moment. ``"unreachable"``:
            there is no connection. ``"unusable"``: no request can succeed, for want of the right
            key, credit, address or model. ``"rejected"``: this request is not accepted.
            ``"garbled"``: the answer is none. ``"withheld"``: the provider's filter kept the
            answer back. ``"too_long"``: the conversation does not fit into the model's context.
        text: What happened, for people.
        status: The HTTP status; ``None`` if there was none.
        retry_after_s: When to try again by the endpoint's own word, in seconds; ``None`` without.
    """

    def __init__(
        self,
        trouble: Trouble,
        text: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(text)
        self.trouble = trouble
        self.text = text
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return self.trouble in ("busy", "unreachable")


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    Attributes:
        text: What it said, without its reasoning where the endpoint tells them apart; a refusal is
            what it said too.
        tool_calls: Tool calls as the endpoint gave them, unread.
        num_tokens: Tokens generated, reasoning included; ``None`` if the endpoint does not count.
        num_prompt_tokens: Tokens read; ``None`` likewise.
        logprobs: Log-probability of each token in nats; ``None`` if the endpoint gives none.
        seconds: From sending the request to the answer's last byte.
    """

    text: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    num_tokens: int | None = None
    num_prompt_tokens: int | None = None
    logprobs: tuple[float, ...] | None = None
    seconds: float | None = None


def read_reply(body: bytes, content_type: str, seconds: float) -> Reply:
    """Read the body of an answer with status 200.

    Args:
        body: At most `MAX_BODY_BYTES` and one more byte, which says that there were more.
        content_type: What the endpoint calls it, for the message if it is something else.
        seconds: What it took.

    Raises:
        Problem: If it is no answer.
    """
    if len(body) > MAX_BODY_BYTES:
        raise Problem("garbled", f"the answer has more than {MAX_BODY_BYTES:,} bytes")
    document = _object(body)
    if document is None:
        start = _shortened(body.decode("utf-8", "replace"))
        raise Problem(
            "garbled", f"expected an answer in JSON, got {content_type or 'no type'}: {start!r}"
        )
    if document.get("error") and not document.get("choices"):  # some gateways' way to fail
        raise read_refusal(_status_in(document), body, {})
    try:
        return _reply(document, seconds)
    except (LookupError, TypeError, ValueError) as error:
        start = _shortened(body.decode("utf-8", "replace"))
        raise Problem("garbled", f"an answer without {error}: {start!r}") from None


def read_refusal(status: int, body: bytes, headers: Mapping[str, str], now: float = 0.0) -> Problem:
    """Return what an answer with another status than 200 means.

    Args:
        status: The HTTP status.
        body: The answer's body, whatever it holds.
        headers: Its headers.
        now: The time in seconds since 1970, which a date in ``Retry-After`` counts from.
    """
    error = _error_of(_object(body[: MAX_BODY_BYTES + 1]))
    message = error.get("message") or body[: 4 * _MAX_SHOWN].decode("utf-8", "replace")
    names = {str(error.get(key)) for key in ("code", "type")}
    if "location" in headers and status < _FIRST_ERROR:
        message = f"the address redirects to {headers['location']}"
    return Problem(
        _trouble(status, names, str(message)),
        f"HTTP status {status}: {_shortened(str(message))}",
        status=status,
        retry_after_s=_retry_after(headers.get("retry-after", ""), now),
    )


def _trouble(status: int, names: set[str], message: str) -> Trouble:
    if names & _TOO_LONG or (status >= _FIRST_ERROR and _SAYS_TOO_LONG.search(message)):
        return "too_long"
    if status in _FOR_GOOD or status < _FIRST_ERROR or names & _NO_CREDIT:
        return "unusable"
    if "content_filter" in names or "content_policy_violation" in names:
        return "withheld"
    return "busy" if status in _LIKELY_TO_PASS or status >= 500 else "rejected"


def _retry_after(value: str, now: float) -> float | None:
    """Read seconds, or a date; what is neither says nothing."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _object(body: bytes) -> dict[str, Any] | None:
    """Return a JSON object; ``None`` if the text is anything else."""
    try:
        document = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _error_of(document: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what an endpoint says about an error, in the forms that are about."""
    if document is None:
        return {}
    error = document.get("error", document)
    if isinstance(error, dict):
        return error if "message" in error else {**error, "message": error.get("detail")}
    return {**document, "message": error}


def _status_in(document: Mapping[str, Any]) -> int:
    code = _error_of(document).get("code")
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    return code if is_status else _BAD_GATEWAY  # type: ignore[return-value]  # an int by now


def _reply(document: Mapping[str, Any], seconds: float) -> Reply:
    choice = _expect(_expect(document, "choices", list), 0, dict)
    message = _expect(choice, "message", dict)
    if choice.get("finish_reason") == "content_filter":
        raise Problem("withheld", "the provider's content filter withheld the answer")
    usage = _optional(document, "usage", dict) or {}
    return Reply(
        text=_optional(message, "content", str) or _optional(message, "refusal", str) or "",
        tool_calls=tuple(_tool_calls(message)),
        num_tokens=_count(usage, "completion_tokens"),
        num_prompt_tokens=_count(usage, "prompt_tokens"),
        logprobs=_logprobs(choice),
        seconds=seconds,
    )


def _tool_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls = _optional(message, "tool_calls", list) or []
    if not all(isinstance(call, dict) for call in calls):
        raise TypeError("tool_calls that are objects")
    return calls


def _logprobs(choice: Mapping[str, Any]) -> tuple[float, ...] | None:
    held = _optional(choice, "logprobs", dict) or {}
    tokens = _optional(held, "content", list)
    if tokens is None:
        return None
    values = tuple(float(_expect(token, "logprob", int | float)) for token in tokens)
    if not math.isfinite(math.fsum(values)):
        raise ValueError("finite logprobs")
    return values


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    count = _optional(usage, name, int)
    if isinstance(count, bool) or (count is not None and not 0 <= count < _MAX_TOKENS):
        raise ValueError(f"a number of {name}")
    return count  # type: ignore[no-any-return]  # _optional has looked


def _expect(holder: Any, key: Any, kind: Any) -> Any:
    """Return a member of that type; the error's text is what is missing."""
    try:
        value = holder[key]
    except (LookupError, TypeError):
        raise LookupError(f"{key!r}") from None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{key!r} of type {getattr(kind, '__name__', kind)}")
    return value


def _optional(holder: Mapping[str, Any], key: str, kind: type) -> Any:
    return None if holder.get(key) is None else _expect(holder, key, kind)


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
