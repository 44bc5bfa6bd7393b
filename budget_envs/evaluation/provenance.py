"""Where a result comes from: versions, commit, command and time."""

from __future__ import annotations

import hashlib
import inspect
import linecache
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import gymnasium
import numpy as np

from budget_envs.version import __version__

__all__ = ["class_version", "command_line", "git_commit", "now", "package_versions"]

_COMMAND: Final = "budget-envs"
_OPTIONAL: Final = ("scipy", "torch", "transformers", "tokenizers", "stable_baselines3", "ray")


def package_versions() -> dict[str, str]:
    """Return the versions of Python, this package, and what is loaded of the packages it uses."""
    loaded = {name: sys.modules[name] for name in _OPTIONAL if name in sys.modules}
    return {
        "python": platform.python_version(),
        "budget_envs": __version__,
        "gymnasium": gymnasium.__version__,
        "numpy": np.__version__,
        **{name: str(getattr(module, "__version__", "?")) for name, module in loaded.items()},
    }


def class_version(kind: type) -> str:
    """Return the entry point of a class, and a digest of its source and that of its bases.

    Two classes of one name, or two versions of one class, are told apart by it. A class whose
    source is not to be found has its entry point alone.
    """
    name = f"{kind.__module__}:{kind.__qualname__}"
    sources = [_source(each) for each in kind.__mro__ if each is not object]
    if sources[0] is None:
        return name
    text = "\0".join(source or "" for source in sources)
    return f"{name} source {hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


def _source(kind: type) -> str | None:
    linecache.checkcache()  # a file that was edited since it was last read is read again
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # typed into a console, or written in C
        return None


def git_commit() -> str | None:
    """Return the commit of the working directory, or ``None`` where there is none."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # git is not installed, or hangs
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def command_line() -> str | None:
    """Return the command that started this process as another person can type it.

    The interpreter and the program are named without the folders that they lie in here, arguments
    are as they were given; ``None`` in an interactive session, which no command starts.
    """
    program, *words = sys.argv or [""]
    named = _named(program)
    return None if named is None else shlex.join([*named, *words])


def _named(program: str) -> list[str] | None:
    """Return what is typed in front of the arguments."""
    module = getattr(sys.modules["__main__"], "__spec__", None)
    if module is not None:
        name = module.name.removesuffix(".__main__")
        known = {"budget_envs": [_COMMAND], "ipykernel_launcher": None}
        return known.get(name, ["python", "-m", name])
    if program in ("", "-c", "-"):
        code = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
        return ["python", *code] if program else None
    script = Path(program)
    if script.stem == _COMMAND:
        return [_COMMAND]
    if script.resolve().parent == Path(sysconfig.get_path("scripts")).resolve():
        return [script.stem if script.suffix == ".exe" else script.name]
    here = Path.cwd()
    place = Path(os.path.abspath(script))
    return ["python", str(place.relative_to(here) if place.is_relative_to(here) else place.name)]


def now() -> str:
    """Return the time in UTC as ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
