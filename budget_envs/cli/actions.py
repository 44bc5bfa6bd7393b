"""`read_action`: what a line that a person typed means as an action."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np

from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.wrappers.base import has_text

__all__ = ["read_action"]


def read_action(space: gym.Space[Any], text: str) -> Any:
    """Return the action that a line means: text, an integer, or an array as a JSON list.

    Raises:
        OptionError: If the line is no member of the space; it says what is.
        UnsupportedError: If the space has other members than these.
    """
    if has_text(space):
        return text
    if not isinstance(
        space,
        gym.spaces.Discrete | gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary,
    ):
        raise UnsupportedError(f"play reads text, integers and lists of numbers, not {space}.")
    action = _read_numbers(text, space.dtype)
    if action is None or not space.contains(action):
        raise OptionError(f"expected an action of {space}, got {text!r:.80}.")
    return action


def _read_numbers(text: str, dtype: Any) -> Any:
    """Return JSON as numbers of a type that holds them exactly, or ``None``."""
    try:
        numbers = np.asarray(json.loads(text))
    except (ValueError, RecursionError):  # no JSON, or lists of different lengths
        return None
    wanted = np.dtype(dtype)
    if numbers.dtype.kind not in ("iuf" if wanted.kind == "f" else "iu"):
        return None
    if wanted.kind != "f" and np.any(numbers != numbers.astype(wanted)):
        return None
    return numbers.astype(wanted)[()]
