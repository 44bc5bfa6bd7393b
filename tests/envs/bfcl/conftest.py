"""BFCL's environment, where the files are at hand, and every dialogue in it."""

from __future__ import annotations

import pytest

from budget_envs.envs.bfcl import BFCLEnv
from budget_envs.errors import DependencyNotInstalled, TaskDataUnavailable


@pytest.fixture(scope="session")
def make_env():
    """Make an environment; the same settings, the same object."""
    made = {}

    def make(**settings):
        key = repr(sorted(settings.items()))
        if key not in made:
            try:
                made[key] = BFCLEnv(**settings)
            except (TaskDataUnavailable, DependencyNotInstalled) as error:
                pytest.skip(f"BFCL is not at hand: {str(error).splitlines()[0]}")
        return made[key]

    return make


@pytest.fixture(scope="session")
def play():
    """Play calls by user turn, all of a turn in one message or each in its own."""

    def play_all(env, task_id, calls_of_turns, *, batched=True):
        env.reset(options={"task": task_id})
        step = None
        for calls in calls_of_turns:
            for group in [calls] if batched and calls else [[call] for call in calls]:
                step = env.step(env.format.render_calls(group))
            step = env.step("Done.")
        return step

    return play_all


@pytest.fixture(scope="session")
def dialogues():
    """All dialogues of an environment."""
    return lambda env: list(env.source._by_id.values())
