"""Memory of one more copy of an environment."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import gymnasium as gym

__all__ = ["measure_memory"]

_MOST_COPIES: Final = 64
_SECONDS: Final = 1.0  # about how long making the copies may take


def measure_memory(make_env: Callable[[], gym.Env[Any, Any]]) -> tuple[int, int]:
    """Make copies of an environment, begin an episode in each, and see what they allocate.

    Counts what Python and NumPy allocate, not what other libraries do. What all copies share,
    such as modules and caches, is allocated before the count starts.

    Args:
        make_env: Makes one copy.

    Returns:
        Bytes of one copy, and the number of copies that this is the mean of.
    """
    begun = perf_counter()
    first = _started(make_env, 0)
    copies = int(_SECONDS / max(perf_counter() - begun, _SECONDS / _MOST_COPIES))
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    envs = []
    try:
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        envs = [_started(make_env, seed) for seed in range(max(1, copies))]
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        if not was_tracing:
            tracemalloc.stop()
        for env in (first, *envs):
            env.close()
    return max(0, after - before) // len(envs), len(envs)


def _started(make_env: Callable[[], gym.Env[Any, Any]], seed: int) -> gym.Env[Any, Any]:
    env = make_env()
    env.reset(seed=seed)
    return env
