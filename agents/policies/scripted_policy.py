"""`ScriptedPolicy`: plays a list of actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.evaluation.policy import Action, Conversation, Failure, Policy

__all__ = ["ScriptedPolicy"]

Then = Literal["cycle", "repeat_last", "stop"]


class ScriptedPolicy(Policy):
    """Plays the same actions in every episode, whatever it observes.

    Args:
        actions: The actions, one for each turn.
        then: After the last one: ``"cycle"`` starts anew, ``"repeat_last"`` repeats it, ``"stop"``
            gives up, which ends the episode as a failure of the agent.
    """

    def __init__(self, actions: Sequence[str], then: Then = "cycle") -> None:
        if isinstance(actions, str) or not actions or not all(isinstance(a, str) for a in actions):
            raise OptionError(f"actions must be a list of one or more texts, got {actions!r}.")
        if then not in get_args(Then):
            raise OptionError(
                f"then must be one of {', '.join(get_args(Then))}, got {then!r}."
                + did_you_mean(then, get_args(Then))
            )
        self.name = "scripted"
        self.settings = {"actions": list(actions), "then": then}
        self.actions = tuple(actions)
        self.then = then

    def act(self, conversations: Sequence[Conversation]) -> list[Action | Failure]:
        """Return the next action of each conversation."""
        return [self._next(conversation.turn) for conversation in conversations]

    def _next(self, turn: int) -> Action | Failure:
        if turn < len(self.actions):
            return Action(self.actions[turn])
        if self.then == "stop":
            return Failure(f"the script ended after {len(self.actions)} actions.")
        return Action(self.actions[turn % len(self.actions) if self.then == "cycle" else -1])
