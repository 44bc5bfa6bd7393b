from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import DataError
from budget_envs.sql.mysqldump import read_dump, read_dump_file
from budget_envs.sql.schema import Column, Database, ForeignKey, Key, Table

HEAD = "USE `d`;\nCREATE TABLE `t` (`a` int, `b` text);\n"


def read(text: str, name: str = "") -> list[Database]:
    return list(read_dump(io.StringIO(text, newline=""), name))


def rows(values: str) -> tuple[tuple[Any, ...], ...]:
    (database,) = read(f"{HEAD}INSERT INTO `t` VALUES {values};")
    return database.tables[0].rows


def columns(definition: str) -> Table:
    (database,) = read(f"CREATE TABLE `t` (\n{definition}\n) ENGINE=InnoDB;", "d")
    return database.tables[0]


def test_a_whole_dump() -> None:
    dump = """
    -- TEST USER
    CREATE USER 'admin'@'%' IDENTIFIED BY 'admin';
    GRANT ALL PRIVILEGES ON *.* TO 'admin'@'%';
    CREATE DATABASE IF NOT EXISTS `one` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
    USE `one`;
    /*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
    DROP TABLE IF EXISTS `t`;
    CREATE TABLE `t` (
      `id` int NOT NULL AUTO_INCREMENT,
      `who` varchar(20) COLLATE utf8mb4_general_ci NOT NULL DEFAULT '',
      `at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
      `f` float(3,1) DEFAULT NULL COMMENT 'a, b) c',
      PRIMARY KEY (`id`,`who`(5) DESC),
      UNIQUE KEY `u` (`who`) USING BTREE,
      KEY `k` (`f`) COMMENT 'k(',
      CONSTRAINT `c` FOREIGN KEY (`id`) REFERENCES `u` (`x`) ON DELETE CASCADE,
      CONSTRAINT `positive` CHECK ((`f` > 0))
    ) ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT CHARSET=utf8mb4;
    LOCK TABLES `t` WRITE;
    INSERT INTO `t` VALUES (1,'a','2020-01-01 00:00:00',1.5),(2,'b;c','x',NULL);
    INSERT INTO `t` (`who`,`id`,`f`,`at`) VALUES ('d',3,2,'y');
    UNLOCK TABLES;
    CREATE DATABASE `two`;
    USE `two`;
    CREATE TABLE IF NOT EXISTS v (w double);
    """
    one, two = read(dump)
    assert one == Database(
        "one",
        (
            Table(
                "t",
                (
                    Column("id", "int", nullable=False, auto_increment=True),
                    Column("who", "varchar(20)", nullable=False, default="''"),
                    Column("at", "timestamp", nullable=False, default="CURRENT_TIMESTAMP"),
                    Column("f", "float(3,1)"),
                ),
                (Key("primary", ("id", "who")), Key("unique", ("who",)), Key("index", ("f",))),
                (ForeignKey(("id",), "u", ("x",)),),
                (
                    (1, "a", "2020-01-01 00:00:00", 1.5),
                    (2, "b;c", "x", None),
                    (3, "d", "y", 2),
                ),
            ),
        ),
    )
    assert two == Database("two", (Table("v", (Column("w", "double"),)),))


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("NULL", None),
        ("null", None),
        ("-7", -7),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("'7'", "7"),
        (r"'a\'b\nc'", "a'b\nc"),
        ("_utf8mb4'é'", "é"),
        ("_binary 'ab\\0'", b"ab\0"),
        ("_binary 0xFF", b"\xff"),
        ("0x0A1", b"\x00\xa1"),
        ("x'ff00'", b"\xff\x00"),
        ("b'101'", b"\x05"),
        ("b'100000001'", b"\x01\x01"),
    ],
)
def test_a_value(sql: str, value: Any) -> None:
    assert rows(f"(1,{sql})") == ((1, value),)


VALUES = st.none() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=20)


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{text}'"
    return str(value)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=8))
def test_what_is_written_is_read_back(table: list[tuple[Any, Any]]) -> None:
    values = ",".join(f"({literal(a)},{literal(b)})" for a, b in table)
    assert (rows(values) if table else ()) == tuple(table)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_back(number: float) -> None:
    assert rows(f"(1,{number!r})") == ((1, number),)


def test_bytes_that_are_no_text_survive_in_binary_literals_only(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    path.write_bytes(HEAD.encode() + b"INSERT INTO `t` VALUES (1,_binary '\xff\xfe\\0');")
    (database,) = read_dump_file(path)
    assert database.tables[0].rows == ((1, b"\xff\xfe\0"),)
    path.write_bytes(HEAD.encode() + b"INSERT INTO `t` VALUES (1,'\xff');")
    with pytest.raises(DataError, match="text is UTF-8"):
        read_dump_file(path)


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("`a` int unsigned zerofill NOT NULL", "int unsigned zerofill"),
        ("`a` decimal(19,4) DEFAULT NULL", "decimal(19,4)"),
        ("`a` enum('x','it''s') DEFAULT 'x'", "enum('x','it''s')"),
        ("`a` DOUBLE PRECISION", "double precision"),
        ("`a` text COLLATE utf8mb4_bin", "text binary"),
        ("`a` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "varchar(9)"),
    ],
)
def test_a_type(definition: str, kind: str) -> None:
    assert columns(definition).columns[0].type == kind


@pytest.mark.parametrize(
    ("definition", "default"),
    [
        ("`a` int DEFAULT '0'", "'0'"),
        ("`a` int DEFAULT 5", "5"),
        ("`a` text DEFAULT 'it\\'s'", "'it''s'"),
        ("`a` int DEFAULT NULL", None),
        ("`a` int", None),
        ("`a` json DEFAULT (json_object(1, (2)))", None),
    ],
)
def test_a_default(definition: str, default: str | None) -> None:
    assert columns(definition).columns[0].default == default


def test_columns_with_names_of_keywords_need_backticks_only() -> None:
    table = columns("`key` int, `check` int, `primary` int, PRIMARY KEY (`key`)")
    assert [column.name for column in table.columns] == ["key", "check", "primary"]


def test_backticked_key_is_a_column_and_bare_key_is_an_index() -> None:
    assert columns("`key` int,\nKEY (`key`)").keys == (Key("index", ("key",)),)


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ("CREATE TABLE t (a int);", "USE before its first table"),
        (f"{HEAD}INSERT INTO `u` VALUES (1);", "fills the table 'u' before"),
        (f"{HEAD}INSERT INTO `t` VALUES (1);", "has 2 values; the dump has 1"),
        (f"{HEAD}INSERT INTO `t` (`a`) VALUES (1);", r"have the columns \['a', 'b'\]"),
        (f"{HEAD}INSERT INTO `t` SELECT 1, 2;", "where 'values' belongs"),
        (f"{HEAD}INSERT INTO `t` VALUES (1,NOW());", "'NOW' where a value belongs"),
        (f"{HEAD}INSERT INTO `t` VALUES (1,", "ends within a statement"),
        ("USE d; CREATE TABLE t (a int AS (b + 1));", "'a' is generated"),
        ("USE d; CREATE TABLE t (a);", "column without a type"),
        ("USE d; CREATE TABLE t (a int b", "ends within a statement"),
        ("USE 5;", "where a name belongs"),
    ],
)
def test_what_cannot_be_read_is_an_error(dump: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(dump)


def test_databases_come_one_by_one() -> None:
    stream = io.StringIO(HEAD + "USE `e`; " + "CREATE TABLE t (a int); " * 20_000)
    assert next(read_dump(stream)).name == "d"
    assert stream.tell() < 200_000
