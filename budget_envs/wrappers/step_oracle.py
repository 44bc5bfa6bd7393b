"""`StepOracle`: says what each action was worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import gymnasium as gym

from budget_envs.errors import OptionError
from budget_envs.oracle import EnumerableOracle, Oracle, load_oracle, oracle_name
from budget_envs.wrappers.base import OuterWrapper, has_text

__all__ = ["StepOracle", "resolve_oracle"]

Judgement = tuple[float, float, tuple[str, ...]]

_TIE: Final = 1e-12  # values closer than this are the same value, summed in another order


class StepOracle(OuterWrapper):
    """Judges every action by an oracle.

    ``info["oracle"]`` holds ``value``, the value in [0, 1] of the action that the agent chose, in
    the state before the step and with the turns that remained; ``best``, the largest value that
    any action had there; ``regret``, their difference, never negative; and ``best_actions``, the
    list of actions with that value. On reset nothing was chosen yet: ``value`` and ``best`` are
    the value of the first state, ``regret`` is 0 and ``best_actions`` are those to take now.

    Of an oracle that cannot list the actions, ``best`` is 1, the largest value there is, and
    ``best_actions`` is empty. Nothing of this reaches an observation.

    An oracle that finds all this in one go may offer ``judge(env, action) -> (value, best,
    best_actions)``; it is used where it exists.

    Args:
        env: The environment to wrap, with its budget inside.
        oracle: An oracle, or its entry point, ``"module:Class"``. A spec stores the entry point,
            so an oracle that needs arguments is not rebuilt from it.
        reward: Give the action's value as the reward (a process reward) instead of the
            environment's. An action that was not carried out keeps its reward of 0, and a step
            that the environment could not judge its NaN.

    Raises:
        OptionError: If the oracle is not one, or its name leads nowhere.
    """

    reads_budget: ClassVar[bool] = True

    def __init__(
        self, env: gym.Env[Any, Any], *, oracle: str | Oracle, reward: bool = False
    ) -> None:
        found, name = resolve_oracle(oracle)
        gym.utils.RecordConstructorArgs.__init__(self, oracle=name, reward=reward)
        super().__init__(env)
        if not isinstance(reward, bool):
            raise OptionError(f"reward must be True or False, got {reward!r}.")
        self.oracle = found
        self.reward = reward
        self._takes_text = has_text(env.action_space)
        self._lists_actions = True
        if hasattr(found, "judge"):
            self._judge = found.judge
        elif isinstance(found, EnumerableOracle):
            self._judge = self._judge_by_list
        else:
            self._judge = self._judge_by_value
            self._lists_actions = False
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode, and judge its first state."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._running = True
        best, best_actions = 1.0, ()
        if self._lists_actions:
            _, best, best_actions = self._judge(self.env, "")
        report = {"value": best, "best": best, "regret": 0.0, "best_actions": list(best_actions)}
        return observation, {**info, "oracle": report}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Judge the action, then take the step."""
        if not self._running or (self._takes_text and not isinstance(action, str)):
            return self.env.step(action)  # which says what is wrong
        value, best, best_actions = self._judge(self.env, action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            self._running = False
        if self.reward and info.get("action_executed", True) and info.get("verdict") != "void":
            reward = value
        info = info.copy()
        info["oracle"] = {
            "value": value,
            "best": best,
            "regret": best - value if value < best else 0.0,
            "best_actions": list(best_actions),
        }
        return observation, reward, terminated, truncated, info

    def _judge_by_list(self, env: gym.Env[Any, Any], action: str) -> Judgement:
        oracle: Any = self.oracle
        values: Mapping[str, float] = oracle.values(env)
        best = max(values.values())
        value = values[action] if action in values else oracle.value(env, action)
        return value, best, tuple(name for name, v in values.items() if v >= best - _TIE)

    def _judge_by_value(self, env: gym.Env[Any, Any], action: str) -> Judgement:
        return self.oracle.value(env, action), 1.0, ()

    def save(self) -> Mapping[str, Any]:
        """Return whether an episode is running."""
        return {"running": self._running}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over the state."""
        self._running = state["running"]


def resolve_oracle(oracle: str | Oracle) -> tuple[Oracle, str]:
    """Return an oracle and its entry point, given either.

    Raises:
        OptionError: If it is neither an oracle nor the entry point of one.
        UnsupportedError: If the oracle's class is local to a function.
    """
    found = load_oracle(oracle) if isinstance(oracle, str) else oracle
    if not callable(getattr(found, "value", None)) or isinstance(found, type):
        raise OptionError(
            f"expected an oracle, with value(env, action), or 'module:Class', got {oracle!r}."
        )
    return found, oracle if isinstance(oracle, str) else oracle_name(oracle)
