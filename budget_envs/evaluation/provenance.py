"""Where a result comes from: versions, commit, command and time."""

from __future__ import annotations

import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from typing import Final

import gymnasium
import numpy as np

from budget_envs.version import __version__

__all__ = ["command_line", "git_commit", "now", "package_versions"]

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


def command_line() -> str:
    """Return the command that started this process, quoted for a shell."""
    return shlex.join(sys.orig_argv)


def now() -> str:
    """Return the time in UTC as ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
