"""Finding the environment that a name means, and making it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gymnasium as gym

import budget_envs  # noqa: F401  # registers the ids
from budget_envs.errors import BudgetEnvsError, OptionError, did_you_mean
from budget_envs.evaluation.env_maker import is_from_factory
from budget_envs.oracle import load_oracle
from budget_envs.registration import PRESETS, Preset, family_of

__all__ = [
    "explained_keywords",
    "find_id",
    "lacks",
    "make_env",
    "oracle_kind",
    "read_keywords",
    "takes_our_keywords",
]

_MISSING = (BudgetEnvsError, ImportError, OSError, gym.error.Error)


def find_id(name: str) -> str:
    """Return the registered id that a name means; a missing version becomes the newest.

    Args:
        name: An id, or ``module:id`` to import first the module that registers it.

    Raises:
        OptionError: If there is no such id.
    """
    module, _, env_id = name.rpartition(":")
    if module:
        _import(module, name)
    versions = [known for known in gym.registry if known.rpartition("-v")[0] == env_id]
    if env_id not in gym.registry and not versions:
        raise OptionError(
            f"unknown environment {name!r}.{_suggestion(env_id)} "
            "`budget-envs list` lists the ids of this package."
        )
    newest = env_id if env_id in gym.registry else max(versions, key=_version)
    return f"{module}:{newest}" if module else newest


def takes_our_keywords(env_id: str) -> bool:
    """Return whether an id is one of this package, or registered by another through it."""
    return is_from_factory(gym.registry[env_id.rpartition(":")[2]])


def make_env(env_id: str, keywords: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """Make an environment; a keyword that it does not know is misuse, whoever wrote it.

    Raises:
        OptionError: If the environment does not take one of the keywords.
    """
    with explained_keywords(env_id, keywords):
        return gym.make(env_id, **keywords)


@contextmanager
def explained_keywords(env_id: str, keywords: Mapping[str, Any]) -> Iterator[None]:
    """Turn what an environment breaks at while it is made with keywords into misuse of these."""
    try:
        yield
    except (BudgetEnvsError, gym.error.Error, OSError):
        raise
    except Exception as error:
        if not keywords:
            raise
        given = ", ".join(f"{name}={value!r:.80}" for name, value in keywords.items())
        raise OptionError(
            f"{env_id} does not take all of {given}: {type(error).__name__}: {error}."
        ) from error


def read_keywords(pairs: Iterable[str] | None) -> dict[str, Any]:
    """Read ``key=value`` pairs; values are JSON, and what is no JSON is text.

    Raises:
        OptionError: If a pair has no ``=`` or no key, or a value looks like JSON and is none.
    """
    keywords = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.isidentifier():
            raise OptionError(f"--set takes key=value, such as success_rate=0.8, got {pair!r}.")
        keywords[key] = _read_value(key, value)
    return keywords


def lacks(preset: Preset, *, start: bool) -> list[str]:
    """Return what an environment needs and does not find, each with what to do about it.

    Args:
        preset: The environment.
        start: Also begin an episode, for which some need their task files or a sandbox.
    """
    try:
        env = gym.make(preset.id)
        try:
            if start:
                env.reset(seed=0)
        finally:
            env.close()
        oracle_kind(preset)
    except _MISSING as error:
        return [str(error)]
    return []


def oracle_kind(preset: Preset) -> str | None:
    """Return ``"exact"`` or ``"indicative"``; ``None`` without an oracle.

    Raises:
        BudgetEnvsError: If the oracle needs something that is missing.
    """
    entry = family_of(preset.family).oracle
    if entry is None:
        return None
    return "exact" if load_oracle(entry).exact else "indicative"


def _import(module: str, name: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise OptionError(f"environment {name!r}: there is no module {error.name!r}.") from error
    except BudgetEnvsError:
        raise
    except Exception as error:  # a name that is none, or whatever the module does
        raise OptionError(
            f"environment {name!r}: module {module!r} cannot be imported: "
            f"{type(error).__name__}: {error}."
        ) from error


def _version(env_id: str) -> int:
    number = env_id.rpartition("-v")[2]
    return int(number) if number.isdigit() else -1


def _suggestion(env_id: str) -> str:
    """Name the nearest id, whatever its namespace, which people leave out; ours among equals."""
    ours = [preset.id for preset in PRESETS]
    by_name = {known.rpartition("/")[2].lower(): known for known in [*gym.registry, *ours]}
    near = did_you_mean(env_id.rpartition("/")[2].lower(), by_name)
    if not near:
        return ""
    name = near.split("'")[1]
    return near.replace(name, by_name[name])


def _read_value(key: str, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        if text.strip()[:1] in tuple('[{"') or text in ("True", "False", "None", "NaN"):
            raise OptionError(
                f"--set {key}= takes JSON, such as true, null, 0.8 or [4, 8], got {text!r}: "
                f"{error}."
            ) from error
        return text


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
