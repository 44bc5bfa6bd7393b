"""Where DeepCoder-MT's tasks come from: the embedded generator, or a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, Protocol

from budget_envs import tasks
from budget_envs.errors import OptionError
from budget_envs.streams import derive_key, uniform
from budget_envs.tasks import CodeTask, synthetic_code
from budget_envs.tasks.synthetic import from_synthetic

__all__ = ["FAMILY", "DatasetTasks", "SyntheticTasks", "TaskSource"]

FAMILY: Final = "deepcoder_mt"
"""What the registry calls the environment of these datasets."""

_LEVEL, _INDEX = 1, 2  # names of the streams derived from a task's key
_INDICES: Final = 1_000_000  # draws are among so many tasks of a level, listings no longer


class TaskSource(Protocol):
    """Draws, lists and loads tasks."""

    @property
    def checksums(self) -> Mapping[str, str]:
        """File to SHA-256; empty for generated tasks."""
        ...

    @property
    def has_solutions(self) -> bool:
        """Whether some task has a reference solution."""
        ...

    def draw(self, key: int) -> CodeTask:
        """Return the task that a 64-bit key picks."""
        ...

    def at(self, split: str, index: int) -> CodeTask:
        """Return task ``index`` of a split."""
        ...

    def load(self, task_id: str) -> CodeTask:
        """Return the task of an id."""
        ...


class SyntheticTasks:
    """The embedded procedural set, ``deepcoder_synthetic``.

    Args:
        levels: Difficulties, 1 to 5, to draw from.
        kind: ``"functional"`` or ``"stdin"``.
        split: Draw from this split only; ``None`` draws from all.

    Raises:
        OptionError: If there is no such level or kind.
    """

    checksums: Mapping[str, str] = MappingProxyType({})
    has_solutions = True

    def __init__(self, levels: Sequence[int], kind: synthetic_code.Kind, split: str | None) -> None:
        if not isinstance(levels, list | tuple) or not levels:
            raise OptionError(f"levels must be a list such as [1, 2, 3], got {levels!r}.")
        self.levels = tuple(levels)
        self.kind: synthetic_code.Kind = kind
        self.split = split
        for level in self.levels:
            synthetic_code.generate(level, 0, kind)  # refuses what it does not know

    def draw(self, key: int) -> CodeTask:
        """Return the first task of the split on the stream of indices that the key starts."""
        level = self.levels[int(uniform(derive_key(key, _LEVEL), 0) * len(self.levels))]
        for attempt in range(10_000):
            index = int(uniform(derive_key(key, _INDEX), attempt) * _INDICES)
            task = synthetic_code.generate(level, index, self.kind)
            if self.split is None or task.split == self.split:
                return from_synthetic(task)
        raise OptionError(f"no task of split {self.split!r} found at level {level}.")

    def at(self, split: str, index: int) -> CodeTask:
        """Return the ``index``-th distinct task of a split."""
        if index >= _INDICES:
            raise OptionError(f"index {index} is out of range: it must be below {_INDICES}.")
        return self.load(_listed_id(split, self.levels, self.kind, index))

    def load(self, task_id: str) -> CodeTask:
        """Return the task of an id such as ``"deepcoder_synthetic/L2/000007"``."""
        return _generated(_checked_id(task_id))


class DatasetTasks:
    """A dataset of the registry.

    Args:
        name: The dataset.
        path: A file or folder of the user's own; ``None`` searches the registry's sources.
        split: Draw from this split only; ``None`` draws from all.
        include_excluded: Also use tasks that are left out by default.

    Raises:
        OptionError: If there is no such dataset for this environment, or no such split.
        TaskDataUnavailable: If its files are nowhere; the message says how to get them.
    """

    def __init__(
        self, name: str, path: str | None, split: str | None, include_excluded: bool
    ) -> None:
        family = tasks.dataset(name).env
        if family != FAMILY:
            raise OptionError(f"dataset {name!r} belongs to {family}, not to {FAMILY}.")
        self.name = name
        self.path = path
        self.split = split
        self.include_excluded = include_excluded
        self._loaded: dict[str | None, tasks.TaskSet[CodeTask]] = {}
        if not len(self._of(split)):
            raise OptionError(f"dataset {name!r} has no task in the split {split!r}.")

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings alone: another process reads the files anew."""
        return {**self.__dict__, "_loaded": {}}

    @property
    def checksums(self) -> Mapping[str, str]:
        """File to SHA-256."""
        return {file.name: file.sha256 for file in self._of(self.split).manifest.files}

    @property
    def has_solutions(self) -> bool:
        """Whether some task has a reference solution."""
        return any(task.reference_solution for task in self._of(self.split))

    def draw(self, key: int) -> CodeTask:
        """Return one of the tasks, all equally likely."""
        listed = self._of(self.split)
        return listed[int(uniform(derive_key(key, _INDEX), 0) * len(listed))]

    def at(self, split: str, index: int) -> CodeTask:
        """Return a task by its place in the split."""
        listed = self._of(split)
        if index >= len(listed):
            raise OptionError(
                f"index {index} is out of range: split {split!r} of {self.name!r} has "
                f"{len(listed)} tasks."
            )
        return listed[index]

    def load(self, task_id: str) -> CodeTask:
        """Return the task of an id of the dataset, whatever its split."""
        return self._of(None).task(_checked_id(task_id))

    def _of(self, split: str | None) -> tasks.TaskSet[CodeTask]:
        if split not in self._loaded:
            self._loaded[split] = tasks.load(
                self.name, self.path, split=split, include_excluded=self.include_excluded
            )
        return self._loaded[split]


def _checked_id(task_id: object) -> str:
    if not isinstance(task_id, str):
        raise OptionError(f"a task id is a text, got {task_id!r}.")
    return task_id


@lru_cache(maxsize=512)
def _generated(task_id: str) -> CodeTask:
    """Return a generated task; rollouts of one task follow each other, and tasks are immutable."""
    return from_synthetic(synthetic_code.task_from_id(task_id))


class _Listing:
    """The enumeration of a split, as far as it was asked for."""

    def __init__(self, split: str, levels: tuple[int, ...], kind: synthetic_code.Kind) -> None:
        self.start = partial(synthetic_code.tasks, split, levels, kind=kind)  # type: ignore[arg-type]
        self.lock = Lock()
        self.known: list[str] = []
        self.rest = self.start()

    def at(self, index: int) -> str:
        with self.lock:
            self._extend(index + 1 - len(self.known))
            if index >= len(self.known):
                raise OptionError(
                    f"index {index} is out of range: there are {len(self.known)} distinct tasks."
                )
            return self.known[index]

    def _extend(self, missing: int) -> None:
        try:
            self.known += [task.task_id for task in islice(self.rest, max(0, missing))]
        except BaseException:  # an interrupted generator is over: the next call begins anew
            self.known, self.rest = [], self.start()
            raise


_listings: dict[tuple[str, tuple[int, ...], str], _Listing] = {}


def _listed_id(split: str, levels: tuple[int, ...], kind: synthetic_code.Kind, index: int) -> str:
    key = (split, levels, kind)
    if key not in _listings:
        _listings.setdefault(key, _Listing(split, levels, kind))
    return _listings[key].at(index)
