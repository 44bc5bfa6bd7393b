"""`TurnBudgets`: the turn limits of N copies, and what is said of them."""

from __future__ import annotations

from typing import Any, Final

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from budget_envs.budget import Budget
from budget_envs.envs.frozen_lake.vector_infos import vector_info
from budget_envs.errors import UnsupportedError

__all__ = ["TurnBudgets"]

_UNLIMITED: Final = np.iinfo(np.int64).max
_WORDS: Final = np.array([None, "turns"], dtype=object)
_MANY_LINES: Final = 4096  # remembered; more start over, so that memory stays bounded


class TurnBudgets:
    """The turn limits of N copies.

    A turn is one step, so a copy's turn counter is all that its ledger would hold.

    Args:
        scalar: A scalar environment with all its wrappers, asked for what `ShowBudget` says.
        budget: The limits that every episode starts from.
        num_envs: Number of copies N.
    """

    def __init__(self, scalar: gym.Env[Any, Any], budget: Budget, num_envs: int) -> None:
        self._scalar = scalar
        self._default = turn_limit(budget)
        self._lines: dict[tuple[int, int], str] = {}
        # The lines for 0, 1, ... turns taken of a limit that all copies have, as far as needed.
        self._ladder: NDArray[np.object_] = np.empty(0, dtype=object)
        self._set_limits(np.full(num_envs, self._default, dtype=np.int64))

    def begin(self, copies: NDArray[np.intp], limit: int | None = None) -> None:
        """Give some copies the limit of the episode that begins, ``None`` for the usual one."""
        limit = self._default if limit is None else limit
        if self._differ or limit != self._limits[0]:
            self._limits[copies] = limit
            self._set_limits(self._limits)

    def used_up(self, turns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which copies have no turn left, given the ``(N,)`` turns they took."""
        return turns >= self._limits

    def info(
        self, turns: NDArray[np.int64], exhausted: NDArray[np.bool_], mask: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Return ``infos["budget"]``.

        Args:
            turns: ``(N,)``, turns taken.
            exhausted: ``(N,) bool``, copies whose episode the budget ended.
            mask: ``(N,) bool``, copies to report.
        """
        limits = self._limits.copy()
        report = {"limit": limits, "used": turns.copy(), "remaining": limits - turns}
        word: NDArray[np.object_] = np.empty(len(mask), dtype=object)  # None throughout
        word[exhausted] = "turns"
        words = {"binding": self._binding.copy(), "exhausted": word}
        return {
            **vector_info({"turns": report}, mask & self._limited),
            **vector_info(words, mask),
        }

    def lines(self, turns: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return what `ShowBudget` appends to each observation: ``(N,)`` strings."""
        longest = int(turns.max())
        if self._differ or longest >= _MANY_LINES:
            pairs = zip(self._limits.tolist(), turns.tolist(), strict=True)
            return np.array([self._line(limit, used) for limit, used in pairs], dtype=object)
        if longest >= len(self._ladder):
            limit = int(self._limits[0])
            ladder = [self._line(limit, used) for used in range(longest + 1)]
            self._ladder = np.array(ladder, dtype=object)
        return self._ladder.take(turns)

    def _set_limits(self, limits: NDArray[np.int64]) -> None:
        self._limits = limits
        self._limited = limits != _UNLIMITED
        self._binding = _WORDS.take(self._limited.view(np.uint8))
        self._differ = bool((limits != limits[0]).any())
        self._ladder = self._ladder[:0]

    def _line(self, limit: int, used: int) -> str:
        if limit == _UNLIMITED:
            return ""
        line = self._lines.get((limit, used))
        if line is None:
            if len(self._lines) >= _MANY_LINES:
                self._lines.clear()
            line = self._lines[limit, used] = self._ask(limit, used)
        return line

    def _ask(self, limit: int, used: int) -> str:
        """Let the scalar environment take turn number ``used`` and see what is appended.

        An empty action moves nobody. The turn before is taken too, because `ShowBudget` tells of
        a threshold when it is crossed.
        """
        text, info = self._scalar.reset(seed=0, options={"budget": {"turns": limit}})
        if used > 2:
            self._scalar.get_wrapper_attr("charge")(turns=used - 2)
        for _ in range(min(used, 2)):
            text, _, _, _, info = self._scalar.step("")
        return str(text.removeprefix(info["observation"]))


def turn_limit(budget: Budget) -> int:
    """Return the limit on turns, the largest integer if there is none.

    Raises:
        UnsupportedError: If another resource is limited.
    """
    others = [name for name in budget.limits() if name != "turns"]
    if others:
        raise UnsupportedError(
            f"the native vector environment limits turns only, not {', '.join(others)}: give "
            "make_vec this budget from the start, or pass vectorization_mode='sync'."
        )
    return budget.turns or _UNLIMITED
