"""Where InterCode-SQL's tasks and databases come from: the embedded generator, or a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol, get_args

from budget_envs import tasks
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.sql.mysql_engine import MySqlEngine
from budget_envs.sql.protocol import SqlEngine
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import ImageCatalog, SqliteImage
from budget_envs.streams import derive_key, uniform
from budget_envs.tasks import intercode_sql, synthetic_sql
from budget_envs.tasks.intercode_sql import Hardness, SqlTask
from budget_envs.tasks.intercode_sql_synthetic import from_synthetic
from budget_envs.tasks.synthetic_sql.database import database
from budget_envs.text_env import TASK_SPLITS

__all__ = ["SqlProblem", "SqlSource", "open_source"]

SqlProblem = SqlTask
_HARDNESS, _INDEX = 1, 2  # names of the streams derived from a task's key
_INDICES = 10_000  # unseeded draws are among so many tasks of a level: one block of databases


class SqlSource(Protocol):
    """Draws, lists and loads tasks, and has their databases."""

    def draw(self, key: int) -> SqlProblem:
        """Return the task that a 64-bit key picks."""
        ...

    def at(self, split: str, index: int) -> SqlProblem:
        """Return task ``index`` of a split."""
        ...

    def load(self, task_id: str) -> SqlProblem:
        """Return the task of an id."""
        ...

    def engine(self, name: str) -> SqlEngine:
        """Return the engine that ``"sqlite"`` or a URL names, on this source's databases."""
        ...


def open_source(
    dataset: str,
    path: str | None,
    hardness: Sequence[str],
    split: str | None,
    *,
    include_excluded: bool,
) -> SqlSource:
    """Return the source of a dataset.

    Raises:
        OptionError: If the dataset or a level is unknown, or a path is given for generated tasks.
        TaskDataUnavailable: If the dataset's files are nowhere.
    """
    levels = _levels(hardness)
    if path is not None and not isinstance(path, str | os.PathLike):
        raise OptionError(f"data_path is the path of a file or folder, or None; got {path!r}.")
    if dataset == intercode_sql.DATASET:
        return _DatasetTasks(path, levels, split, include_excluded)
    if dataset != synthetic_sql.DATASET:
        known = (synthetic_sql.DATASET, intercode_sql.DATASET)
        raise OptionError(
            f"unknown dataset {dataset!r}; known are {', '.join(known)}."
            + did_you_mean(dataset, known)
        )
    if path is not None:
        raise OptionError(
            f"{dataset!r} is generated and is read from no file: leave data_path out."
        )
    return _SyntheticTasks(levels, split)


class _SyntheticCatalog:
    """The generated databases, each made when it is first asked for."""

    @property
    def databases(self) -> tuple[str, ...]:
        """No list: there is no end of them."""
        return ()

    def image(self, name: str) -> SqliteImage:
        """The image of a database such as ``"library_3"``."""
        return _synthetic_image(name)


@lru_cache(maxsize=256)
def _synthetic_image(name: str) -> SqliteImage:
    return SqliteImage.from_script(name, ";\n".join(database(name).statements))


class _SyntheticTasks:
    def __init__(self, levels: tuple[Hardness, ...], split: str | None) -> None:
        self.levels = levels
        self.split = split

    def draw(self, key: int) -> SqlProblem:
        level = self.levels[int(uniform(derive_key(key, _HARDNESS), 0) * len(self.levels))]
        stream, attempt = derive_key(key, _INDEX), 0
        while True:
            index = int(uniform(stream, attempt) * _INDICES)
            if self.split in (None, synthetic_sql.split_of(level, index)):
                return from_synthetic(synthetic_sql.generate(level, index))
            attempt += 1

    def at(self, split: str, index: int) -> SqlProblem:
        return from_synthetic(_listed(split, self.levels, index))

    def load(self, task_id: str) -> SqlProblem:
        return from_synthetic(synthetic_sql.task_from_id(_text(task_id)))

    def engine(self, name: str) -> SqlEngine:
        return _engine(name, _SyntheticCatalog())


class _DatasetTasks:
    """The tasks of the files, read once. Immutable: copies share them, and pickles name them."""

    def __init__(
        self,
        path: str | None,
        levels: tuple[Hardness, ...],
        split: str | None,
        include_excluded: bool,
    ) -> None:
        self.path = path
        self._arguments = path, levels, split, include_excluded
        self._tasks: tasks.TaskSet[SqlProblem] = tasks.load(
            intercode_sql.DATASET, path, include_excluded=include_excluded
        )
        chosen = [task for task in self._tasks if task.hardness in levels]
        self._listed: dict[str, list[SqlProblem]] = {name: [] for name in TASK_SPLITS}
        for task in chosen:
            self._listed[self._tasks.split_of(task.task_id)].append(task)
        self._drawn = chosen if split is None else self._listed[split]
        if not self._drawn:
            raise OptionError(f"no task of hardness {', '.join(levels)} is in the split {split!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _DatasetTasks, self._arguments

    def __deepcopy__(self, memo: dict[int, Any]) -> _DatasetTasks:
        return self

    def draw(self, key: int) -> SqlProblem:
        return self._drawn[int(uniform(derive_key(key, _INDEX), 0) * len(self._drawn))]

    def at(self, split: str, index: int) -> SqlProblem:
        listed = self._listed[split]
        if index >= len(listed):
            raise OptionError(
                f"index {index} is out of range: split {split!r} has {len(listed)} tasks."
            )
        return listed[index]

    def load(self, task_id: str) -> SqlProblem:
        return self._tasks.task(_text(task_id))

    def engine(self, name: str) -> SqlEngine:
        return _engine(name, intercode_sql.databases(self.path))


_Listing = tuple[list[synthetic_sql.SyntheticSqlTask], Iterator[synthetic_sql.SyntheticSqlTask]]
_OPEN: dict[tuple[str, tuple[Hardness, ...]], _Listing] = {}  # enumerations, as far as asked for


def _listed(split: str, levels: tuple[Hardness, ...], index: int) -> synthetic_sql.SyntheticSqlTask:
    """Return a task of the enumeration of a split, continuing it where it stopped last."""
    known, rest = _OPEN.setdefault(
        (split, levels),
        ([], synthetic_sql.tasks(split, levels)),  # type: ignore[arg-type]
    )
    while len(known) <= index:
        known.append(next(rest))
    return known[index]


def _engine(name: str, catalog: ImageCatalog) -> SqlEngine:
    if name == "sqlite":
        return SqliteEngine(catalog)
    if not isinstance(name, str) or "://" not in name:
        raise OptionError(
            f"engine must be 'sqlite' or the URL of a server such as mysql://user:password@host/, "
            f"got {name!r}."
        )
    return MySqlEngine(name, catalog)


def _levels(hardness: Sequence[str]) -> tuple[Hardness, ...]:
    known: tuple[Any, ...] = get_args(Hardness)
    if not isinstance(hardness, str | Iterable):
        raise OptionError(f"hardness names one or more of {', '.join(known)}; got {hardness!r}.")
    levels = (hardness,) if isinstance(hardness, str) else tuple(hardness)
    for level in levels:
        if level not in known:
            raise OptionError(
                f"hardness must be among {', '.join(known)}, got {level!r}."
                + did_you_mean(level, known)
            )
    if not levels:
        raise OptionError(f"hardness must name one or more of {', '.join(known)}, got none.")
    return levels  # type: ignore[return-value]


def _text(task_id: object) -> str:
    if not isinstance(task_id, str):
        raise OptionError(f"a task id is a text, got {task_id!r}.")
    return task_id
