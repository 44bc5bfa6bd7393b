"""Every question, read on its own, asks for what its gold query returns."""

import importlib.util
import itertools
from pathlib import Path

import pytest

from budget_envs.sql.row_bags import overlap, same_row
from budget_envs.tasks.synthetic_sql import generate
from budget_envs.tasks.synthetic_sql.database import database
from budget_envs.tasks.synthetic_sql.generator import TEMPLATES
from budget_envs.tasks.synthetic_sql.schemas import SCHEMAS

_SPEC = importlib.util.spec_from_file_location(
    "question_reader", Path(__file__).with_name("question_reader.py")
)
reader = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reader)

NAMES = [template.name for group in TEMPLATES.values() for template in group]


@pytest.fixture(scope="module")
def tasks_of():
    """Twenty-five tasks of each template."""
    found = {name: [] for name in NAMES}
    for level, templates in TEMPLATES.items():
        for index in itertools.count():
            task = generate(level, index)
            found[task.template].append(task)
            if all(len(found[template.name]) >= 25 for template in templates):
                break
    return {name: tasks[:25] for name, tasks in found.items()}


def test_there_is_a_reader_for_every_template():
    assert set(reader.READERS) == set(NAMES)
    assert len(set(NAMES)) == len(NAMES) == 48


@pytest.mark.parametrize("name", NAMES)
def test_question_asks_for_what_the_gold_query_returns(tasks_of, name):
    assert len(tasks_of[name]) == 25
    for task in tasks_of[name]:
        base = database(task.database)
        with base.connect() as connection:
            gold = connection.execute(task.gold).fetchall()
        answer, ordered = reader.answer(task, base)
        assert ordered == (" ORDER BY " in task.gold and " LIMIT 1" not in task.gold), task
        assert len(answer) == len(gold), task
        if ordered:
            assert all(map(same_row, answer, gold)), task
        else:
            assert overlap(answer, gold) == len(gold), task


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_words_of_a_schema_are_unambiguous(schema):
    tables = [word for table in schema.tables for word in {table.noun, table.plural}]
    assert len(set(tables)) == len(tables)
    for table in schema.tables:
        nouns = [word for c in table.columns for word in {c.noun, c.plural} if word]
        assert len(set(nouns)) == len(nouns)
        children = [
            word
            for relation in schema.relations
            if relation.parent == table
            for word in (relation.column.child, relation.column.children)
        ]
        assert len(set(children)) == len(children)


def test_a_wrong_gold_query_is_noticed():
    task = next(t for i in range(99) if (t := generate("easy", i)).template == "count_filtered")
    base = database(task.database)
    with base.connect() as connection:
        whole = connection.execute(task.gold.split(" WHERE ")[0]).fetchall()
    assert reader.answer(task, base)[0] != whole
