"""The same statements and gold queries on a real MariaDB server."""

import itertools

import pytest

from budget_envs.sql.results import equal, gold_result
from budget_envs.tasks.synthetic_sql.database import database
from budget_envs.tasks.synthetic_sql.generator import TEMPLATES, generate
from budget_envs.tasks.synthetic_sql.schemas import SCHEMAS

pytest.importorskip("sqlglot")


@pytest.fixture(scope="module")
def server(mariadb):
    """A cursor of a server that holds database number 0 of every schema."""
    for name in SCHEMAS:
        mariadb.execute(f"CREATE DATABASE {name}_0")
        mariadb.execute(f"USE {name}_0")
        for statement in database(f"{name}_0").statements:
            mariadb.execute(statement)
    return mariadb


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_server_holds_the_same_rows(server, schema):
    base = database(f"{schema}_0")
    server.execute(f"USE {base.name}")
    for table in base.schema.tables:
        server.execute(f"SELECT * FROM {table.name} ORDER BY {table.key.name}")
        assert server.fetchall() == base.rows[table.name]


@pytest.mark.slow
@pytest.mark.parametrize("hardness", TEMPLATES)
def test_gold_queries_have_the_same_results_on_sqlite_and_mariadb(server, hardness):
    drawn = (generate(hardness, index) for index in itertools.count())
    tasks = itertools.islice((task for task in drawn if task.database.endswith("_0")), 75)

    def run_on_server(sql):
        server.execute(sql)
        return server.fetchall()

    for task in tasks:
        server.execute(f"USE {task.database}")
        with database(task.database).connect() as connection:
            here = gold_result(task.gold, lambda sql: connection.execute(sql).fetchall())
        there = gold_result(task.gold, run_on_server, dialect="mysql")
        assert here.tie_aware, task.gold
        assert there.tie_aware, task.gold
        assert equal(there.rows, here), task.gold
        assert equal(here.rows, there), task.gold
