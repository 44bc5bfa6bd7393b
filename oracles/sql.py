"""`SqlOracle`: the value of a statement is how far its result agrees with the gold result."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from budget_envs.budget import as_limit
from budget_envs.envs.intercode_sql import InterCodeSQLEnv, read_sql_action
from budget_envs.errors import UnsupportedError
from budget_envs.oracles.turns_left import turns_left
from budget_envs.sql.mutation import failing_query

__all__ = ["SqlOracle"]

_MAX_MUTANTS = 20


class SqlOracle:
    """Judges statements by their results.

    Attributes:
        exact: False: agreement says how good a result is to submit, not what a statement that
            explores the schema is worth.

    Reference: Zhu et al., 2026, "What Does Multi-Turn Reinforcement Learning Really Improve in LLM
    Agents?" (step-level action quality).
    """

    exact = False

    def value(self, env: gym.Env[Any, Any], action: str) -> float:
        """Return the agreement in [0, 1] of the result that an action makes or submits.

        A statement is worth the agreement of its result, ``submit`` that of the newest result, and
        ``skip`` and a text without an action nothing.

        Args:
            env: The environment, before the step; it is not changed.
            action: Any text.
        """
        sql_env = _sql_env(env)
        read = read_sql_action(action)
        if read is None or read.kind == "skip":
            return 0.0
        return sql_env.agreement(read.sql if read.kind == "sql" else None)

    def upper_bound(self, env: gym.Env[Any, Any], turns: int) -> float:
        """Return 1 if ``turns`` are enough for the gold query and ``submit``, else 0.

        Both are turns, so a budget of 1 is enough only where every result is submitted by itself.

        Args:
            env: The environment.
            turns: Turn budget, at least 1.
        """
        needed = 1 if _sql_env(env).auto_submit else 2
        return float(as_limit(turns, "turns") >= needed)

    def error_action(self, env: gym.Env[Any, Any], action: str, key: int) -> str | None:
        """Return a wrong query that runs, with turns left for the right one.

        The agent's own query is mutated where it is right, else the gold query.

        Args:
            env: The environment, before the step.
            action: What the agent chose.
            key: 64-bit key that picks the mutant.

        Returns:
            The query, or ``None`` if too few turns remain or no mutant is wrong.
        """
        sql_env = _sql_env(env)
        if turns_left(env) < (2 if sql_env.auto_submit else 3):
            return None
        read = read_sql_action(action)
        chosen = read.sql if read is not None else ""
        is_right = bool(chosen) and sql_env.agreement(chosen) == 1
        origin = chosen if is_right else sql_env.task.gold if sql_env.task else ""

        def judge(sql: str) -> bool | None:
            if sql_env.try_out(sql).error is not None:
                return None
            return sql_env.agreement(sql) == 1

        dialect = sql_env.engine.dialect
        mutant = failing_query(origin, judge, key, _MAX_MUTANTS, dialect=dialect)
        return None if mutant is None or mutant.sql == chosen.strip() else mutant.sql


def _sql_env(env: gym.Env[Any, Any]) -> InterCodeSQLEnv:
    inner = env.unwrapped
    if not isinstance(inner, InterCodeSQLEnv):
        raise UnsupportedError(f"SqlOracle judges InterCodeSQLEnv, got {inner}.")
    return inner
