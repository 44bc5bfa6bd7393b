from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import TaskDataUnavailable
from budget_envs.tasks import cache_folder, hub, load, locate
from budget_envs.tasks.registry import DatasetInfo, Hub

pytest.importorskip("pooch", reason="pooch is not installed")

COMMIT = "0123456" + "a" * 33
Register = Callable[..., DatasetInfo]


def body(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows).encode()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def pinned(register: Register, rows: list[dict[str, Any]]) -> Callable[[str], bytes]:
    """Register a set of one pinned file that a hub of the given kind has."""

    def add(kind: str) -> bytes:
        content = body(rows)
        file = {
            "role": "problems",
            "name": "tiny.json",
            "sha256": digest(content),
            "bytes": len(content),
        }
        source = {
            "kind": kind,
            "repo": "owner/name",
            "revision": "abcdef0",
            "paths": {"problems": "sub/remote file.json"},
        }
        register("tiny", files=[file], items=len(rows), sources=[source])
        return content

    return add


ADDRESSES = {
    "huggingface": "/datasets/owner/name/resolve/abcdef0/sub/remote%20file.json",
    "github": "/owner/name/abcdef0/sub/remote%20file.json",
}


@pytest.mark.parametrize("kind", ["huggingface", "github"])
def test_a_pinned_file_is_fetched_once_and_kept_under_its_checksum(
    kind: str, pinned: Callable[[str], bytes], hub_server: Any
) -> None:
    content = pinned(kind)
    hub_server.files[ADDRESSES[kind]] = content
    (file,) = locate("tiny")
    assert (file.source, file.pinned) == ("hub", True)
    assert file.path == cache_folder() / digest(content) / "tiny.json"
    assert file.path.read_bytes() == content
    assert locate("tiny")[0].source == "cache"
    assert hub_server.requests == [ADDRESSES[kind]]
    assert len(load("tiny")) == 10


def test_nothing_else_is_left_beside_the_file(
    pinned: Callable[[str], bytes], hub_server: Any
) -> None:
    hub_server.files[ADDRESSES["github"]] = pinned("github")
    path = locate("tiny")[0].path
    assert list(path.parent.iterdir()) == [path]


def test_other_content_than_the_pinned_is_refused_and_not_kept(
    pinned: Callable[[str], bytes], hub_server: Any
) -> None:
    content = pinned("github")
    hub_server.files[ADDRESSES["github"]] = b"something else"
    with pytest.raises(
        TaskDataUnavailable, match=r"did not give the file: SHA256 hash .*not match"
    ):
        locate("tiny")
    folder = cache_folder() / digest(content)
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_damaged_copy_in_the_cache_is_fetched_again(
    pinned: Callable[[str], bytes], hub_server: Any
) -> None:
    content = pinned("github")
    hub_server.files[ADDRESSES["github"]] = content
    path = locate("tiny")[0].path
    path.write_bytes(b"half")
    assert locate("tiny")[0].path.read_bytes() == content


def test_a_missing_file_on_the_hub_is_said_with_its_address(
    pinned: Callable[[str], bytes], hub_server: Any
) -> None:
    pinned("github")
    with pytest.raises(TaskDataUnavailable) as caught:
        locate("tiny")
    assert f"{hub_server.url}{ADDRESSES['github']} did not give the file: 404" in str(caught.value)
    assert 'curl -L --create-dirs -o "$BUDGET_ENVS_DATA/tiny/tiny.json"' in str(caught.value)


def test_a_hub_that_does_not_answer_is_said(
    pinned: Callable[[str], bytes], hub_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned("huggingface")
    monkeypatch.setenv("BUDGET_ENVS_HUB", "http://127.0.0.1:9")
    with pytest.raises(TaskDataUnavailable, match=r"127\.0\.0\.1:9/.* did not give the file"):
        locate("tiny")


@pytest.mark.parametrize("name", ["BUDGET_ENVS_OFFLINE", "HF_HUB_OFFLINE"])
@pytest.mark.parametrize("value", ["1", "true", "YES"])
def test_a_forbidden_network_is_not_touched(
    name: str,
    value: str,
    pinned: Callable[[str], bytes],
    hub_server: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub_server.files[ADDRESSES["github"]] = pinned("github")
    monkeypatch.setenv(name, value)
    with pytest.raises(TaskDataUnavailable, match=f"switched off by {name}"):
        locate("tiny")
    assert hub_server.requests == []


@pytest.mark.parametrize("value", ["0", "", "false"])
def test_an_offline_switch_that_is_off_forbids_nothing(
    value: str,
    pinned: Callable[[str], bytes],
    hub_server: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub_server.files[ADDRESSES["github"]] = pinned("github")
    monkeypatch.setenv("BUDGET_ENVS_OFFLINE", value)
    assert locate("tiny")[0].source == "hub"


def test_without_pooch_the_other_ways_are_still_named(
    pinned: Callable[[str], bytes], hub_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned("github")
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(TaskDataUnavailable) as caught:
        locate("tiny")
    assert "'pooch' is needed here" in str(caught.value)
    assert "curl -L" in str(caught.value)


def test_hf_endpoint_names_a_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Hub("huggingface", "o/n", "abcdef0", {"problems": "x"})
    assert hub.url(source, "x").startswith("https://huggingface.co/datasets/o/n/resolve/abcdef0/x")
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    assert hub.url(source, "x") == "https://mirror.example/datasets/o/n/resolve/abcdef0/x"
    monkeypatch.setenv("BUDGET_ENVS_HUB", "https://own.example")
    assert hub.url(source, "x").startswith("https://own.example/datasets")


# ---- folders that the hub lists ----------------------------------------------------------------

TREE = f"/api/datasets/owner/name/tree/{COMMIT}/part"
COMMITS = "/api/datasets/owner/name/commits/main"


@pytest.fixture
def listed(register: Register, rows: list[dict[str, Any]], hub_server: Any) -> dict[str, bytes]:
    """A set whose two files the hub lists; the files by their path."""
    source = {"kind": "huggingface", "repo": "owner/name", "revision": "0123456", "folder": "part"}
    register("listed", sources=[source])
    files = {"part/train-0.json": body(rows[:6]), "part/test-0.json": body(rows[6:])}
    listing: list[dict[str, Any]] = [
        {"type": "file", "path": path, "oid": "0", "lfs": {"oid": digest(content), "size": 1}}
        for path, content in files.items()
    ]
    listing.append({"type": "directory", "path": "part/more", "oid": "0"})
    listing.append({"type": "file", "path": "part/README.md", "oid": "0", "size": 3})
    hub_server.json(COMMITS, [{"id": "f" * 40}, {"id": COMMIT}])
    hub_server.json(TREE, listing)
    for path, content in files.items():
        hub_server.files[f"/datasets/owner/name/resolve/{COMMIT}/{path}"] = content
    return files


def test_a_listed_folder_is_fetched_at_the_full_commit(listed: dict[str, bytes]) -> None:
    files = locate("listed")
    assert [file.path.name for file in files] == ["test-0.json", "train-0.json"]
    assert all(file.pinned and file.source == "hub" for file in files)
    assert load("listed").split_sizes == {"test": 4, "train": 6}


def test_a_listed_folder_once_fetched_needs_no_network(
    listed: dict[str, bytes], hub_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = locate("listed")
    asked = len(hub_server.requests)
    monkeypatch.setenv("BUDGET_ENVS_OFFLINE", "1")
    assert locate("listed") == first
    assert len(hub_server.requests) == asked


def test_a_listed_folder_offline_says_how_to_get_it(
    listed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUDGET_ENVS_OFFLINE", "1")
    with pytest.raises(TaskDataUnavailable) as caught:
        locate("listed")
    assert (
        "hf download owner/name --repo-type dataset --include 'part/*' --local-dir DIR, "
        "then load('listed', path='DIR/part')" in str(caught.value)
    )


def test_a_file_unlike_its_listing_is_refused(listed: dict[str, bytes], hub_server: Any) -> None:
    hub_server.files[f"/datasets/owner/name/resolve/{COMMIT}/part/test-0.json"] = b"[]"
    with pytest.raises(TaskDataUnavailable, match="hash"):
        locate("listed")


def test_a_damaged_copy_of_a_listed_file_is_fetched_again(listed: dict[str, bytes]) -> None:
    path = locate("listed")[0].path
    path.write_bytes(b"")
    assert locate("listed")[0].path.read_bytes() == listed["part/test-0.json"]


def test_a_revision_that_the_hub_does_not_know_is_said(
    listed: dict[str, bytes], hub_server: Any
) -> None:
    hub_server.json(COMMITS, [{"id": "f" * 40}])
    with pytest.raises(TaskDataUnavailable, match="no commit 0123456 on its main branch"):
        locate("listed")


def test_a_file_without_a_stated_checksum_is_refused(
    listed: dict[str, bytes], hub_server: Any
) -> None:
    hub_server.json(TREE, [{"type": "file", "path": "part/a.json", "oid": "0", "size": 3}])
    with pytest.raises(TaskDataUnavailable, match=r"states no sha256 for part/a\.json"):
        locate("listed")


@pytest.mark.parametrize("answer", [b"<html>", b"{}", b"\xff"])
def test_an_answer_that_makes_no_sense_is_said(
    answer: bytes, listed: dict[str, bytes], hub_server: Any
) -> None:
    hub_server.files[COMMITS] = answer
    with pytest.raises(TaskDataUnavailable, match="could not be fetched"):
        locate("listed")


def test_an_empty_folder_is_said(listed: dict[str, bytes], hub_server: Any) -> None:
    hub_server.json(TREE, [])
    with pytest.raises(TaskDataUnavailable, match="no data files in 'part'"):
        locate("listed")


def test_a_full_commit_is_not_looked_up(
    register: Register, rows: list[dict[str, Any]], hub_server: Any, tmp_path: Path
) -> None:
    source = Hub("huggingface", "owner/name", COMMIT, folder="part")
    content = body(rows)
    entry = {"type": "file", "path": "part/a.json", "lfs": {"oid": digest(content), "size": 1}}
    hub_server.json(TREE, [entry])
    found, files = hub.listing(source, tmp_path)
    assert found == source
    assert files == (hub.RemoteFile("part/a.json", digest(content), 1),)
    assert hub_server.requests == [TREE]
