"""The lakes of N copies as arrays: where moves lead, what tiles are, what is written about them.

`SharedLake` serves copies that are all on one lake: every text is rendered once and then looked
up. `OwnLakes` serves copies on lakes of their own: texts are put together, for all copies at
once, from what happened (alike on all lakes) and the grid.

Positions are ``(N,) intp`` tile indices. Actions are ``(N,) intp`` in 0..3; an executed action may
also be `STAY`, which does not move the player.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from budget_envs.envs.frozen_lake.lake import ACTIONS, Lake
from budget_envs.envs.frozen_lake.text import first_observation, grid, moved_observation

__all__ = ["GOAL", "HOLE", "ICE", "STAY", "Integers", "Objects", "OwnLakes", "SharedLake"]

Integers = NDArray[np.intp]
Objects = NDArray[np.object_]

ICE, HOLE, GOAL = 0, 1, 2
STAY: Final = len(ACTIONS)
_MOVES: Final = STAY + 1
_KIND_OF: Final = np.zeros(128, dtype=np.uint8)
_KIND_OF[[ord("F"), ord("H"), ord("G")]] = ICE, HOLE, GOAL
_PLAYER: Final = ord("P")
_MAX_CHARACTERS: Final = 1 << 26  # of the texts that one table keeps


class _TextTable:
    """Texts by integer code, each rendered when it is first asked for."""

    def __init__(self, size: int = 0) -> None:
        self._texts: Objects = np.full(size, None, dtype=object)
        self._known = np.zeros(size, dtype=np.bool_)
        self._characters = 0

    def grow(self, size: int) -> None:
        """Make room for codes below ``size``."""
        more = size - len(self._texts)
        self._texts = np.concatenate([self._texts, np.full(more, None, dtype=object)])
        self._known = np.concatenate([self._known, np.zeros(more, dtype=np.bool_)])

    def take(self, codes: Integers, render: Callable[[int], str]) -> Objects:
        """Return the text of each code; ``render(i)`` makes the one of ``codes[i]``."""
        if not self._known.take(codes).all():
            if self._characters > _MAX_CHARACTERS:
                self._known[:] = False
                self._texts[:] = None
                self._characters = 0
            for i in np.flatnonzero(~self._known.take(codes)).tolist():
                text = self._texts[codes[i]] = render(i)
                self._known[codes[i]] = True
                self._characters += len(text)
        return self._texts.take(codes)


class SharedLake:
    """One lake that all copies are on.

    Args:
        lake: The lake.
        num_envs: Number of copies N.
        success_rate: Stands in the instructions.

    Attributes:
        lake: The lake.
    """

    def __init__(self, lake: Lake, num_envs: int, success_rate: float) -> None:
        self.lake = lake
        self._moves = _moves_of(lake)
        self._kinds = _kinds_of([lake], len(lake.tiles))[0]
        self._starts = np.full(num_envs, lake.start, dtype=np.intp)
        self._min_turns = np.full(num_envs, lake.min_turns, dtype=np.int64)
        self._ids = np.full(num_envs, lake.id, dtype=object)
        self._keys = np.array([f"{lake.key}:{i}" for i in range(len(lake.tiles))], dtype=object)
        first = first_observation(lake, success_rate)
        self._first_texts: Objects = np.full(num_envs, first, dtype=object)
        self._texts = _TextTable(len(self._moves) * _MOVES)

    def lake_of(self, copy: int) -> Lake:
        """Return the lake of one copy."""
        return self.lake

    def starts(self, copies: Integers) -> Integers:
        """Return the start tiles of some copies."""
        return self._starts[copies]

    def follow(self, before: Integers, executed: Integers) -> Integers:
        """Return the tiles that moves lead to."""
        return self._moves.take(before * _MOVES + executed)

    def kinds(self, positions: Integers) -> NDArray[np.uint8]:
        """Return `ICE`, `HOLE` or `GOAL` for the tile of each copy."""
        kinds: NDArray[np.uint8] = self._kinds.take(positions)
        return kinds

    def moved_texts(
        self, before: Integers, after: Integers, chosen: Integers, executed: Integers
    ) -> Objects:
        """Return the observations of a turn; without meaning where ``chosen`` is `STAY`."""

        def render(i: int) -> str:
            return _moved_text(self.lake, before[i], after[i], chosen[i], executed[i])

        return self._texts.take((before * _MOVES + executed) * _MOVES + chosen, render)

    def first_texts(self, copies: Integers) -> Objects:
        """Return the first observations of some copies."""
        return self._first_texts[copies]

    def ids(self) -> Objects:
        """Return the task ids."""
        return self._ids.copy()

    def state_keys(self, positions: Integers) -> Objects:
        """Return the state keys."""
        return self._keys.take(positions)

    def min_turns(self) -> NDArray[np.int64]:
        """Return the lengths of the shortest paths."""
        return self._min_turns.copy()


class OwnLakes:
    """A lake for each copy, replaced with every episode. Copies have none at first.

    Args:
        num_envs: Number of copies N.
        success_rate: Stands in the instructions.
    """

    def __init__(self, num_envs: int, success_rate: float) -> None:
        self._success_rate = success_rate
        self._rows = np.arange(num_envs)
        self._lakes: list[Lake] = [_NOWHERE] * num_envs
        self._blocks: dict[tuple[int, int], int] = {}  # where in _moves those of a shape begin
        self._moves: Integers = np.empty(0, dtype=np.intp)
        self._block = np.zeros(num_envs, dtype=np.intp)
        self._kinds = np.zeros((num_envs, 0), dtype=np.uint8)
        self._grids = np.zeros((num_envs, 0), dtype=np.uint32)  # code points, 0 after the end
        self._starts = np.zeros(num_envs, dtype=np.intp)
        self._min_turns = np.zeros(num_envs, dtype=np.int64)
        self._ids: Objects = np.full(num_envs, "", dtype=object)
        self._keys: Objects = np.full(num_envs, "", dtype=object)
        self._events = _TextTable()
        self._numbers: Objects = np.empty(0, dtype=object)

    def replace(self, copies: Integers, lakes: Sequence[Lake]) -> None:
        """Put each of some copies on another lake."""
        self._make_room(max(len(lake.tiles) for lake in lakes))
        tiles, characters = self._kinds.shape[1], self._grids.shape[1]
        for copy, lake in zip(copies.tolist(), lakes, strict=True):
            self._lakes[copy] = lake
        self._block[copies] = [self._block_of(lake) for lake in lakes]
        self._kinds[copies] = _kinds_of(lakes, tiles)
        # The grid without the player: under a player on tile 1 lies tile 0, and the other way.
        grids = [grid(lake, 1)[0] + grid(lake, 0)[1:] for lake in lakes]
        self._grids[copies] = _code_points(grids, characters)
        self._starts[copies] = [lake.start for lake in lakes]
        self._min_turns[copies] = [lake.min_turns for lake in lakes]
        self._ids[copies] = [lake.id for lake in lakes]
        self._keys[copies] = [f"{lake.key}:" for lake in lakes]

    def lake_of(self, copy: int) -> Lake:
        """Return the lake of one copy."""
        return self._lakes[copy]

    def starts(self, copies: Integers) -> Integers:
        """Return the start tiles of some copies."""
        return self._starts[copies]

    def follow(self, before: Integers, executed: Integers) -> Integers:
        """Return the tiles that moves lead to."""
        return self._moves.take(self._block + before * _MOVES + executed)

    def kinds(self, positions: Integers) -> NDArray[np.uint8]:
        """Return `ICE`, `HOLE` or `GOAL` for the tile of each copy."""
        kinds: NDArray[np.uint8] = self._kinds[self._rows, positions]
        return kinds

    def moved_texts(
        self, before: Integers, after: Integers, chosen: Integers, executed: Integers
    ) -> Objects:
        """Return the observations of a turn; without meaning where ``chosen`` is `STAY`."""

        def render(i: int) -> str:
            lake, at = self._lakes[i], after[i]
            text = _moved_text(lake, before[i], at, chosen[i], executed[i])
            return text.removesuffix(grid(lake, int(at)))

        moves = self._block + before * _MOVES + executed
        codes = (moves * _MOVES + chosen) * 3 + self.kinds(after)
        return self._events.take(codes, render) + self._render_grids(after)  # type: ignore[no-any-return]

    def first_texts(self, copies: Integers) -> Objects:
        """Return the first observations of some copies."""
        texts = [first_observation(self._lakes[i], self._success_rate) for i in copies.tolist()]
        return np.array(texts, dtype=object)

    def ids(self) -> Objects:
        """Return the task ids."""
        return self._ids.copy()

    def state_keys(self, positions: Integers) -> Objects:
        """Return the state keys."""
        return self._keys + self._numbers.take(positions)  # type: ignore[no-any-return]

    def min_turns(self) -> NDArray[np.int64]:
        """Return the lengths of the shortest paths."""
        return self._min_turns.copy()

    def _render_grids(self, positions: Integers) -> Objects:
        grids = self._grids.copy()
        grids[self._rows, 2 * positions] = _PLAYER
        texts: Any = grids.view(f"U{grids.shape[1]}")[:, 0]
        return texts.astype(object)  # type: ignore[no-any-return]

    def _make_room(self, tiles: int) -> None:
        more = tiles - self._kinds.shape[1]
        if more > 0:
            self._kinds = np.pad(self._kinds, ((0, 0), (0, more)))
            wider = 2 * tiles - 1 - self._grids.shape[1]
            self._grids = np.pad(self._grids, ((0, 0), (0, wider)))
            self._numbers = np.array([str(tile) for tile in range(tiles)], dtype=object)

    def _block_of(self, lake: Lake) -> int:
        shape = lake.nrow, lake.ncol
        if shape not in self._blocks:
            self._blocks[shape] = len(self._moves)
            self._moves = np.concatenate([self._moves, _moves_of(lake)])
            self._events.grow(len(self._moves) * _MOVES * 3)
        return self._blocks[shape]


_NOWHERE: Final = Lake("FG", 2, 0)


def _moves_of(lake: Lake) -> Integers:
    """Return where each move, `STAY` included, leads from each tile: ``(tiles * 5,)``."""
    table = [(*targets, tile) for tile, targets in enumerate(lake.moves)]
    return np.array(table, dtype=np.intp).ravel()


def _kinds_of(lakes: Sequence[Lake], tiles: int) -> NDArray[np.uint8]:
    """Return the kind of each tile: ``(len(lakes), tiles)``, ice behind a lake's last tile."""
    kinds: NDArray[np.uint8] = _KIND_OF.take(_code_points([lake.tiles for lake in lakes], tiles))
    return kinds


def _code_points(texts: Sequence[str], length: int) -> NDArray[np.uint32]:
    """Return the characters of texts: ``(len(texts), length)``, zeros behind a text's end."""
    points: NDArray[np.uint32] = np.array(texts, dtype=f"U{length}").view(np.uint32)
    return points.reshape(len(texts), length)


def _moved_text(lake: Lake, before: Any, after: Any, chosen: Any, executed: Any) -> str:
    if chosen == STAY:
        return ""
    return moved_observation(lake, int(before), int(after), int(chosen), int(executed))
