"""The same episodes in this process, on several processes, or on a Ray cluster.

Which of them changes nothing but the time: an episode depends on its request alone.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Final, Literal

from budget_envs.errors import BudgetEnvsError, OptionError, UnsupportedError, require
from budget_envs.evaluation.env_maker import EnvMaker, TaskBounds
from budget_envs.evaluation.live_episode import EpisodeRequest
from budget_envs.evaluation.policy import Policy
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.trajectory import Episode

__all__ = ["Job", "Workers", "check_workers", "play", "play_chunk"]

Workers = int | Literal["ray"]
Requests = Sequence[EpisodeRequest]

_CHUNKS_PER_WORKER: Final = 4  # so that the last ones to finish do not keep the others waiting
_LOOK_S: Final = 1.0  # how often a worker looks for its parent, should nobody tell it


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker of an evaluation holds.

    Attributes:
        policy: The policy.
        make_env: Makes environments.
        bounds: Gives a task's upper bounds; ``None`` without an oracle.
        batch_size: Episodes that a worker plays at once.
    """

    policy: Policy
    make_env: EnvMaker
    bounds: TaskBounds | None
    batch_size: int

    def episodes(self, requests: Requests) -> Iterator[list[Episode]]:
        """Play episodes here, and yield them as they finish."""
        return rollout(
            self.policy,
            self.make_env,
            requests,
            batch_size=self.batch_size,
            bounds=self.bounds,
        )


def play_chunk(job: Job, requests: Requests) -> list[Episode]:
    """Play episodes here and return them in the order in which they finished."""
    return [episode for finished in job.episodes(requests) for episode in finished]


def check_workers(workers: Workers) -> None:
    """Find out before anything is played or written whether there can be such workers.

    Raises:
        OptionError: If ``workers`` is neither a positive integer nor ``"ray"``.
        DependencyNotInstalled: If Ray is asked for and missing.
    """
    if workers == "ray":
        require("ray", "ray")
    elif isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise OptionError(f"workers must be a positive integer or 'ray', got {workers!r}.")


def play(job: Job, requests: Requests, workers: Workers) -> Iterator[list[Episode]]:
    """Play episodes somewhere, and yield them as they finish.

    Args:
        job: What to play them with.
        requests: The episodes.
        workers: 1: this process. More: that many fresh processes. ``"ray"``: the Ray cluster that
            this process is connected to, or a local one.

    Raises:
        OptionError: If ``workers`` is neither a positive integer nor ``"ray"``.
        UnsupportedError: If the policy cannot be sent to another process.
        BudgetEnvsError: If a worker process dies.
        DependencyNotInstalled: If Ray is missing.
    """
    check_workers(workers)
    if workers == "ray":
        return _on_ray(job, requests)
    if workers == 1:
        return job.episodes(requests)
    return _on_processes(job, requests, workers)


def _chunks(requests: Requests, workers: int, batch_size: int) -> deque[Requests]:
    size = -(-len(requests) // (workers * _CHUNKS_PER_WORKER))
    size = max(1, min(size, batch_size))
    return deque(requests[i : i + size] for i in range(0, len(requests), size))


def _on_processes(job: Job, requests: Requests, workers: int) -> Iterator[list[Episode]]:
    chunks = _chunks(requests, workers, job.batch_size)
    pool = ProcessPoolExecutor(
        max_workers=workers,
        mp_context=multiprocessing.get_context("spawn"),  # fork copies locks and threads
        initializer=_install,
        initargs=(_pickled(job),),
    )
    pending: set[Future[list[Episode]]] = set()
    try:
        while chunks or pending:
            while chunks and len(pending) < 2 * workers:
                pending.add(pool.submit(_play_installed, chunks.popleft()))
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except BrokenProcessPool as error:
        raise BudgetEnvsError(
            "a worker process died. Stored episodes stay, and the same command continues. If it "
            'dies at once: a script needs `if __name__ == "__main__":` around its evaluation, and '
            "a process that runs out of memory needs a smaller batch_size or fewer workers."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _pickled(job: Job) -> bytes:
    try:
        return pickle.dumps(job)
    except Exception as error:  # pickling runs whatever the policy's class defines
        raise UnsupportedError(
            f"the policy {job.policy.name!r} cannot be sent to other processes ({error}). Define "
            "its class at the top of a module, or use workers=1."
        ) from error


_installed: list[Job] = []  # in a worker process: the one job that it works for


def _install(pickled: bytes) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _installed[:] = [pickle.loads(pickled)]


def _end_with_parent() -> None:
    """End this process when its parent has ended, killed perhaps and unable to say so.

    Without it a worker waits for its next chunk for ever. A signal on the parent's death, as Linux
    has it, would come too when only the thread that started the pool ends.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    while parent.is_alive() and _is_child_of(parent.pid):
        parent.join(timeout=_LOOK_S)
    os._exit(1)


def _is_child_of(pid: int | None) -> bool:
    return os.name != "posix" or os.getppid() == pid


def _play_installed(requests: Requests) -> list[Episode]:
    return play_chunk(_installed[0], requests)


def _on_ray(job: Job, requests: Requests) -> Iterator[list[Episode]]:
    ray = require("ray", "ray")
    if not ray.is_initialized():
        ray.init()
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    chunks = _chunks(requests, workers, job.batch_size)
    shared, remote = ray.put(job), ray.remote(play_chunk)
    pending: list[Any] = []
    while chunks or pending:
        while chunks and len(pending) < 2 * workers:
            pending.append(remote.remote(shared, chunks.popleft()))
        done, pending = ray.wait(pending, num_returns=1)
        yield from ray.get(done)
