"""Which row of the cache works on what: the order in which prompts are read, and who moves up.

Pure functions of names and numbers, so that they can be tested without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ReadingOrder", "reading_order", "survivors"]


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """How the new tokens of a batch are put through the model.

    Attributes:
        names: The conversations in the order of the rows that they are to have.
        sources: For each of them the row whose reading it shares: its own, or that of an equal one
            before it.
        groups: The first and one past the last row of each forward pass, over the rows that are
            their own source; those come first.
    """

    names: list[str]
    sources: list[int]
    groups: list[tuple[int, int]]


def reading_order(
    new: Mapping[str, tuple[int, ...]],
    cached: Mapping[str, int],
    rows: Mapping[str, int],
    most_tokens: int,
) -> ReadingOrder:
    """Plan the reading of a batch.

    Rows that have about as much to read stand together, and else stay where they are, as moving a
    row costs a copy. Of new conversations that are equal, one is read.

    Args:
        new: Conversation to the tokens that it has to read.
        cached: Conversation to the number of its tokens that are in the cache; absent is 0.
        rows: Conversation to the row that it has, if any.
        most_tokens: Of one forward pass, padding included; a single row may have more.
    """
    first_of: dict[tuple[int, ...], str] = {}
    source = {
        name: name if cached.get(name) else first_of.setdefault(ids, name)
        for name, ids in new.items()
    }

    def key(name: str) -> tuple[bool, int, int]:
        size = len(new[name]).bit_length()
        return source[name] != name, -size, rows.get(name, len(rows))

    names = sorted(new, key=key)
    place = {name: index for index, name in enumerate(names)}
    sources = [place[source[name]] for name in names]
    originals = [len(new[name]) for name in names if source[name] == name]
    return ReadingOrder(names, sources, _groups(originals, most_tokens))


def _groups(sizes: Sequence[int], most_tokens: int) -> list[tuple[int, int]]:
    """Cut rows into groups that are not mostly padding and not too large."""
    groups: list[tuple[int, int]] = []
    first, width = 0, 0
    for index, size in enumerate(sizes):
        width = max(width, size)
        is_full = (index + 1 - first) * width > most_tokens or 4 * size < width
        if is_full and index > first:
            groups.append((first, index))
            first, width = index, size
    return [*groups, (first, len(sizes))]


def survivors(is_done: Sequence[bool]) -> list[int]:
    """Return who is on each of the first rows once those at work have moved up.

    Row i keeps its place if it is at work and early enough; a place that falls vacant is taken by
    the last row at work, so that as few as possible move.
    """
    count = len(is_done) - sum(is_done)
    late = [index for index in range(count, len(is_done)) if not is_done[index]]
    return [late.pop() if is_done[index] else index for index in range(count)]
