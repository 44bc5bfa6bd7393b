"""Where ToolUse's dialogues come from: the embedded generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import derive_key, uniform
from budget_envs.tasks import synthetic_tools
from budget_envs.text_env import TASK_SPLITS
from budget_envs.tool_calls.model import Dialogue, World

__all__ = ["GeneratedDialogues"]

_KIND, _SPLIT, _INDEX = 1, 2, 3  # names of the streams derived from a task's key
_INDICES: Final = 1_000_000  # unseeded draws are among so many dialogues of a kind
_TRAIN, _VALIDATION = 0.8, 0.9  # ends of the shares of the splits in unseeded draws


class GeneratedDialogues:
    """Draws, lists and loads generated dialogues.

    Args:
        levels: Difficulties to draw from.
        categories: Categories to draw from.
        apis: ``"seen"`` or ``"held_out"``.
        split: Draw from this split only; ``None`` draws from all.

    Raises:
        OptionError: If an argument is not one that the generator knows.
    """

    def __init__(
        self, levels: Sequence[int], categories: Sequence[str], apis: str, split: str | None
    ) -> None:
        _check_all("levels", levels, synthetic_tools.LEVELS)
        _check_all("categories", categories, synthetic_tools.CATEGORIES)
        _check("apis", apis, synthetic_tools.APIS)
        if split is not None:
            _check("split", split, TASK_SPLITS)
        self.kinds = [(level, category) for level in levels for category in categories]
        self.apis = apis
        self.split = split

    def draw(self, key: int) -> Dialogue:
        """Return the dialogue that a 64-bit key picks."""
        kind = self.kinds[int(uniform(derive_key(key, _KIND), 0) * len(self.kinds))]
        place = uniform(derive_key(key, _SPLIT), 0)
        drawn = TASK_SPLITS[(place >= _TRAIN) + (place >= _VALIDATION)]
        index = int(uniform(derive_key(key, _INDEX), 0) * _INDICES)
        return self._generate(*kind, self.split or drawn, index)

    def at(self, split: str, index: int) -> Dialogue:
        """Return dialogue ``index`` of a split: one of each level and category in turn."""
        place, kind = divmod(index, len(self.kinds))
        return self._generate(*self.kinds[kind], split, place)

    def load(self, task_id: str) -> Dialogue:
        """Return the dialogue of an id, whichever kinds are drawn from."""
        return synthetic_tools.task_from_id(task_id)

    def world(self, dialogue: Dialogue) -> World:
        """Return a fresh world, as the dialogue begins."""
        return synthetic_tools.open_world(dialogue)

    def _generate(self, level: int, category: str, split: str, index: int) -> Dialogue:
        return synthetic_tools.generate(level, category, self.apis, split, index)  # type: ignore[arg-type]  # checked


def _check_all(name: str, values: Any, known: Sequence[Any]) -> None:
    if not isinstance(values, list | tuple) or not values:
        raise OptionError(f"{name} must be a list such as {list(known)}, got {values!r}.")
    for value in values:
        _check(name, value, known)
    if len(set(values)) < len(values):  # else two places of a split would hold one dialogue
        raise OptionError(f"{name} must hold each value once, got {values!r}.")


def _check(name: str, value: Any, known: Sequence[Any]) -> None:
    if type(value) is not type(known[0]) or value not in known:
        hint = did_you_mean(value, known) if type(value) is type(known[0]) is str else ""
        options = ", ".join(map(repr, known))
        raise OptionError(f"{name} must be of {options}, got {value!r}.{hint}")
