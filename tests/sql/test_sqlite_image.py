from __future__ import annotations

import pickle
import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import DataError, OptionError
from budget_envs.sql.collation import MYSQL_CI, compare
from budget_envs.sql.schema import Column, Database, ForeignKey, Key, Table
from budget_envs.sql.sqlite_image import Images, SqliteImage, declared_type, quoted_name
from budget_envs.sql.sqlite_schema import read_database, read_table, table_names

INT_63 = st.integers(-(2**63), 2**63 - 1)
TYPES = {
    "int": INT_63,
    "bigint unsigned": INT_63,
    "double": st.floats(allow_nan=False),
    "varchar(20)": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    "text binary": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    "enum('a','it''s')": st.sampled_from(["a", "it's"]),
    "datetime": st.datetimes().map(lambda time: f"{time:%Y-%m-%d %H:%M:%S}"),
    "date": st.dates().map(str),
    "blob": st.binary(max_size=9),
    "varbinary(9)": st.binary(max_size=9),
}
NAMES = st.text(st.sampled_from('aB_ "`1é'), min_size=1, max_size=6)


@st.composite
def tables(draw: st.DrawFn, name: str) -> Table:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower))
    columns = [Column(n, draw(st.sampled_from(sorted(TYPES)))) for n in names]
    row = st.tuples(*(st.none() | TYPES[column.type] for column in columns))
    rows = draw(st.lists(row, max_size=4))
    indices = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    keys = tuple(Key("index", (index,)) for index in indices)
    return Table(name, tuple(columns), keys, rows=tuple(rows))


@given(st.data())
def test_a_database_is_read_back_from_its_image(data: st.DataObject) -> None:
    names = data.draw(st.lists(NAMES, max_size=3, unique_by=str.lower))
    database = Database("d", tuple(data.draw(tables(name)) for name in names))
    assert read_database(SqliteImage.from_database(database)) == database


def test_keys_defaults_and_references_are_read_back() -> None:
    table = Table(
        "t",
        (
            Column("id", "int", nullable=False, auto_increment=True),
            Column("code", "varchar(9)", nullable=False, default="'it''s'"),
            Column("a", "int", default="0"),
            Column("at", "timestamp", nullable=False, default="CURRENT_TIMESTAMP"),
        ),
        (
            Key("primary", ("id",)),
            Key("unique", ("code",)),
            Key("index", ("a", "code")),
            Key("unique", ("a", "at")),
        ),
        (ForeignKey(("a",), "u", ("x",)), ForeignKey(("a", "code"), "v", ("y", "z"))),
        ((1, "x", 1, "2020-01-01 00:00:00"),),
    )
    other = Table(
        "u",
        (Column("x", "char(3)", nullable=False), Column("y", "int", nullable=False)),
        (Key("primary", ("y", "x")),),
    )
    database = Database("d", (table, other))
    assert read_database(SqliteImage.from_database(database)) == database


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("int", "7", "integer"),
        ("decimal(9,2)", 1.5, "real"),
        ("float(3,1)", 2, "real"),
        ("double", 2, "real"),
        ("varchar(3)", 7, "text"),
        ("date", 2018, "text"),  # SQLite alone would take a date for a number
        ("datetime", "2018", "text"),
        ("time", "1", "text"),
        ("enum('1','2')", 1, "text"),
        ("json", "1", "text"),
        ("varbinary(3)", b"1", "blob"),
    ],
)
def test_values_are_stored_as_their_mysql_type_says(kind: str, value: object, stored: str) -> None:
    table = Table("t", (Column("a", kind),), rows=((value,),))  # type: ignore[arg-type]
    connection = opened(SqliteImage.from_database(Database("d", (table,))))
    assert connection.execute("SELECT typeof(a) FROM t").fetchone() == (stored,)
    connection.close()


def opened(image: SqliteImage) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.create_collation(MYSQL_CI, compare)
    connection.deserialize(image.content)
    return connection


@pytest.mark.parametrize(
    ("mysql", "sqlite"),
    [
        ("int", "int"),
        ("varchar(20)", "varchar(20)"),
        ("datetime", "datetime text"),
        ("bit(1)", '"bit(1) blob"'),
        ("enum('a')", "\"enum('a') text\""),
    ],
)
def test_declared_types(mysql: str, sqlite: str) -> None:
    assert declared_type(mysql) == sqlite


def test_text_is_compared_as_in_mysql_unless_it_is_binary() -> None:
    table = Table("t", (Column("a", "char(9)"), Column("b", "char(9) binary")), rows=(("X", "X"),))
    connection = opened(SqliteImage.from_database(Database("d", (table,))))
    query = "SELECT a = 'x ', b = 'x', b = 'X ', b = 'X' FROM t"
    assert connection.execute(query).fetchone() == (1, 0, 0, 1)
    connection.close()


def test_an_auto_increment_key_counts_on() -> None:
    table = Table(
        "t",
        (Column("id", "int", nullable=False, auto_increment=True), Column("a", "int")),
        (Key("primary", ("id",)),),
        rows=((7, 1),),
    )
    connection = opened(SqliteImage.from_database(Database("d", (table,))))
    connection.execute("INSERT INTO t (a) VALUES (2)")
    assert connection.execute("SELECT max(id) FROM t").fetchone() == (8,)
    connection.close()


def test_an_image_of_a_script() -> None:
    image = SqliteImage.from_script(
        "d", "CREATE TABLE t (a INTEGER PRIMARY KEY, b REAL, c TEXT COLLATE MYSQL_CI);"
    )
    (table,) = read_database(image).tables
    assert [column.type for column in table.columns] == ["int", "double", "text"]
    assert table.columns[0].auto_increment
    assert table.primary_key == ("a",)


def test_images_of_the_same_statements_are_the_same_bytes(shop: SqliteImage) -> None:
    again = SqliteImage.from_database(read_database(shop))
    assert (again.content, again.sha256) == (shop.content, shop.sha256)


def test_rows_that_break_a_key_are_an_error() -> None:
    key = (Key("primary", ("a",)),)
    table = Table("t", (Column("a", "char(3)", nullable=False),), key, rows=(("x",), ("X",)))
    with pytest.raises(DataError, match="'d' cannot be made: UNIQUE"):
        SqliteImage.from_database(Database("d", (table,)))


def test_bytes_that_are_no_database_are_refused() -> None:
    with pytest.raises(DataError, match="bytes of an SQLite file; it begins with b'hello'"):
        SqliteImage("d", b"hello")


def test_a_damaged_database_is_an_error_when_it_is_read(shop: SqliteImage) -> None:
    damaged = replace(shop, content=shop.content[:100] + b"\xff" * (len(shop.content) - 100))
    with pytest.raises(DataError, match="'shop' cannot be read"):
        read_database(damaged)


def test_content_stays_out_of_repr(shop: SqliteImage) -> None:
    assert repr(shop) == "SqliteImage(name='shop')"


def test_a_catalogue_finds_images_by_name(shop: SqliteImage) -> None:
    images = Images([shop])
    assert images.databases == ("shop",)
    assert images.image("shop") is shop
    assert pickle.loads(pickle.dumps(images)).image("shop") == shop
    with pytest.raises(OptionError, match=r"no database 'shpo'\. Did you mean 'shop'\?"):
        images.image("shpo")


def test_tables_are_named_in_order_and_found_in_any_case(shop: SqliteImage) -> None:
    connection = opened(shop)
    assert table_names(connection) == ["Orders", "customer"]
    found = read_table(connection, "ORDERS")
    assert found is not None
    assert found.name == "Orders"
    assert read_table(connection, "sqlite_master") is None
    connection.close()


def test_names_are_quoted_whatever_they_hold() -> None:
    assert quoted_name('a"b') == '"a""b"'
