"""The data set ``intercode_sql_synthetic``: an endless supply of questions on small databases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import derive_key, text_key, uniform
from budget_envs.tasks.synthetic_sql.database import Database, database
from budget_envs.tasks.synthetic_sql.discrimination import is_discriminating
from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_sql.easy import EASY
from budget_envs.tasks.synthetic_sql.extra import EXTRA
from budget_envs.tasks.synthetic_sql.hard import HARD
from budget_envs.tasks.synthetic_sql.medium import MEDIUM
from budget_envs.tasks.synthetic_sql.scene import DeadEnd, Draft, Scene
from budget_envs.tasks.synthetic_sql.schemas import SCHEMAS_OF
from budget_envs.tasks.synthetic_sql.template import Hardness, Template

__all__ = [
    "DATASET",
    "GENERATOR_VERSION",
    "TEMPLATES",
    "Split",
    "SyntheticSqlTask",
    "generate",
    "split_of",
    "task_from_id",
    "tasks",
]

DATASET: Final = "intercode_sql_synthetic"
"""Name of the data set: the first part of every task id."""
GENERATOR_VERSION: Final = 1
"""Raised whenever any ``(hardness, index)`` can yield another task."""
TEMPLATES: Final[dict[Hardness, tuple[Template, ...]]] = {
    "easy": EASY, "medium": MEDIUM, "hard": HARD, "extra": EXTRA,
}  # fmt: skip
"""Hardness -> its templates."""

Split: TypeAlias = Literal["train", "validation", "test"]

_SHARES: Final[dict[Split, float]] = {"train": 0.8, "validation": 0.1, "test": 0.1}
_HELD_OUT: Final = 0.5  # share of held-out templates in validation and test
_ID: Final = re.compile(
    rf"{DATASET}/({'|'.join(TEMPLATES)})/([0-9]{{6}}|[1-9][0-9]{{6,17}})", re.ASCII
)
_DATABASES: Final = 8  # of each schema, for every block of indices
_BLOCK: Final = 10_000
_ROOT: Final = text_key(DATASET)


@dataclass(frozen=True)
class SyntheticSqlTask:
    """One generated task. Plain data.

    Attributes:
        task_id: ``"intercode_sql_synthetic/medium/000123"``.
        database: Name of its database, ``"library_3"``: a schema and a number. Tasks with the
            same name share their ``schema_sql``. The first 10,000 indices use the numbers 0 to
            7, the next ones 8 to 15, and so on.
        question: What is asked, in English.
        gold: A query that answers it, for SQLite, MySQL 8.0.31 and MariaDB 10.3 or later.
        hardness: ``"easy"``, ``"medium"``, ``"hard"`` or ``"extra"``.
        template: The kind of question.
        schema_sql: The statements that build the database, in order.
        tables: Table -> column -> SQL type.
    """

    task_id: str
    database: str
    question: str
    gold: str
    hardness: Hardness
    template: str
    schema_sql: tuple[str, ...]
    tables: Mapping[str, Mapping[str, str]] = field(hash=False)

    @property
    def split(self) -> Split:
        """The split the task belongs to."""
        return split_of(self.hardness, int(self.task_id.rsplit("/", 1)[1]))

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits, equal for tasks with the same database and gold query."""
        return f"{text_key(f'{self.database} {self.gold}'):016x}"


def generate(hardness: Hardness, index: int) -> SyntheticSqlTask:
    """Return the task of a hardness and index: always the same one, in every process.

    The gold query was executed: its result is not empty, not all zero or NULL, has at most 40
    rows and no ties where it is ordered; each of its conditions, its DISTINCT, LIMIT and HAVING
    matter to the result; at least two plausible wrong queries give other results.

    Args:
        hardness: ``"easy"``, ``"medium"``, ``"hard"`` or ``"extra"``.
        index: Any integer from 0 up. Different indices can yield the same question (`tasks`
            yields each once).

    Raises:
        OptionError: If the hardness or index is not one of these.
    """
    _check(hardness, index)
    base, template, draft = _draw(hardness, index)
    return SyntheticSqlTask(
        task_id=f"{DATASET}/{hardness}/{index:06d}",
        database=base.name,
        question=draft.question,
        gold=draft.query.sql,
        hardness=hardness,
        template=template.name,
        schema_sql=base.statements,
        tables={
            table.name: {column.name: column.sql_type for column in table.columns}
            for table in base.schema.tables
        },
    )


def task_from_id(task_id: str) -> SyntheticSqlTask:
    """Return the task with an id such as ``"intercode_sql_synthetic/medium/000123"``.

    Raises:
        OptionError: If the id is not of that form.
    """
    match = _ID.fullmatch(task_id)
    if match is None:
        raise OptionError(
            f"Expected a task id such as '{DATASET}/medium/000123' (a hardness of "
            f"{', '.join(TEMPLATES)} and an index of at least six digits), got {task_id!r}."
        )
    return generate(match[1], int(match[2]))  # type: ignore[arg-type]  # one of TEMPLATES


def tasks(
    split: Split, hardness: Hardness | Iterable[Hardness], n: int | None = None
) -> Iterator[SyntheticSqlTask]:
    """Yield distinct tasks of a split, one of each hardness in turn, in order of index.

    ``"train"``, about 80 % of all tasks, has its own seven schemas. ``"validation"`` and
    ``"test"`` have two schemas each that no other split has, and half of their questions are of
    kinds that no other split has.

    Args:
        split: ``"train"``, ``"validation"`` or ``"test"``.
        hardness: One level or several.
        n: How many tasks to yield; None goes on for ever.

    Raises:
        OptionError: If an argument is not one of these.
    """
    chosen: list[Hardness] = [hardness] if isinstance(hardness, str) else list(hardness)
    if split not in _SHARES:
        known = ", ".join(map(repr, _SHARES))
        raise OptionError(
            f"Expected a split, one of {known}, got {split!r}.{did_you_mean(split, _SHARES)}"
        )
    if not chosen or (n is not None and (type(n) is not int or n < 0)):
        raise OptionError(
            f"Expected a hardness and n >= 0 or None, got hardness={hardness!r}, n={n!r}."
        )
    for level in chosen:
        _check(level, 0)
    return itertools.islice(_enumerate(split, chosen), n)


def split_of(hardness: Hardness, index: int) -> Split:
    """Return the split of a task without generating it.

    Raises:
        OptionError: If the hardness or index is not one of those that `generate` takes.
    """
    _check(hardness, index)
    position = uniform(_stream(hardness, index), 0)
    for split, share in _SHARES.items():
        position -= share
        if position < 0:
            return split
    return "test"


def _enumerate(split: Split, chosen: list[Hardness]) -> Iterator[SyntheticSqlTask]:
    seen: set[str] = set()
    for index in itertools.count():
        for level in chosen:
            if split_of(level, index) != split:
                continue
            task = generate(level, index)
            if task.fingerprint not in seen:
                seen.add(task.fingerprint)
                yield task


def _draw(hardness: Hardness, index: int) -> tuple[Database, Template, Draft]:
    """Return the first draft of the stream of ``(hardness, index)`` that makes a task."""
    split, stream = split_of(hardness, index), _stream(hardness, index)
    template = _template(hardness, split, Draws(derive_key(stream, 0)))
    attempt = 0
    while True:
        attempt += 1
        draw = Draws(derive_key(stream, attempt))
        schema = draw.choice(SCHEMAS_OF[split])
        number = index // _BLOCK * _DATABASES + draw.integer(0, _DATABASES - 1)
        base = database(f"{schema.name}_{number}")
        draft = _draft(template, Scene(base, draw))
        if draft is not None:
            return base, template, draft


def _stream(hardness: Hardness, index: int) -> int:
    return derive_key(_ROOT, GENERATOR_VERSION, text_key(hardness), index)


def _template(hardness: Hardness, split: Split, draw: Draws) -> Template:
    held_out = split != "train" and draw.chance(_HELD_OUT)
    group = split if held_out else "common"
    return draw.choice([each for each in TEMPLATES[hardness] if each.group == group])


def _draft(template: Template, scene: Scene) -> Draft | None:
    try:
        draft = template.draft(scene)
    except DeadEnd:
        return None
    with scene.base.connect() as connection:
        return draft if is_discriminating(connection, draft.query) else None


def _check(hardness: str, index: int) -> None:
    if hardness not in get_args(Hardness):
        known = ", ".join(map(repr, get_args(Hardness)))
        raise OptionError(
            f"Expected a hardness, one of {known}, got {hardness!r}."
            f"{did_you_mean(hardness, get_args(Hardness))}"
        )
    if type(index) is not int or index < 0:
        raise OptionError(f"Expected an index, an integer from 0 up, got {index!r}.")
