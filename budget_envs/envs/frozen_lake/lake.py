"""`Lake`: one map, immutable, with its moves and its shortest path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from budget_envs.errors import OptionError
from budget_envs.streams import text_key
from budget_envs.text_env import Verdict

__all__ = ["ACTIONS", "CHOICES", "MAPS", "Lake", "moves"]

ACTIONS: Final = ("Left", "Down", "Right", "Up")  # numbered as Gymnasium numbers them
CHOICES: Final = {name.lower(): number for number, name in enumerate(ACTIONS)}

Outcome = tuple[int, str, float, Verdict | None]
"""Tile reached, observation, reward and verdict of a move."""

_MAX_CHARACTERS: Final = 1 << 23  # of the observations that one lake remembers, about

MAPS: Final = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
"""Gymnasium's own maps, by Gymnasium's names."""


@lru_cache(maxsize=256)
def moves(nrow: int, ncol: int) -> tuple[tuple[int, int, int, int], ...]:
    """Return where each action leads from each tile, walls included.

    Returns:
        One tuple for each tile in row-major order, with the tile reached by Left, Down, Right, Up.
    """
    return tuple(
        (
            tile - (tile % ncol > 0),
            tile + ncol * (tile // ncol < nrow - 1),
            tile + (tile % ncol < ncol - 1),
            tile - ncol * (tile // ncol > 0),
        )
        for tile in range(nrow * ncol)
    )


class Lake:
    """One frozen lake: tiles, one start, at least one goal. Immutable and hashable.

    Args:
        tiles: The letters F (ice), H (hole), G (goal) of all tiles, row by row; the start tile is
            ice.
        ncol: Number of columns.
        start: Index of the start tile.

    Attributes:
        nrow: Number of rows.
        min_turns: Length of the shortest path from start to a goal; -1 if there is none.
        moves: See :func:`moves`.
        base: The grid without the player; ``""`` until `frozen_lake.text` drew it.
        outcomes: Cache of what moves do, by tile, chosen and executed action; see :meth:`remember`.
        state_keys: Cache of :meth:`state_key` by tile.
    """

    __slots__ = (
        "_id",
        "_key",
        "base",
        "min_turns",
        "moves",
        "ncol",
        "nrow",
        "outcomes",
        "start",
        "state_keys",
        "tiles",
    )

    def __init__(self, tiles: str, ncol: int, start: int, min_turns: int | None = None) -> None:
        self.tiles = tiles
        self.ncol = ncol
        self.nrow = len(tiles) // ncol
        self.start = start
        self.moves = moves(self.nrow, ncol)
        self.min_turns = (
            shortest_path(_mask(tiles, "FG"), _mask(tiles, "G"), start, ncol)
            if min_turns is None
            else min_turns
        )
        self.base = ""
        self.outcomes: dict[tuple[int, int, int], Outcome] = {}
        self.state_keys: dict[int, str] = {}
        self._id = ""
        self._key = ""

    @classmethod
    def from_rows(cls, rows: Sequence[str]) -> Lake:
        """Read a map in Gymnasium's letters, e.g. ``["SFF", "FHG"]``.

        Raises:
            OptionError: If a row has another length, a letter is not one of S F H G, there is not
                exactly one S, or there is no G. Rows and columns in the message count from 1.
        """
        _check_rows(rows)
        tiles = "".join(rows)
        return cls(tiles.replace("S", "F"), len(rows[0]), tiles.index("S"))

    @property
    def id(self) -> str:
        """The map in Gymnasium's letters, rows joined by ``/``: it reads back into this lake."""
        if not self._id:
            tiles = self.tiles[: self.start] + "S" + self.tiles[self.start + 1 :]
            ncol = self.ncol
            self._id = "/".join([tiles[i : i + ncol] for i in range(0, len(tiles), ncol)])
        return self._id

    @property
    def key(self) -> str:
        """A 64-bit hash of the map as 16 hexadecimal digits, equal in every process."""
        if not self._key:
            self._key = f"{text_key(self.id):016x}"
        return self._key

    def state_key(self, tile: int) -> str:
        """Return the text that stands for the player being on a tile of this map."""
        key = self.state_keys[tile] = f"{self.key}:{tile}"
        return key

    def remember(self, move: tuple[int, int, int], outcome: Outcome) -> None:
        """Keep what a move does, unless the observations would take up too much memory."""
        if len(self.outcomes) * len(self.tiles) > _MAX_CHARACTERS:
            self.outcomes.clear()
        self.outcomes[move] = outcome

    def canonical_id(self) -> str:
        """Return the smallest id among the map's eight rotations and reflections."""
        rows = self.id.split("/")
        forms = []
        for _ in range(4):
            rows = ["".join(column) for column in zip(*reversed(rows), strict=True)]
            forms += ["/".join(rows), "/".join(row[::-1] for row in rows)]
        return min(forms)

    def is_over(self, tile: int) -> bool:
        """Return whether an episode ends on this tile."""
        return self.tiles[tile] != "F"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lake) and other.id == self.id

    def __hash__(self) -> int:
        return text_key(self.id)

    def __repr__(self) -> str:
        return f"Lake.from_rows({self.id.split('/')!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Lake, (self.tiles, self.ncol, self.start, self.min_turns)


def shortest_path(open_tiles: int, goals: int, start: int, ncol: int) -> int:
    """Return the fewest moves from a tile to a goal, or -1 if no path leads there.

    A flood fill on bit sets: one round of shifts per step, whatever the number of tiles.

    Args:
        open_tiles: Bit i is set if tile i can be entered (goals included).
        goals: Bit i is set if tile i is a goal.
        start: The start tile.
        ncol: Number of columns.
    """
    left, right = _column_masks(open_tiles.bit_length(), ncol)
    reached = 1 << start
    steps = 0
    while not reached & goals:
        grown = (
            reached
            | ((reached & left) >> 1)
            | ((reached & right) << 1)
            | (reached >> ncol)
            | (reached << ncol)
        ) & open_tiles | reached
        if grown == reached:
            return -1
        reached = grown
        steps += 1
    return steps


@lru_cache(maxsize=1024)
def _column_masks(bits: int, ncol: int) -> tuple[int, int]:
    """Return the tiles that have a neighbour on the left, and on the right."""
    size = bits + ncol
    left = sum(1 << i for i in range(size) if i % ncol > 0)
    right = sum(1 << i for i in range(size) if i % ncol < ncol - 1)
    return left, right


def _mask(tiles: str, letters: str) -> int:
    return sum(1 << i for i, tile in enumerate(tiles) if tile in letters)


def _check_rows(rows: Sequence[str]) -> None:
    if isinstance(rows, str) or not rows or not all(isinstance(row, str) for row in rows):
        raise OptionError(f"a map is a list of strings such as ['SFF', 'FHG'], got {rows!r}.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]) or not row:
            raise OptionError(
                f"map row {number} has {len(row)} tiles, expected {len(rows[0]) or 'some'} as in "
                "row 1."
            )
        for column, letter in enumerate(row, start=1):
            if letter not in "SFHG":
                raise OptionError(
                    f"map row {number}, column {column}: expected S, F, H or G, got {letter!r}."
                )
    starts = [
        f"row {r}, column {c}"
        for r, row in enumerate(rows, start=1)
        for c, letter in enumerate(row, start=1)
        if letter == "S"
    ]
    if len(starts) != 1:
        found = "none" if not starts else " and ".join(starts)
        raise OptionError(f"a map has exactly one start S, found {found}.")
    if not any("G" in row for row in rows):
        raise OptionError(f"a map has at least one goal G, found none in {'/'.join(rows)}.")
