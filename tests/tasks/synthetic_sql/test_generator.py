import dataclasses
import itertools
import os
import pickle
import re
import sqlite3
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.sql.intercode_reward import intercode_reward
from budget_envs.sql.results import agreement, degenerate, equal, gold_result
from budget_envs.tasks.synthetic_sql import (
    DATASET,
    SyntheticSqlTask,
    generate,
    split_of,
    task_from_id,
    tasks,
)
from budget_envs.tasks.synthetic_sql.database import database
from budget_envs.tasks.synthetic_sql.generator import TEMPLATES
from budget_envs.tasks.synthetic_sql.schemas import SCHEMAS_OF

LEVELS = ("easy", "medium", "hard", "extra")
SPLITS = ("train", "validation", "test")
levels = st.sampled_from(LEVELS)
indices = st.integers(0, 10**9)
few_indices = st.integers(0, 9_999)  # of few databases


def run(task):
    """The rows of the gold query, from the task's own statements."""
    connection = sqlite3.connect(":memory:")
    for statement in task.schema_sql:
        connection.execute(statement)
    rows = connection.execute(task.gold).fetchall()
    connection.close()
    return rows


# --- Gold queries --------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(levels, few_indices)
def test_gold_runs_on_the_statements_and_is_not_degenerate(level, index):
    rows = run(generate(level, index))
    assert degenerate(rows) is None
    assert 0 < len(rows) <= 40
    assert rows != [(1,)]


@settings(max_examples=100, deadline=None)
@given(levels, few_indices)
def test_gold_is_right_under_both_rewards_and_nothing_is_wrong(level, index):
    pytest.importorskip("sqlglot")
    task = generate(level, index)
    with database(task.database).connect() as connection:
        gold = gold_result(task.gold, lambda sql: connection.execute(sql).fetchall())
    assert gold.tie_aware
    assert equal(gold.rows, gold)
    assert intercode_reward(gold.rows, gold.rows) == 1.0
    for nothing in (None, [], [(0,)], [(None,)], [(1,)]):
        assert not equal(nothing, gold)
        assert agreement(nothing, gold) < 1.0
        assert intercode_reward(nothing, gold.rows) < 1.0


@settings(max_examples=100, deadline=None)
@given(levels, few_indices)
def test_ordered_gold_has_no_ties(level, index):
    pytest.importorskip("sqlglot")
    task = generate(level, index)
    with database(task.database).connect() as connection:
        gold = gold_result(task.gold, lambda sql: connection.execute(sql).fetchall())
    assert gold.ordered == (" ORDER BY " in task.gold)
    if gold.ordered:
        assert all(len(members) == 1 for members in gold.classes[: len(gold.rows)])


@settings(max_examples=100, deadline=None)
@given(levels, few_indices)
def test_a_filtered_query_does_not_return_its_whole_table(level, index):
    task = generate(level, index)
    match = re.fullmatch(r"(SELECT [^()]* FROM \w+) WHERE [^()]*", task.gold)
    if match:
        with database(task.database).connect() as connection:
            whole = connection.execute(match[1]).fetchall()
        assert Counter(run(task)) != Counter(whole)


@settings(max_examples=40, deadline=None)
@given(levels, few_indices)
def test_at_least_two_mutants_are_wrong(level, index):
    pytest.importorskip("sqlglot")
    from budget_envs.sql.mutation import mutants

    task = generate(level, index)
    with database(task.database).connect() as connection:
        gold = gold_result(task.gold, lambda sql: connection.execute(sql).fetchall())
        wrong = sum(
            not equal(connection.execute(mutant.sql).fetchall(), gold)
            for mutant in itertools.islice(mutants(task.gold, index), 8)
        )
    assert wrong >= 2


@settings(max_examples=100, deadline=None)
@given(levels, few_indices)
def test_gold_uses_the_tables_it_was_given(level, index):
    task = generate(level, index)
    used = set(re.findall(r"(?:FROM|JOIN) (\w+)", task.gold))
    assert used
    assert used <= set(task.tables)


# --- Questions -----------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(levels, few_indices)
def test_question_is_clean_english(level, index):
    question = generate(level, index).question
    assert question[0].isupper()
    assert question[-1] in ".?"
    assert "  " not in question
    assert not re.search(r"[{}_]|\bNone\b|\b(\w+) \1\b| [,.?]|\ba [aeio]", question)
    assert not re.search(r"SELECT|JOIN|GROUP BY|COUNT\(", question)


@settings(max_examples=200, deadline=None)
@given(levels, few_indices)
def test_question_names_every_constant_of_the_gold_query(level, index):
    task = generate(level, index)
    for text in re.findall(r"'%?([^'%]+)%?'", task.gold):
        assert text in task.question
    for number in re.findall(r"[<>=] (\d+(?:\.\d+)?)", task.gold):
        assert number.removesuffix(".0") in task.question


def test_one_question_on_one_database_has_one_gold_query():
    golds = {}
    for level in LEVELS:
        for index in range(400):
            task = generate(level, index)
            golds.setdefault((task.database, task.question), set()).add(task.gold)
    assert len(golds) > 1400
    assert all(len(answers) == 1 for answers in golds.values())


@pytest.mark.parametrize("level", LEVELS)
def test_every_template_is_drawn(level):
    drawn = Counter(generate(level, index).template for index in range(700))
    assert set(drawn) == {template.name for template in TEMPLATES[level]}


def test_hardness_grows_with_the_parts_of_the_query():
    def parts(sql):
        return len(re.findall("SELECT|JOIN|GROUP BY|HAVING|ORDER BY|EXCEPT|INTERSECT|UNION", sql))

    means = [sum(parts(generate(level, i).gold) for i in range(200)) / 200 for level in LEVELS]
    assert means == sorted(means)
    assert means[0] < 1.5 < means[1]
    assert means[2] + 0.5 < means[3]


def test_easy_queries_have_one_table_and_no_subquery():
    for index in range(200):
        gold = generate("easy", index).gold
        assert gold.count("SELECT") == 1
        assert " JOIN " not in gold


# --- Identity ------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(levels, indices)
def test_same_hardness_and_index_give_equal_tasks(level, index):
    task = generate(level, index)
    assert task == generate(level, index) == task_from_id(task.task_id)
    assert hash(task) == hash(generate(level, index))


def test_ids_are_self_describing():
    assert generate("medium", 123).task_id == "intercode_sql_synthetic/medium/000123"
    assert generate("extra", 12345678).task_id == "intercode_sql_synthetic/extra/12345678"


def test_a_block_of_indices_uses_eight_databases_of_each_schema():
    def numbers(start):
        names = {generate("medium", index).database for index in range(start, start + 250)}
        return {int(name.rsplit("_", 1)[1]) for name in names}

    assert numbers(0) == set(range(8))
    assert numbers(10_000) == set(range(8, 16))


def test_tasks_of_one_database_share_its_statements():
    by_name = {}
    for index in range(100):
        task = generate("easy", index)
        assert by_name.setdefault(task.database, task.schema_sql) is task.schema_sql


def test_tables_give_the_columns_and_types_of_the_database():
    task = generate("hard", 1)
    connection = sqlite3.connect(":memory:")
    for statement in task.schema_sql:
        connection.execute(statement)
    for table, columns in task.tables.items():
        info = connection.execute(f"PRAGMA table_info({table})").fetchall()
        assert [(name, kind) for _, name, kind, *_ in info] == list(columns.items())
    connection.close()


def test_changing_a_returned_task_does_not_change_the_next_one():
    generate("easy", 3).tables.clear()
    assert generate("easy", 3).tables


def test_task_is_frozen_and_pickles():
    task = generate("extra", 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.gold = "SELECT 1"
    assert pickle.loads(pickle.dumps(task)) == task


def test_task_type_has_the_documented_fields():
    assert [field.name for field in dataclasses.fields(SyntheticSqlTask)] == [
        "task_id",
        "database",
        "question",
        "gold",
        "hardness",
        "template",
        "schema_sql",
        "tables",
    ]


_DUMP = """
from budget_envs.tasks.synthetic_sql import generate, tasks
for level in ("easy", "medium", "hard", "extra"):
    for index in range(40):
        print(generate(level, index))
print([task.task_id for task in tasks("test", ["easy", "extra"], 5)])
"""


def test_same_bytes_in_every_process_and_hash_seed():
    def dump(hash_seed):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", _DUMP]
        return subprocess.run(
            command, env=environment, capture_output=True, check=True, timeout=120
        ).stdout

    first = dump("0")
    assert first == dump("1") == dump("4242")
    assert first.count(b"SyntheticSqlTask") == 160


def test_generating_needs_no_optional_dependency():
    code = (
        "import sys; sys.modules['sqlglot'] = None; sys.modules['scipy'] = None\n"
        "from budget_envs.tasks.synthetic_sql import generate\n"
        "print(len(generate('extra', 5).question) > 20)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


# --- Splits --------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(levels, few_indices)
def test_split_of_a_task_is_that_of_its_schema_and_template(level, index):
    task = generate(level, index)
    schema = task.database.rsplit("_", 1)[0]
    group = next(each.group for each in TEMPLATES[level] if each.name == task.template)
    assert task.split == split_of(level, index)
    assert schema in {each.name for each in SCHEMAS_OF[task.split]}
    assert group in ("common", task.split)


def test_splits_share_no_table_and_no_held_out_template():
    seen = {split: list(tasks(split, LEVELS, 160)) for split in SPLITS}
    tables = {s: {table for task in seen[s] for table in task.tables} for s in SPLITS}
    for left, right in itertools.combinations(SPLITS, 2):
        assert not tables[left] & tables[right]
        assert not {t.gold for t in seen[left]} & {t.gold for t in seen[right]}
    held_out = {t.name for group in TEMPLATES.values() for t in group if t.group != "common"}
    for split in ("validation", "test"):
        share = sum(task.template in held_out for task in seen[split]) / 160
        assert 0.35 < share < 0.65
    assert not any(task.template in held_out for task in seen["train"])


@pytest.mark.parametrize("split", SPLITS)
def test_tasks_repeat_none_and_belong_to_the_split(split):
    found = list(tasks(split, LEVELS, 200))
    assert {task.split for task in found} == {split}
    assert len({task.fingerprint for task in found}) == len(found) == 200
    assert len({(task.database, task.gold) for task in found}) == 200


def test_a_repeated_task_is_yielded_once(monkeypatch):
    from budget_envs.tasks.synthetic_sql import generator

    draw = generator.generate
    monkeypatch.setattr(generator, "generate", lambda level, index: draw(level, index % 50))
    monkeypatch.setattr(generator, "split_of", lambda level, index: "train")
    found = list(itertools.islice(tasks("train", "easy"), 45))
    assert len({task.fingerprint for task in found}) == 45


def test_shares_of_the_splits_are_about_80_10_10():
    counts = Counter(split_of("medium", index) for index in range(3000))
    assert 2320 < counts["train"] < 2480
    assert 240 < counts["validation"] < 360
    assert 240 < counts["test"] < 360


def test_splits_of_the_levels_are_drawn_apart():
    assert [split_of("easy", i) for i in range(50)] != [split_of("hard", i) for i in range(50)]


def test_tasks_take_turns_between_levels():
    counts = Counter(task.hardness for task in tasks("train", ["easy", "extra"], 40))
    assert 12 < counts["easy"] < 28


def test_asking_for_fewer_tasks_gives_a_prefix():
    more = [task.task_id for task in tasks("train", ["medium", "hard"], 12)]
    fewer = [task.task_id for task in tasks("train", ["medium", "hard"], 5)]
    assert more[:5] == fewer


def test_tasks_without_number_go_on():
    assert len(list(itertools.islice(tasks("test", "hard"), 30))) == 30


def test_no_tasks_are_generated_for_zero():
    assert list(tasks("train", "easy", 0)) == []


# --- What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["", "Easy", 1, None, "expert"])
def test_unknown_hardness_is_refused(level):
    with pytest.raises(OptionError, match="Expected a hardness"):
        generate(level, 0)
    with pytest.raises(OptionError, match="Expected a hardness"):
        split_of(level, 0)


def test_nearest_hardness_is_suggested():
    with pytest.raises(OptionError, match="Did you mean 'medium'"):
        generate("meduim", 0)


@pytest.mark.parametrize("index", [-1, True, "0", 1.5, None])
def test_impossible_index_is_refused(index):
    with pytest.raises(OptionError, match="Expected an index"):
        generate("easy", index)


def test_unknown_split_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Did you mean 'train'"):
        tasks("trian", "easy", 1)


@pytest.mark.parametrize("n", [-1, True, 1.5, "3"])
def test_impossible_number_of_tasks_is_refused(n):
    with pytest.raises(OptionError, match="n >= 0"):
        tasks("train", "easy", n)


def test_no_hardness_is_refused():
    with pytest.raises(OptionError, match="Expected a hardness"):
        tasks("train", [], 1)


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        DATASET,
        f"{DATASET}/medium/123",
        f"{DATASET}/medium/0000123",
        f"{DATASET}/medium/000123\n",
        f"{DATASET}/medium/-00123",
        f"{DATASET}/Medium/000123",
        f"{DATASET}/expert/000123",
        "intercode_sql/medium/000123",
        f"{DATASET}/medium/٠٠٠١٢٣",
    ],
)
def test_malformed_id_is_refused(task_id):
    with pytest.raises(OptionError, match="Expected a task id"):
        task_from_id(task_id)
