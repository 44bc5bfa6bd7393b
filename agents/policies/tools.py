"""Policies for tool dialogues that know the answer, or nothing: what rewards are worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym

from budget_envs.envs.tool_dialogue import ToolDialogueEnv
from budget_envs.envs.tool_dialogue.demonstration import CANNOT, DONE, demonstration
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.policy import Action, Conversation, Policy

__all__ = ["ToolGoldPolicy", "ToolGoldStepwisePolicy", "ToolNullPolicy"]


class ToolGoldPolicy(Policy):
    """Makes the ground truth's calls, which it reads from the environment, and ends the user turn.

    All calls of a user turn go into one message, so that it takes as few turns as can be.
    """

    needs_env: ClassVar[bool] = True
    batched: ClassVar[bool] = True

    def __init__(self) -> None:
        self.name = "tool_gold" if self.batched else "tool_gold_stepwise"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return the next message of each conversation."""
        return [Action(self._next(each)) for each in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without tool dialogues.

        Raises:
            UnsupportedError: If ``env`` is one.
        """
        _check(env, self.name)

    def _next(self, conversation: Conversation) -> str:
        env: Any = conversation.env.unwrapped  # type: ignore[union-attr]  # needs_env
        messages = demonstration(env.task, env.format, batched=self.batched)
        # Beyond the script only where an injected error took a turn of it.
        return messages[conversation.turn] if conversation.turn < len(messages) else DONE


class ToolGoldStepwisePolicy(ToolGoldPolicy):
    """Makes the ground truth's calls one in each message, as models mostly do."""

    batched: ClassVar[bool] = False


class ToolNullPolicy(Policy):
    """Calls nothing: ends every user turn at once."""

    def __init__(self) -> None:
        self.name = "tool_null"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return a text without a call."""
        return [Action(CANNOT) for _ in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without tool dialogues.

        Raises:
            UnsupportedError: If ``env`` is one.
        """
        _check(env, self.name)


def _check(env: gym.Env[Any, Any], policy: str) -> None:
    if not isinstance(env.unwrapped, ToolDialogueEnv):
        raise UnsupportedError(f"the policy {policy!r} plays tool dialogues, got {env.unwrapped}.")
