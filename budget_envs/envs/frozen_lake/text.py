"""The texts of FrozenLake: instructions, grid, and what happened in a turn."""

from __future__ import annotations

from typing import Final

from budget_envs.actions import quote
from budget_envs.envs.frozen_lake.lake import ACTIONS, Lake

__all__ = ["first_observation", "grid", "instructions", "invalid_observation", "moved_observation"]

_INSTRUCTIONS: Final = """\
You are on a frozen lake, drawn as a grid: P is you, _ is ice, O is a hole, G is the goal.
Reach G without falling into a hole. Each turn you move one tile: answer with one word, \
Left, Down, Right or Up. A move against the edge leaves you where you are."""
_SYMBOLS: Final = str.maketrans("FHG", "_OG")


def instructions(success_rate: float) -> str:
    """Return the rules of the game, the chance of slipping included."""
    if success_rate >= 1:
        return _INSTRUCTIONS
    return (
        f"{_INSTRUCTIONS} The ice is slippery: a move goes where you meant with probability "
        f"{success_rate:.2f}, and otherwise to the one or the other side of it."
    )


def grid(lake: Lake, position: int) -> str:
    """Return the lake with the player on it: rows of symbols separated by blanks."""
    base = lake.base
    if not base:
        symbols = lake.tiles.translate(_SYMBOLS)
        ncol = lake.ncol
        rows = [" ".join(symbols[i : i + ncol]) for i in range(0, len(symbols), ncol)]
        base = lake.base = "\n".join(rows)
    return f"{base[: 2 * position]}P{base[2 * position + 1 :]}"


def first_observation(lake: Lake, success_rate: float) -> str:
    """Return the instructions and the lake at its start."""
    return f"{instructions(success_rate)}\n\n{grid(lake, lake.start)}"


def moved_observation(lake: Lake, before: int, after: int, chosen: int, executed: int) -> str:
    """Return what a turn did, and the lake after it.

    Args:
        lake: The lake.
        before: Tile before the turn.
        after: Tile after the turn.
        chosen: The action that the player chose.
        executed: The action that the ice made of it.
    """
    return f"{_event(lake, before, after, chosen, executed)}\n\n{grid(lake, after)}"


def invalid_observation(lake: Lake, position: int, action: str) -> str:
    """Return the answer to a text that holds no action."""
    return (
        f"Expected one action, {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}, and could not read one "
        f"in {quote(action)}. You did not move, and the turn is used.\n\n{grid(lake, position)}"
    )


def _event(lake: Lake, before: int, after: int, chosen: int, executed: int) -> str:
    where = f"row {after // lake.ncol + 1}, column {after % lake.ncol + 1}"
    if chosen != executed:
        start = f"You slipped: instead of {ACTIONS[chosen]} you went {ACTIONS[executed]}"
    else:
        start = f"You went {ACTIONS[executed]}"
    if before == after:
        return f"{start}, against the edge, and stay at {where}."
    end = {"H": ", and fell into a hole.", "G": ", and reached the goal."}
    return f"{start}, to {where}{end.get(lake.tiles[after], '.')}"
