"""The published dump, converted: against the dump's own text and against a real server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from budget_envs.sql.collation import MYSQL_CI
from budget_envs.sql.dump_catalog import DumpCatalog
from budget_envs.sql.mysql_engine import MySqlEngine
from budget_envs.sql.mysql_loading import administration, quoted
from budget_envs.sql.protocol import QueryResult, SqlLimits
from budget_envs.sql.results import equal, gold_result
from budget_envs.sql.row_bags import same_row
from budget_envs.sql.schema import Value
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_schema import read_database
from budget_envs.tasks import load

ROWS = {
    "museum_visit": 20,
    "course_teach": 23,
    "wta_1": 0,
    "concert_singer": 31,
}


def test_twenty_databases_eighty_one_tables_and_their_rows(intercode: DumpCatalog) -> None:
    databases = [read_database(intercode.image(name)) for name in intercode.databases]
    assert len(databases) == 20
    assert sum(len(database.tables) for database in databases) == 81
    rows = {d.name: sum(len(table.rows) for table in d.tables) for d in databases}
    assert sum(rows.values()) == 6952
    assert {name: rows[name] for name in ROWS} == ROWS


def test_every_create_statement_of_the_dump_has_its_table(intercode: DumpCatalog) -> None:
    text = intercode.path.read_text("utf-8")
    named = re.findall(r"^USE `(.*)`;|^CREATE TABLE `(.*)` \($|^  `(.*?)` ", text, re.M)
    found = []
    for database in map(read_database, map(intercode.image, intercode.databases)):
        found.append((database.name, "", ""))
        for table in database.tables:
            found.append(("", table.name, ""))
            found.extend(("", "", column.name) for column in table.columns)
    assert found == named


def test_no_published_text_is_longer_than_the_limits(intercode: DumpCatalog) -> None:
    """All rows of all tables can be read through the engine."""
    engine = SqliteEngine(intercode)
    for name in engine.databases:
        database = read_database(intercode.image(name))
        with engine.open(name) as session:
            for table in database.tables:
                result = session.execute(f'SELECT * FROM "{table.name}"')
                assert (result.error, result.truncated) == (None, False)
                assert len(result.rows) == len(table.rows)


@pytest.fixture(scope="module")
def server(mysql_url: str, intercode: DumpCatalog) -> Iterator[MySqlEngine]:
    """An engine, and the published dump itself under the names it uses, beside it."""
    engine = MySqlEngine(mysql_url, intercode, limits=SqlLimits(time_s=10))
    text = intercode.path.read_text("utf-8")
    with administration(engine.address) as cursor:
        cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
        cursor.execute("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
        for statement in re.findall(
            r"^(?:CREATE DATABASE|USE|CREATE TABLE|INSERT)\b.*?;$", text, re.M | re.S
        ):
            cursor.execute(statement)
    yield engine
    engine.remove()
    with administration(engine.address) as cursor:
        for name in intercode.databases:
            cursor.execute(f"DROP DATABASE {quoted(name)}")


@pytest.mark.slow
def test_a_server_that_read_the_dump_itself_has_the_same_rows(
    server: MySqlEngine, intercode: DumpCatalog
) -> None:
    """The escapes, numbers and dates of the dump, read by those who wrote them."""
    compared = 0
    for name in intercode.databases:
        with server.open(name) as session, administration(server.address) as cursor:
            for table in read_database(intercode.image(name)).tables:
                order = ", ".join(quoted(column.name) for column in table.columns)
                theirs, ours = (
                    f"SELECT * FROM {quoted(schema)}.{quoted(table.name)} ORDER BY {order}"
                    for schema in (name, server._loaded[name])
                )
                cursor.execute(theirs)
                expected = cursor.fetchall()
                cursor.execute(ours)
                assert cursor.fetchall() == expected, (name, table.name)
                loaded = session.execute(f"SELECT * FROM {quoted(table.name)}").rows
                for got, kept in zip(in_order(loaded), in_order(table.rows), strict=True):
                    assert same_row(got, kept), (name, table.name)
                    compared += 1
    assert compared == 6952


@pytest.mark.slow
def test_golds_that_are_kept_have_the_same_results_on_a_server(
    server: MySqlEngine, intercode: DumpCatalog
) -> None:
    """But for averages, which MySQL rounds, and for what is no SQL of MySQL's."""
    pytest.importorskip("sqlglot", reason="sqlglot is not installed")
    here = SqliteEngine(intercode)
    sessions = {name: (here.open(name), server.open(name)) for name in here.databases}
    differ, rejected = set(), set()
    for task in load("intercode_sql", intercode.path.parent):
        session, other = sessions[task.database]
        gold = gold_result(task.gold, lambda sql, session=session: rows_of(session.execute(sql)))
        result = other.execute(task.gold)
        if result.error is not None:
            rejected.add(int(task.task_id[-4:]))
        elif not equal(result.rows, gold):
            differ.add(int(task.task_id[-4:]))
    assert differ == {169, 486, 648, 894}
    assert rejected == {164, 178, 225, 531, 638, 802}
    for pair in sessions.values():
        for opened in pair:
            opened.close()


def rows_of(result: QueryResult) -> tuple[tuple[Value, ...], ...]:
    if result.error is not None:
        raise RuntimeError(result.error)
    return result.rows


def in_order(rows: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """By what the cells look like; numbers in one width."""
    return sorted(
        rows,
        key=lambda row: [
            f"{cell:020.6f}" if isinstance(cell, int | float) else str(cell) for cell in row
        ],
    )


def test_the_collation_orders_the_published_texts_consistently(intercode: DumpCatalog) -> None:
    """Indices were built with it: a search through one finds what a scan finds."""
    for name in ("world_1", "flight_2"):
        with SqliteEngine(intercode).open(name) as session:
            tables = read_database(intercode.image(name)).tables
            for table in tables:
                for key in table.keys:
                    column = key.columns[0]
                    values = session.execute(f'SELECT "{column}" FROM "{table.name}" LIMIT 20')
                    for (value,) in values.rows:
                        literal = repr(value) if isinstance(value, int) else quoted_text(value)
                        searched, scanned = (
                            session.execute(
                                f'SELECT COUNT(*) FROM "{table.name}" WHERE {sign}"{column}" '
                                f"= {literal}{collate}"
                            ).rows
                            for sign, collate in (("", ""), ("+", f" COLLATE {MYSQL_CI}"))
                        )
                        assert searched == scanned


def quoted_text(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"
