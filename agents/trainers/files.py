"""Files and folders that are there as a whole or not at all, whenever a run is stopped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["new_folder", "write_atomically"]


def write_atomically(file: Path, content: bytes) -> None:
    """Replace a file's content in one step."""
    draft = file.with_name(f".{file.name}.partial")
    with draft.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(draft, file)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, and put it in its place when it is full.

    What an earlier attempt left unfinished is removed, and so is a folder of the same name.
    """
    draft = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    yield draft
    for file in draft.rglob("*"):
        _sync(file)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(draft, folder)
    _sync(folder.parent)


def _sync(path: Path) -> None:
    """Let nothing of a file, or of a folder's list of names, be lost with the power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
