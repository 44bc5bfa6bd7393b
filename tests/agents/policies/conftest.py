from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import budget_envs  # noqa: F401  registers the ids
from budget_envs.evaluation.policy import Conversation


@pytest.fixture
def talk() -> Callable[..., Conversation]:
    """Start a conversation in an environment, as a rollout does."""

    def talk(
        env: gym.Env[Any, Any], *, key: int = 0, turn: int = 0, **options: Any
    ) -> Conversation:
        observation, _ = env.reset(seed=0, options=options or None)
        messages = [{"role": "user", "content": observation}]
        for _ in range(turn):
            messages += [{"role": "assistant", "content": ""}, {"role": "user", "content": ""}]
        return Conversation("id", key, env.action_space, messages, env=env)

    return talk
