"""`Game`: the state of N copies of FrozenLake, and one turn of them all in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import ACTIONS, Lake
from budget_envs.envs.frozen_lake.text import grid, invalid_observation
from budget_envs.envs.frozen_lake.vector_infos import vector_info
from budget_envs.envs.frozen_lake.vector_lakes import (
    GOAL,
    ICE,
    STAY,
    Integers,
    Objects,
    OwnLakes,
    SharedLake,
)
from budget_envs.envs.frozen_lake.vector_maps import draw_lakes
from budget_envs.streams import uniforms

__all__ = ["Game", "Mask", "Turn"]

Mask = NDArray[np.bool_]

_NAMES: Final = np.array([*ACTIONS, ""], dtype=object)
_VERDICTS: Final = np.array(["fail", "pass"], dtype=object)
_SLIDES: Final = np.array(  # what the ice makes of an action: a turn to one side, none, the other
    [[*((action + side) % 4 for action in range(4)), STAY] for side in (-1, 0, 1)], dtype=np.intp
).ravel()


@dataclass(slots=True)
class Turn:
    """What one call did to each of N copies: a turn, or the start of an episode.

    Attributes:
        texts: ``(N,) object``, observations without what `ShowBudget` adds.
        executed: ``(N,) intp``, the moves made, `STAY` for none.
        invalid: ``(N,) bool``, the action could not be read.
        slipped: ``(N,) bool``, the move is not the chosen one.
        over: ``(N,) bool``, the player is on a goal or in a hole.
        success: ``(N,) bool``, the player is on a goal.
        exhausted: ``(N,) bool``, the budget ended the episode; the game itself leaves it False.
    """

    texts: Objects
    executed: Integers
    invalid: Mask
    slipped: Mask
    over: Mask
    success: Mask
    exhausted: Mask

    @classmethod
    def nothing(cls, num_envs: int) -> Turn:
        """Return the turn of copies to which nothing was done."""
        texts = np.full(num_envs, "", dtype=object)
        executed = np.full(num_envs, STAY, dtype=np.intp)
        return cls(texts, executed, *(np.zeros(num_envs, dtype=np.bool_) for _ in range(5)))

    def begin(self, copies: Integers, first_texts: Objects) -> None:
        """Let some copies be at the start of an episode instead."""
        self.texts[copies] = first_texts
        self.executed[copies] = STAY
        for array in (self.invalid, self.slipped, self.over, self.success, self.exhausted):
            array[copies] = False

    @property
    def ended(self) -> Mask:
        """``(N,) bool``, the episode ended here."""
        return self.over | self.exhausted

    def copy(self) -> Turn:
        """Return an independent copy."""
        return Turn(*(getattr(self, name).copy() for name in Turn.__slots__))


class Game:
    """N copies of the game, without budgets and without autoreset.

    Args:
        env: A scalar environment, whose settings hold for all copies.
        num_envs: Number of copies N.

    Attributes:
        turns: ``(N,) int64``, turns taken in each copy's episode.
    """

    def __init__(self, env: FrozenLakeEnv, num_envs: int) -> None:
        self.turns = np.zeros(num_envs, dtype=np.int64)
        self._env = env
        self._num_envs = num_envs
        self._lakes: SharedLake | OwnLakes = OwnLakes(num_envs, env.success_rate)
        self._positions = np.zeros(num_envs, dtype=np.intp)
        self._dynamics = np.zeros(num_envs, dtype=np.uint64)

    def begin(
        self,
        copies: Integers,
        keys: NDArray[np.uint64],
        dynamics: NDArray[np.uint64],
        lake: Lake | None = None,
    ) -> Objects:
        """Start an episode in some copies.

        Args:
            copies: Which ones.
            keys: The episode key of each.
            dynamics: The key of each episode's dynamics.
            lake: The task of all of them; ``None`` for what the settings give.

        Returns:
            Their first observations.
        """
        self._place(copies, keys, self._env.lake if lake is None else lake)
        self._dynamics[copies] = dynamics
        self._positions[copies] = self._lakes.starts(copies)
        self.turns[copies] = 0
        return self._lakes.first_texts(copies)

    def play(self, actions: Sequence[str], chosen: Integers, idle: Integers) -> Turn:
        """Take one turn in every copy.

        Args:
            actions: The N texts, to be quoted where none could be read.
            chosen: ``(N,)``, the actions read from them, `STAY` for none.
            idle: Copies that are begun next, so that nothing of this turn will be seen.
        """
        self.turns += 1
        before = self._positions
        executed = self._slide(chosen)
        self._positions = after = self._lakes.follow(before, executed)
        texts = self._lakes.moved_texts(before, after, chosen, executed)
        invalid = chosen == STAY
        invalid[idle] = False
        for copy in np.flatnonzero(invalid).tolist():
            lake, position = self._lakes.lake_of(copy), int(after[copy])
            texts[copy] = invalid_observation(lake, position, actions[copy])
        kinds = self._lakes.kinds(after)
        slipped, over, success = executed != chosen, kinds != ICE, kinds == GOAL
        return Turn(texts, executed, invalid, slipped, over, success, np.zeros_like(over))

    def info(self, turn: Turn, mask: Mask) -> dict[str, Any]:
        """Return the vector info of the masked copies.

        Args:
            turn: What was done last.
            mask: ``(N,) bool``, copies to report; all that ended are among them.
        """
        columns = {
            "task_id": self._lakes.ids(),
            "turn": self.turns.copy(),
            "state_key": self._lakes.state_keys(self._positions),
            "invalid_action": turn.invalid,
            "min_turns": self._lakes.min_turns(),
            "executed_action": _NAMES.take(turn.executed),
            "slipped": turn.slipped,
        }
        ended = turn.ended
        success = turn.success[ended]
        endings = {"is_success": success, "verdict": _VERDICTS.take(success.view(np.uint8))}
        return {**vector_info(columns, mask), **vector_info(endings, ended)}

    def render(self) -> tuple[str, ...]:
        """Return the grid of every copy, which must have been begun."""
        return tuple(
            grid(self._lakes.lake_of(copy), position)
            for copy, position in enumerate(self._positions.tolist())
        )

    def _place(self, copies: Integers, keys: NDArray[np.uint64], lake: Lake | None) -> None:
        """Put some copies on the given lake, or on the ones that their keys pick."""
        shared = self._lakes.lake if isinstance(self._lakes, SharedLake) else None
        if lake is not None and lake is shared:
            return
        if lake is not None and len(copies) == self._num_envs:
            self._lakes = SharedLake(lake, self._num_envs, self._env.success_rate)
            return
        lakes = draw_lakes(self._env.maps, keys) if lake is None else [lake] * len(copies)
        if isinstance(self._lakes, SharedLake):
            everyone = np.arange(self._num_envs)
            before = [self._lakes.lake] * self._num_envs
            self._lakes = OwnLakes(self._num_envs, self._env.success_rate)
            self._lakes.replace(everyone, before)
        self._lakes.replace(copies, lakes)

    def _slide(self, chosen: Integers) -> Integers:
        """Return the actions that the ice makes of the chosen ones."""
        rate = self._env.success_rate
        if rate == 1:
            return chosen
        drawn = uniforms(self._dynamics, self.turns.astype(np.uint64))
        side = (1 - rate) / 2
        sides = (drawn >= side).astype(np.intp) + (drawn >= side + rate)
        return _SLIDES.take(sides * (STAY + 1) + chosen)
