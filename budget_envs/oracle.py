"""`Oracle`: what a per-step oracle of an environment offers, and how one is found."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from budget_envs.errors import OptionError, UnsupportedError

__all__ = [
    "EnumerableOracle",
    "ErrorOracle",
    "GuidingOracle",
    "Oracle",
    "load_oracle",
    "oracle_name",
]


class Oracle(Protocol):
    """Judges one action in the state that an environment is in.

    An oracle reads the environment that it is handed (with its budget wrapper, from which it
    knows the remaining turns), never changes it, and nothing it says reaches an observation.

    An oracle whose actions can be listed may also offer ``judge(env, action)``, which returns the
    value, the best value and the tuple of best actions in one look-up; it is used where it exists.

    Attributes:
        exact: Whether :meth:`value` is the true value, or only indicates progress.
    """

    exact: bool

    def value(self, env: gym.Env[Any, Any], action: str) -> float:
        """Return the value in [0, 1] of taking ``action`` now."""
        ...

    def upper_bound(self, env: gym.Env[Any, Any], turns: int) -> float:
        """Return the best success probability of any policy within ``turns``.

        Args:
            env: The environment; the bound is that of the task it holds, from the task's start.
            turns: Turn budget, at least 1.
        """
        ...


@runtime_checkable
class EnumerableOracle(Protocol):
    """An oracle of an environment whose actions can be listed."""

    def values(self, env: gym.Env[Any, Any]) -> Mapping[str, float]:
        """Return the value in [0, 1] of every action, in a fixed order."""
        ...


@runtime_checkable
class GuidingOracle(Protocol):
    """An oracle of an environment with too many actions to list, that can name a best one."""

    def best_action(self, env: gym.Env[Any, Any]) -> str:
        """Return an action that no other one is worth more than."""
        ...


@runtime_checkable
class ErrorOracle(Protocol):
    """An oracle that can name a wrong action from which success stays possible."""

    def error_action(self, env: gym.Env[Any, Any], action: str, key: int) -> str | None:
        """Return a wrong, recoverable action to put in place of the agent's.

        It differs from ``action`` and from every best action, does not end the episode, and leaves
        success possible within the remaining budget. Its value is strictly lower than the best
        one; where every recoverable action is worth the same (a deterministic task with turns to
        spare), it is one that wastes turns.

        Args:
            env: The environment, before the step.
            action: What the agent chose.
            key: 64-bit key that picks among several.

        Returns:
            The action, or ``None`` if this state has none.
        """
        ...


def load_oracle(name: str) -> Oracle:
    """Build the oracle that an entry point ``"module:Class"`` names.

    Raises:
        OptionError: If the text is not ``module:name`` or names nothing.
    """
    module_name, _, attribute = name.partition(":")
    if not attribute:
        raise OptionError(f"an oracle is named as 'module:Class', got {name!r}.")
    try:
        oracle: Oracle = getattr(importlib.import_module(module_name), attribute)()
    except (ModuleNotFoundError, AttributeError) as error:
        raise OptionError(f"no oracle {name!r}: {error}.") from error
    return oracle


def oracle_name(oracle: Oracle) -> str:
    """Return the entry point of an oracle's class, the form in which specs store it.

    Raises:
        UnsupportedError: If the class is local to a function and so cannot be imported.
    """
    kind = type(oracle)
    if "<locals>" in kind.__qualname__:
        raise UnsupportedError(
            f"the oracle class {kind.__qualname__} is local to a function and cannot be recorded "
            "in an environment spec: define it at the top of a module."
        )
    return f"{kind.__module__}:{kind.__qualname__}"
