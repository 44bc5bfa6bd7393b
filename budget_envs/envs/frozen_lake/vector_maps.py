"""Drawing the lakes of many episodes at once, each equal to what `MapSource.draw` gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from budget_envs.envs.frozen_lake.lake import Lake
from budget_envs.envs.frozen_lake.maps import (
    COIN,
    MAX_DRAWS,
    SIZE,
    TILES,
    MapSource,
    build_lake,
    draw_tiles,
)
from budget_envs.errors import OptionError
from budget_envs.streams import derive_keys, uniforms

__all__ = ["draw_lakes"]

_FIRST = np.uint64(0)


def draw_lakes(source: MapSource, keys: NDArray[np.uint64]) -> list[Lake]:
    """Draw one lake for each key: element for element equal to ``source.draw(key)``.

    Candidates of all tasks that still lack a map are drawn in one NumPy expression; only the
    shortest paths are found one by one.

    Args:
        source: The settings.
        keys: ``(M,) uint64``, one for each task.

    Returns:
        ``M`` lakes.

    Raises:
        OptionError: If 20,000 draws found no map that fits the settings.
    """
    chosen = (_toss(keys, SIZE) * len(source.sizes)).astype(np.intp)
    too_long = None
    if source.infeasible_share is not None:
        too_long = _toss(keys, COIN) < source.infeasible_share
    lakes: dict[int, Lake] = {}
    for number, size in enumerate(source.sizes):
        tasks = np.flatnonzero(chosen == number)
        lakes.update(_draw_size(source, derive_keys(keys[tasks], TILES), size, tasks, too_long))
    return [lakes[task] for task in range(len(keys))]


def _toss(keys: NDArray[np.uint64], stream: int) -> NDArray[np.float64]:
    return uniforms(derive_keys(keys, stream), np.full(len(keys), _FIRST))


def _draw_size(
    source: MapSource,
    keys: NDArray[np.uint64],
    size: int,
    tasks: NDArray[np.intp],
    too_long: NDArray[np.bool_] | None,
) -> dict[int, Lake]:
    """Draw the lakes of the tasks that have this size, by task number."""
    lakes: dict[int, Lake] = {}
    for attempt in range(MAX_DRAWS):
        if not len(tasks):
            return lakes
        found = [
            _fitting(source, candidate, None if too_long is None else bool(too_long[task]))
            for candidate, task in zip(_candidates(source, keys, attempt, size), tasks, strict=True)
        ]
        lakes.update(
            {int(task): lake for task, lake in zip(tasks, found, strict=True) if lake is not None}
        )
        rest = np.array([lake is None for lake in found], dtype=np.bool_)
        keys, tasks = keys[rest], tasks[rest]
    wanted = None if too_long is None else bool(too_long[tasks[0]])
    raise OptionError(source.why_none(size, source.split, wanted))


def _candidates(
    source: MapSource, keys: NDArray[np.uint64], attempt: int, size: int
) -> list[Lake | None]:
    drawn = draw_tiles(keys, attempt, size, source.frozen_share, source.placement)
    frozen, starts, goals = drawn[0].tobytes(), drawn[1].tolist(), drawn[2].tolist()
    tiles = size * size
    return [
        build_lake(frozen[i * tiles : (i + 1) * tiles], start, goal, size)
        for i, (start, goal) in enumerate(zip(starts, goals, strict=True))
    ]


def _fitting(source: MapSource, lake: Lake | None, too_long: bool | None) -> Lake | None:
    if lake is None or not source.fits(lake, source.split, too_long):
        return None
    return lake
