"""The table of ids, and the one factory that turns ``gym.make`` keywords into a wrapped env."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import gymnasium as gym
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from budget_envs.budget import Budget, OnExhausted
from budget_envs.errors import OptionError, UnsupportedError, did_you_mean
from budget_envs.text_env import TextEnv

__all__ = ["PRESETS", "EnvFamily", "Preset", "build", "build_vec", "make_vec", "register_all"]

NAMESPACE: Final = "budget_envs"


@dataclass(frozen=True)
class EnvFamily:
    """One environment class and what belongs to it, all as entry points (``module:name``).

    Attributes:
        env: The environment class.
        oracle: Its oracle class, or ``None``.
        vector: Its native vector environment class, or ``None``.
    """

    env: str
    oracle: str | None = None
    vector: str | None = None


@dataclass(frozen=True)
class Preset:
    """One registered id.

    Attributes:
        name: The id without namespace and version.
        family: Key of `FAMILIES`.
        turns: The turn budget T_max that the id comes with.
        settings: Keywords of the environment class.
        reward_threshold: Success probability that counts as solved, from the oracle; ``None``
            where tasks differ too much for one figure.
        version: Raised whenever a seed can yield another observation, reward or ending.
    """

    name: str
    family: str
    turns: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    reward_threshold: float | None = None
    version: int = 0

    @property
    def id(self) -> str:
        """The id for ``gym.make``."""
        return f"{NAMESPACE}/{self.name}-v{self.version}"


FAMILIES: Final[Mapping[str, EnvFamily]] = {
    "frozen_lake": EnvFamily(
        env="budget_envs.envs.frozen_lake.env:FrozenLakeEnv",
        oracle="budget_envs.oracles.frozen_lake:FrozenLakeOracle",
        vector="budget_envs.envs.frozen_lake.vector:FrozenLakeVectorEnv",
    ),
}

PRESETS: Final = (
    Preset("FrozenLake", "frozen_lake", 10),
    Preset("FrozenLake-4x4", "frozen_lake", 10, {"size": 4}),
    Preset("FrozenLake-8x8", "frozen_lake", 20, {"size": 8}),
    Preset("FrozenLake-Slippery", "frozen_lake", 10, {"success_rate": 1 / 3}),
    Preset("FrozenLake-MildlySlippery", "frozen_lake", 10, {"success_rate": 0.8}),
    Preset("FrozenLake-Mixed", "frozen_lake", 20, {"size": [4, 8]}),
)


def register_all() -> None:
    """Register every id with Gymnasium; ids that are there already are left alone."""
    for preset in PRESETS:
        if preset.id not in gym.registry:
            gym.register(
                id=preset.id,
                entry_point="budget_envs.registration:build",
                vector_entry_point="budget_envs.registration:build_vec",
                reward_threshold=preset.reward_threshold,
                # TextEnv itself refuses a step before reset; without these two wrappers gym.make
                # returns our own outermost layer, with snapshot() and charge() at hand.
                order_enforce=False,
                disable_env_checker=True,
                kwargs={"family": preset.family, "budget": preset.turns, **preset.settings},
            )


def build(
    *,
    family: str,
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
    env = _make_env(family, settings, limits)
    oracle_entry = _oracle_entry(family, oracle)
    if budget_mix:
        mix = _keywords(budget_mix, "budget_mix")
        env = wrappers.BudgetMix(
            env, budget=limits, on_exhausted=on_exhausted, token_counter=token_counter, **mix
        )
    elif limits.limits():
        env = wrappers.InteractionBudget(
            env, budget=limits, on_exhausted=on_exhausted, token_counter=token_counter
        )
    if error_states:
        faults = {
            "oracle": FAMILIES[family].oracle,
            **_keywords(error_states, "error_states"),
        }
        env = wrappers.ErrorStates(env, **faults)
    if oracle_entry is not None or oracle_reward:
        entry = oracle_entry or _oracle_entry(family, True)
        env = wrappers.StepOracle(env, oracle=entry, reward=oracle_reward)  # type: ignore[arg-type]
    if numeric:
        env = wrappers.NumericObservation(wrappers.DiscreteActions(env))
    if show_budget:
        shown = show_budget if isinstance(show_budget, Mapping) else {"when": show_budget}
        if shown.get("when") is True:
            shown = {**shown, "when": "every_turn"}
        env = wrappers.ShowBudget(env, **shown)
    return env


build.metadata = TextEnv.metadata  # type: ignore[attr-defined]  # gym.make reads render modes here


def build_vec(
    *,
    num_envs: int,
    family: str,
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
    vector = FAMILIES[family].vector
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


def _make_env(family: str, settings: dict[str, Any], limits: Budget) -> gym.Env[Any, Any]:
    if family not in FAMILIES:
        raise OptionError(
            f"unknown environment family {family!r}; known are {', '.join(FAMILIES)}."
            + did_you_mean(family, FAMILIES)
        )
    kind = _load(FAMILIES[family].env)
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


def _oracle_entry(family: str, oracle: bool | str) -> str | None:
    if oracle is False:
        return None
    if oracle is True:
        entry = FAMILIES[family].oracle
        if entry is None:
            raise OptionError(f"{family} has no oracle of its own: name one as 'module:Class'.")
        return entry
    if not isinstance(oracle, str):
        raise OptionError(
            f"oracle must be True, False or 'module:Class' (specs store text), got {oracle!r}."
        )
    return oracle


def _keywords(value: bool | Mapping[str, Any], name: str) -> dict[str, Any]:
    if value is True:
        return {}
    if not isinstance(value, Mapping):
        raise OptionError(f"{name} must be True, False or a mapping of keywords, got {value!r}.")
    return dict(value)


def _load(entry_point: str) -> Any:
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name)
