"""Databases for the tests of the engines: a small shop, InterCode's dump, a private MariaDB."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from budget_envs.sql.dump_catalog import DumpCatalog
from budget_envs.sql.mysql_engine import MySqlEngine
from budget_envs.sql.protocol import SqlEngine, SqlLimits
from budget_envs.sql.result_memory import ResultMemory
from budget_envs.sql.schema import Column, Database, Key, Table
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
from budget_envs.tasks.checksums import file_sha256

SHOP = Database(
    "shop",
    (
        Table(
            "customer",
            (
                Column("id", "int", nullable=False, auto_increment=True),
                Column("name", "varchar(40)", nullable=False, default="''"),
                Column("born", "date"),
                Column("credit", "double"),
            ),
            (Key("primary", ("id",)), Key("index", ("name",))),
            rows=(
                (1, "Ada", "1815-12-10", 2.5),
                (2, "Grace ", "1906-12-09", None),
                (3, "Zoë", None, -1.0),
                (4, "alan", "1912-06-23", 0.0),
            ),
        ),
        Table(
            "Orders",
            (
                Column("number", "int", nullable=False),
                Column("customer_id", "int"),
                Column("code", "char(5)"),
                Column("price", "decimal(8,2)", nullable=False, default="'0.50'"),
            ),
            (Key("primary", ("number",)), Key("unique", ("code",)), Key("index", ("customer_id",))),
            rows=tuple((n, 1 + n % 3, f"c{n:03}", n / 4) for n in range(1, 201)),
        ),
    ),
)


@pytest.fixture(autouse=True)
def every_statement_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is answered from memory, or a test that asks twice would see the first answer."""
    monkeypatch.setattr(ResultMemory, "recall", lambda _, __: None)


@pytest.fixture(scope="session")
def shop() -> SqliteImage:
    """Two tables, in types of MySQL."""
    return SqliteImage.from_database(SHOP)


@pytest.fixture(scope="session")
def small_limits() -> SqlLimits:
    """Limits that runaway queries reach soon."""
    return SqlLimits(time_s=1.0, max_work=200_000)


@pytest.fixture
def sqlite_engine(shop: SqliteImage, small_limits: SqlLimits) -> SqliteEngine:
    """SQLite, on the shop."""
    return SqliteEngine(Images([shop]), limits=small_limits)


@pytest.fixture
def mysql_engine(shop: SqliteImage, small_limits: SqlLimits, mysql_url: str) -> MySqlEngine:
    """MariaDB, on the shop."""
    return MySqlEngine(mysql_url, Images([shop]), limits=small_limits)


@pytest.fixture(params=["sqlite", "mysql"])
def engine(request: pytest.FixtureRequest) -> SqlEngine:
    """Each engine, on the shop: what both promise."""
    found: SqlEngine = request.getfixturevalue(f"{request.param}_engine")
    return found


@pytest.fixture(scope="session")
def intercode(tmp_path_factory: pytest.TempPathFactory) -> DumpCatalog:
    """The published dump of InterCode-SQL."""
    checkout = Path(__file__).resolve().parents[2]
    given = os.environ.get("BUDGET_ENVS_DATA")
    folder = Path(given).expanduser() if given else checkout.parent / "shared" / "data"
    dump = folder / "intercode_sql" / "ic_spider_dbs.sql"
    if not dump.is_file():
        pytest.skip("no benchmark files: set BUDGET_ENVS_DATA to a folder that has them")
    return DumpCatalog(dump, file_sha256(dump), tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="session")
def mysql_url() -> Iterator[str]:
    """The URL of a MariaDB server that lives as long as the tests, or a skip."""
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    for program in ("mariadbd", "mariadb-install-db"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (package mariadb-server)")
    # Not a folder of pytest's: those are closed to the user that the server runs as, and their
    # paths may be longer than a socket's can be.
    folder = Path(tempfile.mkdtemp(prefix="budget-envs-mariadb-"))
    try:
        yield from _served(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _served(folder: Path) -> Iterator[str]:
    user = []
    if os.geteuid() == 0:
        user = ["--user=mysql"]
        shutil.chown(folder, "mysql")
    subprocess.run(
        [
            "mariadb-install-db",
            "--no-defaults",
            *user,
            f"--datadir={folder / 'data'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ],
        check=True,
        capture_output=True,
    )
    socket = folder / "server.sock"
    server = subprocess.Popen(
        [
            "mariadbd",
            "--no-defaults",
            *user,
            f"--datadir={folder / 'data'}",
            f"--socket={socket}",
            f"--pid-file={folder / 'server.pid'}",
            f"--log-error={folder / 'error.log'}",
            "--skip-networking",
            "--lower-case-table-names=1",
            "--skip-log-bin",
            "--performance-schema=0",
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=16M",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-doublewrite=0",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        give_up = time.monotonic() + 60
        while not socket.exists():
            if server.poll() is not None or time.monotonic() > give_up:
                log = (folder / "error.log").read_text(errors="replace")
                raise RuntimeError(f"MariaDB did not start:\n{log[-2000:]}")
            time.sleep(0.02)
        yield f"mysql+unix://root@{socket}"
    finally:
        server.terminate()
        server.wait(timeout=30)
