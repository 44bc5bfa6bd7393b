"""A loaded dataset: its tasks, the splits, what was left out and why, and where it came from.

Independent of what a task is: `TaskSet` is generic, and an adapter hands over `Contents`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, Protocol, TypeVar, overload

from budget_envs.errors import OptionError, did_you_mean

__all__ = ["Contents", "Entry", "FileRecord", "Manifest", "Task", "TaskSet"]


class Task(Protocol):
    """All that the registry asks of a task: a name that is unique in its dataset."""

    @property
    def task_id(self) -> str:
        """The name."""
        ...


T = TypeVar("T", bound=Task)
T_co = TypeVar("T_co", bound=Task, covariant=True)


@dataclass(frozen=True, slots=True)
class Entry(Generic[T_co]):
    """One task as an adapter read it.

    Args:
        task: The task.
        group: Key of the group of near-identical tasks it belongs to; a group never straddles
            two splits.
        split: Its official split; ``None`` for a split by the checksum of ``group``.
        exclusion: Why it is left out by default, or ``None``.
    """

    task: T_co
    group: str
    split: str | None = None
    exclusion: str | None = None


@dataclass(frozen=True, slots=True)
class Contents(Generic[T_co]):
    """What an adapter makes of a dataset's files.

    Args:
        entries: The tasks in the order of the files.
        unreadable: Name of a row that is no task -> what is wrong with it. Always left out.
    """

    entries: tuple[Entry[T_co], ...]
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that a set was read from.

    Args:
        name: Its name.
        sha256: Its checksum.
        source: ``"path"``, ``"folder"``, ``"cache"``, ``"wheel"`` or ``"hub"``.
        pinned: Whether it is the published file.
    """

    name: str
    sha256: str
    source: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which tasks a run used, exactly: enough to tell two runs on different tasks apart.

    Args:
        name: The dataset.
        version: Its version in the registry.
        license: Its licence.
        files: The files it was read from; none if the package generates it.
        split: The split in use; ``None`` for all.
        tasks: The number of tasks in use.
        excluded: How many tasks of the dataset are left out by default.
        include_excluded: Whether they are in use all the same.
        split_sha256: Checksum of every task's split.
        exclusions_sha256: Checksum of the tasks left out and the reasons.
    """

    name: str
    version: str
    license: str
    files: tuple[FileRecord, ...]
    split: str | None
    tasks: int
    excluded: int
    include_excluded: bool
    split_sha256: str
    exclusions_sha256: str

    @property
    def pinned(self) -> bool:
        """Whether every file is the published one."""
        return all(file.pinned for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """The manifest as JSON-safe values, for a results database."""
        return {**asdict(self), "files": [asdict(file) for file in self.files]}


class TaskSet(Sequence[T_co]):
    """The tasks of a dataset or of one of its splits: an immutable sequence.

    Args:
        tasks: The tasks.
        manifest: Where they come from.
        splits: Task id -> split, for every task of the dataset.
        excluded: Task id -> why it is left out by default, for the whole dataset.
    """

    def __init__(
        self,
        tasks: Sequence[T_co],
        manifest: Manifest,
        splits: Mapping[str, str],
        excluded: Mapping[str, str],
    ) -> None:
        self._tasks = tuple(tasks)
        self._index = {task.task_id: index for index, task in enumerate(self._tasks)}
        self._splits = splits
        self.manifest = manifest
        self.excluded = excluded

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._tasks)

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...

    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        """The task at a place in the order of the files, or the tasks of a slice."""
        return self._tasks[index]

    def __repr__(self) -> str:
        part = f" split {self.manifest.split!r}" if self.manifest.split else ""
        return f"<TaskSet {self.manifest.name!r}{part}: {len(self)} tasks>"

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The names of the tasks, in order."""
        return tuple(self._index)

    def task(self, task_id: str) -> T_co:
        """The task of this name.

        Raises:
            OptionError: If the set has none; the message says whether it was left out.
        """
        if task_id in self._index:
            return self._tasks[self._index[task_id]]
        name = self.manifest.name
        if task_id in self._splits and task_id in self.excluded:
            hint = (
                f" It is left out ({self.excluded[task_id]}); "
                f"load({name!r}, include_excluded=True) has it."
            )
        elif task_id in self._splits:
            hint = f" It is in the split {self._splits[task_id]!r}."
        else:
            hint = did_you_mean(task_id, self._index)
        raise OptionError(f"{self!r} has no task {task_id!r}.{hint}")

    def split_of(self, task_id: str) -> str:
        """The split that a task of the dataset belongs to.

        Raises:
            OptionError: If the dataset has no such task.
        """
        if task_id not in self._splits:
            raise OptionError(
                f"The dataset {self.manifest.name!r} has no task {task_id!r}."
                f"{did_you_mean(task_id, self._splits)}"
            )
        return self._splits[task_id]

    @property
    def split_sizes(self) -> dict[str, int]:
        """The number of this set's tasks in each split."""
        sizes: dict[str, int] = {}
        for task_id in self._index:
            split = self._splits[task_id]
            sizes[split] = sizes.get(split, 0) + 1
        return sizes
