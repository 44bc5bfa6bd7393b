import copy

import pytest

from budget_envs.tasks.synthetic_tools import APIS, CATEGORIES, LEVELS, SPLITS, generate, open_world


def served(dialogue, played):
    """Replay a dialogue by the rule alone: one verdict for each user turn, skipped ones right.

    Written from the rule, not from the engine: lists, copies and no cache.
    """
    gold, own = open_world(dialogue), open_world(dialogue)
    seen, verdicts = [], []
    for turn, calls in zip(dialogue.turns, played, strict=True):
        asked = [gold.call(call) for call in turn.calls]
        seen += [own.call(call) for call in calls]
        rest = copy.copy(seen)
        for result in asked:
            if result in rest:
                rest.remove(result)
                continue
            rest = None
            break
        verdicts.append(
            not turn.calls or (bool(calls) and rest is not None and own.state() == gold.state())
        )
    return verdicts


@pytest.fixture(scope="session")
def replay():
    return served


@pytest.fixture(scope="session")
def many():
    """Some of every kind: level, category, group of APIs, split."""
    return [
        generate(level, category, apis, split, index)
        for level in LEVELS
        for category in CATEGORIES
        for apis in APIS
        for split in SPLITS
        for index in range(10 if level < 3 else 4)
    ]
