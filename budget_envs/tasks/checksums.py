"""Checksums of files, computed once per version of a file and process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

__all__ = ["FileStamp", "file_sha256", "stamp", "text_sha256"]

FileStamp = tuple[str, int, int]
"""Path, size in bytes and modification time in nanoseconds: changes when the file does."""


def stamp(path: Path) -> FileStamp:
    """The stamp of a file.

    Raises:
        OSError: If the file cannot be looked at.
    """
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits; read again only if the file's stamp changed.

    Raises:
        OSError: If the file cannot be read.
    """
    return _file_sha256(stamp(path))


@lru_cache(maxsize=1024)
def _file_sha256(file: FileStamp) -> str:
    with open(file[0], "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def text_sha256(lines: Iterable[str]) -> str:
    """SHA-256 of lines of text, each ended by a newline, in UTF-8."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()
