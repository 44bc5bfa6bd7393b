"""Where a tool dialogue comes from, and the world that it takes place in."""

from __future__ import annotations

from typing import Protocol

from budget_envs.tool_calls.model import Dialogue, World

__all__ = ["DialogueSource"]


class DialogueSource(Protocol):
    """Draws, lists and loads dialogues, and makes their worlds. Picklable."""

    def draw(self, key: int) -> Dialogue:
        """Return the dialogue that a 64-bit key picks."""
        ...

    def at(self, split: str, index: int) -> Dialogue:
        """Return dialogue ``index`` of a split, or raise `OptionError`."""
        ...

    def load(self, task_id: str) -> Dialogue:
        """Return the dialogue of an id, or raise `OptionError`."""
        ...

    def world(self, dialogue: Dialogue) -> World:
        """Return a fresh world, as the dialogue begins. It shares nothing with any other."""
        ...
