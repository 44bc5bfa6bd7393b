"""Reading a choice from free text: one documented rule for every environment with named actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

__all__ = ["find_answer", "last_fenced_block", "quote", "read_choice"]

T = TypeVar("T")
_WRAPPING: Final = " \t\r\n.,;:!?\"'*`_()[]"


def read_choice(text: str, choices: Mapping[str, T]) -> T | None:
    """Read one of several named choices from a model's text.

    The rule: the most explicit place that the text has decides, and it must hold exactly one
    choice, in any letter case, with punctuation around it ignored. The places are, in order:
    the whole text, if it is a choice; the last ``<answer>...</answer>``; the last closed
    fenced block; the last line that is not empty.

    Args:
        text: Any string.
        choices: Lower-case names and what each stands for.

    Returns:
        What the name stands for, or ``None`` if the deciding place holds no choice.
    """
    found = choices.get(text.strip(_WRAPPING).lower())
    return found if found is not None else choices.get(find_answer(text).strip(_WRAPPING).lower())


def find_answer(text: str) -> str:
    """Return the part of a text that holds the answer, by the rule of :func:`read_choice`."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end) if end >= 0 else -1
    if start >= 0:
        return text[start + len("<answer>") : end]
    block = last_fenced_block(text)
    if block is not None:
        return block
    lines = text.rstrip().splitlines()
    return lines[-1] if lines else ""


def last_fenced_block(text: str) -> str | None:
    """Return the content of the last closed ````` ``` ````` block, without its language tag.

    Returns:
        The content, or ``None`` if no fence is closed. Time is linear in the text's length.
    """
    parts = text.split("```")
    closed = len(parts) - 2 if len(parts) % 2 else len(parts) - 3
    if closed < 1:
        return None
    tag, newline, content = parts[closed].partition("\n")
    return content if newline else tag


def quote(text: str, limit: int = 40) -> str:
    """Return a text as a short Python literal that is safe to print, its cut marked."""
    shown = ascii(text[:limit])
    return f"{shown}... ({len(text)} characters)" if len(text) > limit else shown
