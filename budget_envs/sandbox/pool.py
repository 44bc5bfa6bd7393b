"""A sandbox made of workers: launched when needed, lent to one run at a time, replaced if lost."""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from budget_envs.errors import EnvStateError, OptionError
from budget_envs.sandbox.candidate import LiveCandidate, lost_execution, run_program_on
from budget_envs.sandbox.protocol import (
    Call,
    CallResult,
    CallsRun,
    Execution,
    Limits,
    SandboxLost,
    SandboxUnavailable,
)
from budget_envs.sandbox.worker import Worker

__all__ = ["PooledSandbox"]

Launch = Callable[[], Worker]


class PooledSandbox:
    """A sandbox of one tier; see `budget_envs.sandbox.protocol.Sandbox`.

    Args:
        tier: Name of the tier.
        launch: Starts one confined worker, or raises `SandboxUnavailable`.
        workers: How many programs may run at the same time.
        limits: Limits of a run that names none, and the most memory and files of one that does.

    Raises:
        SandboxUnavailable: If the first worker cannot be started.
        OptionError: If ``workers`` is not a positive integer.
    """

    def __init__(self, tier: str, launch: Launch, workers: int, limits: Limits) -> None:
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise OptionError(f"workers must be a positive integer, got {workers!r}.")
        self.tier = tier
        self.limits = limits
        self._pool = _Pool(launch, workers)
        self._finalizer = weakref.finalize(self, _Pool.close, self._pool)
        with self._pool.lend():
            pass  # what is missing is said now, not at the first run

    def run_program(self, source: str, stdin: str = "", limits: Limits | None = None) -> Execution:
        """Run a whole program as ``python main.py`` would, with ``stdin`` on its stdin."""
        chosen = self._limits(limits)
        try:
            with self._pool.lend() as worker:
                return run_program_on(worker, source, stdin, chosen)
        except (SandboxLost, SandboxUnavailable) as error:
            return lost_execution(error)

    def run_calls(
        self, source: str, calls: Sequence[Call], limits: Limits | None = None
    ) -> CallsRun:
        """Load a program once and make the calls in order, in one process."""
        try:
            candidate = self.open_candidate(source, limits)
        except SandboxUnavailable as error:
            lost = CallResult("lost", error=str(error))
            return CallsRun(lost_execution(error), (lost,) * len(calls))
        with candidate:
            results = candidate.call_all(calls)
        return CallsRun(candidate.finish(), tuple(results))

    def open_candidate(self, source: str, limits: Limits | None = None) -> LiveCandidate:
        """Load a program to be called from test code that runs in the judge."""
        chosen = self._limits(limits)
        return LiveCandidate(self._pool.take(), source, chosen, self._give_back)

    def _give_back(self, worker: Worker) -> None:
        self._pool.give_back(worker)  # bound to self: a candidate keeps its sandbox open

    def _limits(self, limits: Limits | None) -> Limits:
        if limits is None:
            return self.limits
        for name in ("memory_bytes", "file_bytes"):
            most, asked = getattr(self.limits, name), getattr(limits, name)
            if asked > most:
                raise OptionError(
                    f"{name}={asked} is more than the {most} this sandbox was opened with. "
                    f"Open it with limits=Limits({name}={asked})."
                )
        return limits

    def close(self) -> None:
        """End all workers and remove what they left."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Pool:
    """Lends workers, each to one borrower at a time; a slot without one launches it."""

    def __init__(self, launch: Launch, size: int) -> None:
        self.launch = launch
        self.owner = os.getpid()
        self.is_closed = False
        self.workers: set[Worker] = set()
        self.lock = threading.Lock()
        self.slots: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self.slots.put(None)

    @contextmanager
    def lend(self) -> Iterator[Worker]:
        worker = self.take()
        try:
            yield worker
        finally:
            self.give_back(worker)

    def take(self) -> Worker:
        """Return an idle worker, waiting for one if all are lent."""
        if os.getpid() != self.owner:
            raise EnvStateError(
                "This sandbox was opened by another process: open one in each process."
            )
        slot = self.slots.get()
        try:
            return self._filled(slot)
        except BaseException:
            self.slots.put(None)  # also wakes the next one that waits on a closed pool
            raise

    def _filled(self, slot: Worker | None) -> Worker:
        if slot is not None and self._is_good(slot):
            return slot
        if self.is_closed:
            raise EnvStateError("This sandbox is closed: open another one.")
        worker = self._launched()
        with self.lock:
            self.workers.add(worker)
        if self.is_closed:
            self._end(worker)
            raise EnvStateError("This sandbox was closed while a worker started.")
        return worker

    def _is_good(self, worker: Worker) -> bool:
        """Tell whether an idle worker outlived its last run; one that did not is ended."""
        is_good = False
        try:
            is_good = not self.is_closed and worker.becomes_idle()
        finally:
            if not is_good:
                self._end(worker)
        return is_good

    def _launched(self) -> Worker:
        try:
            return self.launch()
        except OSError as error:
            raise SandboxUnavailable(
                f"A sandbox's worker could not be started: {type(error).__name__}: {error}. It "
                "needs a folder for temporary files (TMPDIR), free processes and open files."
            ) from error

    def give_back(self, worker: Worker) -> None:
        """Take a worker back; one that is lost, or in the middle of a run, is ended."""
        if worker.is_lost or worker.is_busy or self.is_closed:
            self._end(worker)
            self.slots.put(None)
        else:
            self.slots.put(worker)

    def _end(self, worker: Worker) -> None:
        with self.lock:
            self.workers.discard(worker)
        worker.close()

    def close(self) -> None:
        if os.getpid() != self.owner:  # a forked copy has no right to end the owner's workers
            return
        self.is_closed = True
        self.slots.put(None)
        for worker in list(self.workers):
            self._end(worker)
