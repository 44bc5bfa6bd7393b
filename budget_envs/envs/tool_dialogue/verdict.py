"""Whether a user turn was served: state and results, compared with the ground truth's own.

The rule is that of BFCL's multi-turn checker (Patil et al., 2025, "The Berkeley Function Calling
Leaderboard"): after a user turn in which something had to be called, something was called, the
state equals the one that the ground truth leaves behind, and every result that the ground truth
gets in this turn occurs among all results so far, as often as there. Detours are free as long as
the state comes out right.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from budget_envs.tool_calls.model import Dialogue, World

__all__ = ["TurnTruth", "minimal_generations", "progress", "served", "truths_of"]


@dataclass(frozen=True, slots=True)
class TurnTruth:
    """What the ground truth does in one user turn.

    Attributes:
        calls: How many calls it makes.
        state: The state after the turn, by part.
        changed: The parts that differ from those before the turn.
        results: The results that it gets in this turn -> how often.
        later: The results that it gets in this turn and later ones -> how often in one turn at
            most. More of them than that makes no difference to any verdict to come.
    """

    calls: int
    state: Mapping[str, Any]
    changed: frozenset[str]
    results: Mapping[str, int]
    later: Mapping[str, int]


def truths_of(dialogue: Dialogue, world: World) -> tuple[TurnTruth, ...]:
    """Play the ground truth of a dialogue.

    Args:
        dialogue: The dialogue.
        world: A fresh world of it, which is used up.

    Returns:
        One entry for each user turn.
    """
    before: dict[str, Any] = copy.deepcopy(dict(world.state()))
    truths = []
    for turn in dialogue.turns:
        results = Counter([world.call(call) for call in turn.calls])
        after = _kept(before, world.state())
        changed = frozenset(part for part in after if after[part] is not before.get(part, after))
        truths.append((len(turn.calls), after, changed, results))
        before = after
    return _with_later(truths)


def _kept(before: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a state that shares with the one before what did not change."""
    missing = object()
    return {
        part: before[part] if before.get(part, missing) == value else copy.deepcopy(value)
        for part, value in state.items()
    }


def _with_later(
    truths: Sequence[tuple[int, Mapping[str, Any], frozenset[str], Counter[str]]],
) -> tuple[TurnTruth, ...]:
    later: Counter[str] = Counter()
    found = []
    for calls, state, changed, results in reversed(truths):
        later = later | results
        found.append(TurnTruth(calls, state, changed, results, later))
    return tuple(reversed(found))


def served(truth: TurnTruth, world: World, results: Mapping[str, int], *, called: bool) -> bool:
    """Return whether a user turn in which something had to be called was served.

    Args:
        truth: The turn's ground truth.
        world: The agent's world at the end of the turn.
        results: All results that the agent got so far -> how often.
        called: Whether the agent called anything in this turn.
    """
    if not called:
        return False
    for text, n in truth.results.items():
        if results.get(text, 0) < n:
            return False
    return dict(world.state()) == truth.state


def progress(truth: TurnTruth, world: World, results: Mapping[str, int]) -> float:
    """Return which share of what a user turn asks for is there, in [0, 1].

    Asked for are the parts of the state that the ground truth changes, and its results. A part
    that the agent spoiled, which the ground truth leaves alone, counts as one more that is missing.
    """
    state = world.state()
    wrong = {part for part, value in truth.state.items() if state[part] != value}
    spoiled = len(wrong - truth.changed)
    got = sum(min(n, results.get(text, 0)) for text, n in truth.results.items())
    asked = len(truth.changed) + sum(truth.results.values()) + spoiled
    return (len(truth.changed - wrong) + got) / asked if asked else 1.0


def minimal_generations(dialogue: Dialogue, *, batched: bool) -> int:
    """Return how many generations serve a dialogue at least, by its ground truth.

    A user turn takes one that ends it, and one for all its calls together, or one for each.

    Args:
        dialogue: The dialogue.
        batched: Whether one generation may make several calls.
    """
    calls = [len(turn.calls) for turn in dialogue.turns]
    return len(calls) + sum(min(1, n) if batched else n for n in calls)
