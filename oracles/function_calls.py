"""`FunctionCallOracle`: a message's value is how much of the user turn is served after it."""

from __future__ import annotations

from typing import Any, Final

import gymnasium as gym

from budget_envs.budget import as_limit
from budget_envs.envs.tool_dialogue import ToolDialogueEnv, minimal_generations
from budget_envs.envs.tool_dialogue.demonstration import DONE
from budget_envs.envs.tool_dialogue.episode import Episode
from budget_envs.envs.tool_dialogue.verdict import TurnTruth, progress, served
from budget_envs.errors import UnsupportedError
from budget_envs.oracles.turns_left import turns_left
from budget_envs.tool_calls.model import Call
from budget_envs.tool_calls.mutation import wrong_calls

__all__ = ["FunctionCallOracle"]

_MAX_EDITS: Final = 20


class FunctionCallOracle:
    """Judges messages by what they leave of a user turn's ground truth undone.

    Attributes:
        exact: False: a call that looks something up has no value of its own, and one value for
            one user turn says nothing of those before and after it.

    Reference: Zhu et al., 2026, "What Does Multi-Turn Reinforcement Learning Really Improve in LLM
    Agents?" (step-level action quality, structural upper bound, error states).
    """

    exact = False

    def value(self, env: gym.Env[Any, Any], action: str) -> float:
        """Return the share in [0, 1] of the user turn's requirements that are met after a message.

        A message with calls is worth the progress that they make: the parts of the state that the
        ground truth changes, and the results that it gets. A text, which ends the user turn, is
        worth 1 if the turn is served and 0 otherwise; an empty message leaves everything as it is.

        Args:
            env: A tool-dialogue environment, before the step; it is not changed.
            action: Any text.
        """
        dialogue_env = _dialogue_env(env)
        episode = dialogue_env.episode
        if episode.is_over:
            return 0.0
        truth = dialogue_env.truths[episode.turn]
        is_text = not dialogue_env.format.parse(action).items
        if is_text and action.strip():
            return float(_would_pass(dialogue_env, truth))
        after = episode if is_text else dialogue_env.try_out(action)
        if not truth.calls and dialogue_env.strict and after.called:
            return 0.0
        return progress(truth, after.world, after.results)

    def upper_bound(self, env: gym.Env[Any, Any], turns: int, *, batched: bool = True) -> float:
        """Return 1 if so many messages are enough to serve the whole dialogue, else 0.

        Needed is one message that ends each user turn, and one with its calls where it has any
        (methods of paper 1: 1 closing text and 1 generation, or one for each call).

        Args:
            env: A tool-dialogue environment; the bound is that of its task.
            turns: Turn budget, at least 1.
            batched: Whether one message may make several calls, as it may.
        """
        dialogue_env = _dialogue_env(env)
        dialogue: Any = dialogue_env.task
        limit = as_limit(turns, "turns")
        at_once = dialogue_env.steps_per_user_turn
        needed = [_messages(len(turn.calls), batched) for turn in dialogue.turns]
        # At the limit of one user turn, only the last one is judged without having been ended.
        if at_once is not None and (
            max(needed[:-1], default=0) > at_once or needed[-1] > at_once + 1
        ):
            return 0.0
        return float(minimal_generations(dialogue, batched=batched) <= limit)

    def best_action(self, env: gym.Env[Any, Any]) -> str:
        """Return the message with which the ground truth goes on from here.

        All calls of the user turn at once, then a text; where some were made already, those that
        are missing. In a state from which no such calls serve the turn, the text that ends it.

        Args:
            env: A tool-dialogue environment, before the step.
        """
        dialogue_env = _dialogue_env(env)
        if _would_pass(dialogue_env, dialogue_env.truths[dialogue_env.episode.turn]):
            return DONE
        calls = _remedy(dialogue_env, dialogue_env.episode)
        return dialogue_env.format.render_calls(calls) if calls else DONE

    def error_action(self, env: gym.Env[Any, Any], action: str, key: int) -> str | None:
        """Return calls with one slip in them, after which the user turn can still be served.

        The agent's own calls are edited if they serve the turn, else the ground truth's. That the
        state is recoverable is shown, not hoped: calls of the ground truth serve the turn after it.

        Args:
            env: A tool-dialogue environment, before the step.
            action: What the agent chose.
            key: 64-bit key that picks the edit.

        Returns:
            The message, or ``None`` where nothing is to be called, or the turn is spoiled already,
            or too few turns remain, or no edit will do.
        """
        dialogue_env = _dialogue_env(env)
        episode = dialogue_env.episode
        if episode.is_over or turns_left(env) < 1 + _messages_to_go(dialogue_env):
            return None
        remedy = _remedy(dialogue_env, episode)
        if not remedy:
            return None
        form, tools = dialogue_env.format, episode.dialogue.tools_at(episode.turn)
        for edits, calls in enumerate(wrong_calls(remedy, tools, key)):
            if edits == _MAX_EDITS:
                break
            message = form.render_calls(calls)
            if message != action.strip() and self._is_slip(dialogue_env, message):
                return message
        return None

    def _is_slip(self, env: ToolDialogueEnv, message: str) -> bool:
        """Return whether a message leaves the turn unserved, and calls that would serve it."""
        after = env.try_out(message)
        truth = env.truths[env.episode.turn]
        return progress(truth, after.world, after.results) < 1 and bool(_remedy(env, after))


def _would_pass(env: ToolDialogueEnv, truth: TurnTruth) -> bool:
    """Return whether a text that ends the user turn now ends it well."""
    episode = env.episode
    if truth.calls:
        return served(truth, episode.world, episode.results, called=episode.called)
    if env.strict and episode.called:
        return False
    return progress(truth, episode.world, episode.results) == 1


def _remedy(env: ToolDialogueEnv, episode: Episode) -> tuple[Call, ...]:
    """Return the last calls of the turn's ground truth, as few as serve it from this state.

    Empty where none do: nothing is to be called, or the state cannot be mended in this way.
    """
    turn = episode.dialogue.turns[episode.turn]
    truth = env.truths[episode.turn]
    for start in reversed(range(len(turn.calls))):
        fork = episode.fork()
        for call in turn.calls[start:]:
            fork.call(call)
        if served(truth, fork.world, fork.results, called=True):
            return turn.calls[start:]
    return ()


def _messages(calls: int, batched: bool) -> int:
    return 1 + (min(1, calls) if batched else calls)


def _messages_to_go(env: ToolDialogueEnv) -> int:
    """Return how many messages the dialogue takes from here at least."""
    turns = env.episode.dialogue.turns[env.episode.turn :]
    return sum(_messages(len(turn.calls), batched=True) for turn in turns)


def _dialogue_env(env: gym.Env[Any, Any]) -> ToolDialogueEnv:
    inner = env.unwrapped
    if not isinstance(inner, ToolDialogueEnv):
        raise UnsupportedError(
            f"FunctionCallOracle judges tool dialogues, got {inner}: give this environment an "
            "oracle of its own."
        )
    return inner
