"""`OpenAIPolicy`: plays with a model behind an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import gymnasium as gym

from budget_envs.agents.policies.openai_replies import Problem, Reply
from budget_envs.agents.policies.openai_session import Request, Session
from budget_envs.agents.policies.openai_settings import (
    Limits,
    Prices,
    Sampling,
    checked_url,
    variable_name,
)
from budget_envs.agents.policies.openai_tools import as_text, check_tool_env, native_fields
from budget_envs.errors import OptionError, PolicyUnavailable, did_you_mean, require
from budget_envs.evaluation.policy import Action, Conversation, Failure, Policy
from budget_envs.streams import derive_key

__all__ = ["OpenAIPolicy", "ToolCalls"]

ToolCalls = Literal["text", "native"]

_OPENAI: Final = "https://api.openai.com/v1"
_ALWAYS_THE_SAME: Final = ("unreachable", "rejected", "garbled")


class OpenAIPolicy(Policy):
    """Sends each conversation to an endpoint, and plays what comes back.

    vLLM, llama.cpp's server and hosted services speak this protocol. All conversations of a batch
    are asked about at once. An answer that was cut at a limit of tokens is played as it stands, an
    empty one as an empty action, and a refusal as what the model said. What the endpoint breaks
    down at ends that one conversation as void; a conversation that outgrew the model's context is
    the agent's failure. Where nothing can succeed (the key is not accepted, the address or model is
    not known, there is no credit, or not one request was ever answered), the evaluation ends with
    `PolicyUnavailable`.

    Each request has a seed of its own from ``Conversation.key``; whether equal seeds give equal
    answers is up to the endpoint.

    Args:
        model: Name of the model, as the endpoint knows it.
        base_url: Address of the endpoint, up to and including ``/v1``; ``None`` takes that of the
            environment variable ``OPENAI_BASE_URL``, or else OpenAI's own.
        api_key_env: Name of the environment variable with the key. Where it is not set, requests
            carry none, as local servers have it. The key itself is stored nowhere.
        temperature: Sampling temperature, at least 0; ``None`` leaves it to the endpoint.
        top_p: Nucleus in (0, 1]; ``None`` leaves it to the endpoint.
        max_tokens: Most tokens of one action; ``None`` for no limit but the episode's, which always
            holds too.
        max_tokens_field: Name that the endpoint has for that limit: OpenAI's own wants
            ``"max_completion_tokens"``.
        tool_calls: ``"text"``: the model writes calls as the environment asks for. ``"native"``:
            tools go as ``tools``, and the ``tool_calls`` that come back are played; for tool
            dialogues made with ``format="openai"``, of which the policy then reads the tools.
        logprobs: Ask for log-probabilities; without effect where the endpoint gives none.
        prompt_price: Price of a million tokens read, in the unit of the budget's cost; with
            ``completion_price``, that of a million generated, it makes actions cost money.
        completion_price: See ``prompt_price``.
        extra_body: Further fields of every request, such as ``{"top_k": 20}``. They are stored with
            the results.
        concurrency: Requests in flight at once.
        timeout_s: Seconds for one attempt.
        deadline_s: Seconds for one answer, with all attempts and the pauses between them.
        max_retries: Further attempts where the endpoint is overloaded, broken, too slow or not
            reachable, after a pause that grows or that the endpoint asks for.

    Raises:
        OptionError: If a setting is not valid.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        temperature: float | None = 1.0,
        top_p: float | None = 1.0,
        max_tokens: int | None = None,
        max_tokens_field: str = "max_tokens",
        tool_calls: ToolCalls = "text",
        logprobs: bool = False,
        prompt_price: float | None = None,
        completion_price: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        concurrency: int = 32,
        timeout_s: float = 300.0,
        deadline_s: float = 1200.0,
        max_retries: int = 5,
    ) -> None:
        if tool_calls not in get_args(ToolCalls):
            raise OptionError(
                f"tool_calls must be one of {', '.join(get_args(ToolCalls))}, got {tool_calls!r}."
                + did_you_mean(tool_calls, get_args(ToolCalls))
            )
        self.name = "openai"
        self.is_native = tool_calls == "native"
        self.needs_env = self.is_native  # type: ignore[misc]  # a class's in all other policies
        self.base_url = checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI)
        self.api_key_env = variable_name(api_key_env)
        self.sampling = Sampling(
            model, temperature, top_p, max_tokens, max_tokens_field, logprobs, extra_body or {}
        )
        self.prices = Prices.of(prompt_price, completion_price)
        self.limits = Limits(concurrency, timeout_s, deadline_s, max_retries)
        # What decides when to give up is no part of a run's identity: it may be changed to go on.
        self.settings = {
            "base_url": self.base_url,
            **self.sampling.settings(),
            "tool_calls": tool_calls,
            "prompt_price": prompt_price,
            "completion_price": completion_price,
        }
        self._session: Session | None = None
        self._in_progress: set[str] = set()
        self._has_answered = False

    def act(self, conversations: Sequence[Conversation]) -> list[Action | Failure]:
        """Return what the model says in each conversation.

        Raises:
            PolicyUnavailable: If no request can succeed.
            DependencyNotInstalled: If the HTTP library is missing.
        """
        requests = [self._request(conversation) for conversation in conversations]
        try:
            answers = self._asked_with_room(requests)
        finally:
            if not self._in_progress:
                self._close()
        return [self._played(answer) for answer in answers]

    def begin(self, conversations: Sequence[Conversation]) -> None:
        """Keep connections open until these conversations are over."""
        self._in_progress.update(conversation.id for conversation in conversations)

    def end(self, conversations: Sequence[Conversation]) -> None:
        """Close the connections after the last conversation."""
        self._in_progress.difference_update(conversation.id for conversation in conversations)
        if not self._in_progress:
            self._close()

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without tools to call natively, where that was asked for.

        Raises:
            UnsupportedError: If it has none.
            DependencyNotInstalled: If the HTTP library is missing.
        """
        require("httpx2", "endpoint")
        if self.is_native:
            check_tool_env(env)

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: it opens connections of its own."""
        fresh: dict[str, Any] = {"_session": None, "_in_progress": set(), "_has_answered": False}
        return {**self.__dict__, **fresh}

    def _request(self, conversation: Conversation) -> Request:
        key = derive_key(conversation.key, conversation.turn)
        said = native_fields if self.is_native else _text_fields
        fields = self.sampling.fields(conversation.token_limit, seed=key)
        return Request({**said(conversation), **fields}, key)

    def _asked_with_room(self, requests: Sequence[Request]) -> list[Reply | Problem]:
        """Return what came of each request, of some at the second try.

        Endpoints refuse a prompt that would not leave room for the most tokens asked for. Asked
        without that limit they generate what the context has room for, which is less.
        """
        answers = self._asked(requests)
        field = self.sampling.max_tokens_field
        tight = [
            place
            for place, (request, answer) in enumerate(zip(requests, answers, strict=True))
            if isinstance(answer, Problem)
            and answer.trouble == "too_long"
            and field in request.fields
        ]
        roomy = [
            Request({k: v for k, v in requests[i].fields.items() if k != field}, requests[i].key)
            for i in tight
        ]
        for place, answer in zip(tight, self._asked(roomy), strict=True):
            answers[place] = answer
        return answers

    def _asked(self, requests: Sequence[Request]) -> list[Reply | Problem]:
        if not requests:
            return []
        if self._session is None:
            url = f"{self.base_url}/chat/completions"
            self._session = Session(url, self._key(), self.limits)
        answers = self._session.ask(requests)
        problems = [answer for answer in answers if isinstance(answer, Problem)]
        hopeless = [problem for problem in problems if problem.trouble == "unusable"]
        self._has_answered |= any(isinstance(answer, Reply) for answer in answers)
        if not self._has_answered and all(p.trouble in _ALWAYS_THE_SAME for p in problems):
            hopeless += problems
        if hopeless:
            raise PolicyUnavailable(self._explained(hopeless[0]))
        return [answer for answer in answers if answer is not None]

    def _key(self) -> str | None:
        key = os.environ.get(self.api_key_env, "").strip()
        if not key.isascii() or not key.isprintable():
            raise PolicyUnavailable(
                f"the environment variable {self.api_key_env} holds no key: expected printable "
                "ASCII characters only."
            )
        return key or None

    def _explained(self, problem: Problem) -> str:
        advice = "Check base_url and the endpoint."
        if problem.status == 401:
            is_set = bool(os.environ.get(self.api_key_env, "").strip())
            what = "does not hold a key that it accepts" if is_set else "is not set"
            advice = f"The environment variable {self.api_key_env} {what}."
        elif problem.status == 404:
            advice = f"Check base_url and the model {self.sampling.model!r}."
        return f"{self.base_url} cannot be played with: {problem.text}. {advice}"

    def _played(self, answer: Reply | Problem) -> Action | Failure:
        if isinstance(answer, Problem):
            is_agents = answer.trouble == "too_long"
            return Failure(answer.text, "agent" if is_agents else "provider")
        return Action(
            as_text(answer.text, answer.tool_calls) if self.is_native else answer.text,
            answer.logprobs,
            answer.num_tokens,
            answer.seconds,
            None if self.prices is None else self.prices.cost(answer),
        )

    def _close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            session.close()


def _text_fields(conversation: Conversation) -> dict[str, Any]:
    return {"messages": conversation.messages}
