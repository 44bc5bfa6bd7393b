"""Reading the rows of a dataset file, whatever its format: JSON, JSON lines, gzip, parquet."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from budget_envs.errors import TaskDataInvalid, require

__all__ = ["ROW_SUFFIXES", "read_rows"]

ROW_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".parquet")
"""Endings of the files that `read_rows` reads."""

Row = dict[str, Any]


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a dataset file.

    Args:
        path: A file that ends in one of `ROW_SUFFIXES`. A ``.json`` file holds one list of
            objects, or one object per line. Parquet needs pyarrow.

    Raises:
        TaskDataInvalid: If the file is of another kind, is damaged, or a row is not an object.
        DependencyNotInstalled: If a parquet file is read and pyarrow is missing.
    """
    if not path.name.endswith(ROW_SUFFIXES):
        raise TaskDataInvalid(
            f"A dataset file ends in one of {', '.join(ROW_SUFFIXES)}; got {path.name!r}."
        )
    rows = _parquet(path) if path.suffix == ".parquet" else _json(path)
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise TaskDataInvalid(
                f"{path}: row {number} is an object with named fields; got {repr(row)[:80]}."
            )
        yield row


def _json(path: Path) -> Iterator[Any]:
    text = _text(path)
    if not path.name.removesuffix(".gz").endswith(".jsonl"):
        try:
            rows = json.loads(text)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":  # one object per line is read below
                raise _damaged(path, error) from error
        except (ValueError, RecursionError) as error:  # a number too long, lists too deep
            raise _damaged(path, error) from error
        else:
            yield from rows if isinstance(rows, list) else [rows]
            return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _damaged(path, f"line {number}: {error}") from error


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        return content.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise _damaged(path, error) from error


def _parquet(path: Path) -> Iterator[Any]:
    parquet = require("pyarrow.parquet", "data")
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=64):  # rows of several megabytes occur
                yield from batch.to_pylist()
    except (OSError, ValueError) as error:  # pyarrow's own errors inherit these
        raise _damaged(path, error) from error


def _damaged(path: Path, why: object) -> TaskDataInvalid:
    return TaskDataInvalid(f"{path} cannot be read: {why}. Fetch the file again.")
