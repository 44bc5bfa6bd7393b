"""Which problems comparing output with one expected output can judge, read from the statement."""

from __future__ import annotations

import re

__all__ = ["ignores_case", "unjudgeable"]

_SENTENCE = r"[^.]"
_SEVERAL = re.compile(
    # "If there are multiple answers, you can print any of them."
    rf"\b(?:multiple|several|many|more than one|different)\b{_SENTENCE}{{0,120}}?"
    r"\b(?:print|output|report|return|find|you (?:may|can) (?:choose|pick))\b"
    rf"{_SENTENCE}{{0,30}}?\bany(?: (?:one )?of (?:them|those|these))?\s*(?:[.,;!)\n]|$)"
    # "Find any valid colouring", "output one line containing any permutation"
    r"|\b(?:print|output|return|find|construct)\b(?:[^.$]{0,40}\bcontaining)?"
    r" any\b(?! (?:other|order|case|letter))"
    # "output n integers: any suitable matrix"
    r"|\bany suitable\b"
    # "Print the edges in any order."
    rf"|\b(?:print|output|return)\b{_SENTENCE}{{0,80}}\bin any order\b|\banswer in any order\b",
    re.IGNORECASE,
)
_INTERACTIVE = re.compile(r"\binteractive (?:problem|task)\b|\binteraction\b", re.IGNORECASE)
_ANY_CASE = re.compile(
    r"\bin (?:any|either|lower or upper|upper or lower) (?:letter )?(?:case|register)\b"
    r"|\bcase[- ]insensitive\b",
    re.IGNORECASE,
)


def unjudgeable(statement: str) -> str | None:
    """Why a comparison with one expected output would fail right programs, or ``None``.

    Args:
        statement: The problem in words.

    Returns:
        ``"interactive"`` (the program talks to a judge), ``"several answers"`` (the statement
        lets the program choose among them), or ``None``.
    """
    if _INTERACTIVE.search(statement):
        return "interactive"
    return "several answers" if _SEVERAL.search(statement) else None


def ignores_case(statement: str) -> bool:
    """Whether the statement accepts letters in any case ("YES", "yes" and "yEs" alike)."""
    return bool(_ANY_CASE.search(statement))
