"""`make_policy`: a policy by its name or entry point."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Mapping
from typing import Any, Final

from budget_envs.errors import BudgetEnvsError, OptionError, did_you_mean
from budget_envs.evaluation.policy import Policy, check_policy

__all__ = ["POLICIES", "make_policy"]

POLICIES: Final[Mapping[str, str]] = {
    "random": "budget_envs.agents.policies.random_policy:RandomPolicy",
    "oracle": "budget_envs.agents.policies.oracle_policy:OraclePolicy",
    "shortest_path": "budget_envs.agents.policies.frozen_lake:ShortestPathPolicy",
    "scripted": "budget_envs.agents.policies.scripted_policy:ScriptedPolicy",
    "gold": "budget_envs.agents.policies.code:GoldPolicy",
    "gold_after_failures": "budget_envs.agents.policies.code:GoldAfterFailuresPolicy",
    "null": "budget_envs.agents.policies.code:NullPolicy",
    "sql_gold": "budget_envs.agents.policies.sql:SqlGoldPolicy",
    "sql_explore_then_gold": "budget_envs.agents.policies.sql:SqlExploreThenGoldPolicy",
    "sql_null": "budget_envs.agents.policies.sql:SqlNullPolicy",
    "tool_gold": "budget_envs.agents.policies.tools:ToolGoldPolicy",
    "tool_gold_stepwise": "budget_envs.agents.policies.tools:ToolGoldStepwisePolicy",
    "tool_null": "budget_envs.agents.policies.tools:ToolNullPolicy",
    "language_model": "budget_envs.agents.policies.language_model:LanguageModelPolicy",
    "smollm2": "budget_envs.agents.policies.language_model:SmolLM2Policy",
    "openai": "budget_envs.agents.policies.openai_endpoint:OpenAIPolicy",
    "sb3": "budget_envs.agents.policies.sb3:SB3Policy",
}
"""Short names, and the classes that they stand for."""


def make_policy(name: str, **settings: Any) -> Policy:
    """Make a policy.

    Args:
        name: A name of `POLICIES`, the ``"module:Class"`` of any class, or the path of a language
            model: a folder, or a file that ends in ``.gguf``.
        **settings: Keywords of the class.

    Raises:
        OptionError: If the name leads nowhere or to no policy, or a keyword is unknown or missing.

    Example:
        >>> make_policy("random").name
        'random'
    """
    if _is_model(name):
        name, settings = "language_model", {"model": name, **settings}
    kind = _load(name)
    _check_settings(name, kind, settings)
    try:
        policy = kind(**settings)
    except BudgetEnvsError:
        raise
    except Exception as error:
        raise OptionError(
            f"policy {name!r} cannot be made with settings {settings!r:.200}: {_what(error)}"
        ) from error
    check_policy(policy)
    return policy  # type: ignore[no-any-return]


def _is_model(name: str) -> bool:
    """Return whether a name is the path of a language model, and not of a policy's class."""
    if name in POLICIES:
        return False
    return name.endswith(".gguf") or os.path.isdir(name)  # of any text, without raising


def _what(error: Exception) -> str:
    return f"{type(error).__name__}: {error}."


def _check_settings(name: str, kind: Any, settings: Mapping[str, Any]) -> None:
    try:
        parameters = inspect.signature(kind).parameters
    except (ValueError, TypeError):  # a builtin: no policy, as will be seen
        return
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for setting in settings:
        if setting not in parameters:
            raise OptionError(
                f"unknown setting {setting!r} of policy {name!r}; known are "
                f"{', '.join(parameters) or 'none'}." + did_you_mean(setting, parameters)
            )
    needed = [n for n, p in parameters.items() if p.default is p.empty and n not in settings]
    if needed:
        raise OptionError(f"policy {name!r} needs {', '.join(needed)}: give it as a setting.")


def _load(name: str) -> Any:
    entry = POLICIES.get(name, name)
    module, colon, attribute = entry.partition(":")
    if not colon:
        raise OptionError(
            f"unknown policy {name!r}; known are {', '.join(POLICIES)}, or 'module:Class'."
            + did_you_mean(name, POLICIES)
        )
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except BudgetEnvsError:
        raise
    except Exception as error:  # whatever the module does when it is imported
        raise OptionError(f"no policy {name!r}: {_what(error)}") from error
    if not callable(kind):
        raise OptionError(f"no policy {name!r}: {kind!r} is no class.")
    return kind
