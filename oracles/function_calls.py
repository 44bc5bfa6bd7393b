"""`FunctionCallOracle`: a message's value is how much of the user turn is served after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import gymnasium as gym

from budget_envs.budget import as_limit
from budget_envs.envs.tool_dialogue import ToolDialogueEnv
from budget_envs.envs.tool_dialogue.demonstration import DONE
from budget_envs.envs.tool_dialogue.episode import Episode
from budget_envs.envs.tool_dialogue.verdict import TurnTruth, progress, served
from budget_envs.errors import UnsupportedError
from budget_envs.oracles.turns_left import calls_left, turns_left
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
        output = dialogue_env.format.parse(action)
        if output.text and not output.items:
            return float(_would_pass(dialogue_env, truth))
        after = dialogue_env.try_out(action, _allowed(env)) if output.items else episode
        if not truth.calls and dialogue_env.strict and after.called:
            return 0.0
        return progress(truth, after.world, after.results)

    def upper_bound(self, env: gym.Env[Any, Any], turns: int, *, batched: bool = True) -> float:
        """Return 1 if so many messages are enough to serve the whole dialogue, else 0.

        Needed is one message that ends each user turn, and one with its calls where it has any
        (methods of paper 1: 1 closing text and 1 generation, or one for each call). A limit of
        messages in one user turn ends the last one without a text.

        Args:
            env: A tool-dialogue environment; the bound is that of its task.
            turns: Turn budget, at least 1.
            batched: Whether one message may make several calls, as it may.
        """
        dialogue_env = _dialogue_env(env)
        dialogue: Any = dialogue_env.task
        limit = as_limit(turns, "turns")
        needed = [_messages(len(turn.calls), batched) for turn in dialogue.turns]
        return float(_fewest(needed, dialogue_env.steps_per_user_turn) <= limit)

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
            The message, or ``None`` where nothing is to be called, or a user turn is spoiled
            already, or too few turns or calls remain, or no edit will do.
        """
        dialogue_env = _dialogue_env(env)
        episode = dialogue_env.episode
        if episode.is_over or "fail" in episode.verdicts:
            return None
        remedy, needed = _remedy(dialogue_env, episode), 1 + _messages_to_go(dialogue_env)
        if not remedy or math.isinf(needed) or turns_left(env) < needed:
            return None
        form, tools = dialogue_env.format, episode.dialogue.tools_at(episode.turn)
        for edits, calls in enumerate(wrong_calls(remedy, tools, key)):
            if edits == _MAX_EDITS:
                break
            message = form.render_calls(calls)
            if message != action.strip() and _is_slip(dialogue_env, message, calls_left(env)):
                return message
        return None


def _is_slip(env: ToolDialogueEnv, message: str, calls: float) -> bool:
    """Return whether a message leaves the turn unserved, and the means to serve the dialogue.

    Args:
        env: The environment.
        message: The message.
        calls: How many calls are left before it.
    """
    before, after = env.episode, env.try_out(message)
    if progress(env.truths[before.turn], after.world, after.results) == 1:
        return False
    remedy = _remedy(env, after)
    made = after.number_of_calls - before.number_of_calls
    later = sum(len(turn.calls) for turn in before.dialogue.turns[before.turn + 1 :])
    # The budget's last call ends the episode: there must be one more.
    return bool(remedy) and made + len(remedy) + later < calls


def _would_pass(env: ToolDialogueEnv, truth: TurnTruth) -> bool:
    """Return whether a text that ends the user turn now ends it well."""
    episode = env.episode
    if truth.calls:
        return served(truth, episode.world, episode.results, called=episode.called)
    if env.strict:
        return not episode.called
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


def _fewest(needed: Sequence[int], limit: int | None) -> float:
    """Return how many messages user turns take at least; infinity if the limit cuts them short.

    Args:
        needed: How many messages each of them takes, the text that ends it included.
        limit: How many messages one may have, or ``None``.
    """
    *others, last = needed
    if limit is None:
        return sum(needed)
    # At the limit the episode ends: the last user turn is judged then, without a text.
    if max(others, default=0) > limit or last > limit + 1:
        return math.inf
    return sum(others) + min(last, limit)


def _messages_to_go(env: ToolDialogueEnv) -> float:
    """Return how many messages the dialogue takes after one slip now; infinity if it is lost."""
    episode = env.episode
    turns = episode.dialogue.turns[episode.turn :]
    needed = [_messages(len(turn.calls), batched=True) for turn in turns]
    needed[0] += (done := episode.generations + 1)
    return _fewest(needed, env.steps_per_user_turn) - done


def _allowed(env: gym.Env[Any, Any]) -> int | None:
    """Return how many calls the budgets have left; ``None`` where none limits them."""
    left = calls_left(env)
    return None if left == math.inf else int(left)


def _dialogue_env(env: gym.Env[Any, Any]) -> ToolDialogueEnv:
    inner = env.unwrapped
    if not isinstance(inner, ToolDialogueEnv):
        raise UnsupportedError(
            f"FunctionCallOracle judges tool dialogues, got {inner}: give this environment an "
            "oracle of its own."
        )
    return inner
