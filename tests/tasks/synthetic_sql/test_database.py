import re
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from budget_envs.errors import OptionError
from budget_envs.tasks.synthetic_sql.columns import Role
from budget_envs.tasks.synthetic_sql.database import database, literal
from budget_envs.tasks.synthetic_sql.schemas import SCHEMAS, SCHEMAS_OF

NAMES = [f"{schema}_{number}" for schema in SCHEMAS for number in (0, 3, 8)]

# Reserved in MySQL 8.0 or MariaDB 10.11 and short enough to be tempting as a name.
RESERVED = """
    add all alter analyze and as asc before between both by call cascade case change character
    check collate column condition constraint continue convert create cross cube current_date
    current_time current_user cursor database databases day_hour dec decimal declare default delayed
    delete dense_rank desc describe distinct div double drop dual each else empty enclosed escaped
    except exists exit explain false fetch first_value float for force foreign from fulltext
    function generated get grant group grouping groups having high_priority if ignore in index
    infile inner inout insert int integer intersect interval into is iterate join json_table key
    keys kill lag last_value lateral lead leading leave left like limit linear lines load lock long
    loop match maxvalue mod modifies natural not nth_value ntile null numeric of offset on optimize
    option or order out outer over partition percent_rank precision primary procedure purge range
    rank read reads real recursive references release rename repeat replace require resignal
    restrict return returning revoke right rlike row row_number rows schema schemas select
    separator set show signal smallint spatial specific sql ssl starting stored system table
    terminated then to trailing trigger true undo union unique unlock unsigned update usage use
    using values varchar varying virtual when where while window with write xor zerofill
"""


@pytest.mark.parametrize("name", NAMES)
def test_statements_build_the_rows_and_keep_all_keys(name):
    base = database(name)
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA foreign_keys = ON")
    for statement in base.statements:
        connection.execute(statement)
    for table in base.schema.tables:
        rows = connection.execute(f"SELECT * FROM {table.name}").fetchall()
        assert tuple(rows) == base.rows[table.name]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


@pytest.mark.parametrize("name", NAMES)
def test_image_is_what_the_statements_build(name):
    base = database(name)
    with base.connect() as connection:
        for table in base.schema.tables:
            rows = connection.execute(f"SELECT * FROM {table.name}").fetchall()
            assert tuple(rows) == base.rows[table.name]


@pytest.mark.parametrize("name", NAMES)
def test_values_have_the_type_of_their_column(name):
    types = {Role.REAL: float, Role.WHOLE: int, Role.KEY: int, Role.REFERENCE: int}
    base = database(name)
    for table in base.schema.tables:
        for column in table.columns:
            for value in base.values(table, column):
                assert type(value) is types.get(column.role, str)


@pytest.mark.parametrize("name", NAMES)
def test_databases_have_nulls_duplicates_ties_and_rows_without_children(name):
    base = database(name)
    nulls = ties = childless = 0
    for table in base.schema.tables:
        for column in table.columns:
            values = base.values(table, column)
            nulls += len(values) < len(base.rows[table.name])
            ties += column.is_measure and len(set(values)) < len(values)
            if column.role is Role.CATEGORY:
                assert max(Counter(values).values()) > 1
    for relation in base.schema.relations:
        keys = {row[0] for row in base.rows[relation.parent.name]}
        childless += bool(keys - set(base.values(relation.child, relation.column)))
    assert nulls >= 1
    assert ties >= 3
    assert childless == len(base.schema.relations)


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_labels_are_unique_also_without_regard_to_case(name):
    base = database(name)
    for table in base.schema.tables:
        for column in (table.key, table.label):
            values = [str(value).lower() for value in base.values(table, column)]
            assert len(set(values)) == len(values) == len(base.rows[table.name])


@pytest.mark.parametrize("name", NAMES)
def test_two_references_of_one_row_to_one_table_differ(name):
    base = database(name)
    for table in base.schema.tables:
        columns = table.with_role(Role.REFERENCE)
        for row in base.rows[table.name]:
            targets = [(c.target, row[table.columns.index(c)]) for c in columns]
            assert len(set(targets)) == len(targets)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_text_sorts_alike_with_and_without_regard_to_case(schema):
    base = database(f"{schema.name}_0")
    for table in schema.tables:
        for column in table.columns:
            if column.is_text:
                texts = [str(value) for value in base.values(table, column)]
                assert sorted(texts) == sorted(texts, key=str.lower)
                assert all(text.isascii() and text == text.strip() for text in texts)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_sums_of_reals_are_exact_whatever_the_order(schema):
    base = database(f"{schema.name}_0")
    for table in schema.tables:
        for column in table.with_role(Role.REAL):
            values = base.values(table, column)
            assert sum(values) == sum(reversed(values)) == sum(sorted(values))
            assert all((value * 4).is_integer() for value in values)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_schema_has_three_to_five_tables_and_all_that_templates_need(schema):
    assert 3 <= len(schema.tables) <= 5
    assert any(len(table.with_role(Role.REFERENCE)) >= 2 for table in schema.tables)
    assert any(column.nullable for table in schema.tables for column in table.columns)
    assert any(table.person for table in schema.tables) or schema.name == "flights"
    assert sum(bool(table.reals and table.categories) for table in schema.tables) >= 1


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_names_are_not_reserved_words(schema):
    for table in schema.tables:
        names = {table.name, *(column.name for column in table.columns)}
        assert not names & set(RESERVED.split())
        assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in names)
        assert len(names) == len(table.columns) + 1


def test_there_are_eleven_schemas_and_no_two_share_a_set_of_tables():
    assert len(SCHEMAS) == 11
    tables = [table.name for schema in SCHEMAS.values() for table in schema.tables]
    assert len(set(tables)) == len(tables)


def test_each_schema_belongs_to_one_split():
    assert sorted(SCHEMAS_OF) == ["test", "train", "validation"]
    assert sum(map(len, SCHEMAS_OF.values())) == len(SCHEMAS)


def test_databases_of_a_schema_differ():
    statements = {database(f"library_{number}").statements[-1] for number in range(12)}
    assert len(statements) == 12


def test_database_is_a_function_of_its_name():
    first = database("museum_5")
    database.cache_clear()
    assert database("museum_5") == first


def test_copies_are_independent_and_work_in_threads():
    base = database("shop_1")

    def delete_and_count(_):
        with base.connect() as connection:
            before = connection.execute("SELECT COUNT(*) FROM purchases").fetchone()
            connection.execute("DELETE FROM purchases")
            return before

    with ThreadPoolExecutor(4) as pool:
        counts = set(pool.map(delete_and_count, range(16)))
    assert counts == {(len(base.rows["purchases"]),)}


def test_numbers_of_databases_have_no_end():
    assert database("farm_123456789").name == "farm_123456789"


@pytest.mark.parametrize(
    "name", ["", "library", "library_", "library_-1", "library_01", "library_1\n", "shops_1",
             "Library_1", "library_x", "library_٣"],
)  # fmt: skip
def test_unknown_database_is_refused(name):
    with pytest.raises(OptionError, match="Expected a database such as 'library_3'"):
        database(name)


def test_nearest_database_is_suggested():
    with pytest.raises(OptionError, match="Did you mean 'library_0'"):
        database("libary_0")


@pytest.mark.parametrize(
    ("value", "sql"),
    [(None, "NULL"), (3, "3"), (2.5, "2.5"), ("a", "'a'"), ("it's", "'it''s'")],
)
def test_literals_are_sql(value, sql):
    assert literal(value) == sql
