"""`Store`: runs, episodes and turns in one SQLite file, written as episodes finish."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

from budget_envs.errors import DataError, did_you_mean
from budget_envs.evaluation.database import connect, explained
from budget_envs.evaluation.records import (
    COLUMNS,
    RecordT,
    from_row,
    to_json,
    to_row,
    to_sql,
    to_text,
)
from budget_envs.evaluation.trajectory import Episode, EpisodeKey, Run, Turn

__all__ = ["Store"]

SCHEMA: Final = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, env_id TEXT NOT NULL, env_kwargs TEXT NOT NULL, policy TEXT NOT NULL,
    policy_settings TEXT NOT NULL, protocol TEXT NOT NULL, budgets TEXT NOT NULL,
    k INTEGER NOT NULL, num_rollouts INTEGER NOT NULL, task_ids TEXT NOT NULL, split TEXT,
    seed INTEGER NOT NULL, env_spec TEXT NOT NULL, is_budget_shown INTEGER NOT NULL,
    token_counter TEXT, versions TEXT, git_commit TEXT, dataset_checksums TEXT, command TEXT,
    created TEXT NOT NULL, finished TEXT, upper_bounds TEXT
);
CREATE TABLE episodes (
    episode_id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs, task_id TEXT NOT NULL,
    budget INTEGER NOT NULL, rollout INTEGER NOT NULL, seed INTEGER NOT NULL, verdict TEXT NOT NULL,
    success_turn INTEGER, num_turns INTEGER NOT NULL, episode_return REAL, boundary TEXT,
    error TEXT, final_observation TEXT NOT NULL, budget_report TEXT, num_tokens INTEGER,
    num_invalid INTEGER NOT NULL, num_injected INTEGER NOT NULL, mean_regret REAL,
    upper_bounds TEXT,
    UNIQUE (run_id, task_id, budget, rollout)
);
CREATE TABLE turns (
    episode_id INTEGER NOT NULL REFERENCES episodes, turn INTEGER NOT NULL,
    observation TEXT NOT NULL, action TEXT NOT NULL, executed_action TEXT, reward REAL,
    is_invalid INTEGER NOT NULL, state_key TEXT NOT NULL, budget TEXT, oracle TEXT, injected TEXT,
    num_tokens INTEGER, logprob REAL,
    PRIMARY KEY (episode_id, turn)
) WITHOUT ROWID
"""


def _insert(table: str, columns: Sequence[str], otherwise: str) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}){otherwise}"


_ADD_RUN: Final = _insert(
    "runs", COLUMNS[Run], " ON CONFLICT (run_id) DO UPDATE SET k = excluded.k"
)
_ADD_EPISODE: Final = _insert(
    "episodes",
    ("run_id", *COLUMNS[Episode]),
    " ON CONFLICT (run_id, task_id, budget, rollout) DO NOTHING",
)
_ADD_TURN: Final = _insert("turns", ("episode_id", *COLUMNS[Turn]), "")


class Store:
    """The results database: ``runs`` 1-n ``episodes`` 1-n ``turns``, plain SQL to read.

    Episodes are keyed by run, task, budget and rollout, and written once: adding one that is
    there already changes nothing, so an interrupted run continues and repeats nothing. Columns
    are the attributes of `Run`, `Episode` and `Turn`; composite ones are JSON. Text that has no
    UTF-8 form (lone surrogates) is kept as a blob and comes back as it was.

    Args:
        connection: From :meth:`open`.
        path: The file's name, for messages.

    Example:
        >>> with Store.in_memory() as store:
        ...     store.runs()
        []
    """

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, create: bool = False, timeout_s: float = 10.0
    ) -> Self:
        """Open a results database.

        Args:
            path: The file.
            create: Make it if it is missing or empty.
            timeout_s: Seconds to wait for another program that is writing.

        Raises:
            DataError: If it cannot be used; see `budget_envs.evaluation.database.connect`.
        """
        name = os.fspath(path)
        return cls(connect(name, SCHEMA, create=create, timeout_s=timeout_s), name)

    @classmethod
    def in_memory(cls) -> Self:
        """Return an empty store that is gone when it is closed."""
        return cls.open(":memory:", create=True)

    def close(self) -> None:
        """Close the file; everything that was added is in it."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # Writing.

    def add_run(self, run: Run) -> None:
        """Add a run; one that is there already stays as it is, but for the K it is read at."""
        with self._transaction() as connection:
            connection.execute(_ADD_RUN, to_row(run))

    def add_episodes(self, run_id: str, episodes: Iterable[Episode]) -> int:
        """Add finished episodes with their turns, all or none of them.

        Returns:
            How many were new.

        Raises:
            DataError: If the run is not in the store, or the file cannot be written.
        """
        with self._transaction() as connection:
            return sum(_add_episode(connection, run_id, episode) for episode in episodes)

    def finish_run(
        self, run_id: str, *, finished: str, upper_bounds: dict[int, float] | None
    ) -> None:
        """Record that all episodes of a run are there."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET finished = ?, upper_bounds = ? WHERE run_id = ?",
                (finished, to_json(upper_bounds), run_id),
            )

    # Reading.

    def runs(self) -> list[Run]:
        """Return all runs, oldest first."""
        rows = self._rows(f"SELECT {', '.join(COLUMNS[Run])} FROM runs ORDER BY created, rowid")
        return [self._read(Run, row, "runs", row[0]) for row in rows]

    def run(self, run_id: str) -> Run:
        """Return the run with that id, of which the first digits are enough if they are unique.

        Raises:
            DataError: If there is none, or several.
        """
        found = [run for run in self.runs() if run.run_id.startswith(run_id)]
        exact = [run for run in found if run.run_id == run_id]
        if len(exact or found) == 1:
            return (exact or found)[0]
        known = [run.run_id for run in self.runs()]
        count = "several runs" if found else "no run"
        raise DataError(
            f"{self.path!r} has {count} {run_id!r}; it holds {', '.join(known) or 'none'}."
            + did_you_mean(run_id, known)
        )

    def keys(self, run_id: str) -> set[EpisodeKey]:
        """Return the keys of the episodes of a run that are there."""
        query = "SELECT task_id, budget, rollout FROM episodes WHERE run_id = ?"
        rows = self._rows(query, (run_id,))
        try:
            return {EpisodeKey(to_text(task), budget, rollout) for task, budget, rollout in rows}
        except UnicodeDecodeError as error:
            raise DataError(f"{self.path!r}: run {run_id!r} has a task without a text.") from error

    def episodes(
        self, run_id: str, *, task_id: str | None = None, with_turns: bool = False
    ) -> list[Episode]:
        """Return the episodes of a run by task, budget and rollout, tasks in the run's order.

        Args:
            run_id: The run's whole id.
            task_id: Only this task.
            with_turns: Read the turns too; without, ``turns`` is empty.

        Raises:
            DataError: If the run is not there, or a row is not one that an evaluation wrote.
        """
        places = {task: number for number, task in enumerate(self.run(run_id).task_ids)}

        def place(episode: Episode) -> tuple[int, int, int]:
            if episode.task_id not in places:
                raise DataError(
                    f"{self.path!r}, table episodes: {tuple(episode.key)!r} of run {run_id!r} is "
                    "of a task that the run does not have. Delete the row, or restore the file."
                )
            return places[episode.task_id], episode.budget, episode.rollout

        return sorted(self._iterate(run_id, task_id, with_turns), key=place)

    def turns(self, run_id: str, key: EpisodeKey | tuple[str, int, int]) -> tuple[Turn, ...]:
        """Return the turns of one episode.

        Raises:
            DataError: If the episode is not there.
        """
        task_id, budget, rollout = key
        query = (
            "SELECT episode_id FROM episodes "
            "WHERE run_id = ? AND task_id = ? AND budget = ? AND rollout = ?"
        )
        rows = self._rows(query, (run_id, to_sql(task_id), budget, rollout))
        if not rows:
            raise DataError(
                f"{self.path!r}, run {run_id!r} has no episode of task {task_id!r} under budget "
                f"{budget!r} with number {rollout!r}."
            )
        return self._turns(rows[0][0])

    # Inside.

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite ends some failed ones itself
                    self._connection.execute("ROLLBACK")
                raise

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with explained(self.path):
            return self._connection.execute(query, values).fetchall()

    def _iterate(self, run_id: str, task_id: str | None, with_turns: bool) -> Iterator[Episode]:
        query = f"SELECT episode_id, {', '.join(COLUMNS[Episode])} FROM episodes WHERE run_id = ?"
        values: tuple[Any, ...] = (run_id,)
        if task_id is not None:
            query, values = f"{query} AND task_id = ?", (run_id, to_sql(task_id))
        for number, *row in self._rows(query, values):
            episode = self._read(Episode, row, "episodes", number)
            turns = self._turns(number) if with_turns else ()
            yield dataclasses.replace(episode, turns=turns)

    def _turns(self, episode_id: int) -> tuple[Turn, ...]:
        query = f"SELECT {', '.join(COLUMNS[Turn])} FROM turns WHERE episode_id = ? ORDER BY turn"
        rows = self._rows(query, (episode_id,))
        return tuple(self._read(Turn, row, "turns", (episode_id, row[0])) for row in rows)

    def _read(self, kind: type[RecordT], row: Sequence[Any], table: str, key: object) -> RecordT:
        """Return the record of a row, or say which row it is that cannot be read."""
        try:
            return from_row(kind, row)
        except DataError as error:
            raise DataError(f"{self.path!r}, table {table}, row {key!r}: {error}") from error


def _add_episode(connection: sqlite3.Connection, run_id: str, episode: Episode) -> bool:
    cursor = connection.execute(_ADD_EPISODE, (run_id, *to_row(episode)))
    if cursor.rowcount < 1:
        return False
    number = cursor.lastrowid
    connection.executemany(_ADD_TURN, [(number, *to_row(turn)) for turn in episode.turns])
    return True
