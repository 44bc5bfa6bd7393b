"""Collecting rollouts: groups that share a task and a budget, played through `rollout`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from budget_envs.agents.models.tokens import TokenTrajectory
from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.batch import TokenBatch, pad
from budget_envs.agents.trainers.config import RolloutSettings
from budget_envs.evaluation.env_maker import EnvMaker
from budget_envs.evaluation.live_episode import EpisodeRequest, request_episode
from budget_envs.evaluation.policy import Action, Conversation, Failure, Policy
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.trajectory import Episode, EpisodeKey
from budget_envs.streams import derive_key

__all__ = ["Collector", "EnvPool", "Rollouts", "play"]


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Episodes of one training step, with the tokens that they consist of.

    Attributes:
        episodes: N of them, groups adjacent.
        tokens: Their tokens; empty where an episode ended before its first turn.
        is_terminated: ``(N,) bool``: the environment reached an end of its own, as opposed to being
            cut by a limit around it.
        groups: ``(N,) int64``.
        seconds: Wall time by phase: ``"environment"``; ``"prefill"`` and ``"decode"`` of the model;
            ``"policy"``, what its policy does around them, such as tokenising.
    """

    episodes: tuple[Episode, ...]
    tokens: tuple[TokenTrajectory, ...]
    is_terminated: NDArray[np.bool_]
    groups: NDArray[np.int64]
    seconds: Mapping[str, float]

    @cached_property
    def is_void(self) -> NDArray[np.bool_]:
        """``(N,) bool``: nobody can say how the episode went."""
        return np.array([episode.verdict == "void" for episode in self.episodes], dtype=bool)

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """``(N,) float64``; NaN where void."""
        returns = [e.episode_return for e in self.episodes]
        return np.array([np.nan if r is None else r for r in returns])

    @cached_property
    def is_success(self) -> NDArray[np.bool_]:
        """``(N,) bool``."""
        return np.array([episode.verdict == "pass" for episode in self.episodes], dtype=bool)

    @cached_property
    def trajectories(self) -> NDArray[np.int64]:
        """``(M,) int64``, the episode of each turn."""
        return np.repeat(np.arange(len(self.episodes)), [len(e.turns) for e in self.episodes])

    @cached_property
    def rewards(self) -> NDArray[np.float64]:
        """``(M,) float64``; NaN where the environment could not judge."""
        found = [turn.reward for episode in self.episodes for turn in episode.turns]
        return np.array([np.nan if r is None else r for r in found])

    @cached_property
    def state_keys(self) -> list[str]:
        """M anchors, that of the state in which each turn was taken."""
        return [turn.state_key for episode in self.episodes for turn in episode.turns]

    @cached_property
    def regrets(self) -> NDArray[np.float64]:
        """``(M,) float64``, what each action lost by an oracle; NaN where none judged."""
        reports = [turn.oracle for episode in self.episodes for turn in episode.turns]
        return np.array([np.nan if r is None else float(r["regret"]) for r in reports])

    @cached_property
    def shaped_rewards(self) -> NDArray[np.float64]:
        """``(M,) float64``, the process reward of each turn: its negative regret; 0 without one.

        Over an episode they add up to the outcome minus the value of its start, if nothing is left
        to chance.
        """
        return -np.nan_to_num(self.regrets)

    def batch(self) -> TokenBatch:
        """Return the tokens as tensors; those of void episodes count in no loss."""
        batch = pad(self.tokens, [len(episode.turns) for episode in self.episodes])
        # Turns keep their places in the arrays above, so void ones are masked, not left out.
        batch.mask[torch.from_numpy(self.is_void)] = False
        return batch

    def metrics(self) -> dict[str, float]:
        """Return what a log shows of the rollouts."""
        valid = ~self.is_void
        turns = np.bincount(self.trajectories, minlength=len(self.episodes))
        tokens = sum(int(each.is_action.sum()) for each in self.tokens)
        total = sum(self.seconds.values())
        return {
            "charts/episodic_return": _mean(self.returns[valid]),
            "charts/episodic_length": _mean(turns[valid]),
            "charts/SPS": float(turns.sum() / total),
            "rollout/success_rate": _mean(self.is_success[valid]),
            "rollout/void_share": _mean(self.is_void),
            "rollout/equal_group_share": self._equal_group_share(),
            "rollout/mean_budget": _mean([episode.budget for episode in self.episodes]),
            "rollout/invalid_share": _mean(
                [turn.is_invalid for episode in self.episodes for turn in episode.turns]
            ),
            "rollout/mean_regret": _mean(self.regrets[~np.isnan(self.regrets)]),
            "rollout/tokens_per_turn": tokens / max(1, len(self.trajectories)),
            **{f"time/{phase}": seconds for phase, seconds in self.seconds.items()},
        }

    def _equal_group_share(self) -> float:
        """Return the share of groups whose returns are all equal, which teach nothing."""
        by_group: dict[int, set[float]] = {}
        for group, value, void in zip(self.groups, self.returns, self.is_void, strict=True):
            by_group.setdefault(int(group), set()).update([] if void else [float(value)])
        return _mean([len(values) <= 1 for values in by_group.values()])


class Collector:
    """Plays groups of rollouts with a language model.

    Args:
        policy: The model's policy, made with ``record=True``.
        make_env: Makes environments; the turn budget is set for each episode.
        settings: How many are played, and how.
        seed: Of tasks' and policy's luck, a function of which, the step and the task every rollout
            is.
    """

    def __init__(
        self, policy: LanguageModelPolicy, make_env: EnvMaker, settings: RolloutSettings, seed: int
    ) -> None:
        self.policy = policy
        self.pool = EnvPool(make_env)
        self.settings = settings
        self.seed = seed

    def collect(self, step: int, tasks: Sequence[tuple[str, int]]) -> Rollouts:
        """Play one step's groups.

        Args:
            step: Number of the step.
            tasks: Task and turn budget of each group; tasks are distinct.
        """
        seed = derive_key(self.seed, step)
        size = self.settings.group_size
        requests = [
            request_episode(seed, task_id, budget, number)
            for task_id, budget in tasks
            for number in range(size)
        ]
        return play(
            self.policy,
            self.pool,
            requests,
            groups=np.repeat(np.arange(len(tasks)), size),
            batch_size=self.settings.batch_size or len(requests),
        )


class EnvPool:
    """Makes environments, and hands out again those that were closed in good order.

    Args:
        make_env: Makes one more.
    """

    def __init__(self, make_env: Callable[[], gym.Env[Any, Any]]) -> None:
        self._make_env = make_env
        self._idle: list[gym.Env[Any, Any]] = []
        self.endings: dict[EpisodeKey, bool] = {}

    def __call__(self) -> gym.Env[Any, Any]:
        """Return an environment; closing it brings it back."""
        env = self._idle.pop() if self._idle else self._make_env()
        return _Lent(env, self)

    def take_back(self, env: gym.Env[Any, Any]) -> None:
        """Keep an environment for the next one who asks."""
        self._idle.append(env)

    def close(self) -> None:
        """Close the environments that are not lent."""
        while self._idle:
            self._idle.pop().close()


def play(
    policy: LanguageModelPolicy,
    pool: EnvPool,
    requests: Sequence[EpisodeRequest],
    *,
    groups: NDArray[np.int64],
    batch_size: int,
) -> Rollouts:
    """Play episodes and return them in the order of the requests, with their tokens."""
    started = time.perf_counter()
    watched = _Timed(policy)
    usage = policy.sampler.usage
    before = usage.prefill_seconds, usage.decode_seconds
    pool.endings.clear()
    rounds = rollout(watched, pool, requests, batch_size=batch_size)
    by_key = {episode.key: episode for finished in rounds for episode in finished}
    tokens = [_tokens(policy, request) for request in requests]
    elapsed = time.perf_counter() - started
    prefill, decode = usage.prefill_seconds - before[0], usage.decode_seconds - before[1]
    return Rollouts(
        episodes=tuple(by_key[request.key] for request in requests),
        tokens=tuple(tokens),
        is_terminated=np.array([pool.endings.get(r.key, True) for r in requests], dtype=bool),
        groups=groups,
        seconds={
            "environment": elapsed - watched.seconds,
            "prefill": prefill,
            "decode": decode,
            "policy": watched.seconds - prefill - decode,
        },
    )


class _Timed(Policy):
    """Passes everything on to a policy, and adds up the time that it takes."""

    def __init__(self, policy: LanguageModelPolicy) -> None:
        self.policy = policy
        self.name, self.settings = policy.name, policy.settings
        self.seconds = 0.0

    def act(self, conversations: Sequence[Conversation]) -> Sequence[Action | Failure]:
        with self._watch():
            return self.policy.act(conversations)

    def begin(self, conversations: Sequence[Conversation]) -> None:
        with self._watch():
            self.policy.begin(conversations)

    def end(self, conversations: Sequence[Conversation]) -> None:
        with self._watch():
            self.policy.end(conversations)

    @contextmanager
    def _watch(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started


class _Lent(gym.Wrapper[Any, Any, Any, Any]):
    """An environment of a pool.

    It notes whether episodes ended by themselves or were cut, which their records do not say. One
    that has raised an exception does not go back: nobody knows what state it is in.
    """

    def __init__(self, env: gym.Env[Any, Any], pool: EnvPool) -> None:
        super().__init__(env)
        self._pool = pool
        self._key = EpisodeKey("", 0, 0)
        self._is_sound = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        chosen = options or {}
        self._key = EpisodeKey(chosen["task"], chosen["budget"]["turns"], chosen["rollout"])
        with self._doubting():
            return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        with self._doubting():
            observation, reward, terminated, truncated, info = self.env.step(action)
        self._pool.endings[self._key] = bool(terminated)
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        if self._is_sound:
            self._pool.take_back(self.env)
        else:
            self.env.close()

    @contextmanager
    def _doubting(self) -> Iterator[None]:
        self._is_sound = False
        yield
        self._is_sound = True


def _tokens(policy: LanguageModelPolicy, request: EpisodeRequest) -> TokenTrajectory:
    """Return the tokens of an episode, none where it was over before its first turn."""
    try:
        return policy.pop_trajectory(request.conversation_id)
    except KeyError:
        nothing = np.zeros(0, np.int64)
        return TokenTrajectory(nothing, nothing.astype(bool), nothing.astype(np.float32), nothing)


def _mean(values: Any) -> float:
    """Return the mean; NaN of nothing, which no log keeps."""
    return float(np.mean(values)) if len(values) else float("nan")
