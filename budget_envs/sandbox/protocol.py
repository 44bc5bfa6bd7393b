"""What every sandbox promises: limits going in, plain outcomes coming out.

Only inputs enter a sandbox, and only plain values leave it, so whatever a program does, the
judge outside compares real data. Expected outputs, reference solutions and oracles stay outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from budget_envs.errors import BudgetEnvsError, OptionError

__all__ = [
    "Call",
    "CallResult",
    "CallsRun",
    "Candidate",
    "CandidateError",
    "Execution",
    "Limits",
    "Sandbox",
    "SandboxLost",
    "SandboxUnavailable",
    "Status",
]

Status = Literal["ok", "error", "timeout", "memory", "output", "crash", "lost"]

_MEBIBYTE = 1 << 20


class SandboxUnavailable(BudgetEnvsError, RuntimeError):
    """The isolation asked for is missing here; the message says what brings it."""


class SandboxLost(BudgetEnvsError, RuntimeError):
    """The sandbox itself failed, so the program could not be judged: the episode is void."""


class CandidateError(BudgetEnvsError, RuntimeError):
    """A call of the candidate gave no value: it raised, ran out of a limit, or ended.

    Where the candidate raised a common builtin exception, the error raised in the judge is also
    an instance of that builtin, so a test that expects ``ValueError`` works through the proxy.

    Attributes:
        status: How the call ended, never ``"ok"``.
        type_name: Class name of the candidate's exception, ``""`` when it raised none.
    """

    def __init__(self, message: str, status: Status = "error", type_name: str = "") -> None:
        super().__init__(message)
        self.status: Status = status
        self.type_name = type_name

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError among the bases would quote it


@dataclass(frozen=True)
class Limits:
    """What one run may use. Every limit is enforced while the program runs.

    Attributes:
        time_s: Wall-clock seconds; for calls, the seconds spent loading and answering in total.
        memory_bytes: Address space of the process.
        output_bytes: Bytes kept of stdout and of stderr, each. A program whose stdout grows
            beyond it is stopped; stderr, and what called functions print, is cut.
        file_bytes: Bytes that a file, and that the private directory's files together, may hold;
            each file costs at least one 4 KiB block. Files that were unlinked but are kept open
            are not seen: the ``bubblewrap`` and ``docker`` tiers bound all together to twice as
            much, the ``process`` tier only each file, and their number by 64 descriptors.

    Raises:
        OptionError: If a limit is not positive and finite.
    """

    time_s: float = 6.0
    memory_bytes: int = 512 * _MEBIBYTE
    output_bytes: int = 64 * 1024
    file_bytes: int = 16 * _MEBIBYTE

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            kinds = (int, float) if limit.name == "time_s" else (int,)
            valid = isinstance(value, kinds) and not isinstance(value, bool)
            if not valid or not 0 < value < math.inf:
                raise OptionError(
                    f"Limits.{limit.name} must be a positive {kinds[-1].__name__}, got {value!r}."
                )


@dataclass(frozen=True)
class Execution:
    """How one program ran.

    Attributes:
        status: ``"ok"`` only for a run that ended by itself with exit code 0; ``"error"`` for
            another exit code, ``"timeout"``, ``"memory"`` and ``"output"`` for a limit,
            ``"crash"`` for death by a signal or an end in the middle of a call, and ``"lost"``
            if the sandbox failed and nothing can be said about the program.
        stdout: What it printed, at most ``Limits.output_bytes`` bytes, undecodable ones replaced.
        stderr: The same for stderr; an uncaught exception shows the candidate's frames only.
        exit_code: Exit code, minus the signal's number if one ended it, None if lost.
        duration_s: Wall-clock seconds in the sandbox.
        stdout_truncated: True if stdout went on after the cut.
        stderr_truncated: True if stderr went on after the cut.
    """

    status: Status
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    duration_s: float = 0.0
    stdout_truncated: bool = False
    stderr_truncated: bool = False


@dataclass(frozen=True)
class Call:
    """One call of a function that the program defines at its top level."""

    function: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CallResult:
    """What one call gave.

    Attributes:
        status: ``"ok"`` if a plain value came back; ``"error"`` if the call raised, or returned
            what does not cross; else how the process ended before it could answer.
        value: The value, if ``"ok"``.
        error: Why there is none, else.
    """

    status: Status
    value: Any = None
    error: str = ""


@dataclass(frozen=True)
class CallsRun:
    """What a sequence of calls gave: exactly one result for each, and how the process ended."""

    execution: Execution
    results: tuple[CallResult, ...]


class Candidate(Protocol):
    """A loaded program whose functions are called by value, as a context manager.

    It occupies one worker until `finish` or the end of the ``with`` block. One thread uses it.
    """

    def call(self, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] = ...) -> Any:
        """Call a top-level function of the program and return its value.

        A *class* of the program may be called too: its instance stays in the sandbox and an
        opaque `Reference` comes back, which is good only as an argument of later calls.

        Raises:
            CandidateError: If no plain value came back.
            NotPlainError: If an argument does not cross by value.
            SandboxLost: If the sandbox failed.
        """

    def call_all(self, calls: Sequence[Call]) -> list[CallResult]:
        """Make calls whose arguments are all known, without waiting for one to send the next.

        A program can read what was sent ahead while it answers. One result comes back for each
        call; nothing but an argument that does not cross is raised.
        """

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended, so that nothing reaches it any more."""

    def function(self, name: str) -> Callable[..., Any]:
        """Return a callable that stands for the program's function ``name`` in test code."""

    def finish(self) -> Execution:
        """End the program and say how it went; later calls return the same.

        A test that passed counts only if this is ``"ok"``: test code may have swallowed the
        error of a timeout or of a lost sandbox.
        """

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Sandbox(Protocol):
    """Runs untrusted Python programs, each in a fresh process. Safe to use from many threads."""

    tier: str
    limits: Limits

    def run_program(self, source: str, stdin: str = "", limits: Limits | None = None) -> Execution:
        """Run a whole program as ``python main.py`` would, with ``stdin`` on its stdin.

        Args:
            source: The program's text.
            stdin: What it reads; never this process's own stdin.
            limits: Limits of this run; by default, and at most in memory and files, the sandbox's.
        """

    def run_calls(
        self, source: str, calls: Sequence[Call], limits: Limits | None = None
    ) -> CallsRun:
        """Load a program once and make the calls in order, in one process."""

    def open_candidate(self, source: str, limits: Limits | None = None) -> Candidate:
        """Load a program to be called from test code that runs in the judge."""

    def close(self) -> None:
        """End all workers and remove what they left. Idempotent; also done at exit."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
