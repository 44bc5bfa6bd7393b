"""InterCode-SQL: the questions of Spider's development set, on databases that MySQL served.

Two files: a JSON list of questions with gold queries, and a MySQL dump of the 20 databases. The
dump is converted to SQLite here; MySQL and MariaDB are loaded from the same images.

Every gold query runs when the set is read. Left out are questions whose gold result tells nothing
(no rows, or only 0 and NULL: a query that finds nothing would pass), and those that have several
right answers: ``several_answers`` of the registry where the LIMIT cuts through a tie,
``engine_decides`` where the result hangs on the engine or on the order of rows inside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from budget_envs.errors import OptionError, TaskDataInvalid
from budget_envs.sql.dump_catalog import DumpCatalog
from budget_envs.sql.results import GoldResult, degenerate
from budget_envs.sql.row_bags import plain_row
from budget_envs.sql.sqlite_engine import SqliteEngine, SqliteSession
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.rows import Row, read_rows
from budget_envs.tasks.sources import LocatedFile, cache_folder, locate
from budget_envs.tasks.task_set import Contents, Entry

__all__ = ["DATASET", "Hardness", "SqlTask", "cuts_through_tie", "databases", "read"]

DATASET = "intercode_sql"
Hardness = Literal["easy", "medium", "hard", "extra"]

_DEGENERATE = {
    "empty": "gold returns nothing",
    "all zero or null": "gold returns only 0 and NULL",
}
_LISTED = {
    "several_answers": "gold's LIMIT cuts through a tie",
    "engine_decides": "gold's result is the engine's choice",
}


@dataclass(frozen=True, slots=True)
class SqlTask:
    """One question on one database.

    Args:
        task_id: Unique within its dataset, ``"intercode_sql/0000"``.
        database: Name of the database.
        question: What is asked, in English.
        gold: A query that answers it.
        hardness: Spider's level: ``"easy"``, ``"medium"``, ``"hard"`` or ``"extra"``.
        tables: The tables of the database, each with the names of its columns, as the dataset
            lists them.

    Raises:
        TaskDataInvalid: If a field is missing or has the wrong type.
    """

    task_id: str
    database: str
    question: str
    gold: str = field(repr=False)
    hardness: Hardness
    tables: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("task_id", "database", "question", "gold"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.strip():
                raise TaskDataInvalid(f"A task needs a {name}; {self.task_id!r} has {text!r}.")
        if self.hardness not in get_args(Hardness):
            raise TaskDataInvalid(
                f"{self.task_id!r}: hardness is one of {get_args(Hardness)}; got {self.hardness!r}."
            )


def databases(path: str | os.PathLike[str] | None = None) -> DumpCatalog:
    """The databases of the set, for an engine.

    Args:
        path: The folder given to `budget_envs.tasks.load`, if one was.

    Raises:
        TaskDataUnavailable: If the dump is nowhere; the message names the command that brings it.
    """
    return _catalog(locate(DATASET, path))


def cuts_through_tie(gold: GoldResult) -> bool:
    """Whether LIMIT or OFFSET separates rows that sort alike and are not the same.

    The engine then chooses which of them to return, and another right query may get others: the
    rule behind the registry's ``several_answers``.
    """
    start = 0
    for tied in gold.classes:
        end = start + len(tied)
        for cut in (gold.offset, gold.offset + len(gold.rows)):
            if start < cut < end and len(set(map(plain_row, tied))) > 1:
                return True
        start = end
    return False


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[SqlTask]:
    """Read the questions and run their gold queries.

    Raises:
        TaskDataInvalid: If a row lacks a field, or names a database that the dump does not have.
    """
    questions = next(file.path for file in files if file.role == "questions")
    listed = info.options if all(file.pinned for file in files) else {}  # by place in the file
    engine = SqliteEngine(_catalog(files))
    sessions: dict[str, SqliteSession] = {}
    entries = []
    for number, row in enumerate(read_rows(questions)):
        task = _task(number, row, questions)
        if task.database not in sessions:
            sessions[task.database] = _opened(engine, task, questions)
        exclusion = _exclusion(sessions[task.database], task, number, listed)
        entries.append(Entry(task, task.database, _split(task.database, info), exclusion))
    for session in sessions.values():
        session.close()
    return Contents(tuple(entries))


def _catalog(files: Sequence[LocatedFile]) -> DumpCatalog:
    dump = next(file for file in files if file.role == "dump")
    return DumpCatalog(dump.path, dump.sha256, cache_folder())


def _task(number: int, row: Row, path: Path) -> SqlTask:
    try:
        tables = tuple(
            (table, tuple(columns))
            for table, columns in row["db_tables"].items()
            if not table.startswith("sqlite_")  # SQLite's own, from Spider's files
        )
        return SqlTask(
            task_id=f"{DATASET}/{number:04d}",
            database=row["db"],
            question=row["query"],
            gold=row["gold"],
            hardness=row["hardness"],
            tables=tables,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise TaskDataInvalid(
            f"{path}: row {number} is no question with db, query, gold, hardness and db_tables: "
            f"{error!r}."
        ) from error


def _opened(engine: SqliteEngine, task: SqlTask, path: Path) -> SqliteSession:
    try:
        return engine.open(task.database)
    except OptionError as error:
        raise TaskDataInvalid(f"{path}: {task.task_id}: {error}") from error


def _split(database: str, info: DatasetInfo) -> str:
    named: Mapping[str, Sequence[str]] = info.options["splits"]
    return next((split for split, members in named.items() if database in members), "train")


def _exclusion(
    session: SqliteSession, task: SqlTask, number: int, listed: Mapping[str, Sequence[int]]
) -> str | None:
    result = session.execute(task.gold)
    if result.error is not None:
        return f"gold fails: {result.error}"
    if kind := degenerate(result.rows):
        return _DEGENERATE[kind]
    return next((reason for key, reason in _LISTED.items() if number in listed.get(key, ())), None)
