"""How the time of a step divides among an environment's wrappers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter_ns
from typing import Any

import gymnasium as gym

from budget_envs.cli.bench.speed import draw_actions
from budget_envs.wrappers.base import layers

__all__ = ["LayerShare", "measure_layers"]


@dataclass(frozen=True, slots=True)
class LayerShare:
    """One layer's own part of a step.

    Attributes:
        layer: Class name.
        own_us: Microseconds of a step that the layer spends in itself, not in what it wraps.
        share: The same as a share of all layers, in [0, 1].
    """

    layer: str
    own_us: float
    share: float


def measure_layers(env: gym.Env[Any, Any], steps: int) -> list[LayerShare]:
    """Play random actions with a clock around the ``step`` of every layer.

    What the clocks themselves cost is measured on calls that do nothing, and taken off. A wrapper
    that steps what it wraps by another way than ``env.step`` counts as one layer with it.

    Args:
        env: Any environment. It is not to be used afterwards: its clocks stay in place.
        steps: Number of steps.

    Returns:
        The layers from the outside in.
    """
    actions = draw_actions(env.action_space)
    stack = list(layers(env))
    clocks = [_Clock(layer.step) for layer in stack]
    for layer, clock in zip(stack, clocks, strict=True):
        layer.step = clock  # type: ignore[method-assign, assignment]
    _play(env, actions, steps)
    return _shares([type(layer).__name__ for layer in stack], clocks, max(1, steps))


class _Clock:
    """Calls a function and adds up how long that takes, in nanoseconds."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.total_ns = 0
        self.calls = 0

    def __call__(self, *args: Any) -> Any:
        begun = perf_counter_ns()
        try:
            return self.function(*args)
        finally:
            self.total_ns += perf_counter_ns() - begun
            self.calls += 1


def _play(env: gym.Env[Any, Any], actions: list[Any], steps: int) -> None:
    env.reset(seed=0)
    for action in islice(cycle(actions), steps):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()


def _shares(names: list[str], clocks: list[_Clock], steps: int) -> list[LayerShare]:
    inside_ns, outside_ns = _cost_of_clock()
    own = []
    for number, clock in enumerate(clocks):
        inner = clocks[number + 1 : number + 2]
        wrapped_ns = sum(c.total_ns + c.calls * outside_ns for c in inner)
        own.append(max(0.0, clock.total_ns - clock.calls * inside_ns - wrapped_ns))
    total = sum(own) or 1.0
    return [
        LayerShare(name, own_ns / steps / 1000, own_ns / total)
        for name, own_ns in zip(names, own, strict=True)
    ]


def _cost_of_clock(calls: int = 20_000) -> tuple[float, float]:
    """Return what a clock adds to its own figure, and beyond that to the one around it, in ns."""
    inner = _Clock(lambda action: None)
    outer = _Clock(inner)
    for _ in range(calls):
        outer(0)
    inside = inner.total_ns / calls
    return inside, max(0.0, outer.total_ns / calls - inside - inside)
