import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory):
    """A cursor of a private MariaDB server with strict settings."""
    pymysql = pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    server, installer = shutil.which("mariadbd"), shutil.which("mariadb-install-db")
    if not server or not installer:
        pytest.skip("MariaDB is not installed")
    folder = tmp_path_factory.mktemp("mariadb")
    user = ["--user=root"] if Path("/proc/self").stat().st_uid == 0 else []
    common = ["--no-defaults", f"--datadir={folder / 'data'}", *user]
    subprocess.run(
        [installer, *common, "--auth-root-authentication-method=normal", "--skip-test-db"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    path = folder / "socket"
    settings = [
        "--skip-networking", f"--socket={path}", f"--pid-file={folder / 'pid'}",
        f"--log-error={folder / 'log'}", "--skip-log-bin", "--innodb-buffer-pool-size=32M",
        "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0",
    ]  # fmt: skip
    process = subprocess.Popen([server, *common, *settings], stderr=subprocess.DEVNULL)
    try:
        cursor = _connect(pymysql, path, process).cursor()
        cursor.execute("SET sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY'")
        yield cursor
        cursor.connection.close()
    finally:
        process.terminate()
        process.wait(timeout=60)


def _connect(pymysql, path, process):
    deadline = time.monotonic() + 60
    while not _answers(path):
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"MariaDB did not start; see {path.with_name('log')}")
        time.sleep(0.05)
    return pymysql.connect(unix_socket=str(path), user="root", ssl_disabled=True, autocommit=True)


def _answers(path):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
