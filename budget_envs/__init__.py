"""Gymnasium text environments for LLM agents in which the interaction budget is part of the task.

Importing this package registers its ids with Gymnasium and loads gymnasium and numpy only::

    import gymnasium as gym, budget_envs
    env = gym.make("budget_envs/FrozenLake-v0", budget=8, show_budget=True, oracle=True)
"""

from budget_envs.budget import Budget, Ledger
from budget_envs.registration import make_vec, register, register_all
from budget_envs.snapshot import Snapshot
from budget_envs.spaces import TextSpace
from budget_envs.text_env import TextEnv
from budget_envs.version import __version__

__all__ = [
    "Budget",
    "Ledger",
    "Snapshot",
    "TextEnv",
    "TextSpace",
    "__version__",
    "make_vec",
    "register",
    "register_all",
]

register_all()
