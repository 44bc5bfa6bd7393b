"""Reading the actions of N copies: common spellings by one look-up each, all others one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

import numpy as np

from budget_envs.actions import read_choice
from budget_envs.envs.frozen_lake.lake import ACTIONS, CHOICES
from budget_envs.envs.frozen_lake.vector_lakes import STAY, Integers
from budget_envs.errors import OptionError

__all__ = ["as_batch", "read_batch"]


class _ActionCodes(dict[Any, int]):
    """The number of each action text; what is not listed is read when it is asked for."""

    def __missing__(self, action: Any) -> int:
        if not isinstance(action, str):
            raise TypeError(
                f"expected the action as a str, got {action!r} of type {type(action).__name__}; "
                "for integer actions make the environment with numeric=True."
            )
        chosen = read_choice(action, CHOICES)
        return STAY if chosen is None else chosen


_CODES: Final = _ActionCodes(
    {
        spelling: number
        for number, name in enumerate(ACTIONS)
        for word in (name, name.lower(), name.upper())
        for spelling in (word, f"<answer>{word}</answer>")
    }
)


def as_batch(actions: Iterable[str], num_envs: int) -> list[str]:
    """Return actions as a list of N.

    Raises:
        OptionError: If there are not N of them.
        TypeError: If ``actions`` is one string, which would be read letter by letter.
    """
    if isinstance(actions, str):
        raise TypeError(f"expected a sequence of {num_envs} strings, got one string {actions!r}.")
    batch = actions.tolist() if isinstance(actions, np.ndarray) else list(actions)
    if not isinstance(batch, list) or len(batch) != num_envs:
        count = len(batch) if isinstance(batch, list) else "none"
        raise OptionError(
            f"expected a batch of {num_envs} actions, one for each copy, got {count}."
        )
    return batch


def read_batch(actions: list[str], unread: Collection[int] = ()) -> Integers:
    """Return the number of each action, or `STAY` where none can be read.

    Args:
        actions: N strings.
        unread: Copies whose action may be anything.

    Returns:
        ``(N,) intp`` in 0..4.

    Raises:
        TypeError: If an action is not a string.
    """
    try:
        codes = bytearray(map(_CODES.__getitem__, actions))
    except TypeError:  # also of an unhashable action
        codes = bytearray(
            STAY if copy in unread else _CODES.__missing__(action)
            for copy, action in enumerate(actions)
        )
    return np.frombuffer(codes, dtype=np.uint8).astype(np.intp)
