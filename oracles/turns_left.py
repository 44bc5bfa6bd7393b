"""`turns_left`, `calls_left`: how much the budgets around an environment still allow."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym

from budget_envs.budget import Ledger, Resource
from budget_envs.wrappers.base import layers

__all__ = ["calls_left", "turns_left"]


def turns_left(env: gym.Env[Any, Any]) -> float:
    """Return the turns that remain, the next one included, by the tightest budget.

    Args:
        env: An environment in any stack of wrappers.

    Returns:
        A whole number; infinity where no budget limits turns.
    """
    return _left(env, "turns")


def calls_left(env: gym.Env[Any, Any]) -> float:
    """Return the calls that remain, by the tightest budget; infinity where none limits them.

    Args:
        env: An environment in any stack of wrappers.
    """
    return _left(env, "calls")


def _left(env: gym.Env[Any, Any], resource: Resource) -> float:
    ledgers = (getattr(layer, "ledger", None) for layer in layers(env))
    left = (ledger.remaining(resource) for ledger in ledgers if isinstance(ledger, Ledger))
    return min((amount for amount in left if amount is not None), default=math.inf)
