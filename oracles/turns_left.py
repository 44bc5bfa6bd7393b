"""`turns_left`: how many turns the budgets around an environment still allow."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym

from budget_envs.budget import Ledger
from budget_envs.wrappers.base import layers

__all__ = ["turns_left"]


def turns_left(env: gym.Env[Any, Any]) -> float:
    """Return the turns that remain, the next one included, by the tightest budget.

    Args:
        env: An environment in any stack of wrappers.

    Returns:
        A whole number; infinity where no budget limits turns.
    """
    ledgers = (getattr(layer, "ledger", None) for layer in layers(env))
    left = (ledger.remaining("turns") for ledger in ledgers if isinstance(ledger, Ledger))
    return min((turns for turns in left if turns is not None), default=math.inf)
