"""Policies for SQL tasks that know the answer, or nothing: they show what rewards are worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import gymnasium as gym

from budget_envs.envs.intercode_sql import InterCodeSQLEnv
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.policy import Action, Conversation, Policy

__all__ = ["SqlExploreThenGoldPolicy", "SqlGoldPolicy", "SqlNullPolicy"]

_MAX_TABLES: Final = 2


class SqlGoldPolicy(Policy):
    """Runs the gold query, which it reads from the environment, and submits."""

    needs_env: ClassVar[bool] = True

    def __init__(self) -> None:
        self.name = "sql_gold"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return the next action of each conversation."""
        return [Action(self._next(each)) for each in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without SQL tasks.

        Raises:
            UnsupportedError: If ``env`` is one.
        """
        _check(env, self.name)

    def _next(self, conversation: Conversation) -> str:
        steps = [*self._before(conversation), _task(conversation).gold]
        return steps[conversation.turn] if conversation.turn < len(steps) else "submit"

    def _before(self, conversation: Conversation) -> list[str]:
        return []


class SqlExploreThenGoldPolicy(SqlGoldPolicy):
    """Looks at the tables first, as an agent would, then runs the gold query and submits."""

    def __init__(self) -> None:
        self.name = "sql_explore_then_gold"
        self.settings = {}

    def _before(self, conversation: Conversation) -> list[str]:
        tables = _task(conversation).tables[:_MAX_TABLES]
        return ["SHOW TABLES", *(f"DESC `{table}`" for table, _ in tables)]


class SqlNullPolicy(Policy):
    """Knows nothing: asks for one number, and submits it."""

    def __init__(self) -> None:
        self.name = "sql_null"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return a query that needs no table, then ``submit``."""
        return [Action("SELECT 0" if each.turn == 0 else "submit") for each in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without SQL tasks.

        Raises:
            UnsupportedError: If ``env`` is one.
        """
        _check(env, self.name)


def _task(conversation: Conversation) -> Any:
    return conversation.env.unwrapped.task  # type: ignore[union-attr]  # check_env


def _check(env: gym.Env[Any, Any], policy: str) -> None:
    if not isinstance(env.unwrapped, InterCodeSQLEnv):
        raise UnsupportedError(f"the policy {policy!r} plays SQL tasks, got {env.unwrapped}.")
