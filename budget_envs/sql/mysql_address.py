"""Where a MySQL or MariaDB server is, from a URL, and how connections to it are opened."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from budget_envs.errors import OptionError, require
from budget_envs.sql.protocol import SqlEngineError

__all__ = ["MySqlAddress"]


@dataclass(frozen=True, slots=True)
class MySqlAddress:
    """A server and an account on it.

    Args:
        user: The account.
        password: Its password.
        host: Host name; empty for a socket.
        port: TCP port.
        socket: Path of a Unix socket; empty for TCP.
    """

    user: str
    password: str = field(repr=False)
    host: str = ""
    port: int = 3306
    socket: str = ""

    @classmethod
    def parse(cls, url: str) -> MySqlAddress:
        """Read a URL.

        Args:
            url: ``mysql://user:password@host:port`` or, for a server on this machine,
                ``mysql+unix://user:password@/path/to.sock``. The user is ``root`` and the
                password empty where they are left out.

        Raises:
            OptionError: If it is neither.
        """
        try:
            parts = urlsplit(url)
            user, password = unquote(parts.username or "root"), unquote(parts.password or "")
            if parts.scheme == "mysql" and parts.hostname and parts.path in ("", "/"):
                return cls(user, password, host=parts.hostname, port=parts.port or 3306)
            if parts.scheme == "mysql+unix" and not parts.hostname and len(parts.path) > 1:
                return cls(user, password, socket=unquote(parts.path))
        except ValueError:
            pass  # a port that is no number
        raise OptionError(
            "A MySQL server is given as 'mysql://user:password@host:port' or "
            f"'mysql+unix://user:password@/path/to.sock'; got {_without_password(url)!r}."
        )

    @property
    def account_host(self) -> str:
        """The host part of accounts that connect in the same way."""
        return "localhost" if self.socket else "%"

    def as_user(self, user: str) -> MySqlAddress:
        """The same server with an account of ours, whose password only this account can tell."""
        secret = hmac.new(self.password.encode(), user.encode(), hashlib.sha256)
        return replace(self, user=user, password=secret.hexdigest())

    def connect(self, database: str | None = None, **settings: Any) -> Any:
        """Open a PyMySQL connection in autocommit mode.

        Args:
            database: The database to use.
            **settings: Further arguments of ``pymysql.connect``.

        Raises:
            DependencyNotInstalled: If PyMySQL is missing.
            SqlEngineError: If the server does not answer or refuses the account.
        """
        pymysql = require("pymysql", "sql")
        place = (
            {"unix_socket": self.socket} if self.socket else {"host": self.host, "port": self.port}
        )
        try:
            return pymysql.connect(
                user=self.user,
                password=self.password,
                database=database,
                charset="utf8mb4",
                collation="utf8mb4_general_ci",
                autocommit=True,
                # A TLS context for each connection takes 25 ms; the rest of it, 0.3. Over TCP it
                # is needed: MySQL 8 takes a password in the clear over sockets only.
                ssl_disabled=bool(self.socket),
                connect_timeout=10,
                **place,
                **settings,
            )
        except pymysql.err.MySQLError as error:
            raise SqlEngineError(f"{self!r} cannot be reached: {error}.") from error


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return head.rpartition(":")[0] + ":..." + at + tail if ":" in head.partition("//")[2] else url
