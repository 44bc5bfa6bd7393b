"""`MapSource`: seeded random lakes, their splits, and their feasibility within a horizon."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from budget_envs.envs.frozen_lake.lake import Lake, shortest_path
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import derive_key, text_key, uniform, uniforms
from budget_envs.text_env import TASK_SPLITS

__all__ = ["MapSource", "Placement", "split_of"]

Placement = Literal["random", "corners"]

SIZE, COIN, TILES, SPLIT = 1, 2, 3, 4  # names of the streams derived from a task's key
MAX_DRAWS: Final = 20_000
_LETTERS: Final = bytes.maketrans(b"\x00\x01", b"HF")
_BITS: Final = bytes.maketrans(b"HF", b"01")


def split_of(lake: Lake) -> str:
    """Return the split of a map: 80 % train, 10 % validation, 10 % test, by hash.

    The hash is that of the map's canonical form, so a map and its rotations and reflections are
    always in the same split.
    """
    bucket = text_key(lake.canonical_id()) % 100
    return "train" if bucket < 80 else "validation" if bucket < 90 else "test"


class MapSource:
    """Draws solvable random lakes.

    Args:
        sizes: Sides of the square maps to draw from, each at least 2.
        frozen_share: Probability that a tile is ice, in (0, 1].
        placement: ``"random"``: start and goal on two random tiles. ``"corners"``: top left and
            bottom right, as Gymnasium has them.
        split: Draw from this split only; ``None`` draws from all maps.
        horizon: Turns within which a map counts as feasible; ``None`` if all do.
        infeasible_share: Share of drawn maps whose shortest path is longer than ``horizon``;
            ``None`` leaves the share as it comes. The coin is tossed once for each task and the map
            redrawn until it fits, so the share does not drift.
    """

    def __init__(
        self,
        *,
        sizes: tuple[int, ...],
        frozen_share: float,
        placement: Placement,
        split: str | None = None,
        horizon: int | None = None,
        infeasible_share: float | None = None,
    ) -> None:
        self.sizes = sizes
        self.frozen_share = frozen_share
        self.placement = placement
        self.split = split
        self.horizon = horizon
        self.infeasible_share = infeasible_share
        self._listed: dict[str, list[Lake]] = {}
        self._seen: dict[str, set[Lake]] = {}

    def draw(self, key: int) -> Lake:
        """Return the lake that a 64-bit key picks.

        Raises:
            OptionError: If 20,000 draws found no map that fits the settings.
        """
        return self._search(key, self.split)

    def at(self, split: str, index: int) -> Lake:
        """Return the ``index``-th distinct lake of a split, the same in every process.

        Raises:
            OptionError: If the settings have too few distinct maps.
        """
        if split not in TASK_SPLITS:
            raise OptionError(
                f"unknown split {split!r}; known are {', '.join(TASK_SPLITS)}."
                + did_you_mean(split, TASK_SPLITS)
            )
        lakes = self._listed.setdefault(split, [])
        if index >= len(lakes):
            seen = self._seen.setdefault(split, set())
            key = derive_key(text_key(split), SPLIT)
            while index >= len(lakes):
                lake = self._distinct(key, split, len(lakes), seen)
                lakes.append(lake)
                seen.add(lake)
        return lakes[index]

    def _distinct(self, key: int, split: str, index: int, seen: set[Lake]) -> Lake:
        for attempt in range(200):
            lake = self._search(derive_key(key, index, attempt), split)
            if lake not in seen:
                return lake
        raise OptionError(
            f"index {index} of split {split!r} is out of range: only about {len(seen)} distinct "
            f"maps of sizes {self.sizes} fit. Use larger maps or a smaller index."
        )

    def _search(self, key: int, split: str | None) -> Lake:
        size = self.sizes[int(uniform(derive_key(key, SIZE), 0) * len(self.sizes))]
        infeasible = (
            None
            if self.infeasible_share is None
            else uniform(derive_key(key, COIN), 0) < self.infeasible_share
        )
        keys = np.array([derive_key(key, TILES)], dtype=np.uint64)
        for attempt in range(MAX_DRAWS):
            lake = self._attempt(keys, attempt, size)
            if lake is not None and self.fits(lake, split, infeasible):
                return lake
        raise OptionError(self.why_none(size, split, infeasible))

    def _attempt(self, keys: NDArray[np.uint64], attempt: int, size: int) -> Lake | None:
        frozen, starts, goals = draw_tiles(keys, attempt, size, self.frozen_share, self.placement)
        return build_lake(frozen[0].tobytes(), int(starts[0]), int(goals[0]), size)

    def fits(self, lake: Lake, split: str | None, infeasible: bool | None) -> bool:
        """Return whether a map is of a split, and feasible or infeasible as asked."""
        if infeasible is not None and self.horizon is not None:
            too_long = lake.min_turns > self.horizon
            if too_long != infeasible:
                return False
        return split is None or split_of(lake) == split

    def why_none(self, size: int, split: str | None, infeasible: bool | None) -> str:
        """Say which settings no map met."""
        wanted = [f"{size}x{size}", f"frozen_share={self.frozen_share}"]
        if split is not None:
            wanted.append(f"split={split!r}")
        if infeasible is not None:
            bound = "longer than" if infeasible else "at most"
            wanted.append(f"a shortest path of {bound} {self.horizon} turns")
        return (
            f"no solvable map with {', '.join(wanted)} in {MAX_DRAWS} draws: "
            "loosen one of these settings."
        )


def draw_tiles(
    keys: NDArray[np.uint64], attempt: int, size: int, frozen_share: float, placement: Placement
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Draw one candidate map for each key; candidates need not be solvable.

    Args:
        keys: ``(N,) uint64``, the tile streams of N tasks.
        attempt: Which candidate of each stream, from 0.
        size: Side of the maps.
        frozen_share: Probability of ice.
        placement: See `MapSource`.

    Returns:
        Ice or goal ``(N, size * size) bool``, start tiles ``(N,)`` and goal tiles ``(N,)``.
    """
    tiles = size * size
    first = attempt * (tiles + 2)
    counters = np.arange(first, first + tiles + 2, dtype=np.uint64)
    drawn = uniforms(keys[:, None], counters)
    frozen = drawn[:, :tiles] < frozen_share
    if placement == "corners":
        starts = np.zeros(len(keys), dtype=np.int64)
        goals = np.full(len(keys), tiles - 1, dtype=np.int64)
    else:
        starts = (drawn[:, tiles] * tiles).astype(np.int64)
        goals = (drawn[:, tiles + 1] * (tiles - 1)).astype(np.int64)
        goals += goals >= starts  # any tile but the start, all equally likely
    rows = np.arange(len(keys))
    frozen[rows, starts] = True
    frozen[rows, goals] = True
    return frozen, starts, goals


def build_lake(frozen: bytes, start: int, goal: int, size: int) -> Lake | None:
    """Return the lake of a drawn candidate, or ``None`` if its goal cannot be reached.

    Args:
        frozen: One byte for each tile, 1 for ice or goal.
        start: Start tile.
        goal: Goal tile.
        size: Side of the map.
    """
    letters = frozen.translate(_LETTERS)
    open_tiles = int(letters[::-1].translate(_BITS), 2)
    min_turns = shortest_path(open_tiles, 1 << goal, start, size)
    if min_turns < 0:
        return None
    text = letters.decode("ascii")
    return Lake(text[:goal] + "G" + text[goal + 1 :], size, start, min_turns)
