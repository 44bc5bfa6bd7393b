from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import TaskDataInvalid, TaskDataUnavailable
from budget_envs.sql.protocol import SqlSession
from budget_envs.sql.results import GoldResult, degenerate, equal, gold_result
from budget_envs.sql.schema import Table
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
from budget_envs.sql.sqlite_schema import read_database
from budget_envs.tasks import TaskSet, dataset, load, locate
from budget_envs.tasks.intercode_sql import SqlTask, cuts_through_tie, databases
from budget_envs.tasks.loading import exclusions_text

Write = Callable[[str, Any], Path]

DUMP = """
USE `zoo`;
CREATE TABLE `animal` (`id` int NOT NULL AUTO_INCREMENT, `name` text, PRIMARY KEY (`id`));
INSERT INTO `animal` VALUES (1,'Ape'),(2,'bear ');
USE `network_1`;
CREATE TABLE `t` (`a` int);
"""
ROW = {
    "db": "zoo",
    "query": "How is the second animal called?",
    "gold": "SELECT name FROM animal WHERE name = 'BEAR'",
    "hardness": "easy",
    "db_tables": {"animal": ["id", "name"], "sqlite_sequence": ["name", "seq"]},
}


def loaded(write: Write, *rows: dict[str, Any]) -> TaskSet[SqlTask]:
    write("zoo/ic_spider_dbs.sql", DUMP)
    folder = write("zoo/ic_spider_dev.json", list(rows)).parent
    return load("intercode_sql", folder, include_excluded=True)


def test_a_row_becomes_a_task(write: Write) -> None:
    (task,) = loaded(write, ROW)
    assert task == SqlTask(
        "intercode_sql/0000",
        "zoo",
        "How is the second animal called?",
        "SELECT name FROM animal WHERE name = 'BEAR'",
        "easy",
        (("animal", ("id", "name")),),
    )


def test_a_task_is_a_value_and_keeps_its_answer_out_of_repr(write: Write) -> None:
    (task,) = loaded(write, ROW)
    assert pickle.loads(pickle.dumps(task)) == task
    assert hash(task) == hash(replace(task))
    assert "SELECT" not in repr(task)


def test_the_databases_are_those_of_the_dump(write: Write) -> None:
    loaded(write, ROW)
    catalog = databases(write("zoo/ic_spider_dbs.sql", DUMP).parent)
    assert catalog.databases == ("zoo", "network_1")
    with SqliteEngine(catalog).open("zoo") as session:
        assert session.execute(ROW["gold"]).rows == (("bear ",),)


def test_names_count_the_rows(write: Write) -> None:
    assert loaded(write, *[ROW] * 3).task_ids == tuple(f"intercode_sql/000{n}" for n in range(3))


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        ("SELECT name FROM animal WHERE id = 9", "gold returns nothing"),
        ("SELECT COUNT(*), MAX(id), 0.0 FROM animal WHERE id = 9", "gold returns only 0 and NULL"),
        ("SELECT colour FROM animal", "gold fails: no such column: colour"),
        ("SELECT 1; SELECT 2", "gold fails: expected one SQL statement; got several: send them "),
    ],
)
def test_golds_that_tell_nothing_are_left_out(write: Write, gold: str, reason: str) -> None:
    tasks = loaded(write, ROW, {**ROW, "gold": gold})
    (found,) = tasks.excluded.items()
    assert found[0] == "intercode_sql/0001"
    assert found[1].startswith(reason)


def test_the_registrys_lists_are_for_the_published_questions_only(write: Write) -> None:
    listed = dataset("intercode_sql").options["several_answers"]
    tasks = loaded(write, *[ROW] * (listed[0] + 1))
    assert tasks.excluded == {}


def test_a_database_is_in_one_split(write: Write) -> None:
    other = {**ROW, "db": "network_1", "gold": "SELECT 1"}
    tasks = loaded(write, ROW, other, ROW)
    assert [tasks.split_of(task.task_id) for task in tasks] == ["train", "test", "train"]


@pytest.mark.parametrize(
    "change",
    [
        {"db": None},
        {"db": ""},
        {"gold": None},
        {"query": 5},
        {"hardness": "impossible"},
        {"db_tables": None},
        {"db_tables": {"animal": 5}},
    ],
)
def test_a_row_that_is_no_question_is_an_error(write: Write, change: dict[str, Any]) -> None:
    with pytest.raises(TaskDataInvalid):
        loaded(write, {**ROW, **change})


def test_a_row_without_a_field_is_an_error(write: Write) -> None:
    row = {key: value for key, value in ROW.items() if key != "gold"}
    with pytest.raises(TaskDataInvalid, match="row 0 is no question with db, query, gold"):
        loaded(write, row)


def test_a_database_that_the_dump_lacks_is_an_error(write: Write) -> None:
    with pytest.raises(TaskDataInvalid, match=r"0000: There is no database 'zo' .* 'zoo'\?"):
        loaded(write, {**ROW, "db": "zo"})


def test_missing_files_are_named_with_the_commands_that_bring_them() -> None:
    with pytest.raises(TaskDataUnavailable, match=r"curl .*ic_spider_dev\.json") as caught:
        load("intercode_sql")
    assert "pip install --no-deps intercode-bench==0.1.22" in str(caught.value)


def test_the_dump_is_found_in_the_installed_wheel(
    install: Callable[..., Path],
    register: Callable[..., Any],
    pin: Callable[[Path], dict[str, Any]],
    write: Write,
) -> None:
    """The questions come from elsewhere: the wheel has none of that form."""
    dump, questions = write("a/dump.sql", DUMP), write("folder/zoo/questions.json", [ROW])
    install(
        "intercode-bench", "0.1.22", {"intercode/assets/datasets/spider_dev.sql": DUMP.encode()}
    )
    wheel = {"kind": "wheel", "dist": "intercode-bench", "version": "0.1.22"}
    paths = {"questions": "", "dump": "intercode/assets/datasets/spider_dev.sql"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUDGET_ENVS_DATA", str(questions.parents[1]))
        register(
            "zoo",
            adapter="budget_envs.tasks.intercode_sql:read",
            items=1,
            files=[pin(questions, "questions"), pin(dump, "dump")],
            sources=[{**wheel, "paths": paths}],
            options={"splits": {}},
        )
        assert {file.role: file.source for file in locate("zoo")} == {
            "questions": "folder",
            "dump": "wheel",
        }
        assert len(load("zoo")) == 1


CLASSES = (((1,), (2,)), ((3,), (4,), (5,)), ((6,), (6,)))


@pytest.mark.parametrize(
    ("offset", "count", "cuts"),
    [(0, 2, False), (0, 3, True), (0, 5, False), (0, 6, False), (1, 1, True), (2, 3, False)],
)
def test_a_limit_cuts_through_a_tie_where_rows_differ(offset: int, count: int, cuts: bool) -> None:
    rows = tuple(row for tied in CLASSES for row in tied)[offset : offset + count]
    assert cuts_through_tie(GoldResult(rows, True, count, CLASSES, offset)) == cuts


# The published files.


@pytest.fixture
def published(benchmark_data: Path) -> TaskSet[SqlTask]:
    try:
        return load("intercode_sql", include_excluded=True)
    except TaskDataUnavailable as error:
        pytest.skip(f"intercode_sql is not at hand: {str(error).splitlines()[0]}")


@pytest.fixture
def sessions(published: TaskSet[SqlTask]) -> dict[str, SqlSession]:
    catalog = databases()
    engine = SqliteEngine(catalog)
    return {name: engine.open(name) for name in catalog.databases}


def gold_of(task: SqlTask, session: SqlSession) -> GoldResult:
    def run(sql: str) -> tuple[tuple[object, ...], ...]:
        result = session.execute(sql)
        if result.error is not None:
            raise RuntimeError(result.error)
        return result.rows

    return gold_result(task.gold, run)


def test_the_published_set(published: TaskSet[SqlTask]) -> None:
    assert len(published) == 1034
    assert published.manifest.pinned
    assert Counter(task.hardness for task in published) == {
        "easy": 248,
        "medium": 446,
        "hard": 174,
        "extra": 166,
    }
    assert len({task.database for task in published}) == 20
    assert published.split_sizes == {"train": 802, "validation": 115, "test": 117}


def test_all_published_golds_run_within_the_limits(
    published: TaskSet[SqlTask], sessions: dict[str, SqlSession]
) -> None:
    for task in published:
        result = sessions[task.database].execute(task.gold)
        assert (result.error, result.truncated) == (None, False), task.task_id
        assert result.columns


def test_what_is_left_out(published: TaskSet[SqlTask]) -> None:
    assert Counter(published.excluded.values()) == {
        "gold returns nothing": 80,
        "gold returns only 0 and NULL": 42,
        "gold's LIMIT cuts through a tie": 34,
        "gold's result is the engine's choice": 11,
    }
    assert len(load("intercode_sql")) == 867


def test_the_recorded_exclusions_are_what_the_rules_give(published: TaskSet[SqlTask]) -> None:
    record = resources.files("budget_envs.tasks") / "exclusions" / "intercode_sql.json"
    assert exclusions_text("intercode_sql") == record.read_text("utf-8")


def test_earlier_lists_of_bad_items_are_left_out_whole(
    published: TaskSet[SqlTask], benchmark_data: Path
) -> None:
    """Found by others, by one run on MariaDB; that run could not show every tie."""
    path = benchmark_data / "intercode_sql" / "exclusions.json"
    if not path.is_file():
        pytest.skip("there is no earlier list beside the files")
    earlier = json.loads(path.read_text())
    reasons = {int(name[-4:]): reason for name, reason in published.excluded.items()}
    by_reason = {
        reason: sorted(place for place, why in reasons.items() if why == reason)
        for reason in reasons.values()
    }
    assert by_reason["gold returns nothing"] == earlier["gold_empty_result"]
    assert by_reason["gold returns only 0 and NULL"] == earlier["gold_all_zero_or_null"]
    assert set(earlier["sqlite_vs_mariadb_mismatch"]) <= set(reasons)


def test_no_gold_that_is_kept_is_degenerate(
    published: TaskSet[SqlTask], sessions: dict[str, SqlSession]
) -> None:
    for task in load("intercode_sql"):
        assert degenerate(sessions[task.database].execute(task.gold).rows) is None, task.task_id


def test_the_listed_ties_are_those_that_the_rule_finds(
    published: TaskSet[SqlTask], sessions: dict[str, SqlSession]
) -> None:
    pytest.importorskip("sqlglot", reason="sqlglot is not installed")
    found = [
        int(task.task_id[-4:])
        for task in published
        if " limit " in task.gold.lower()
        and cuts_through_tie(gold_of(task, sessions[task.database]))
    ]
    assert found == list(dataset("intercode_sql").options["several_answers"])


def test_no_gold_that_is_kept_hangs_on_the_order_of_stored_rows(
    published: TaskSet[SqlTask], sessions: dict[str, SqlSession]
) -> None:
    pytest.importorskip("sqlglot", reason="sqlglot is not installed")
    catalog = databases()
    engine = SqliteEngine(Images(backwards(catalog.image(name)) for name in catalog.databases))
    others = {name: engine.open(name) for name in catalog.databases}
    moved = {
        int(task.task_id[-4:])
        for task in published
        if not equal(
            others[task.database].execute(task.gold).rows, gold_of(task, sessions[task.database])
        )
    }
    assert moved == {710, 967}
    assert moved <= set(dataset("intercode_sql").options["engine_decides"])


def backwards(image: SqliteImage) -> SqliteImage:
    """The same database with the rows of every table stored in reverse."""
    database = read_database(image)
    tables = tuple(
        Table(
            table.name,
            tuple(replace(column, auto_increment=False) for column in table.columns),
            table.keys,
            rows=table.rows[::-1],
        )
        for table in database.tables
    )
    return SqliteImage.from_database(replace(database, tables=tables))


def test_the_splits_follow_from_the_names_of_the_databases(published: TaskSet[SqlTask]) -> None:
    sizes = Counter(task.database for task in published)
    order = sorted(sizes, key=lambda name: sha256(name.encode()).hexdigest())
    expected: dict[str, list[str]] = {"test": [], "validation": []}
    for split in expected:
        while sum(sizes[name] for name in expected[split]) < len(published) / 10:
            expected[split].append(order.pop(0))
    assert dataset("intercode_sql").options["splits"] == expected


def test_every_task_names_tables_that_its_database_has(
    published: TaskSet[SqlTask], sessions: dict[str, SqlSession]
) -> None:
    for task in published:
        names = {
            str(name).lower() for (name,) in sessions[task.database].execute("SHOW TABLES").rows
        }
        assert {table.lower() for table, _ in task.tables} <= names, task.task_id
