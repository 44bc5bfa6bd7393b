from __future__ import annotations

import gc
import pickle
import sys
import warnings
from pathlib import Path

import pytest

from budget_envs.errors import DependencyNotInstalled, OptionError
from budget_envs.sql.mysql_address import MySqlAddress
from budget_envs.sql.protocol import SqlEngineError


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mysql://db.example", MySqlAddress("root", "", host="db.example")),
        ("mysql://me:s%40crt@db:3307/", MySqlAddress("me", "s@crt", host="db", port=3307)),
        ("mysql+unix:///run/my.sock", MySqlAddress("root", "", socket="/run/my.sock")),
        ("mysql+unix://me:x@/a%20b.sock", MySqlAddress("me", "x", socket="/a b.sock")),
    ],
)
def test_a_url_is_read(url: str, address: MySqlAddress) -> None:
    assert MySqlAddress.parse(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "db.example",
        "mysql://",
        "mysql://db:port",
        "mysql://db/some_database",
        "postgres://db",
        "mysql+unix://host/run/my.sock",
        "mysql+unix://root@",
        "mysql://me:secret@db:99999",
    ],
)
def test_what_is_no_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(OptionError, match=r"given as 'mysql://user:password@host:port'") as caught:
        MySqlAddress.parse(url)
    assert "secret" not in str(caught.value)


def test_a_password_stays_out_of_repr() -> None:
    assert "secret" not in repr(MySqlAddress("me", "secret", host="db"))


def test_accounts_have_passwords_that_follow_from_the_administrators() -> None:
    address = MySqlAddress("root", "a", host="db")
    one, two = address.as_user("one"), address.as_user("two")
    assert (one.user, one.host) == ("one", "db")
    assert len({one.password, two.password, "a"}) == 3
    assert address.as_user("one") == one
    assert MySqlAddress("root", "b", host="db").as_user("one").password != one.password


def test_accounts_are_for_connections_of_the_same_kind() -> None:
    assert MySqlAddress("root", "", socket="/x").account_host == "localhost"
    assert MySqlAddress("root", "", host="db").account_host == "%"


def test_an_address_survives_pickling() -> None:
    address = MySqlAddress("root", "a", socket="/x")
    assert pickle.loads(pickle.dumps(address)) == address


def test_a_server_that_is_not_there_is_an_engine_error(tmp_path: Path) -> None:
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # PyMySQL leaves its socket to the garbage
        with pytest.raises(SqlEngineError, match="cannot be reached") as caught:
            MySqlAddress("root", "secret", socket=str(tmp_path / "no.sock")).connect()
        assert "secret" not in str(caught.value)
        del caught
        gc.collect()


def test_a_missing_driver_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "budget-envs\[sql\]"'):
        MySqlAddress("root", "", host="db").connect()
