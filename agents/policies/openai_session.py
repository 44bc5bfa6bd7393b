"""`Session`: many requests to one endpoint at a time, each tried until it is answered or hopeless.

The HTTP library is used rather than a vendor's client: what is asked of an endpoint here is one
POST, while the bounds that an evaluation needs (bytes, seconds of an attempt and of all attempts,
no redirects, no draws from the global random state) would have to be built around any client.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from budget_envs.agents.policies.openai_replies import (
    MAX_BODY_BYTES,
    Problem,
    Reply,
    read_refusal,
    read_reply,
)
from budget_envs.agents.policies.openai_settings import Limits
from budget_envs.errors import PolicyUnavailable, require
from budget_envs.streams import uniform
from budget_envs.version import __version__

if TYPE_CHECKING:
    import httpx2

__all__ = ["Request", "Session"]

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 60.0  # whatever Retry-After says: the deadline may be far
_CONNECT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        fields: The body, as JSON-safe values.
        key: 64-bit key of the pauses' jitter.
    """

    fields: dict[str, Any]
    key: int


class Session:
    """Connections to an endpoint and the event loop that they live on, in a thread of its own.

    The thread lets a caller that has an event loop itself, such as a notebook, wait for answers
    too.

    Args:
        url: Where requests go.
        key: The secret that they are signed with; ``None`` for none.
        limits: How much is asked of the endpoint.

    Raises:
        PolicyUnavailable: If connections cannot be prepared.
        DependencyNotInstalled: If the HTTP library is missing.
    """

    def __init__(self, url: str, key: str | None, limits: Limits) -> None:
        self.url = url
        self.limits = limits
        self._key = key
        self._anyio = require("anyio", "endpoint")
        self._http = require("httpx2", "endpoint")
        self._stack = ExitStack()
        start = require("anyio.from_thread", "endpoint").start_blocking_portal
        self._portal = self._stack.enter_context(start())
        try:
            self._client: httpx2.AsyncClient = self._portal.call(self._connected)
        except Exception as error:  # of which the text may hold a proxy's password
            self._stack.close()
            raise PolicyUnavailable(
                f"no connection to {url} can be prepared ({type(error).__name__}): check the "
                "proxies and certificates that the environment names (HTTPS_PROXY, SSL_CERT_FILE)."
            ) from None
        self._stack.callback(self._portal.call, self._client.aclose)

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the connections, and end the thread."""
        self._stack.close()

    def ask(self, requests: Sequence[Request]) -> list[Reply | Problem | None]:
        """Return what came of each request; ``None`` where another's problem made it pointless.

        An interrupt cancels them all.
        """
        future = self._portal.start_task_soon(self._ask_all, requests)
        try:
            answers: list[Reply | Problem | None] = future.result()
        except BaseException:
            future.cancel()
            raise
        return answers

    async def _connected(self) -> httpx2.AsyncClient:
        headers = {"User-Agent": f"budget-envs/{__version__}", "Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        count = self.limits.concurrency
        client: httpx2.AsyncClient = self._http.AsyncClient(
            headers=headers,
            # What bounds a whole attempt is in _attempt: these bound single reads, not the sum.
            timeout=self._http.Timeout(None, connect=min(_CONNECT_S, self.limits.timeout_s)),
            limits=self._http.Limits(max_connections=count, max_keepalive_connections=count),
            follow_redirects=False,  # the conversation and the key are for this address
        )
        return client

    async def _ask_all(self, requests: Sequence[Request]) -> list[Reply | Problem | None]:
        answers: list[Reply | Problem | None] = [None] * len(requests)
        room = self._anyio.CapacityLimiter(self.limits.concurrency)
        async with self._anyio.create_task_group() as group:

            async def ask(place: int) -> None:
                async with room:
                    answers[place] = answer = await self._ask(requests[place])
                if isinstance(answer, Problem) and answer.trouble == "unusable":
                    group.cancel_scope.cancel()

            for place in range(len(requests)):
                group.start_soon(ask, place)
        return answers

    async def _ask(self, request: Request) -> Reply | Problem:
        with self._anyio.move_on_after(self.limits.deadline_s):
            return await self._ask_until_answered(request)
        return Problem(
            "busy", f"no answer within {self.limits.deadline_s:g} s, further attempts included"
        )

    async def _ask_until_answered(self, request: Request) -> Reply | Problem:
        body = _encoded(request.fields)
        attempt = 0
        while True:
            try:
                return await self._attempt(body)
            except Problem as problem:
                if not problem.may_pass or attempt >= self.limits.max_retries:
                    return _after(problem, attempt + 1)
                await self._anyio.sleep(_pause_s(problem, attempt, request.key))
            attempt += 1

    async def _attempt(self, body: bytes) -> Reply:
        """Send a request once.

        Raises:
            Problem: If there is no answer.
        """
        http, start = self._http, time.monotonic()
        try:
            with self._anyio.fail_after(self.limits.timeout_s):
                async with self._client.stream("POST", self.url, content=body) as response:
                    content = await _bounded(response)
        except TimeoutError:
            raise Problem("busy", f"no answer within {self.limits.timeout_s:g} s") from None
        except (http.ConnectError, http.ConnectTimeout) as error:
            raise Problem("unreachable", f"no connection ({_named(error)})") from None
        except http.DecodingError as error:
            raise Problem("garbled", f"the answer cannot be unpacked ({_named(error)})") from None
        except http.RequestError as error:
            raise Problem("busy", f"the connection broke ({_named(error)})") from None
        except Exception as error:  # not foreseen, and in no case the agent's fault
            raise Problem("rejected", f"the request failed ({_named(error)})") from error
        if response.status_code != http.codes.OK:
            problem = read_refusal(response.status_code, content, response.headers, time.time())
            raise self._without_key(problem)
        try:
            seconds = time.monotonic() - start
            return read_reply(content, response.headers.get("content-type", ""), seconds)
        except Problem as problem:
            raise self._without_key(problem) from None

    def _without_key(self, problem: Problem) -> Problem:
        """Return a problem of which the text, an endpoint's own words, may be stored and shown."""
        text = problem.text.replace(self._key, "[key]") if self._key else problem.text
        return Problem(
            problem.trouble, text, status=problem.status, retry_after_s=problem.retry_after_s
        )


def _encoded(fields: dict[str, Any]) -> bytes:
    """Return a body in UTF-8, which has no halves of surrogate pairs, as texts of agents may."""
    text = json.dumps(fields, ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


async def _bounded(response: httpx2.Response) -> bytes:
    """Return the body, or its start with one byte more than is accepted."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            break
    return bytes(body[: MAX_BODY_BYTES + 1])


def _pause_s(problem: Problem, attempt: int, key: int) -> float:
    """Return how long to wait: as asked, or longer each time, and not all at the same moment."""
    if problem.retry_after_s is not None:
        return min(problem.retry_after_s, _LONGEST_PAUSE_S)
    longest = min(_FIRST_PAUSE_S * 2.0 ** min(attempt, 10), _LONGEST_PAUSE_S)
    return longest * (0.5 + 0.5 * uniform(key, attempt))


def _after(problem: Problem, attempts: int) -> Problem:
    if attempts == 1:
        return problem
    text = f"{problem.text} (attempt {attempts})"
    return Problem(problem.trouble, text, status=problem.status)


def _named(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
