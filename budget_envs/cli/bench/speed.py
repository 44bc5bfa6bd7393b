"""Steps and resets per second, of one environment and of its vector environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter
from typing import Any, Final

import gymnasium as gym

__all__ = ["Speed", "VectorSpeed", "draw_actions", "measure_speed", "measure_vector_speed"]

_PASSES: Final = 3  # the fastest counts: a slower one was disturbed
_PASS_S: Final = 0.3
_NUM_ACTIONS: Final = 4096  # drawn beforehand and played in a circle
_MIN_RESETS: Final = 3
_CLOCK_S: Final = 1e-9  # what took no time by the clock took less than it can tell


@dataclass(frozen=True, slots=True)
class Speed:
    """What playing random actions costs; each figure is that of the fastest of three passes.

    Attributes:
        steps: Steps of one pass.
        steps_per_second: Calls of ``step`` per second spent in them.
        resets_per_second: Calls of ``reset`` per second spent in them.
        steps_per_second_with_resets: Steps per second of whole episodes, resets included.
        mean_episode_length: Steps of an episode with random actions; the last one may be cut.
    """

    steps: int
    steps_per_second: float
    resets_per_second: float
    steps_per_second_with_resets: float
    mean_episode_length: float


@dataclass(frozen=True, slots=True)
class VectorSpeed:
    """What a vector environment does with random actions, autoresets included.

    Attributes:
        num_envs: Copies.
        kind: Name of its class.
        steps_per_second: Steps of single copies per second.
    """

    num_envs: int
    kind: str
    steps_per_second: float


def draw_actions(space: gym.Space[Any], number: int = _NUM_ACTIONS) -> list[Any]:
    """Draw actions from a space that is seeded first, so that every run draws the same."""
    space.seed(0)
    return [space.sample() for _ in range(number)]


def measure_speed(env: gym.Env[Any, Any], steps: int | None = None) -> Speed:
    """Play random actions and time it.

    Args:
        env: Any environment; it is reset.
        steps: Steps of one pass; ``None`` takes as many as fit into about 0.3 s.
    """
    actions = draw_actions(env.action_space)
    if steps is None:
        steps = _steps_that_fill(env, actions)
    passes = [_play(env, actions, steps) for _ in range(_PASSES)]
    return Speed(
        steps=steps,
        steps_per_second=steps / min(played.step_s for played in passes),
        resets_per_second=max(played.resets / played.reset_s for played in passes),
        steps_per_second_with_resets=steps / min(played.whole_s for played in passes),
        mean_episode_length=steps / passes[0].episodes,
    )


def measure_vector_speed(
    venv: gym.vector.VectorEnv[Any, Any, Any], *, seconds: float = _PASS_S
) -> VectorSpeed:
    """Step a vector environment with random actions and time it.

    Args:
        venv: Any vector environment; it is reset.
        seconds: About how long.
    """
    batches = draw_actions(venv.action_space, 8)
    venv.reset(seed=0)
    for batch in batches:  # the first steps fill caches
        venv.step(batch)
    calls, endless = 0, cycle(batches)
    begun = perf_counter()
    while (elapsed := perf_counter() - begun) < seconds:
        venv.step(next(endless))
        calls += 1
    return VectorSpeed(
        num_envs=venv.num_envs,
        kind=type(venv.unwrapped).__name__,
        steps_per_second=calls * venv.num_envs / elapsed,
    )


@dataclass(frozen=True, slots=True)
class _Pass:
    step_s: float
    reset_s: float
    whole_s: float
    resets: int
    episodes: int


def _play(env: gym.Env[Any, Any], actions: Sequence[Any], steps: int) -> _Pass:
    """Play whole episodes until ``steps`` are taken; the clock is read twice an episode."""
    endless = cycle(actions)
    step_s = reset_s = 0.0
    episodes = taken = 0
    while taken < steps:
        reset_s += _time_reset(env, 0 if episodes == 0 else None)  # each pass plays the same tasks
        episodes += 1
        begun = perf_counter()
        taken += _play_episode(env, islice(endless, steps - taken))
        step_s += max(perf_counter() - begun, _CLOCK_S)
    whole_s, resets = step_s + reset_s, max(episodes, _MIN_RESETS)
    reset_s += sum(_time_reset(env, None) for _ in range(resets - episodes))
    return _Pass(step_s, reset_s, whole_s, resets, episodes)


def _time_reset(env: gym.Env[Any, Any], seed: int | None) -> float:
    begun = perf_counter()
    env.reset(seed=seed)
    return max(perf_counter() - begun, _CLOCK_S)


def _play_episode(env: gym.Env[Any, Any], actions: Iterator[Any]) -> int:
    """Step until the episode or the actions end; return the number of steps."""
    steps, step = 0, env.step
    for action in actions:
        _, _, terminated, truncated, _ = step(action)
        steps += 1
        if terminated or truncated:
            break
    return steps


def _steps_that_fill(env: gym.Env[Any, Any], actions: Sequence[Any]) -> int:
    steps = 64
    while (played := _play(env, actions, steps)).whole_s < _PASS_S / 4:
        steps *= 2
    return max(64, int(steps * _PASS_S / played.whole_s))
