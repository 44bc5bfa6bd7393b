"""`demonstration`: a dialogue's ground truth as the messages that an agent would write."""

from __future__ import annotations

from typing import Final

from budget_envs.tool_calls.formats import ToolFormat
from budget_envs.tool_calls.model import Dialogue, UserTurn

__all__ = ["CANNOT", "DONE", "demonstration"]

DONE: Final = "Done."
"""What ends a user turn that was served."""
CANNOT: Final = "I cannot do this yet: something that I need is missing."
"""What ends a user turn in which nothing may be called."""


def demonstration(dialogue: Dialogue, form: ToolFormat, *, batched: bool = True) -> tuple[str, ...]:
    """Return the messages that serve a dialogue, in order: one for each turn of an episode.

    They are written by the format that also reads them, so that what a model is shown and what it
    is asked for are the same bytes.

    Args:
        dialogue: The dialogue.
        form: The format to write calls in.
        batched: Whether all calls of a user turn are made in one message, or each in its own.
    """
    return tuple(
        message for turn in dialogue.turns for message in _messages(turn, form, batched=batched)
    )


def _messages(turn: UserTurn, form: ToolFormat, *, batched: bool) -> list[str]:
    if not turn.calls:
        return [CANNOT]
    groups = [turn.calls] if batched else [(call,) for call in turn.calls]
    return [*(form.render_calls(group) for group in groups), DONE]
