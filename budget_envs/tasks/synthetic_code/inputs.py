"""Draws argument values: ordinary ones, edge cases, and values near a program's literals.

The ranges here are the ones that the statements promise; nothing outside them is ever a test.
"""

from __future__ import annotations

from typing import Any

from budget_envs.tasks.synthetic_code.dsl import Type
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

__all__ = [
    "DOMAIN_TEXT",
    "MAX_INTEGER",
    "MAX_LENGTH",
    "MAX_NUMBER",
    "MAX_TEXT_WORDS",
    "MAX_WORD",
    "SHAPES",
    "draw_arguments",
    "in_domain",
]

MAX_LENGTH = 12
"""Greatest number of elements of a list argument."""
MAX_INTEGER = 30
"""Greatest absolute value of an element of a ``list[int]`` argument."""
MAX_NUMBER = 10
"""Greatest value of an ``int`` argument; the least is 0."""
MAX_TEXT_WORDS = 6
"""Greatest number of words of a ``str`` argument."""
MAX_WORD = 8
"""Greatest number of letters of a word."""

DOMAIN_TEXT: dict[Type, str] = {
    Type.NAT: f"an integer from 0 to {MAX_NUMBER}",
    Type.INTS: f"a list of 0 to {MAX_LENGTH} integers, each from -{MAX_INTEGER} to {MAX_INTEGER}",
    Type.STR: f"a string of 0 to {MAX_TEXT_WORDS} words with single spaces between them, each word "
    f"of 1 to {MAX_WORD} English letters, small or capital",
    Type.WORDS: f"a list of 0 to {MAX_LENGTH} strings, each of 1 to {MAX_WORD} English letters, "
    "small or capital",
}
"""How a statement describes the values an argument may have."""

SHAPES = (
    *("any", "empty", "single", "equal", "ascending"),
    *("descending", "low", "high", "few", "long"),
)
"""Kinds of list and text values; ``"any"`` is the ordinary one."""

_VOCABULARY = """
a I go ox by up sky tree noon level Anna apple orange onion river stone letter banana Rome Oslo
Peru ENTER eerie rhythm queue aorta area tenor noted tonne street green kayak winter autumn
hello World sun moon star Ocean art tar rat eat tea ate Queen butter little coffee radar civic
oboe iota zebra fox Jazz quiz pepper mirror Egg odd
""".split()  # noqa: SIM905 - a list of words reads best as text
_LETTERS = "aabceeghiiklmnoorsttuwxyzAEINRST"


def draw_arguments(
    types: tuple[Type, ...], shapes: tuple[str, ...], special: list[int], rng: SplitMix64
) -> tuple[Any, ...]:
    """Draw one value for every argument.

    Args:
        types: Argument types: ``NAT``, ``STR``, ``INTS`` or ``WORDS``.
        shapes: For every argument, one of `SHAPES`.
        special: Integers that the values should hit now and then (a program's literals).
        rng: Where the randomness comes from.

    Returns:
        Values that `in_domain` accepts. An argument of the type of an earlier one shares some
        of its elements, so that operations on two lists find common ones.
    """
    values: list[Any] = []
    for position, (type_, shape) in enumerate(zip(types, shapes, strict=True)):
        earlier = next((v for v, t in zip(values, types, strict=False) if t is type_), None)
        if type_ is Type.NAT:
            values.append(_draw_number(shape, special, values, rng))
        elif type_ is Type.INTS:
            values.append(_draw_integers(shape, special, earlier if position else None, rng))
        else:
            words = _draw_words(shape, 8 if type_ is Type.WORDS else MAX_TEXT_WORDS, values, rng)
            values.append(words if type_ is Type.WORDS else " ".join(words))
    return tuple(values)


def _draw_number(shape: str, special: list[int], values: list[Any], rng: SplitMix64) -> int:
    if shape == "empty":
        return 0
    if shape == "single":
        return 1
    if shape == "high":
        return MAX_NUMBER
    if values and isinstance(values[0], list) and shape == "equal":
        return min(MAX_NUMBER, len(values[0]))  # exactly all of the list
    if special and rng.chance(25):
        return max(0, min(MAX_NUMBER, rng.choice(special) + rng.below(3) - 1))
    return rng.below(5) if rng.chance(60) else rng.below(MAX_NUMBER + 1)


def _draw_length(shape: str, greatest: int, rng: SplitMix64) -> int:
    if shape in ("empty", "single"):
        return 0 if shape == "empty" else 1
    if shape == "long":
        return greatest
    return rng.between(2, min(6, greatest)) if rng.chance(50) else rng.between(4, greatest)


def _draw_integers(
    shape: str, special: list[int], earlier: list[int] | None, rng: SplitMix64
) -> list[int]:
    low, high = {"low": (-MAX_INTEGER, -1), "high": (1, MAX_INTEGER), "few": (-1, 2)}.get(
        shape, (-MAX_INTEGER, MAX_INTEGER) if rng.chance(60) else (-9, 12)
    )
    items: list[int] = []
    for _ in range(_draw_length(shape, MAX_LENGTH, rng)):
        dice = rng.below(100)
        if items and dice < 15:
            items.append(rng.choice(items))
        elif special and dice < 35:
            near = rng.choice(special) + rng.below(3) - 1
            items.append(max(low, min(high, near if rng.chance(75) else -near)))
        elif earlier and dice < 60:
            items.append(rng.choice(earlier))
        else:
            items.append(rng.between(low, high))
    return _arranged(items, shape)


def _draw_word(rng: SplitMix64) -> str:
    if rng.chance(75):
        word = rng.choice(_VOCABULARY)
        dice = rng.below(100)
        return word.capitalize() if dice < 15 else word.upper() if dice < 20 else word
    return "".join(rng.choice(_LETTERS) for _ in range(rng.between(1, MAX_WORD)))


def _draw_words(shape: str, greatest: int, values: list[Any], rng: SplitMix64) -> list[str]:
    known = _words_in(values)
    items: list[str] = []
    for _ in range(_draw_length(shape, greatest, rng)):
        dice = rng.below(100)
        if items and dice < 12:
            items.append(rng.choice(items))
        elif known and dice < 40:
            items.append(rng.choice(known))
        else:
            items.append(_draw_word(rng))
    if shape == "low":
        return [word.lower() for word in items]
    return [word.upper() for word in items] if shape == "high" else _arranged(items, shape)


def _words_in(values: list[Any]) -> list[str]:
    """Return the words of the earlier arguments, to be used again."""
    words: list[str] = []
    for value in values:
        if isinstance(value, str):
            words += value.split()
        elif isinstance(value, list):
            words += [item for item in value if isinstance(item, str)]
    return words


def _arranged(items: list[Any], shape: str) -> list[Any]:
    if shape == "equal":
        return items[:1] * len(items)
    if shape in ("ascending", "descending"):
        return sorted(items, reverse=shape == "descending")
    return items


def in_domain(type_: Type, value: Any) -> bool:
    """Return whether an argument value keeps the promise of `DOMAIN_TEXT`."""
    if type_ is Type.NAT:
        return type(value) is int and 0 <= value <= MAX_NUMBER
    if type_ is Type.STR:
        words = value.split(" ") if value else []
        return len(words) <= MAX_TEXT_WORDS and all(map(_is_word, words))
    if len(value) > MAX_LENGTH:
        return False
    if type_ is Type.INTS:
        return all(type(item) is int and abs(item) <= MAX_INTEGER for item in value)
    return all(map(_is_word, value))


def _is_word(word: str) -> bool:
    return 1 <= len(word) <= MAX_WORD and word.isascii() and word.isalpha()
