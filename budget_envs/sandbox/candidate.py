"""A loaded program whose functions are called by value from test code in the judge."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar

from budget_envs.errors import UnsupportedError
from budget_envs.sandbox.codec import MalformedError, NotPlainError, Reference, decode, encode
from budget_envs.sandbox.confined import READY
from budget_envs.sandbox.protocol import (
    Call,
    CallResult,
    CandidateError,
    Execution,
    Limits,
    SandboxLost,
    Status,
)
from budget_envs.sandbox.runner import DONE, LOADED, OUT_OF_MEMORY
from budget_envs.sandbox.session import ChannelClosed, Session
from budget_envs.sandbox.worker import GRACE_S, Worker

__all__ = ["LiveCandidate", "execution_from_report", "lost_execution", "run_program_on"]

_NO_KWARGS: Mapping[str, Any] = MappingProxyType({})
_NONCE_BYTES = 8
_AHEAD_BYTES, _AHEAD = 1 << 15, 64
"""How much may be sent ahead, in bytes and requests: what the buffers on the way surely hold, so
that nobody waits to send while the other end does."""
_T = TypeVar("_T")
_MIRRORED_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, LookupError),
    *(MemoryError, NameError, NotImplementedError, OverflowError, RecursionError),
    *(RuntimeError, TypeError, ValueError, ZeroDivisionError),
)
_SIGXCPU = 24


def run_program_on(worker: Worker, source: str, stdin: str, limits: Limits) -> Execution:
    """Run a whole program on an idle worker.

    Raises:
        SandboxLost: If the worker failed.
    """
    wire = stdin.encode("utf-8", "surrogatepass")
    session = Session(worker, source, wire, limits, calls=False)
    try:
        report = session.report(limits.time_s + GRACE_S)
    except TimeoutError as error:
        worker.is_lost = True
        raise SandboxLost("the sandbox server does not answer") from error
    return execution_from_report(report, calls=False)


class LiveCandidate:
    """A program loaded in one worker; see `budget_envs.sandbox.protocol.Candidate`.

    Args:
        worker: Idle until now.
        source: The program's text.
        limits: What it may use; its time is spent only while a call, or loading, is waited for.
        release: Takes the worker back.
    """

    def __init__(
        self, worker: Worker, source: str, limits: Limits, release: Callable[[Worker], None]
    ) -> None:
        self._worker = worker
        self._release = release
        self._left_s = limits.time_s
        self._execution: Execution | None = None
        self._nonces = _fresh_nonces()
        try:
            self._session = Session(worker, source, b"", limits, calls=True)
        except SandboxLost as error:
            self._settle(lost_execution(error))
        except BaseException:
            release(worker)
            raise

    def call(
        self, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] = _NO_KWARGS
    ) -> Any:
        """Call a top-level function of the program and return its value."""
        (nonce,) = self._send([_encode_request(function, args, kwargs)])
        return self._receive(nonce)

    def call_all(self, calls: Sequence[Call]) -> list[CallResult]:
        """Make calls whose arguments are all known, without waiting for one to send the next."""
        requests = [_encode_request(call.function, call.args, call.kwargs) for call in calls]
        return [self._result(nonce) for batch in _batches(requests) for nonce in self._send(batch)]

    def _result(self, nonce: bytes) -> CallResult:
        try:
            return CallResult("ok", self._receive(nonce))
        except CandidateError as error:
            return CallResult(error.status, error=str(error))
        except SandboxLost as error:
            return CallResult("lost", error=str(error))

    def _send(self, requests: Sequence[bytes]) -> list[bytes]:
        """Send requests and return the nonces that their answers must repeat."""
        nonces = [next(self._nonces) for _ in requests]
        signed = [nonce + request for nonce, request in zip(nonces, requests, strict=True)]
        # What goes wrong here is said when the answer is asked for: some may have come before.
        with suppress(CandidateError, SandboxLost):
            self._watched(lambda: self._session.send(signed, self._left_s))
        return nonces

    def _receive(self, nonce: bytes) -> Any:
        reply = self._watched(self._next_reply)
        started = time.monotonic()
        try:
            if reply[:_NONCE_BYTES] != nonce:
                raise MalformedError("it does not belong to this call")
            return _value_of(decode(reply[_NONCE_BYTES:]))
        except MalformedError as error:
            self._conclude("crash", kill=True)
            raise CandidateError(f"The candidate forged a reply: {error}.", "crash") from error
        finally:
            self._charge(started)  # many large replies cost the judge more than the candidate

    def _next_reply(self) -> bytes:
        if self._left_s <= 0:
            raise TimeoutError("no time is left for an answer")
        return self._session.receive(self._left_s)

    def _charge(self, started: float) -> None:
        self._left_s = max(0.0, self._left_s - (time.monotonic() - started))

    def _watched(self, action: Callable[[], _T]) -> _T:
        """Talk to the candidate at the expense of its time; an end of the talk ends the run."""
        if self._execution is not None:
            raise _no_value(self._execution)
        started = time.monotonic()
        try:
            return action()
        except TimeoutError:
            execution = self._conclude("timeout", kill=True)
        except MalformedError:
            execution = self._conclude("crash", kill=True)
        except ChannelClosed:
            execution = self._conclude("crash")
        except SandboxLost as error:
            execution = self._settle(lost_execution(error))
        finally:
            self._charge(started)
        raise _no_value(execution)

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended, so that nothing reaches it any more."""
        return self._execution is not None

    def function(self, name: str) -> Callable[..., Any]:
        """Return a callable that stands for the program's function ``name`` in test code."""

        def candidate(*args: Any, **kwargs: Any) -> Any:
            return self.call(name, args, kwargs)

        candidate.__name__ = candidate.__qualname__ = name
        return candidate

    def finish(self) -> Execution:
        """End the program and say how it went; later calls return the same."""
        return self._execution or self._conclude("ok")

    def _conclude(self, at_best: Status, kill: bool = False) -> Execution:
        """End the run and settle how it went: ``at_best`` so, worse if its end was worse."""
        try:
            execution = execution_from_report(self._report(kill), calls=True)
        except SandboxLost as error:
            return self._settle(lost_execution(error))
        if kill or execution.status == "ok":
            execution = replace(execution, status=at_best)
        return self._settle(execution)

    def _report(self, kill: bool) -> dict[str, Any]:
        try:
            if not kill:
                self._session.hang_up()
                with suppress(TimeoutError):
                    return self._session.report(self._left_s)
            self._session.stop()
            return self._session.report(GRACE_S)
        except TimeoutError as error:
            raise SandboxLost("the sandbox server does not answer") from error

    def _settle(self, execution: Execution) -> Execution:
        self._execution = execution
        self._abandon()
        return execution

    def _abandon(self) -> None:
        """Give the worker back, once. A worker that is still busy is ended, and replaced."""
        release, self._release = self._release, _release_nothing
        if hasattr(self, "_session"):
            self._session.close()
        release(self._worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, Exception):
            self.finish()
        else:  # an interrupt does not wait for anybody
            self._abandon()

    def __del__(self) -> None:
        if getattr(self, "_release", None) is not None:
            self._abandon()


def _fresh_nonces() -> Iterator[bytes]:
    """Yield random bytes that were never used: nobody can answer a call that was not made."""
    while True:
        pool = secrets.token_bytes(64 * _NONCE_BYTES)  # the kernel is asked once for many
        yield from (pool[i : i + _NONCE_BYTES] for i in range(0, len(pool), _NONCE_BYTES))


def _batches(requests: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Group requests that may be sent together; one that is large goes alone."""
    batch: list[bytes] = []
    size = 0
    for request in requests:
        if batch and (len(batch) == _AHEAD or size + len(request) > _AHEAD_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(request)
        size += len(request)
    if batch:
        yield batch


def _release_nothing(worker: Worker) -> None:
    """Stand in for the release of a worker that was given back."""


def _encode_request(function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    try:
        return encode((function, tuple(args), dict(kwargs)))
    except NotPlainError as error:
        raise UnsupportedError(
            f"An argument of {function!r} cannot be passed to the candidate: {error}. "
            "Pass literals and common containers."
        ) from error


def _value_of(reply: object) -> Any:
    """Return the value that a reply carries, or raise what it says was raised."""
    match reply:
        case ("value", value):
            return value
        case ("made", int(key), str(type_name)) if 0 <= key < 1 << 64:
            return Reference(key, type_name)
        case ("opaque", str(message)):
            raise CandidateError(message)
        case ("raised", str(type_name), str(message)):
            raise _mirrored_error(type_name, message)
    raise MalformedError("it is none of the known replies")


def _mirrored_error(type_name: str, message: str) -> CandidateError:
    text = f"{type_name}: {message}" if message else type_name
    kind = _ERROR_TYPES.get(type_name, CandidateError)
    return kind(text, "error", type_name)


_ERROR_TYPES: dict[str, type[CandidateError]] = {
    mirrored.__name__: type(f"Candidate{mirrored.__name__}", (CandidateError, mirrored), {})
    for mirrored in _MIRRORED_ERRORS
}


def _no_value(execution: Execution) -> CandidateError | SandboxLost:
    last_line = execution.stderr.rstrip().rpartition("\n")[2]
    because = f": {last_line}" if last_line else ""
    if execution.status == "lost":
        return SandboxLost(f"The sandbox was lost{because}")
    return CandidateError(
        f"The candidate gave no value ({_EXPLANATIONS[execution.status]}){because}",
        execution.status,
    )


_EXPLANATIONS: dict[Status, str] = {
    "ok": "it was finished before the call",
    "error": "it did not load",
    "timeout": "it ran out of time",
    "memory": "it ran out of memory",
    "output": "it wrote too much",
    "crash": "its process ended",
}


def lost_execution(error: Exception) -> Execution:
    """Return what stands for a run that nothing can be said about."""
    return Execution("lost", stderr=str(error))


def execution_from_report(report: Mapping[str, Any], calls: bool) -> Execution:
    """Judge a server's report of how a run went.

    Args:
        report: As the server sent it.
        calls: True if the program was called, and so has to have waited for its end.

    Raises:
        SandboxLost: If the report makes no sense.
    """
    match report:
        case {
            "exit_code": int(exit_code),
            "cause": str(cause),
            "status": bytes(marks),
            "seconds": float(seconds),
            "stdout": bytes(stdout),
            "stderr": bytes(stderr),
            "truncated": list(truncated),
        }:
            return Execution(
                status=_status(cause, exit_code, marks, calls),
                stdout=stdout.decode("utf-8", "replace"),
                stderr=stderr.decode("utf-8", "replace"),
                exit_code=exit_code,
                duration_s=seconds,
                stdout_truncated="stdout" in truncated,
                stderr_truncated="stderr" in truncated,
            )
    raise SandboxLost("the sandbox server reports nonsense")


def _status(cause: str, exit_code: int, marks: bytes, calls: bool) -> Status:
    if cause:
        return _STATUS_OF_CAUSE.get(cause, "lost")
    if READY not in marks:  # it was never confined, so it never ran
        return "lost"
    if exit_code == -_SIGXCPU:
        return "timeout"
    if exit_code < 0 or (calls and DONE not in marks and (exit_code == 0 or LOADED in marks)):
        return "crash"  # also an end in the middle of a call, whatever code it left with
    if exit_code != 0:
        return "memory" if OUT_OF_MEMORY in marks else "error"
    return "ok"


_STATUS_OF_CAUSE: dict[str, Status] = {
    "timeout": "timeout",
    "output": "output",
    "files": "output",
    "stop": "timeout",  # it did not end when it was told to
}
