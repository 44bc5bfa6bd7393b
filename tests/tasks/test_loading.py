from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import OptionError, TaskDataInvalid, TaskDataUnavailable
from budget_envs.tasks import TaskSet, load
from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.task_set import Contents, Entry

Write = Callable[[str, Any], Path]
Register = Callable[..., DatasetInfo]
Pin = Callable[..., dict[str, Any]]
READS: list[str] = []


@dataclass(frozen=True)
class Riddle:
    """A task of another environment: the registry's core asks for a name only."""

    task_id: str


def read_riddles(files: tuple[LocatedFile, ...], info: DatasetInfo) -> Contents[Riddle]:
    READS.append(info.name)
    rows = json.loads(files[0].path.read_text()) if files else [{"id": "r0", "group": "g"}]
    entries = (Entry(Riddle(r["id"]), r["group"], r.get("split"), r.get("why")) for r in rows)
    return Contents(tuple(entries), {})


@pytest.fixture
def riddles(register: Register, write: Write, pin: Pin) -> Callable[..., TaskSet[Any]]:
    """Load a made-up set of riddles: ``riddles(rows, **keywords of load)``."""

    def load_rows(rows: list[dict[str, Any]], **keywords: Any) -> TaskSet[Any]:
        path = write("riddles.json", rows)
        adapter = f"{__name__}:read_riddles"
        register("riddles", files=[pin(path)], items=len(rows), adapter=adapter)
        return load("riddles", path, **keywords)

    return load_rows


ROWS = [
    {"id": f"r{n}", "group": f"g{n // 2}", "split": ("train", "test")[n >= 6]} for n in range(10)
]


def test_any_kind_of_task_can_be_loaded(riddles: Callable[..., TaskSet[Any]]) -> None:
    tasks = riddles(ROWS)
    assert list(tasks) == [Riddle(row["id"]) for row in ROWS]
    assert tasks.split_sizes == {"train": 6, "test": 4}


def test_a_set_is_a_sequence(riddles: Callable[..., TaskSet[Any]]) -> None:
    tasks = riddles(ROWS)
    assert len(tasks) == 10
    assert tasks[3] == tasks[-7] == Riddle("r3")
    assert tasks[2:4] == (Riddle("r2"), Riddle("r3"))
    assert Riddle("r9") in tasks
    with pytest.raises(IndexError):
        _ = tasks[10]


def test_one_split_can_be_loaded(riddles: Callable[..., TaskSet[Any]]) -> None:
    tasks = riddles(ROWS, split="test")
    assert tasks.task_ids == ("r6", "r7", "r8", "r9")
    assert tasks.split_of("r0") == "train"
    assert repr(tasks) == "<TaskSet 'riddles' split 'test': 4 tasks>"


def test_an_unknown_split_gets_the_nearest(riddles: Callable[..., TaskSet[Any]]) -> None:
    with pytest.raises(OptionError, match=r"splits \['test', 'train'\]; got 'tests'.*'test'"):
        riddles(ROWS, split="tests")


def test_tasks_are_found_by_name(riddles: Callable[..., TaskSet[Any]]) -> None:
    rows = [*ROWS, {"id": "odd", "group": "x", "split": "test", "why": "unfair"}]
    tasks = riddles(rows, split="test")
    assert tasks.task("r7") == Riddle("r7")
    for name, hint in [
        ("r0", "in the split 'train'"),
        ("odd", r"left out \(unfair\); load\('riddles', include_excluded=True\)"),
        ("r77", "Did you mean 'r7'"),
    ]:
        with pytest.raises(OptionError, match=hint):
            tasks.task(name)
    with pytest.raises(OptionError, match="no task 'zzz'"):
        tasks.split_of("zzz")


def test_left_out_tasks_are_listed_and_can_be_had(riddles: Callable[..., TaskSet[Any]]) -> None:
    rows = [{**ROWS[0], "why": "unfair"}, *ROWS[1:]]
    tasks, everything = riddles(rows), riddles(rows, include_excluded=True)
    assert tasks.excluded == everything.excluded == {"r0": "unfair"}
    assert len(everything) == len(tasks) + 1
    assert (tasks.manifest.excluded, tasks.manifest.tasks) == (1, 9)


def test_two_tasks_of_one_name_are_refused(riddles: Callable[..., TaskSet[Any]]) -> None:
    with pytest.raises(TaskDataInvalid, match="two tasks named 'r0'"):
        riddles([ROWS[0], ROWS[0]])


def test_files_without_a_task_are_refused(riddles: Callable[..., TaskSet[Any]]) -> None:
    with pytest.raises(TaskDataInvalid, match="hold no task"):
        riddles([])


def test_the_pinned_file_must_have_the_pinned_number_of_tasks(
    register: Register, write: Write, pin: Pin
) -> None:
    path = write("riddles.json", ROWS)
    register("riddles", files=[pin(path)], items=11, adapter=f"{__name__}:read_riddles")
    with pytest.raises(TaskDataInvalid, match="riddles has 11 tasks; 10 were read"):
        load("riddles", path)
    assert len(load("riddles", write("mine.json", ROWS[:3]))) == 3


def test_a_set_is_read_once_for_all_splits(
    riddles: Callable[..., TaskSet[Any]], tmp_path: Path
) -> None:
    first = riddles([*ROWS, {"id": "read once", "group": "g"}])
    before = len(READS)
    again = load("riddles", tmp_path / "riddles.json", split="train")
    assert len(READS) == before
    assert again[0] is first[0]


def test_a_file_that_changed_is_read_again(riddles: Callable[..., TaskSet[Any]]) -> None:
    assert len(riddles(ROWS)) == 10
    assert len(riddles(ROWS[:4])) == 4


def test_nothing_stands_in_for_missing_files(register: Register) -> None:
    register("riddles", files=[{"role": "p", "name": "x", "sha256": "0" * 64, "bytes": 1}])
    with pytest.raises(TaskDataUnavailable):
        load("riddles")


def test_an_embedded_set_needs_no_files(register: Register) -> None:
    register("made", embedded=True, adapter=f"{__name__}:read_riddles", items=1)
    tasks = load("made")
    assert tasks.task_ids == ("r0",)
    assert tasks.manifest.files == ()
    assert tasks.manifest.pinned


# ---- exclusions and manifests ------------------------------------------------------------------


def test_a_group_in_two_official_splits_stays_in_the_later_used_one(
    riddles: Callable[..., TaskSet[Any]],
) -> None:
    rows = [
        {"id": "a", "group": "g", "split": "train"},
        {"id": "b", "group": "g", "split": "validation"},
        {"id": "c", "group": "g", "split": "test"},
        {"id": "d", "group": "g", "split": "test"},
        {"id": "e", "group": "h", "split": "train"},
        {"id": "f", "group": "h", "split": "prompt"},
    ]
    assert riddles(rows).excluded == {
        "a": "same problem as c in the split test",
        "b": "same problem as c in the split test",
        "f": "same problem as e in the split train",
    }


def test_hash_splits_never_straddle(riddles: Callable[..., TaskSet[Any]]) -> None:
    rows = [{"id": f"r{n}", "group": f"g{n % 30}"} for n in range(120)]
    tasks = riddles(rows)
    assert tasks.excluded == {}
    for group in range(30):
        assert len({tasks.split_of(f"r{n}") for n in range(group, 120, 30)}) == 1


def test_a_task_that_the_registry_calls_bad_is_left_out(
    register: Register, write: Write, pin: Pin
) -> None:
    path = write("riddles.json", ROWS)
    expected = {"gold": 9, "null": 0, "bad": {"r2": "broken by its author"}}
    register(
        "riddles",
        files=[pin(path)],
        items=10,
        adapter=f"{__name__}:read_riddles",
        expected=expected,
    )
    assert load("riddles", path).excluded == {"r2": "broken by its author"}


def test_the_manifest_says_what_was_used(riddles: Callable[..., TaskSet[Any]]) -> None:
    manifest = riddles(ROWS, split="test").manifest
    assert (manifest.name, manifest.version, manifest.license) == ("riddles", "1", "none")
    assert (manifest.split, manifest.tasks, manifest.include_excluded) == ("test", 4, False)
    assert manifest.pinned
    (file,) = manifest.files
    assert (file.name, file.source, len(file.sha256)) == ("riddles.json", "path", 64)


def test_a_manifest_is_json(riddles: Callable[..., TaskSet[Any]]) -> None:
    manifest = riddles(ROWS).manifest
    again = json.loads(json.dumps(manifest.as_dict()))
    assert again == manifest.as_dict()
    assert again["files"][0]["pinned"] is True


def test_own_files_are_marked_in_the_manifest(
    riddles: Callable[..., TaskSet[Any]], write: Write
) -> None:
    riddles(ROWS)
    manifest = load("riddles", write("mine.json", ROWS[:3])).manifest
    assert not manifest.pinned
    assert manifest.files[0].sha256 != riddles(ROWS).manifest.files[0].sha256


def test_the_checksums_of_a_manifest_follow_splits_and_exclusions(
    riddles: Callable[..., TaskSet[Any]],
) -> None:
    base = riddles(ROWS).manifest
    assert riddles(ROWS[::-1]).manifest.split_sha256 == base.split_sha256
    moved = riddles([{**ROWS[0], "split": "test", "group": "own"}, *ROWS[1:]]).manifest
    assert moved.split_sha256 != base.split_sha256
    dropped = riddles([{**ROWS[0], "why": "unfair"}, *ROWS[1:]]).manifest
    assert dropped.split_sha256 == base.split_sha256
    assert dropped.exclusions_sha256 != base.exclusions_sha256
    renamed = riddles([{**ROWS[0], "why": "other"}, *ROWS[1:]]).manifest
    assert renamed.exclusions_sha256 != dropped.exclusions_sha256


def test_a_set_survives_pickling(write: Write, rows: list[dict[str, Any]]) -> None:
    tasks = load("deepcoder", write("rows.json", rows))
    again = pickle.loads(pickle.dumps(tasks))
    assert list(again) == list(tasks)
    assert again.manifest == tasks.manifest
    assert again.task(tasks.task_ids[-1]) == tasks[-1]
