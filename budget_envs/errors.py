"""One tree of exceptions: every error this package raises on purpose is a `BudgetEnvsError`.

Each class also inherits the builtin that callers would catch by habit (``ValueError``,
``KeyError``, ...). A message says what was expected, what came and what to do. An illegal
*action* is never an exception: it is an observation plus ``info["invalid_action"]``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import gymnasium as gym

__all__ = [
    "BudgetEnvsError",
    "BudgetError",
    "DataError",
    "DependencyNotInstalled",
    "EnvStateError",
    "OptionError",
    "PolicyUnavailable",
    "RenderModeError",
    "SnapshotError",
    "TaskDataInvalid",
    "TaskDataUnavailable",
    "UnsupportedError",
    "did_you_mean",
    "require",
]


class BudgetEnvsError(Exception):
    """Base of every error raised on purpose by budget-envs."""


class OptionError(BudgetEnvsError, ValueError):
    """A setting, option or keyword has a name or value that is not accepted."""


class BudgetError(OptionError):
    """A budget limit is not a positive integer, or names an unknown resource."""


class RenderModeError(OptionError, TypeError):
    """A render mode that text environments do not have.

    Also a ``TypeError``, which is what helpers such as Stable-Baselines3's ``make_vec_env`` expect
    when they ask for ``"rgb_array"`` first.
    """


class EnvStateError(BudgetEnvsError, gym.error.ResetNeeded):
    """A call came at the wrong time: ``step`` before ``reset`` or after the episode ended."""


class SnapshotError(BudgetEnvsError, TypeError):
    """A snapshot cannot be taken from, or does not belong to, this environment."""


class UnsupportedError(BudgetEnvsError, NotImplementedError):
    """A combination of features that would give wrong results is refused."""


class DataError(BudgetEnvsError, ValueError):
    """A stored file or database is unreadable, locked, incomplete or of another version."""


class TaskDataInvalid(DataError):
    """A benchmark file does not have the pinned checksum, the pinned count or the right fields."""


class TaskDataUnavailable(BudgetEnvsError, FileNotFoundError):
    """A benchmark file is in none of its sources; the message gives the command that brings it."""


class PolicyUnavailable(BudgetEnvsError, ConnectionError):
    """What a policy plays with, an endpoint or the key to one, is not to be had: nothing can start.

    Unlike any other error of a policy it ends the evaluation, and leaves what is stored.
    """


class DependencyNotInstalled(BudgetEnvsError, ImportError):
    """An optional dependency is missing; the message names the install command."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the nearest known name, or an empty string."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def require(module: str, extra: str) -> Any:
    """Import an optional dependency, or say which extra brings it.

    Args:
        module: Dotted module name, e.g. ``"scipy.stats"``.
        extra: The extra of this package that installs it, e.g. ``"eval"``.

    Returns:
        The imported module.

    Raises:
        DependencyNotInstalled: If the module is missing.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise  # something else is broken inside the dependency: do not hide it
        raise DependencyNotInstalled(
            f"{module.split('.')[0]!r} is needed here and is not installed. "
            f'Run: pip install "budget-envs[{extra}]"'
        ) from error
