"""`EnvMaker` and `TaskBounds`: what a worker needs to play, picklable and small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from budget_envs.budget import Budget
from budget_envs.errors import OptionError
from budget_envs.oracle import Oracle, load_oracle
from budget_envs.registration import family_of
from budget_envs.wrappers.base import layers
from budget_envs.wrappers.interaction_budget import InteractionBudget

__all__ = ["EnvMaker", "TaskBounds", "is_from_factory", "oracle_entry"]

_FACTORY: Final = "budget_envs.registration:build"


@dataclass(frozen=True, slots=True)
class EnvMaker:
    """Makes the environments of an evaluation, each with a turn budget.

    Attributes:
        spec: The registered environment.
        kwargs: Keywords for ``gym.make``, the budget aside.
        limits: The limits that every episode starts from; the turns are replaced at each reset.
    """

    spec: EnvSpec
    kwargs: Mapping[str, Any]
    limits: Budget

    @classmethod
    def of(cls, env_id: str, kwargs: Mapping[str, Any]) -> EnvMaker:
        """Look up an id.

        Raises:
            gymnasium.error.Error: If the id is not registered.
            OptionError: If ``kwargs`` limits the steps in another way.
            BudgetError: If ``kwargs["budget"]`` is not a budget.
        """
        if "max_episode_steps" in kwargs:
            raise OptionError(
                "max_episode_steps would cut episodes short of their budget, unseen by the report: "
                "leave it out, and say in budgets how many turns an episode has."
            )
        spec = gym.spec(env_id)
        rest = dict(kwargs)
        return cls(spec, rest, Budget.of(rest.pop("budget", spec.kwargs.get("budget"))))

    @property
    def t_max(self) -> int | None:
        """Turn budget that comes with the id or was asked for; ``None`` if there is none."""
        return self.limits.turns

    def with_turns(self, turns: int) -> EnvMaker:
        """Return a maker whose environments have a turn budget, ``turns`` where none is set."""
        if self.limits.turns is not None:
            return self
        return replace(self, limits=self.limits.replace({"turns": turns}))

    def __call__(self) -> gym.Env[Any, Any]:
        """Make one environment."""
        if is_from_factory(self.spec):
            return gym.make(self.spec, **{**self.kwargs, "budget": self.limits.limits()})
        env = gym.make(self.spec, **self.kwargs)
        if any(isinstance(layer, InteractionBudget) for layer in layers(env)):
            return env
        return InteractionBudget(env, budget=self.limits)


@dataclass(frozen=True, slots=True)
class TaskBounds:
    """Gives the upper bounds of the task that an environment was reset to.

    Attributes:
        oracle: Entry point of the oracle.
        budgets: Turn budgets.
    """

    oracle: str
    budgets: tuple[int, ...]

    @classmethod
    def of(
        cls, env: gym.Env[Any, Any], kwargs: Mapping[str, Any], budgets: tuple[int, ...]
    ) -> TaskBounds | None:
        """Return the bounds that an environment's oracle gives, or ``None`` without an oracle."""
        named = kwargs.get("oracle")
        entry = named if isinstance(named, str) else oracle_entry(env)
        if entry is None or not hasattr(_oracle(entry), "upper_bound"):
            return None
        return cls(entry, budgets)

    def __call__(self, env: gym.Env[Any, Any]) -> dict[int, float]:
        """Return the best success probability of any policy, by turn budget."""
        oracle = _oracle(self.oracle)
        return {turns: float(oracle.upper_bound(env, turns)) for turns in self.budgets}


def is_from_factory(spec: EnvSpec | None) -> bool:
    """Return whether an id takes the keywords of this package: its own ids, and registered ones."""
    return spec is not None and spec.entry_point == _FACTORY


def oracle_entry(env: gym.Env[Any, Any]) -> str | None:
    """Return the entry point of an environment's own oracle, or ``None`` if it has none."""
    spec = env.spec
    if spec is None or not is_from_factory(spec):
        return None
    return family_of(spec.kwargs["family"]).oracle


@lru_cache(maxsize=16)
def _oracle(entry: str) -> Oracle:
    return load_oracle(entry)
