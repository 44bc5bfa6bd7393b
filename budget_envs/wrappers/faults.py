"""What an observation becomes when an environment fails: pure functions of the text and a key."""

from __future__ import annotations

from typing import Final

import numpy as np

from budget_envs.streams import derive_key, uniform, uniforms

__all__ = ["REFUSED", "TEXT_FAULTS", "faulty_text", "garbled"]

TEXT_FAULTS: Final = ("timeout", "empty", "garbled", "stale", "refused")
REFUSED: Final = (
    "The environment refused the action: it was not carried out, and nothing has changed."
)
_TIMEOUT: Final = (
    "The environment did not answer in time. Whether the action took effect is unknown."
)
_NOISE: Final = "#%&?@~^*+=<>|$"
_NOISE_SHARE: Final = 0.3
_PLACES, _SYMBOLS = 1, 2  # names of the streams derived from a key


def faulty_text(kind: str, text: str, before: str, key: int) -> str:
    """Return what the agent gets to see in place of an observation.

    Args:
        kind: One of `TEXT_FAULTS`.
        text: The true observation.
        before: What the agent saw last.
        key: 64-bit key of the noise.
    """
    if kind == "timeout":
        return _TIMEOUT
    if kind == "empty":
        return ""
    if kind == "stale":
        return before
    return REFUSED if kind == "refused" else garbled(text, key)


def garbled(text: str, key: int) -> str:
    """Return a text with about 30 % of its visible characters replaced, at least one of them.

    White space stays, so the shape of the text does. An empty text stays empty.
    """
    counters = np.arange(len(text), dtype=np.uint64)
    places = uniforms(np.uint64(derive_key(key, _PLACES)), counters)
    symbols = uniforms(np.uint64(derive_key(key, _SYMBOLS)), counters)
    visible = [i for i, letter in enumerate(text) if not letter.isspace()]
    hit = [i for i in visible if places[i] < _NOISE_SHARE]
    if not hit and visible:
        hit = [visible[int(uniform(key, 0) * len(visible))]]
    letters = list(text)
    for i in hit:
        others = _NOISE.replace(letters[i], "")
        letters[i] = others[int(symbols[i] * len(others))]
    return "".join(letters)
