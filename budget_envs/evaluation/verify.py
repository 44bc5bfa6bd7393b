"""`verify`: does a dataset's own solution pass, and does doing nothing fail, in its environment?"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final

from budget_envs import tasks
from budget_envs.budget import as_limit
from budget_envs.envs.bfcl import BFCLEnv
from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, write_program
from budget_envs.envs.intercode_sql import InterCodeSQLEnv
from budget_envs.envs.tool_dialogue.demonstration import DONE, demonstration
from budget_envs.envs.tool_use import ToolUseEnv
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.tasks import CodeTask, VerifyReport
from budget_envs.tasks.bfcl import dataset_of
from budget_envs.tasks.intercode_sql import SqlTask
from budget_envs.tasks.verification import Verdict
from budget_envs.text_env import TextEnv
from budget_envs.tool_calls.formats import by_name
from budget_envs.tool_calls.model import Dialogue

__all__ = ["VERIFIABLE", "verify"]


@dataclass(frozen=True, slots=True)
class _Strategy:
    """How the tasks of an environment are checked.

    Attributes:
        env: The environment class; it takes ``dataset``, ``data_path`` and ``include_excluded``.
        solve: Task -> actions that solve it; ``None`` for a task without a known solution.
        null: The actions of a policy that knows nothing.
        settings: Further keywords of the class that `verify` may pass on.
    """

    env: Callable[..., TextEnv[Any]]
    solve: Callable[[Any], Sequence[str] | None]
    null: Sequence[str]
    settings: Sequence[str] = ()


def _program(task: CodeTask) -> Sequence[str] | None:
    solution = task.reference_solution
    return None if solution is None else [write_program(solution)]


def _query(task: SqlTask) -> Sequence[str]:
    return [task.gold, "submit"]


def _messages(dialogue: Dialogue) -> Sequence[str]:
    return demonstration(dialogue, by_name("hermes"))


def _bfcl(*, dataset: str, include_excluded: bool, data_path: str | None) -> BFCLEnv:
    return BFCLEnv(category=dataset.removeprefix(dataset_of("")), data_path=data_path)


_MOST_USER_TURNS: Final = 100
_STRATEGIES: Final[Mapping[str, _Strategy]] = {
    "deepcoder_mt": _Strategy(
        DeepCoderMTEnv, _program, ("", write_program("pass")), ("sandbox", "time_limit_s")
    ),
    "intercode_sql": _Strategy(InterCodeSQLEnv, _query, ("SELECT 0", "submit")),
    "bfcl": _Strategy(_bfcl, _messages, (DONE,) * _MOST_USER_TURNS),
    "tool_use": _Strategy(ToolUseEnv, _messages, (DONE,) * _MOST_USER_TURNS),
}

VERIFIABLE: Final = tuple(_STRATEGIES)
"""The environments whose datasets can be verified."""


def verify(
    name: str,
    path: str | os.PathLike[str] | None = None,
    *,
    limit: int | None = None,
    sandbox: str = "auto",
    time_limit_s: float | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyReport:
    """Play each task's reference solution, and an empty policy, through the environment.

    Verdicts are those of the environment's own reward. Tasks that are left out by default are
    checked too.

    Args:
        name: A dataset of the registry.
        path: A file or folder to read instead of the registry's sources.
        limit: How many tasks, spread evenly over the dataset; ``None`` for all.
        sandbox: As for the environment. Code only.
        time_limit_s: Seconds for one test; ``None`` takes each task's own limit. Code only.
        workers: How many tasks are checked at the same time.
        progress: Called with the number of tasks done, and of all, after each.

    Returns:
        The verdicts; ``surprises`` lists what the registry does not expect.

    Raises:
        OptionError: If there is no such dataset, or an argument is not valid.
        TaskDataUnavailable: If its files are nowhere; the message says how to get them.
        UnsupportedError: If nothing is known about checking tasks of its environment.
        SandboxUnavailable: If the sandbox is missing here.
    """
    strategy = _strategy(name)
    workers = as_limit(workers, "workers")
    settings = _settings(name, path, strategy, {"sandbox": sandbox, "time_limit_s": time_limit_s})
    everything = tasks.load(name, path, include_excluded=True)
    chosen = _spread(everything.task_ids, limit)
    gold: dict[str, Verdict] = {}
    null: dict[str, Verdict] = {}
    with _checkers(strategy, settings, workers) as check:
        for task_id, (solved, empty) in zip(chosen, check(chosen), strict=True):
            null[task_id] = empty
            if solved is not None:
                gold[task_id] = solved
            if progress is not None:
                progress(len(null), len(chosen))
    left_out = tuple(task_id for task_id in chosen if task_id in everything.excluded)
    return VerifyReport(name, gold, null, left_out)


def _strategy(name: str) -> _Strategy:
    env = tasks.dataset(name).env
    if env not in _STRATEGIES:
        raise UnsupportedError(
            f"only datasets of {' and '.join(VERIFIABLE)} can be verified, got {name!r} of {env!r}."
        )
    return _STRATEGIES[env]


def _settings(
    name: str,
    path: str | os.PathLike[str] | None,
    strategy: _Strategy,
    given: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Return the keywords of the environment; ``given`` may hold ``"auto"`` and ``None``."""
    settings: dict[str, Any] = {"dataset": name}
    for keyword, value in given.items():
        if value in ("auto", None):
            continue
        if keyword not in strategy.settings:
            raise OptionError(
                f"{keyword} is for code; the tasks of {name!r} have none: leave it out."
            )
        settings[keyword] = value
    if not tasks.dataset(name).embedded:
        place = None if path is None else os.fspath(path)
        settings |= {"data_path": place, "include_excluded": True}
    return settings


def _spread(task_ids: Sequence[str], limit: int | None) -> Sequence[str]:
    if limit is None:
        return task_ids
    count = min(as_limit(limit, "limit"), len(task_ids))
    return [task_ids[number * len(task_ids) // count] for number in range(count)]


_Pair = tuple[Verdict | None, Verdict]


@contextmanager
def _checkers(
    strategy: _Strategy, settings: Mapping[str, Any], workers: int
) -> Iterator[Callable[[Sequence[str]], Iterator[_Pair]]]:
    """Give a function that checks tasks in order, each thread in an environment of its own."""
    idle: SimpleQueue[TextEnv[Any]] = SimpleQueue()
    for _ in range(workers):
        idle.put(strategy.env(**settings))

    def check(task_id: str) -> _Pair:
        env = idle.get()
        try:
            return _check(strategy, env, task_id)
        finally:
            idle.put(env)

    pool = ThreadPoolExecutor(workers)
    try:
        yield lambda task_ids: pool.map(check, task_ids)
    finally:
        pool.shutdown(cancel_futures=True)
        for _ in range(workers):
            idle.get().close()


def _check(strategy: _Strategy, env: TextEnv[Any], task_id: str) -> _Pair:
    empty = _play(env, task_id, strategy.null)
    solution = strategy.solve(env.task)
    return None if solution is None else _play(env, task_id, solution), empty


def _play(env: TextEnv[Any], task_id: str, actions: Sequence[str]) -> Verdict:
    """Return what the rewards of an episode say."""
    env.reset(seed=0, options={"task": task_id})
    for action in actions:
        _, reward, terminated, truncated, _ = env.step(action)
        if math.isnan(reward):
            return "void"
        if terminated or truncated:
            break
    return "pass" if reward == 1.0 else "fail"
