"""Policies for code tasks that know the answer, or know nothing: they show what rewards are worth.

`GoldPolicy` must always succeed, `NullPolicy` never, and `GoldAfterFailuresPolicy` needs exactly
the turns that it says. What differs from that is a fault of the tasks or of their judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import gymnasium as gym

from budget_envs.budget import as_limit
from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, read_program, write_program
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.policy import Action, Conversation, Failure, Policy
from budget_envs.sandbox import SandboxLost
from budget_envs.streams import derive_key
from budget_envs.tasks.mutation import failing_mutant

__all__ = ["GoldAfterFailuresPolicy", "GoldPolicy", "NullPolicy"]

_NO_PROGRAM: Final = ""
_EMPTY_PROGRAM: Final = write_program("pass")
_MAX_MUTANTS: Final = 40


class GoldPolicy(Policy):
    """Answers with the task's reference solution, which it reads from the environment."""

    needs_env: ClassVar[bool] = True

    def __init__(self) -> None:
        self.name = "gold"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action | Failure]:
        """Return the reference solution of each conversation's task."""
        return [_with_solution(each, lambda _, solution: solution) for each in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without code tasks that have reference solutions.

        Raises:
            UnsupportedError: If ``env`` is one.
        """
        _check_solutions(env, self.name)


class GoldAfterFailuresPolicy(Policy):
    """Answers wrongly for some turns, and then with the task's reference solution.

    The wrong answers are the reference solution with a mistake in it, another one each turn,
    drawn from the conversation's stream; an empty program where no mistake makes a test fail.

    Args:
        failures: How many turns are wrong, at least 1.
    """

    needs_env: ClassVar[bool] = True

    def __init__(self, failures: int = 1) -> None:
        self.failures = as_limit(failures, "failures")
        self.name = "gold_after_failures"
        self.settings = {"failures": self.failures}

    def act(self, conversations: Sequence[Conversation]) -> list[Action | Failure]:
        """Return the next answer of each conversation."""
        return [_with_solution(each, self._answer) for each in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without code tasks that have reference solutions.

        Raises:
            UnsupportedError: If ``env`` is one.
        """
        _check_solutions(env, self.name)

    def _answer(self, conversation: Conversation, solution: str) -> str:
        if conversation.turn >= self.failures:
            return solution
        env = _code_env(conversation)

        def passes(program: str) -> bool:
            return env.judge(read_program(write_program(program)) or "").is_success

        seed = derive_key(conversation.key, conversation.turn)
        mutant = failing_mutant(solution, passes, seed, _MAX_MUTANTS)
        return "pass" if mutant is None else mutant.source


class NullPolicy(Policy):
    """Knows nothing: in turn, it gives no program, and a program that does nothing."""

    def __init__(self) -> None:
        self.name = "null"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return an empty answer, or an empty program."""
        empty = (_NO_PROGRAM, _EMPTY_PROGRAM)
        return [Action(empty[conversation.turn % 2]) for conversation in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without code tasks.

        Raises:
            UnsupportedError: If ``env`` is one.
        """
        _checked(env, self.name)


def _with_solution(
    conversation: Conversation, answer: Callable[[Conversation, str], str]
) -> Action | Failure:
    """Return the action that holds the program made from the task's reference solution."""
    task = _code_env(conversation).task
    solution = task.reference_solution if task is not None else None
    if solution is None:
        return Failure(f"there is no reference solution: {task!r:.200}.", "env")
    try:
        return Action(write_program(answer(conversation, solution)))
    except SandboxLost as error:
        return Failure(str(error), "sandbox")


def _code_env(conversation: Conversation) -> DeepCoderMTEnv:
    return conversation.env.unwrapped  # type: ignore[union-attr, return-value]  # check_env


def _checked(env: gym.Env[Any, Any], policy: str) -> DeepCoderMTEnv:
    if not isinstance(env.unwrapped, DeepCoderMTEnv):
        raise UnsupportedError(f"the policy {policy!r} plays code tasks, got {env.unwrapped}.")
    return env.unwrapped


def _check_solutions(env: gym.Env[Any, Any], policy: str) -> None:
    if not _checked(env, policy).source.has_solutions:
        raise UnsupportedError(
            f"the policy {policy!r} needs reference solutions, and this dataset has none."
        )
