"""Recovery: how often a policy still succeeds from a state that an error led to.

Two policies are compared from identical prefixes: the same conversation, the same environment,
the same remaining budget, and in continuation ``j`` the same luck: of the environment, and of the
errors that are still to be injected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.evaluation.bootstrap import Interval, mean_interval, paired_difference_interval
from budget_envs.evaluation.live_episode import EpisodeRequest, LiveEpisode
from budget_envs.evaluation.policy import Policy
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.states import MakeEnv, State
from budget_envs.evaluation.trajectory import Episode, EpisodeKey
from budget_envs.snapshot import restore_inner
from budget_envs.streams import derive_key
from budget_envs.text_env import TextEnv
from budget_envs.wrappers.base import layers
from budget_envs.wrappers.error_states import ErrorStates

__all__ = ["Recovery", "compare_recovery", "continue_from", "recovery"]

_LUCK = 1  # name of the stream that a continuation's own chance is drawn from


@dataclass(frozen=True)
class _Continuation(EpisodeRequest):
    """Playing on from a state; ``key.rollout`` numbers state and continuation."""

    state: State
    luck: int

    def begin(self, env: gym.Env[Any, Any], *, with_env: bool) -> LiveEpisode:
        env.reset(seed=self.seed)  # a snapshot is restored into an environment that has been reset
        restore_inner(env, self.state.snapshot)
        self._renew_luck(env)
        inner: Any = env.unwrapped
        info: dict[str, Any] = {"state_key": inner.state_key}
        messages = list(self.state.messages)
        return LiveEpisode(self, env, info, messages, self.state.token_limit, with_env)

    def _renew_luck(self, env: gym.Env[Any, Any]) -> None:
        """Replace every key that the rest of the episode draws from: it is the snapshot's."""
        inner: Any = env.unwrapped
        inner.dynamics_key = self.luck
        for depth, layer in enumerate(layers(env)):
            if isinstance(layer, ErrorStates):
                place = layer.save()
                layer.load({**place, "key": derive_key(self.luck, place["key"], depth)})


def continue_from(
    policy: Policy,
    states: Sequence[State],
    make_env: MakeEnv,
    *,
    num_continuations: int = 8,
    batch_size: int = 64,
) -> list[list[Episode]]:
    """Play on from each state to the end, several times.

    Args:
        policy: What plays on.
        states: From `budget_envs.evaluation.states.collect_states`. To continue from error states,
            collect with ``error_states={"at": ...}`` and keep those with ``is_error``.
        make_env: Makes an environment of the same kind.
        num_continuations: Continuations of each state.
        batch_size: Episodes in progress at once.

    Returns:
        For each state its continuations. Their turns count from the state on.

    Raises:
        OptionError: If ``num_continuations`` is not a positive integer.
        UnsupportedError: If the environment is no `TextEnv`.
    """
    count = num_continuations
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"num_continuations must be an integer of at least 1, got {count!r}.")
    _check_env(make_env)
    requests = list(_requests(states, count))
    played = rollout(policy, make_env, requests, batch_size=batch_size)
    episodes = {episode.rollout: episode for finished in played for episode in finished}
    return [
        [episodes[row * count + number] for number in range(count)] for row in range(len(states))
    ]


@dataclass(frozen=True, slots=True)
class Recovery:
    """How often a policy succeeded from given states; the interval draws states.

    Attributes:
        rate: Share of judged continuations that succeeded, averaged over states.
        num_states: The states.
        num_void: Continuations that nobody could judge; they enter no share.
    """

    rate: Interval
    num_states: int
    num_void: int


def recovery(
    continuations: Sequence[Sequence[Episode]],
    *,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> Recovery:
    """Measure the recovery rate.

    Args:
        continuations: From :func:`continue_from`.
        seed: Of the bootstrap.
        level: Nominal coverage of the interval in (0, 1).
        num_resamples: Resamples of the states.
    """
    shares = _successes(continuations)
    played = [episode for episodes in continuations for episode in episodes]
    return Recovery(
        rate=mean_interval(shares, seed=seed, level=level, num_resamples=num_resamples),
        num_states=len(continuations),
        num_void=sum(episode.verdict == "void" for episode in played),
    )


def compare_recovery(
    continuations: Sequence[Sequence[Episode]],
    baseline: Sequence[Sequence[Episode]],
    *,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> Interval:
    """Return the difference of two policies' recovery rates from the same states.

    Args:
        continuations: The first policy's, from :func:`continue_from`.
        baseline: The second's, from the same states.
        seed: Of the bootstrap.
        level: Nominal coverage of the interval in (0, 1).
        num_resamples: Resamples of the states.

    Raises:
        OptionError: If the two do not have the same number of states.
    """
    if len(continuations) != len(baseline):
        raise OptionError(
            f"both sides need the same states, got {len(continuations)} and {len(baseline)}."
        )
    ours, theirs = _successes(continuations), _successes(baseline)
    return paired_difference_interval(
        ours, theirs, seed=seed, level=level, num_resamples=num_resamples
    )


def _check_env(make_env: MakeEnv) -> None:
    """Refuse environments whose luck cannot be renewed: all continuations would be one."""
    env = make_env()
    try:
        if not isinstance(env.unwrapped, TextEnv):
            raise UnsupportedError(
                f"continuations need an environment that derives from TextEnv, got {env.unwrapped}."
            )
    finally:
        env.close()


def _requests(states: Sequence[State], count: int) -> Iterator[_Continuation]:
    for row, state in enumerate(states):
        for number in range(count):
            key = derive_key(state.key, number)
            yield _Continuation(
                key=EpisodeKey(state.task_id, state.budget, row * count + number),
                seed=0,
                policy_key=key,
                state=state,
                luck=derive_key(key, _LUCK),
            )


def _successes(continuations: Sequence[Sequence[Episode]]) -> Mapping[str, list[float]]:
    return {
        f"{row:09d}": [float(e.verdict == "pass") for e in episodes if e.verdict != "void"]
        for row, episodes in enumerate(continuations)
    }
