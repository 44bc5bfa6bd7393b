"""Playing many episodes in lock step, so that a policy answers a whole batch in one call.

A dead or void episode is a record, never an exception: what its policy or environment raised
stands in it with the boundary it came from, and the other episodes of the batch go on. What an
episode does depends on its request alone, not on the batch that it is played in, and its record
on nothing that a policy keeps: actions are copied as they come, conversations as they go.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym

from budget_envs.errors import OptionError
from budget_envs.evaluation.live_episode import EpisodeRequest, LiveEpisode
from budget_envs.evaluation.policy import (
    Action,
    Conversation,
    Failure,
    Policy,
    boundary_of,
    describe_error,
    shown,
    stops,
)
from budget_envs.evaluation.trajectory import Episode

__all__ = ["Bounds", "ask", "rollout"]

Bounds = Callable[[gym.Env[Any, Any]], Mapping[int, float]]

_log = logging.getLogger(__name__)


def rollout(
    policy: Policy,
    make_env: Callable[[], gym.Env[Any, Any]],
    requests: Iterable[EpisodeRequest],
    *,
    batch_size: int = 64,
    bounds: Bounds | None = None,
) -> Iterator[list[Episode]]:
    """Play episodes and yield them as they finish, those of one round together.

    Args:
        policy: Called once for each turn of each episode, with all episodes in progress.
        make_env: Makes one more environment with text actions and a turn budget; up to
            ``batch_size`` of them exist at once, and each plays many episodes.
        requests: What to play; taken in order.
        batch_size: Episodes in progress at once, at least 1.
        bounds: Gives the upper bounds of the task that an environment was reset to, by turn
            budget; ``None`` records none.

    Raises:
        OptionError: If ``batch_size`` is not a positive integer.
        DependencyNotInstalled: If policy or environment lacks one.
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise OptionError(f"batch_size must be an integer of at least 1, got {batch_size!r}.")
    stage = _Stage(policy, make_env, bounds)
    waiting = deque(requests)
    try:
        while waiting or stage.playing:
            room = batch_size - len(stage.playing)
            finished = stage.start([waiting.popleft() for _ in range(min(room, len(waiting)))])
            finished += stage.play_round()
            if finished:
                yield finished
    finally:
        stage.close()


class _Stage:
    """The episodes in progress, and the environments that wait for the next ones."""

    def __init__(
        self, policy: Policy, make_env: Callable[[], gym.Env[Any, Any]], bounds: Bounds | None
    ) -> None:
        self.policy = policy
        self.make_env = make_env
        self.bounds = bounds
        self.playing: list[LiveEpisode] = []
        self.idle: list[gym.Env[Any, Any]] = []

    def start(self, requests: Sequence[EpisodeRequest]) -> list[Episode]:
        """Begin episodes; return those that are over before their first turn."""
        begun = [self._begin(request) for request in requests]
        finished = [episode for episode in begun if isinstance(episode, Episode)]
        new = [episode for episode in begun if isinstance(episode, LiveEpisode)]
        answers = _answers(self._announce, [episode.conversation() for episode in new])
        for episode, answer in zip(new, answers, strict=True):
            if isinstance(answer, Failure):
                finished.append(self._stop(episode, answer))
                self._dismiss([episode])
            else:
                self.playing.append(episode)
        return finished

    def play_round(self) -> list[Episode]:
        """Play one turn of every episode in progress; return those that are over."""
        answers = ask(self.policy.act, [episode.conversation() for episode in self.playing])
        played = [
            (episode, self._play_turn(episode, answer))
            for episode, answer in zip(self.playing, answers, strict=True)
        ]
        self.playing = [episode for episode, record in played if record is None]
        self._dismiss([episode for episode, record in played if record is not None])
        return [record for _, record in played if record is not None]

    def close(self) -> None:
        """Close all environments; episodes in progress are dropped."""
        self._dismiss(self.playing)
        for env in [*self.idle, *(episode.env for episode in self.playing)]:
            _close(env)
        self.playing, self.idle = [], []

    def _begin(self, request: EpisodeRequest) -> LiveEpisode | Episode:
        env = None
        try:
            env = self.idle.pop() if self.idle else self.make_env()
            episode = request.begin(env, with_env=self.policy.needs_env)
            is_solved = bool(episode.info.get("is_success"))
        except BaseException as error:
            if env is not None:
                _close(env)
            if stops(error):
                raise
            return request.not_begun(boundary_of(error, "env"), describe_error(error))
        episode.upper_bounds = self._bound(episode)
        if is_solved:
            self.idle.append(env)
            return request.solved_at_reset(episode.observation, episode.upper_bounds)
        return episode

    def _bound(self, episode: LiveEpisode) -> Mapping[int, float] | None:
        if self.bounds is None:
            return None
        try:
            found = self.bounds(episode.env)
            return {int(turns): float(bound) for turns, bound in found.items()}
        except Exception:  # the oracle is no part of the episode
            _log.exception("no upper bound for task %r", episode.request.key.task_id)
            return None

    def _play_turn(self, episode: LiveEpisode, answer: Action | Failure) -> Episode | None:
        """Take one turn; return the record if the episode is over."""
        if isinstance(answer, Failure):
            return self._stop(episode, answer)
        try:
            episode.charge(answer)
        except Exception as error:
            return self._stop(episode, Failure(describe_error(error)))
        try:
            record = episode.judged() if episode.step(answer) else None
        except BaseException as error:
            if stops(error):
                raise
            _close(episode.env)  # nobody knows what state it is in
            return episode.stopped(Failure(describe_error(error), boundary_of(error, "env")))
        if record is not None:
            self.idle.append(episode.env)
        return record

    def _stop(self, episode: LiveEpisode, failure: Failure) -> Episode:
        self.idle.append(episode.env)
        return episode.stopped(failure)

    def _announce(self, conversations: Sequence[Conversation]) -> Sequence[None]:
        self.policy.begin(conversations)
        return [None] * len(conversations)

    def _dismiss(self, episodes: Sequence[LiveEpisode]) -> None:
        if not episodes:
            return
        try:
            self.policy.end([episode.conversation() for episode in episodes])
        except BaseException as error:  # what the policy keeps is no part of the episodes
            if stops(error):
                raise
            _log.exception("policy %r failed to end its conversations", self.policy.name)


def ask(
    call: Callable[[Sequence[Conversation]], Sequence[object]],
    conversations: Sequence[Conversation],
) -> list[Any]:
    """Return an `Action` or `Failure` for each conversation; what else comes is a `Failure`.

    Calls for the whole batch, and, where that raises, for each conversation alone.
    """
    return [_accepted(answer) for answer in _answers(call, conversations)]


def _answers(
    call: Callable[[Sequence[Conversation]], Sequence[object]],
    conversations: Sequence[Conversation],
) -> list[object]:
    if not conversations:
        return []
    try:
        answers = list(call(conversations))
        if len(answers) != len(conversations):
            raise OptionError(
                f"expected {len(conversations)} actions, one for each conversation, got "
                f"{len(answers)}."
            )
    except BaseException as error:
        if stops(error):
            raise
        if len(conversations) > 1:
            return [_answers(call, [conversation])[0] for conversation in conversations]
        return [Failure(describe_error(error), boundary_of(error, "agent"))]
    return answers


def _accepted(answer: object) -> Action | Failure:
    """Return a copy in plain values, as the answer's own class may change its mind later."""
    try:
        if isinstance(answer, Failure):
            return Failure(answer.error, answer.boundary)
        if isinstance(answer, Action):
            return Action(
                answer.text, answer.logprobs, answer.num_tokens, answer.seconds, answer.cost
            )
        return Failure(f"expected an Action, got {shown(answer)}.")
    except BaseException as error:
        if stops(error):
            raise
        return Failure(describe_error(error))


def _close(env: gym.Env[Any, Any]) -> None:
    try:
        env.close()
    except BaseException as error:  # it is not used again
        if stops(error):
            raise
        _log.exception("failed to close %s", env)
