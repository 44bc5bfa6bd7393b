"""Bringing databases to a MySQL server, once, and making accounts that see one database each.

A database is loaded from the same image that SQLite uses, under a name that holds the image's
checksum: another process that needs it finds it there. Foreign keys are not made: they would only
matter to writes, and SQLite does not enforce them either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from budget_envs.errors import UnsupportedError, require
from budget_envs.sql.mysql_address import MySqlAddress
from budget_envs.sql.protocol import SqlEngineError
from budget_envs.sql.schema import Column, Database, Key, Table
from budget_envs.sql.sqlite_image import SqliteImage
from budget_envs.sql.sqlite_schema import read_database

__all__ = [
    "administration",
    "create_table",
    "drop_schema",
    "ensure_loaded",
    "make_copy",
    "quoted",
]

_LOCK_S = 120
_WRITER = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX"
_UNBOUNDED = ("text", "blob", "json")  # no defaults, and no keys on all of a value
_MADE_EXPLICIT = {  # types that SQLite images may use bare, and that mean too little in MySQL
    "": "text",
    "char": "varchar(255)",
    "varchar": "varchar(255)",
    "decimal": "double",
    "boolean": "tinyint(1)",
    "enum": "varchar(255)",
    "set": "varchar(255)",
}


def quoted(name: str) -> str:
    """A name as MySQL reads it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def administration(address: MySqlAddress) -> Iterator[Any]:
    """A cursor of the administrator's account.

    Raises:
        SqlEngineError: If the server cannot be reached or refuses a statement.
    """
    errors = require("pymysql", "sql").err
    connection = address.connect(sql_mode="NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION time_zone = '+00:00'")
            yield cursor
    except errors.MySQLError as error:
        raise SqlEngineError(
            f"The server refuses a statement of {address.user!r}, who must be allowed to make "
            f"databases and accounts: {error}."
        ) from error
    finally:
        connection.close()


def ensure_loaded(address: MySqlAddress, prefix: str, image: SqliteImage) -> str:
    """Load an image unless the server has it, and make the account that may read it.

    Args:
        address: With an account that may make databases and accounts.
        prefix: What the names of all databases and accounts of ours begin with.
        image: The database.

    Returns:
        The name of the database on the server, and of the account that may read it, and no other.

    Raises:
        SqlEngineError: If the server refuses.
        UnsupportedError: If the server tells ``Dogs`` from ``dogs``.
    """
    schema = f"{prefix}{image.sha256[:16]}"
    loaded = f"{quoted(prefix + 'catalog')}.loaded"
    with administration(address) as cursor:
        _check_name_case(cursor)
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {quoted(prefix + 'catalog')}")
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {loaded} (name varchar(64) PRIMARY KEY)")
        cursor.execute("SELECT GET_LOCK(%s, %s)", (schema, _LOCK_S))
        if cursor.fetchone() != (1,):
            raise SqlEngineError(f"Another process has been loading {schema} for {_LOCK_S} s.")
        # A database without its mark is one that a process began to load and did not finish.
        if not cursor.execute(f"SELECT name FROM {loaded} WHERE name = %s", (schema,)):
            _load(cursor, schema, read_database(image))
            _make_account(cursor, address, schema, "SELECT")
            cursor.execute(f"INSERT INTO {loaded} VALUES (%s)", (schema,))
    return schema


def _check_name_case(cursor: Any) -> None:
    cursor.execute("SELECT @@lower_case_table_names")
    if cursor.fetchone() == (0,):
        raise UnsupportedError(
            "Table names are compared without regard to case here, as in InterCode: one in six of "
            "its gold queries would fail on this server. Start it with --lower-case-table-names=1 "
            "(MySQL 8 takes it only when its data folder is made)."
        )


def _make_account(cursor: Any, address: MySqlAddress, schema: str, privileges: str) -> None:
    """Make the account named like a database, with these privileges on it and none elsewhere."""
    account = address.as_user(schema)
    who = (account.user, account.account_host)
    cursor.execute("CREATE USER IF NOT EXISTS %s@%s", who)
    cursor.execute("ALTER USER %s@%s IDENTIFIED BY %s", (*who, account.password))
    pattern = schema.replace("_", r"\_")  # a name in GRANT is a pattern
    cursor.execute(f"GRANT {privileges} ON {quoted(pattern)}.* TO %s@%s", who)


def drop_schema(address: MySqlAddress, schema: str) -> None:
    """Drop a database of ours and its account."""
    with administration(address) as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {quoted(schema)}")
        cursor.execute("DROP USER IF EXISTS %s@%s", (schema, address.account_host))


def make_copy(address: MySqlAddress, source: str, target: str) -> None:
    """Make or replace a copy of a database on the server, and the account that may use it."""
    with administration(address) as cursor:
        _create_database(cursor, target)
        cursor.execute(f"SHOW TABLES FROM {quoted(source)}")
        for (table,) in cursor.fetchall():
            here, there = (f"{quoted(schema)}.{quoted(table)}" for schema in (source, target))
            cursor.execute(f"CREATE TABLE {there} LIKE {here}")
            cursor.execute(f"INSERT INTO {there} SELECT * FROM {here}")
        _make_account(cursor, address, target, _WRITER)


def _create_database(cursor: Any, schema: str) -> None:
    cursor.execute(f"DROP DATABASE IF EXISTS {quoted(schema)}")
    cursor.execute(
        f"CREATE DATABASE {quoted(schema)} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    )


def _load(cursor: Any, schema: str, database: Database) -> None:
    _create_database(cursor, schema)
    cursor.execute(f"USE {quoted(schema)}")
    for table in database.tables:
        cursor.execute(create_table(table))
        if table.rows:
            marks = ", ".join(["%s"] * len(table.columns))
            cursor.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({marks})", table.rows)


def create_table(table: Table) -> str:
    """The statement that makes an empty table."""
    types = {column.name: _type(column) for column in table.columns}
    parts = [_column(column, types[column.name]) for column in table.columns]
    parts.extend(_key(key, types) for key in table.keys)
    return f"CREATE TABLE {quoted(table.name)} (\n  " + ",\n  ".join(parts) + "\n)"


def _type(column: Column) -> str:
    return _MADE_EXPLICIT.get(column.type, column.type)


def _column(column: Column, kind: str) -> str:
    parts = [quoted(column.name), kind]
    if not column.nullable:
        parts.append("NOT NULL")
    if column.default is not None and not _is_unbounded(kind):
        parts.append(f"DEFAULT {column.default}")
    elif column.nullable and kind.startswith("timestamp"):
        parts.append("NULL DEFAULT NULL")
    if column.auto_increment:
        parts.append("AUTO_INCREMENT")
    return " ".join(parts)


def _is_unbounded(kind: str) -> bool:
    return kind.split(" ")[0].endswith(_UNBOUNDED)


def _key(key: Key, types: dict[str, str]) -> str:
    words = {"primary": "PRIMARY KEY", "unique": "UNIQUE KEY", "index": "KEY"}[key.kind]
    columns = (
        quoted(name) + ("(255)" if _is_unbounded(types[name]) else "") for name in key.columns
    )
    return f"{words} ({', '.join(columns)})"
