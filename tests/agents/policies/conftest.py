import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import budget_envs  # noqa: F401  registers the ids
from budget_envs.evaluation.policy import Conversation

_SPEC = importlib.util.spec_from_file_location(
    "fake_endpoint", Path(__file__).with_name("fake_endpoint.py")
)
fake_endpoint = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fake_endpoint)


@pytest.fixture
def endpoint(monkeypatch):
    """Run a chat-completions server on this machine that answers "Right" unless told otherwise."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("budget_envs.agents.policies.openai_session._FIRST_PAUSE_S", 0.01)
    with fake_endpoint.FakeEndpoint() as server:
        yield server


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
