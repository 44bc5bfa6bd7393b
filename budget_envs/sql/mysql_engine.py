"""MySQL or MariaDB as an engine: a real server, by URL.

A read-only session is a connection of its own, of an account that may read one database and no
other. A writable session is a copy of the database on the server, and an account for it: sessions
in transactions on one database would wait for each other's locks, and MySQL commits at every
``CREATE TABLE``. Such a reset takes 50 to 100 ms; SQLite's takes microseconds.
"""

from __future__ import annotations

import re
import uuid
from typing import Literal

from budget_envs.errors import OptionError
from budget_envs.sql.mysql_address import MySqlAddress
from budget_envs.sql.mysql_loading import administration, drop_schema, ensure_loaded, make_copy
from budget_envs.sql.mysql_session import MySqlSession
from budget_envs.sql.protocol import SqlLimits
from budget_envs.sql.sqlite_image import ImageCatalog

__all__ = ["MySqlEngine"]


class MySqlEngine:
    """Opens sessions on a MySQL or MariaDB server.

    Args:
        url: The server, with an account that may make databases and accounts; see `MySqlAddress`.
        catalog: The databases; each is loaded when it is first opened.
        limits: What one query may use.
        prefix: What the names of all databases and accounts that are made begin with.

    Raises:
        OptionError: If the URL or the prefix is not one.
    """

    dialect: Literal["mysql"] = "mysql"

    def __init__(
        self,
        url: str,
        catalog: ImageCatalog,
        *,
        limits: SqlLimits | None = None,
        prefix: str = "budget_envs_",
    ) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,14}", prefix):
            raise OptionError(
                "prefix is 1 to 15 lower-case letters, digits and underscores: account names "
                f"have 32 characters; got {prefix!r}."
            )
        self.address = MySqlAddress.parse(url)
        self.catalog = catalog
        self.limits = limits or SqlLimits()
        self.prefix = prefix
        self._loaded: dict[str, str] = {}

    @property
    def databases(self) -> tuple[str, ...]:
        """Names of the databases."""
        return self.catalog.databases

    def open(self, database: str, *, writable: bool = False) -> MySqlSession:
        """Begin a session on a database, or on a fresh copy of it if writable.

        Args:
            database: One of ``databases``.
            writable: Allow INSERT, UPDATE, DELETE, CREATE TABLE and DROP TABLE.

        Raises:
            OptionError: If there is no such database.
            SqlEngineError: If the server cannot be reached or refuses.
        """
        image = self.catalog.image(database)
        if database not in self._loaded:
            self._loaded[database] = ensure_loaded(self.address, self.prefix, image)
        schema = self._loaded[database]
        if not writable:
            return MySqlSession(self.address, schema, image, self.limits)
        copy = f"{self.prefix}w{uuid.uuid4().hex[:15]}"
        make_copy(self.address, schema, copy)
        return MySqlSession(self.address, copy, image, self.limits, copy_of=schema)

    def close(self) -> None:
        """Do nothing: connections belong to sessions, and the databases stay for the next run."""

    def remove(self) -> None:
        """Drop every database and account that has the prefix, of this and of other processes."""
        with administration(self.address) as cursor:
            cursor.execute("SELECT schema_name FROM information_schema.schemata")
            ours = [name for (name,) in cursor.fetchall() if name.startswith(self.prefix)]
        for schema in ours:
            drop_schema(self.address, schema)
        self._loaded.clear()
