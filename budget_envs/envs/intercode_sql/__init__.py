"""InterCode-SQL: questions on a database, answered by interaction with it."""

from budget_envs.envs.intercode_sql.actions import SqlAction, read_sql_action
from budget_envs.envs.intercode_sql.env import InterCodeSQLEnv

__all__ = ["InterCodeSQLEnv", "SqlAction", "read_sql_action"]
