"""A catalogue of the databases of a MySQL dump: converted once, kept in a cache, read on demand."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.sql.mysqldump import read_dump_file
from budget_envs.sql.sqlite_image import SqliteImage

__all__ = ["CONVERTER_VERSION", "DumpCatalog"]

CONVERTER_VERSION = 1
"""Raised when the conversion gives other images, the collation included: indices depend on it."""


@dataclass(frozen=True, slots=True)
class DumpCatalog:
    """The databases of a dump as SQLite images; an `ImageCatalog`.

    Equal catalogues share one set of images in a process, and one converted file on disk.

    Args:
        path: The dump. Not read if the cache has it.
        sha256: Its checksum, under which the converted databases are kept.
        cache: The folder for converted databases. If it cannot be written to, every process
            converts the dump for itself.
    """

    path: Path
    sha256: str
    cache: Path

    @property
    def databases(self) -> tuple[str, ...]:
        """The names of the databases, in the order of the dump."""
        return tuple(_images(self))

    def image(self, database: str) -> SqliteImage:
        """The image of a database.

        Raises:
            OptionError: If there is no such database.
            DataError: If the dump cannot be read.
        """
        images = _images(self)
        if database not in images:
            raise OptionError(
                f"There is no database {database!r} in {self.path.name}."
                f"{did_you_mean(database, images)}"
            )
        return images[database]


@lru_cache(maxsize=8)
def _images(catalog: DumpCatalog) -> Mapping[str, SqliteImage]:
    kept = catalog.cache / catalog.sha256 / f"sqlite-images-{CONVERTER_VERSION}.zip"
    images = _read(kept)
    if images is None:
        images = [SqliteImage.from_database(database) for database in read_dump_file(catalog.path)]
        with contextlib.suppress(OSError):
            _write(kept, images)
    return MappingProxyType({image.name: image for image in images})


def _read(path: Path) -> list[SqliteImage] | None:
    """The images of an archive; ``None`` if there is none, or it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [SqliteImage(name, archive.read(name)) for name in archive.namelist()]
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _write(path: Path, images: Iterable[SqliteImage]) -> None:
    """Write an archive that other processes see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(number, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
            for image in images:
                archive.writestr(image.name, image.content, zipfile.ZIP_DEFLATED)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
