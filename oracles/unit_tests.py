"""`UnitTestOracle`: the value of a program is the share of hidden tests that it passes."""

from __future__ import annotations

import math
from typing import Any, Final

import gymnasium as gym

from budget_envs.budget import as_limit
from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, read_program, write_program
from budget_envs.errors import UnsupportedError
from budget_envs.oracles.turns_left import turns_left
from budget_envs.sandbox import SandboxLost
from budget_envs.tasks.mutation import failing_mutant

__all__ = ["UnitTestOracle"]

_MAX_MUTANTS: Final = 40
_LONGEST_ORIGIN: Final = 10_000  # characters; making mutants can take time quadratic in them


class UnitTestOracle:
    """Judges the program in an action by the task's hidden tests.

    Attributes:
        exact: True: the share of hidden tests is the quality measure of the papers for code.

    Reference: Zhu et al., 2026, "What Does Multi-Turn Reinforcement Learning Really Improve in LLM
    Agents?" (step-level action quality and error states).
    """

    exact: bool = True

    def value(self, env: gym.Env[Any, Any], action: str) -> float:
        """Return the share of hidden tests passed by the action's program.

        Args:
            env: A `DeepCoderMTEnv` in any stack of wrappers.
            action: Any text.

        Returns:
            A number in [0, 1]; 0 without a program; NaN if the sandbox failed, in which case a
            step with this action is void.
        """
        program = read_program(action)
        if program is None:
            return 0.0
        try:
            return _task_env(env).judge(program).share
        except SandboxLost:
            return math.nan

    def upper_bound(self, env: gym.Env[Any, Any], turns: int) -> float:
        """Return 1: one turn is enough for whoever writes the right program.

        Args:
            env: As for :meth:`value`.
            turns: Turn budget, at least 1.
        """
        _task_env(env)
        as_limit(turns, "turns")
        return 1.0

    def error_action(self, env: gym.Env[Any, Any], action: str, key: int) -> str | None:
        """Return a failing program that is one small edit away from a good one.

        The agent's own program is mutated if it is right; else the task's reference solution;
        else, where there is none, the agent's program, so that there is one mistake more in it.

        Args:
            env: As for :meth:`value`, before the step.
            action: What the agent chose.
            key: 64-bit key that picks the mutant.

        Returns:
            The action, or ``None`` if this is the last turn, or there is nothing to mutate, or no
            mutant fails, or the sandbox does.
        """
        task_env = _task_env(env)
        chosen = read_program(action)
        if turns_left(env) < 2:
            return None

        def is_unfit(program: str) -> bool:
            executed = read_program(write_program(program))
            return executed is None or executed == chosen or task_env.judge(executed).is_success

        try:
            origin = _origin(task_env, chosen)
            mutant = None if origin is None else failing_mutant(origin, is_unfit, key, _MAX_MUTANTS)
        except SandboxLost:
            return None
        return None if mutant is None else write_program(mutant.source)


def _origin(task_env: DeepCoderMTEnv, chosen: str | None) -> str | None:
    """Return the program to put a mistake into."""
    reference = task_env.task.reference_solution if task_env.task else None
    is_right = chosen is not None and task_env.judge(chosen).is_success
    origin = chosen if is_right or reference is None else reference
    return origin if origin and len(origin) <= _LONGEST_ORIGIN else None


def _task_env(env: gym.Env[Any, Any]) -> DeepCoderMTEnv:
    inner = env.unwrapped
    if not isinstance(inner, DeepCoderMTEnv):
        raise UnsupportedError(
            f"UnitTestOracle judges DeepCoderMTEnv in any stack of wrappers, got {inner}: give "
            "this environment an oracle of its own."
        )
    return inner
