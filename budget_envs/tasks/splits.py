"""Splits that cannot leak: deterministic, and whole groups of near-identical problems at a time."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from budget_envs.tasks.checksums import text_sha256

__all__ = ["HASH_SPLITS", "hash_split", "statement_groups", "statement_key"]

HASH_SPLITS = ("train", "validation", "test")
"""The splits of sets that have no official ones: 80 %, 10 % and 10 % of the groups."""

_SHINGLE_WORDS = 8
_SKETCH_SIZE = 128
_MIN_WORDS = 50
_BOILERPLATE = 50
_RESEMBLANCE = 0.35


def hash_split(group: str) -> str:
    """The split of a group: ``sha256(group) mod 100`` below 80, below 90, or above.

    Args:
        group: Key of a group of tasks; tasks of one group are never in two splits.

    Returns:
        One of `HASH_SPLITS`.
    """
    percentile = int.from_bytes(hashlib.sha256(group.encode()).digest(), "big") % 100
    return HASH_SPLITS[0 if percentile < 80 else 1 if percentile < 90 else 2]


def statement_key(statement: str) -> str:
    """Checksum of a statement's words: equal if two differ in case, spaces and punctuation only."""
    return text_sha256([" ".join(_words(statement))])


def statement_groups(statements: Sequence[str]) -> list[str]:
    """Group problems whose statements are nearly the same.

    Contest sets hold the easy and the hard version of one problem, and the same problem twice
    under two numbers. Two statements of at least 50 words belong together if about 0.35 of their
    runs of eight words are common (resemblance of bottom-128 sketches; in the Codeforces split
    the versions of one problem have 0.42 and more, different problems 0.28 and less). Shorter
    ones belong together if their words are equal.

    Args:
        statements: One per task.

    Returns:
        One key per task, the same for tasks of a group; independent of the order.

    Reference: Broder, 1997, On the Resemblance and Containment of Documents.
    """
    keys = [statement_key(statement) for statement in statements]
    sketches = [_sketch(statement) for statement in statements]
    parent = list(range(len(statements)))
    for first, second in _candidates(sketches):
        if _resemblance(sketches[first], sketches[second]) >= _RESEMBLANCE:
            parent[_root(parent, first)] = _root(parent, second)
    smallest: dict[int, str] = {}
    for index, key in enumerate(keys):
        root = _root(parent, index)
        smallest[root] = min(key, smallest.get(root, key))
    return [smallest[_root(parent, index)] for index in range(len(keys))]


def _words(statement: str) -> list[str]:
    return re.findall(r"\w+", statement.casefold())


def _sketch(statement: str) -> list[int]:
    words = _words(statement)
    if len(words) < _MIN_WORDS:
        return []
    runs = {
        " ".join(words[start : start + _SHINGLE_WORDS])
        for start in range(len(words) - _SHINGLE_WORDS + 1)
    }
    return heapq.nsmallest(_SKETCH_SIZE, map(_number, runs))


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _candidates(sketches: Sequence[Sequence[int]]) -> Iterable[tuple[int, int]]:
    """Pairs that share enough of their sketches; numbers that many statements share are ignored."""
    holders: dict[int, list[int]] = defaultdict(list)
    for index, sketch in enumerate(sketches):
        for number in sketch:
            holders[number].append(index)
    shared: Counter[tuple[int, int]] = Counter()
    for indices in holders.values():
        if len(indices) <= _BOILERPLATE:
            shared.update((a, b) for i, b in enumerate(indices) for a in indices[:i])
    for (first, second), count in shared.items():
        if count >= _RESEMBLANCE / 2 * min(len(sketches[first]), len(sketches[second])):
            yield first, second


def _resemblance(first: Sequence[int], second: Sequence[int]) -> float:
    a, b = set(first), set(second)
    union = heapq.nsmallest(_SKETCH_SIZE, a | b)
    return sum(number in a and number in b for number in union) / len(union)


def _root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index
