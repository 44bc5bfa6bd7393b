"""`RandomPolicy`: plays the environment's example actions, all equally likely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.policy import Action, Conversation, Policy
from budget_envs.spaces import TextSpace
from budget_envs.streams import uniform

__all__ = ["RandomPolicy"]


class RandomPolicy(Policy):
    """Draws from the examples of the action space, from each conversation's own stream.

    Log-probabilities are those of the draw: it is one choice, reported as one token.
    """

    def __init__(self) -> None:
        self.name = "random"
        self.settings = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Draw one action for each conversation."""
        return [_draw(conversation) for conversation in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an action space without examples.

        Raises:
            UnsupportedError: If the action space is no `TextSpace`.
        """
        if not isinstance(env.action_space, TextSpace):
            raise UnsupportedError(
                f"the random policy draws from the examples of a TextSpace, got {env.action_space}."
            )


def _draw(conversation: Conversation) -> Action:
    examples: tuple[str, ...] = conversation.action_space.examples  # type: ignore[attr-defined]
    number = int(uniform(conversation.key, conversation.turn) * len(examples))
    return Action(examples[number], logprobs=(-math.log(len(examples)),))
