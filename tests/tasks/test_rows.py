from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import DependencyNotInstalled, TaskDataInvalid
from budget_envs.tasks.rows import read_rows

ROWS = [{"a": 1, "text": "ünï"}, {"a": 2, "text": "line\nbreak"}]
Write = Callable[[str, Any], Path]


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.json.gz", "r.jsonl.gz"])
def test_rows_are_the_same_in_every_format(write: Write, name: str) -> None:
    assert list(read_rows(write(name, ROWS))) == ROWS


def test_json_lines_may_be_named_json(write: Write) -> None:
    text = "\n".join(json.dumps(row) for row in ROWS)
    assert list(read_rows(write("r.json", text + "\n\n"))) == ROWS


def test_a_json_file_may_hold_one_object(write: Write) -> None:
    assert list(read_rows(write("r.json", {"a": 1}))) == [{"a": 1}]


def test_a_line_separator_inside_a_text_does_not_end_the_line(write: Write) -> None:
    rows = [{"a": "x\u2028y\x85z\x0c"}]
    text = json.dumps(rows[0], ensure_ascii=False)
    assert list(read_rows(write("r.jsonl", text))) == rows


def test_an_unknown_ending_is_refused(write: Write) -> None:
    with pytest.raises(TaskDataInvalid, match=r"ends in one of \.json, .*got 'r\.csv'"):
        list(read_rows(write("r.csv", "a,b")))


def test_a_damaged_line_is_named(write: Write) -> None:
    with pytest.raises(TaskDataInvalid, match=r"r\.jsonl cannot be read: line 2"):
        list(read_rows(write("r.jsonl", '{"a": 1}\n{"a": \n')))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.json", "[1, "),
        ("r.json", b"\xff\xfe\x00"),
        ("r.jsonl.gz", b"not gzip"),
        ("r.json.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x02"),
    ],
)
def test_a_damaged_file_says_to_fetch_it_again(write: Write, name: str, content: Any) -> None:
    with pytest.raises(TaskDataInvalid, match=r"cannot be read: .*Fetch the file again"):
        list(read_rows(write(name, content)))


def test_a_missing_file_is_an_error_of_the_tree(tmp_path: Path) -> None:
    with pytest.raises(TaskDataInvalid, match=r"none\.json cannot be read"):
        list(read_rows(tmp_path / "none.json"))


def test_a_row_that_is_no_object_is_named(write: Write) -> None:
    with pytest.raises(TaskDataInvalid, match="row 1 is an object with named fields; got 7"):
        list(read_rows(write("r.json", [{"a": 1}, 7])))


def test_parquet_without_pyarrow_says_what_to_install(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises((DependencyNotInstalled, ModuleNotFoundError), match="pyarrow"):
        list(read_rows(write("r.parquet", b"PAR1")))


def test_parquet_rows_are_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as parquet

    path = tmp_path / "r.parquet"
    rows = [{"a": n, "tests": json.dumps([n])} for n in range(200)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert list(read_rows(path)) == rows


def test_a_damaged_parquet_file_says_so(write: Write) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(TaskDataInvalid, match="cannot be read"):
        list(read_rows(write("r.parquet", b"PAR1 nonsense")))


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, '[{"a": ' + "9" * 5000 + "}]"])
@pytest.mark.parametrize("name", ["r.json", "r.jsonl"])
def test_json_that_python_refuses_to_read_says_so(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text + "\n", "utf-8")
    with pytest.raises(TaskDataInvalid, match="Fetch the file again"):
        list(read_rows(path))
