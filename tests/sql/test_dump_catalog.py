from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from budget_envs.errors import DataError, OptionError
from budget_envs.sql import dump_catalog
from budget_envs.sql.dump_catalog import CONVERTER_VERSION, DumpCatalog
from budget_envs.sql.sqlite_engine import SqliteEngine

DUMP = """
USE `one`; CREATE TABLE `t` (`a` int); INSERT INTO `t` VALUES (1),(2);
USE `two`; CREATE TABLE `t` (`a` int);
"""
SHA256 = "0" * 64


@pytest.fixture(autouse=True)
def nothing_in_memory() -> Iterator[None]:
    dump_catalog._images.cache_clear()
    yield
    dump_catalog._images.cache_clear()


@pytest.fixture
def catalog(tmp_path: Path) -> DumpCatalog:
    path = tmp_path / "dump.sql"
    path.write_text(DUMP)
    return DumpCatalog(path, SHA256, tmp_path / "cache")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The dumps that were read."""
    paths: list[Path] = []
    plain = dump_catalog.read_dump_file

    def counted(path: Path) -> object:
        paths.append(path)
        return plain(path)

    monkeypatch.setattr(dump_catalog, "read_dump_file", counted)
    return paths


def kept(catalog: DumpCatalog) -> Path:
    return catalog.cache / SHA256 / f"sqlite-images-{CONVERTER_VERSION}.zip"


def test_the_databases_of_a_dump(catalog: DumpCatalog) -> None:
    assert catalog.databases == ("one", "two")
    with SqliteEngine(catalog).open("one") as session:
        assert session.execute("SELECT * FROM t").rows == ((1,), (2,))


def test_an_unknown_database_gets_the_nearest(catalog: DumpCatalog) -> None:
    with pytest.raises(OptionError, match=r"'tow' in dump\.sql\. Did you mean 'two'\?"):
        catalog.image("tow")


def test_a_dump_is_converted_once_per_process_and_once_on_disk(
    catalog: DumpCatalog, reads: list[Path]
) -> None:
    images = [catalog.image("one"), pickle.loads(pickle.dumps(catalog)).image("one")]
    assert images[0] is images[1]
    dump_catalog._images.cache_clear()
    catalog.path.unlink()
    assert catalog.image("one") == images[0]
    assert reads == [catalog.path]


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_a_damaged_cache_is_made_anew(
    catalog: DumpCatalog, reads: list[Path], damage: bytes | None
) -> None:
    image = catalog.image("one")
    content = bytearray(kept(catalog).read_bytes())
    content[len(content) // 4] ^= 0xFF
    kept(catalog).write_bytes(bytes(content) if damage is None else damage)
    dump_catalog._images.cache_clear()
    assert catalog.image("one") == image
    assert len(reads) == 2
    dump_catalog._images.cache_clear()
    assert catalog.image("one") == image
    assert len(reads) == 2


def test_a_cache_that_cannot_be_written_is_no_error(catalog: DumpCatalog) -> None:
    catalog.cache.write_text("a file where the folder should be")
    assert catalog.databases == ("one", "two")


def test_nothing_half_written_is_left(
    catalog: DumpCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(dump_catalog.os, "replace", fail)
    assert catalog.databases == ("one", "two")
    assert list((catalog.cache / SHA256).iterdir()) == []


def test_a_dump_that_cannot_be_read_leaves_nothing_in_the_cache(catalog: DumpCatalog) -> None:
    catalog.path.write_text("USE one; CREATE TABLE t (a int); INSERT INTO t VALUES (1, 2);")
    with pytest.raises(DataError, match="has 1 values"):
        catalog.image("one")
    assert not catalog.cache.exists()
