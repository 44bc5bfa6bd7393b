"""The texts of a tool dialogue that no format decides."""

from __future__ import annotations

from typing import Final

__all__ = [
    "EMPTY_MESSAGE",
    "NOT_DELIVERED",
    "NO_CALLS_LEFT",
    "TOO_MANY_CALLS",
    "TOO_MUCH_TEXT",
    "ending",
    "joined",
    "unanswered",
]

EMPTY_MESSAGE: Final = (
    "Expected calls, or, to end your turn, a text; the message was empty, and nothing was done."
)
NO_CALLS_LEFT: Final = "Not carried out: the budget has no calls left."
TOO_MANY_CALLS: Final = "Not carried out: too many calls."
TOO_MUCH_TEXT: Final = "Not carried out: the results of this message are too long already."
NOT_DELIVERED: Final = "Error during execution: there is no tool of this name."


def joined(*parts: str) -> str:
    """Return the parts that say something, with an empty line between them."""
    return "\n\n".join(part for part in parts if part)


def unanswered(count: int) -> str:
    """Return the last result of a message with too many calls.

    Args:
        count: How many calls, malformed ones included, it stands for.
    """
    return f"{count} more calls were not carried out: too many calls in one message."


def ending(*, is_success: bool, is_cut: bool) -> str:
    """Return the last observation.

    Args:
        is_success: Whether every user turn was served.
        is_cut: Whether the episode ended at the limit of messages in a user turn.
    """
    why = "The limit of messages for one request is reached. " if is_cut else ""
    how = "every request was served" if is_success else "not every request was served"
    return f"{why}The dialogue is over, and {how}."
