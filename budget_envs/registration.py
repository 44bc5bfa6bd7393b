"""The table of ids, and the one factory that turns ``gym.make`` keywords into a wrapped env."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from budget_envs.budget import Budget, OnExhausted
from budget_envs.catalogue import FAMILIES, PRESETS, EnvFamily, Preset, family_of
from budget_envs.errors import OptionError, UnsupportedError, did_you_mean
from budget_envs.text_env import TextEnv

__all__ = [
    "FAMILIES",
    "PRESETS",
    "EnvFamily",
    "Preset",
    "build",
    "build_vec",
    "family_of",
    "make_vec",
    "register",
    "register_all",
]


def register_all() -> None:
    """Register every id with Gymnasium; ids that are there already are left alone."""
    for preset in PRESETS:
        if preset.id not in gym.registry:
            _register(preset.id, preset.family, preset.turns, preset.settings)


def register(
    env_id: str,
    env: str,
    *,
    turns: int | None,
    oracle: str | None = None,
    vector: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Register an id for an environment of your own, with every keyword that ours have.

    ``gym.make(env_id, budget=8, show_budget=True, oracle=True)``, ``gym.make_vec`` and evaluation
    then work as for the ids of this package. Call it when your package is imported; an id that is
    registered already is left alone.

    Args:
        env_id: The id, e.g. ``"my_package/Guess-v0"``.
        env: ``"module:Class"`` of a `TextEnv`.
        turns: The turn budget T_max that the id comes with; ``None`` for none.
        oracle: ``"module:Class"`` of its oracle.
        vector: ``"module:Class"`` of its native vector environment.
        settings: Keywords of the class.
    """
    if env_id not in gym.registry:
        _register(env_id, asdict(EnvFamily(env, oracle, vector)), turns, settings or {})


def _register(
    env_id: str,
    family: str | Mapping[str, Any],
    turns: int | None,
    settings: Mapping[str, Any],
) -> None:
    gym.register(
        id=env_id,
        entry_point="budget_envs.registration:build",
        vector_entry_point="budget_envs.registration:build_vec",
        # TextEnv itself refuses a step before reset; without these two wrappers gym.make returns
        # our own outermost layer, with snapshot() and charge() at hand.
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"family": family, "budget": turns, **settings},
    )


def build(
    *,
    family: str | Mapping[str, Any],
    budget: Budget | Mapping[str, Any] | int | None = None,
    on_exhausted: OnExhausted = "truncate",
    token_counter: str = "characters",
    budget_mix: bool | Mapping[str, Any] = False,
    error_states: bool | Mapping[str, Any] = False,
    oracle: bool | str = False,
    oracle_reward: bool = False,
    numeric: bool = False,
    show_budget: bool | str | list[str | int] | Mapping[str, Any] = False,
    **settings: Any,
) -> gym.Env[Any, Any]:
    """Build an environment with its wrappers. ``gym.make`` calls this for every id.

    Args:
        family: Which environment; every id sets it.
        budget: Turns, or a mapping such as ``{"turns": 8, "tokens": 2000}``; ``None`` lifts the
            id's own limit.
        on_exhausted: ``"truncate"``, or ``"terminate"`` where the remaining budget is part of the
            observation and running out is an ending of the task.
        token_counter: What counts tokens where nobody charges them.
        budget_mix: Draw the turn budget anew for each task; ``True`` for the defaults of
            `budget_envs.wrappers.BudgetMix`, or its keywords.
        error_states: Inject errors; ``True`` for the defaults of
            `budget_envs.wrappers.ErrorStates`, or its keywords.
        oracle: Judge every action; ``True`` for the environment's own oracle, or the
            ``"module:Class"`` of another.
        oracle_reward: Give the oracle's value of each action as its reward.
        numeric: Integer actions and array observations, for libraries that know no text; faults
            that change a text are refused with it.
        show_budget: Tell the agent what remains: ``True`` for every turn, another
            ``when`` of `budget_envs.wrappers.ShowBudget`, or its keywords.
        **settings: Keywords of the environment class.

    Returns:
        The wrapped environment.

    Raises:
        OptionError: If a keyword is unknown or not valid.
    """
    from budget_envs import wrappers

    limits = Budget.of(budget)
    parts = family_of(family)
    for name, value in (("oracle_reward", oracle_reward), ("numeric", numeric)):
        if not isinstance(value, bool):
            raise OptionError(f"{name} must be True or False, got {value!r}.")
    env = _make_env(parts, settings, limits)
    oracle_entry = _oracle_entry(parts, oracle)
    if budget_mix is not False:
        mix = _keywords(budget_mix, "budget_mix", wrappers.BudgetMix)
        env = wrappers.BudgetMix(
            env, budget=limits, on_exhausted=on_exhausted, token_counter=token_counter, **mix
        )
    elif limits.limits():
        env = wrappers.InteractionBudget(
            env, budget=limits, on_exhausted=on_exhausted, token_counter=token_counter
        )
    if error_states is not False:
        faults = {
            "oracle": parts.oracle,
            **_keywords(error_states, "error_states", wrappers.ErrorStates),
        }
        env = wrappers.ErrorStates(env, **faults)
    if oracle_entry is not None or oracle_reward:
        entry = oracle_entry or _oracle_entry(parts, True)
        env = wrappers.StepOracle(env, oracle=entry, reward=oracle_reward)  # type: ignore[arg-type]
    if numeric:
        env = wrappers.NumericObservation(wrappers.DiscreteActions(env))
    if show_budget is not False:
        named = isinstance(show_budget, bool | Mapping)
        shown: Any = show_budget if named else {"when": show_budget}
        env = wrappers.ShowBudget(env, **_keywords(shown, "show_budget", wrappers.ShowBudget))
    return env


build.metadata = TextEnv.metadata  # type: ignore[attr-defined]  # gym.make reads render modes here


def build_vec(
    *,
    num_envs: int,
    family: str | Mapping[str, Any],
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    **keywords: Any,
) -> VectorEnv[Any, Any, Any]:
    """Build a vector environment. ``gym.make_vec`` calls this for every id.

    The native NumPy environment is used where it has every feature asked for; otherwise N scalar
    environments run in a ``SyncVectorEnv``. Both give the same values turn for turn.

    Args:
        num_envs: Number of copies.
        family: Which environment; every id sets it.
        autoreset_mode: One of Gymnasium's three.
        **keywords: As for :func:`build`.
    """
    mode = AutoresetMode(autoreset_mode)
    vector = family_of(family).vector
    if vector is not None:
        kind = _load(vector)
        if kind.supports(keywords):
            return kind(num_envs=num_envs, autoreset_mode=mode, **keywords)  # type: ignore[no-any-return]
    makers = [lambda: build(family=family, **keywords) for _ in range(num_envs)]
    return SyncVectorEnv(makers, autoreset_mode=mode)


def make_vec(
    env_id: str, num_envs: int = 1, vectorization_mode: str | None = None, **keywords: Any
) -> VectorEnv[Any, Any, Any]:
    """Make a vector environment with settings that carry text.

    Like ``gym.make_vec``, and for ``vectorization_mode="async"`` without shared memory, which has
    no form for strings.

    Args:
        env_id: Any id.
        num_envs: Number of copies.
        vectorization_mode: ``None`` (native where there is one), ``"sync"`` or ``"async"``.
        **keywords: As for ``gym.make``; ``vector_kwargs`` reaches Gymnasium's vector class.

    Raises:
        UnsupportedError: If ``shared_memory=True`` is asked for.
    """
    if vectorization_mode == "async":
        vector_kwargs = dict(keywords.pop("vector_kwargs", {}))
        if vector_kwargs.get("shared_memory"):
            raise UnsupportedError(
                "text does not fit into shared memory: leave shared_memory out, or set it to False."
            )
        keywords["vector_kwargs"] = {"shared_memory": False, **vector_kwargs}
    return gym.make_vec(
        env_id, num_envs=num_envs, vectorization_mode=vectorization_mode, **keywords
    )


def _make_env(family: EnvFamily, settings: dict[str, Any], limits: Budget) -> gym.Env[Any, Any]:
    kind = _load(family.env)
    known = [name for name in inspect.signature(kind).parameters if name != "self"]
    for name in settings:
        if name not in known:
            everything = [*known, *inspect.signature(build).parameters]
            everything = [n for n in everything if n not in ("family", "settings")]
            raise OptionError(
                f"unknown keyword {name!r} for {kind.__name__}; known are {', '.join(everything)}."
                + did_you_mean(name, everything)
            )
    if "horizon" in known and settings.get("horizon") is None and limits.turns is not None:
        settings = {**settings, "horizon": limits.turns}
    return kind(**settings)  # type: ignore[no-any-return]


def _oracle_entry(family: EnvFamily, oracle: bool | str) -> str | None:
    if oracle is False:
        return None
    if oracle is True:
        if family.oracle is None:
            raise OptionError(f"{family.env} has no oracle of its own: name one as 'module:Class'.")
        return family.oracle
    if not isinstance(oracle, str):
        raise OptionError(
            f"oracle must be True, False or 'module:Class' (specs store text), got {oracle!r}."
        )
    return oracle


def _keywords(value: bool | Mapping[str, Any], name: str, wrapper: type) -> dict[str, Any]:
    """Return a wrapper's keywords as given, or refuse what it does not take."""
    if value is True:
        return {}
    known = [key for key in inspect.signature(wrapper).parameters if key != "env"]
    if not isinstance(value, Mapping):
        raise OptionError(
            f"{name} must be True, False or a mapping with keywords of {wrapper.__name__} "
            f"({', '.join(known)}), got {value!r}."
        )
    for key in value:
        if key not in known:
            raise OptionError(
                f"unknown key {key!r} in {name}; known are {', '.join(known)}."
                + did_you_mean(key, known)
            )
    return dict(value)


def _load(entry_point: str) -> Any:
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name)
