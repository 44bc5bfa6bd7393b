"""Downloads from public hubs, each checked against a known checksum.

Nothing here is imported or contacted until a file is in none of the local sources.
``BUDGET_ENVS_HUB`` replaces the address of the Hugging Face hub, for mirrors; ``HF_ENDPOINT`` is
honoured too. ``BUDGET_ENVS_OFFLINE=1`` or ``HF_HUB_OFFLINE=1`` forbids the network.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from budget_envs.errors import BudgetEnvsError, DependencyNotInstalled, require
from budget_envs.tasks.checksums import file_sha256
from budget_envs.tasks.registry import Hub
from budget_envs.tasks.rows import ROW_SUFFIXES

__all__ = ["HubError", "RemoteFile", "download", "listing", "offline", "url"]

_HUGGING_FACE = "https://huggingface.co"
_GITHUB_FILES = "https://raw.githubusercontent.com"
_TIMEOUT_S = 30.0


class HubError(BudgetEnvsError):
    """A file could not be fetched; the message says why, in half a sentence."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository: its path there, its checksum, its size."""

    path: str
    sha256: str
    bytes: int


_offline: ContextVar[bool] = ContextVar("_offline", default=False)


@contextmanager
def offline() -> Iterator[None]:
    """Forbid the network inside a ``with`` block, for the current thread or task."""
    token = _offline.set(True)
    try:
        yield
    finally:
        _offline.reset(token)


def _require_network() -> None:
    if _offline.get():
        raise HubError("downloads were not tried")
    switches = ("BUDGET_ENVS_OFFLINE", "HF_HUB_OFFLINE")
    for name in switches:
        if os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on"):
            raise HubError(f"downloads are switched off by {name}")


def url(source: Hub, path: str) -> str:
    """Address of one file of a repository at the pinned revision."""
    if source.kind == "github":
        return f"{_GITHUB_FILES}/{source.repo}/{source.revision}/{quote(path)}"
    return f"{_endpoint()}/datasets/{source.repo}/resolve/{source.revision}/{quote(path)}"


def _endpoint() -> str:
    chosen = os.environ.get("BUDGET_ENVS_HUB") or os.environ.get("HF_ENDPOINT") or _HUGGING_FACE
    return chosen.rstrip("/")


def download(source: Hub, file: RemoteFile, folder: Path, name: str) -> Path:
    """Fetch one file into ``folder``, or return the copy that is already there.

    The file appears under its name only when complete and of the right checksum.

    Raises:
        HubError: If the network is forbidden or fails, pooch is missing, or the content is
            another one.
    """
    target = folder / name
    if target.is_file() and file_sha256(target) == file.sha256:
        return target
    _require_network()
    address = url(source, file.path)
    try:
        pooch = require("pooch", "data")
        pooch.retrieve(address, f"sha256:{file.sha256}", fname=name, path=folder)
    except DependencyNotInstalled as error:
        raise HubError(str(error)) from error
    except (OSError, ValueError) as error:  # requests' errors are OSErrors; a bad hash a ValueError
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise HubError(f"{address} did not give the file: {reason}") from error
    return target


def listing(source: Hub, cache: Path) -> tuple[Hub, tuple[RemoteFile, ...]]:
    """The data files of a folder of a Hugging Face dataset, with the checksums the hub states.

    The answer is kept in ``cache``, so that a set once fetched can be used without network.

    Returns:
        The repository at its full commit, and the files sorted by path.

    Raises:
        HubError: If the network is forbidden or fails, or the hub's answer makes no sense.
    """
    name = f"{source.repo.replace('/', '--')}@{source.revision}--{source.folder}.json"
    record = cache / "listings" / name
    if record.is_file():
        kept = json.loads(record.read_text("utf-8"))
        files = tuple(RemoteFile(**row) for row in kept["files"])
        return replace(source, revision=kept["commit"]), files
    _require_network()
    commit = _full_commit(source)
    files = _tree(source, commit)
    _write(record, {"commit": commit, "files": [asdict(file) for file in files]})
    return replace(source, revision=commit), files


def _full_commit(source: Hub) -> str:
    if len(source.revision) == 40:
        return source.revision
    commits = _get(f"{_endpoint()}/api/datasets/{source.repo}/commits/main")
    for commit in commits:
        if str(commit.get("id", "")).startswith(source.revision):
            return str(commit["id"])
    raise HubError(f"{source.repo} has no commit {source.revision} on its main branch")


def _tree(source: Hub, commit: str) -> tuple[RemoteFile, ...]:
    rows = _get(f"{_endpoint()}/api/datasets/{source.repo}/tree/{commit}/{quote(source.folder)}")
    files = []
    for row in rows:
        if row.get("type") == "file" and row["path"].endswith(ROW_SUFFIXES):
            if "lfs" not in row:
                raise HubError(f"the hub states no sha256 for {row['path']}")
            files.append(RemoteFile(row["path"], row["lfs"]["oid"], row["lfs"]["size"]))
    if not files:
        raise HubError(f"{source.repo} has no data files in {source.folder!r} at {commit}")
    return tuple(sorted(files, key=lambda file: file.path))


def _get(address: str) -> list[dict[str, Any]]:
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as reply:
            rows = json.load(reply)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise HubError(f"{address} did not answer: {error}") from error
    if not isinstance(rows, list):
        raise HubError(f"{address} answered with something that is not a list")
    return rows


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_text(json.dumps(content), "utf-8")
    partial.replace(path)
