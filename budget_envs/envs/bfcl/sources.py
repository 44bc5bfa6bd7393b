"""Where BFCL's dialogues come from, and the worlds that they take place in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from budget_envs import tasks
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import derive_key, uniform
from budget_envs.tasks.bfcl import CATEGORIES, dataset_of
from budget_envs.tasks.bfcl_classes import api_classes
from budget_envs.tasks.bfcl_scenario import Scenario
from budget_envs.tasks.bfcl_world import BfclWorld
from budget_envs.text_env import TASK_SPLITS
from budget_envs.tool_calls.model import Dialogue

__all__ = ["BfclDialogues"]

_INDEX: Final = 1  # name of the stream derived from a task's key
_REMEMBERED: Final = 1024  # scenarios kept: those of all published dialogues


class BfclDialogues:
    """The dialogues of some categories. Immutable: copies share them, and pickles name them.

    Args:
        categories: One category or several, each of ``"base"``, ``"miss_func"``, ``"miss_param"``
            and ``"long_context"``.
        path: Folder to read the files from, instead of the registry's sources.
        split: Draw from one split only.

    Raises:
        OptionError: If a category or the split is unknown, or none is given.
        TaskDataUnavailable: If the files are nowhere; the message says how to get them.
        DependencyNotInstalled: If mpmath is missing.
    """

    def __init__(
        self, categories: str | Sequence[str], path: str | None, split: str | None
    ) -> None:
        self.categories = _known(categories)
        self._arguments = categories, path, split
        sets = {name: tasks.load(dataset_of(name), path) for name in self.categories}
        self._classes = api_classes(tasks.locate(dataset_of(self.categories[0]), path))
        self._listed: dict[str, list[Dialogue]] = {name: [] for name in TASK_SPLITS}
        self._by_id: dict[str, Dialogue] = {}
        for dialogues in sets.values():
            for dialogue in dialogues:
                self._by_id[dialogue.task_id] = dialogue
                self._listed[dialogues.split_of(dialogue.task_id)].append(dialogue)
        self._drawn = list(self._by_id.values()) if split is None else self._listed[split]
        self._scenarios: OrderedDict[str, Scenario] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        return BfclDialogues, self._arguments

    def __deepcopy__(self, memo: dict[int, Any]) -> BfclDialogues:
        return self

    def draw(self, key: int) -> Dialogue:
        """Return the dialogue that a 64-bit key picks."""
        return self._drawn[int(uniform(derive_key(key, _INDEX), 0) * len(self._drawn))]

    def at(self, split: str, index: int) -> Dialogue:
        """Return dialogue ``index`` of a split, category after category.

        Raises:
            OptionError: If there are not so many.
        """
        listed = self._listed[split]
        if index >= len(listed):
            raise OptionError(
                f"index {index} is out of range: split {split!r} has {len(listed)} dialogues."
            )
        return listed[index]

    def load(self, task_id: str) -> Dialogue:
        """Return the dialogue of an id.

        Raises:
            OptionError: If the categories in use have none of this id.
        """
        if not isinstance(task_id, str) or task_id not in self._by_id:
            raise OptionError(
                f"there is no task {task_id!r} in {', '.join(self.categories)}."
                + did_you_mean(task_id, self._by_id)
            )
        return self._by_id[task_id]

    def world(self, dialogue: Dialogue) -> BfclWorld:
        """Return a fresh world, as the dialogue begins."""
        scenario = self._scenarios.get(dialogue.task_id)
        if scenario is None:
            scenario = self._scenarios[dialogue.task_id] = Scenario(dialogue, self._classes)
            if len(self._scenarios) > _REMEMBERED:
                self._scenarios.popitem(last=False)
        return BfclWorld(scenario)


def _known(categories: str | Sequence[str]) -> tuple[str, ...]:
    chosen = (categories,) if isinstance(categories, str) else categories
    if not isinstance(chosen, list | tuple):  # a set has no order that is the same everywhere
        raise OptionError(f"category must be a name or a list of names, got {categories!r}.")
    for name in chosen:
        if name not in CATEGORIES:
            raise OptionError(
                f"category must be among {', '.join(CATEGORIES)}, got {name!r}."
                + did_you_mean(name, CATEGORIES)
            )
    if not chosen or len(set(chosen)) < len(chosen):
        raise OptionError(
            f"category must name one or more of {', '.join(CATEGORIES)}, each once, "
            f"got {categories!r}."
        )
    return tuple(chosen)
