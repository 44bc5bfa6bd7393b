"""How fast is FrozenLake? Ratios against Gymnasium's own, measured in one run.

    python benchmarks/speed_frozen_lake.py [--repeats 15] [--json]

One thread. Every repeat times all sides in turn, and each ratio is the median of the repeats' own
ratios, so that a machine that slows down for a while slows both sides. Times are CPU time of this
process. Both sides come out of `gym.make` or `gym.make_vec` with nothing taken off, are given
random actions drawn beforehand, and reset whenever an episode ends, which is part of the time.
Unless a row says otherwise the game is the same one: the slippery 4x4 map, at most 100 turns.
Gymnasium's side gives integers, ours texts.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy loads its BLAS
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

import budget_envs

ACTIONS = ("Left", "Down", "Right", "Up")
ENV_ID, THEIR_ID = "budget_envs/FrozenLake-v0", "FrozenLake-v1"
SAME_GAME = {"map_name": "4x4", "success_rate": 1 / 3, "budget": 100}
STACKED = {"show_budget": True, "oracle": True}
COPIES = 1024
VECTOR_BATCHES, THEIR_VECTOR_BATCHES = 40, 4  # one batch of Gymnasium's takes as long as fifty
SCALAR_STEPS = 4000
EPISODES, EPISODE_STEPS = 300, 4

VECTOR = {
    "vector, same game": SAME_GAME,
    "vector, same game, no limit": {**SAME_GAME, "budget": None},
    "vector, 10 turns": {**SAME_GAME, "budget": 10},
    "vector, 10 turns, budget shown": {**SAME_GAME, "budget": 10, "show_budget": True},
    "vector, same game, SAME_STEP": {**SAME_GAME, "autoreset_mode": AutoresetMode.SAME_STEP},
    "vector, a fresh random map for each episode": {},
}
SCALAR = {
    "scalar, same game": SAME_GAME,
    "scalar, same game, budget shown": {**SAME_GAME, "show_budget": True},
    "scalar, same game, budget shown, oracle": {**SAME_GAME, **STACKED},
    "scalar, 10 turns": {**SAME_GAME, "budget": 10},
    "scalar, 10 turns, budget shown, oracle": {**SAME_GAME, **STACKED, "budget": 10},
    "scalar, a fresh random map for each episode": {},
    "scalar, a fresh random map, budget shown, oracle": STACKED,
}
TARGETS = {
    "vector, same game": 50,
    "scalar, same game": 1.5,
    "scalar, same game, budget shown, oracle": 1,
}
EPISODE, EPISODE_TARGET = "a fresh random 4x4 map and four steps", 16

Timed = Callable[[], float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="how often all sides are timed")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    results = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {module.__name__: module.__version__ for module in (np, gym, budget_envs)},
        "rows": measure(arguments.repeats),
    }
    sys.stdout.write(json.dumps(results, indent=2) + "\n" if arguments.json else table(results))
    return 0


def measure(repeats: int) -> list[dict[str, Any]]:
    """Time all sides ``repeats`` times, taking turns."""
    sides = all_sides()
    times: dict[str, list[float]] = {name: [] for name in sides}
    for timed in sides.values():
        timed()  # warm: caches filled, code paths specialised
    for _ in range(repeats):
        for name, timed in sides.items():
            times[name].append(timed())
    rows = [row(name, times[name], times["their vector"]) for name in VECTOR]
    rows += [row(name, times[name], times["their scalar"]) for name in SCALAR]
    return [*rows, episode_row(times[EPISODE], times["their scalar"])]


def all_sides() -> dict[str, Timed]:
    """Return what is timed, by name; each call returns seconds for one environment step."""
    vector = {
        name: native_vector(gym.make_vec(ENV_ID, num_envs=COPIES, **keywords))
        for name, keywords in VECTOR.items()
    }
    theirs = gym.make_vec(THEIR_ID, num_envs=COPIES, vectorization_mode="sync")
    scalar = {
        name: one_by_one(gym.make(ENV_ID, **keywords), ACTIONS) for name, keywords in SCALAR.items()
    }
    return {
        "their vector": in_batches(theirs, THEIR_VECTOR_BATCHES, range(4)),
        **vector,
        "their scalar": one_by_one(gym.make(THEIR_ID), range(4)),
        **scalar,
        EPISODE: fresh_episodes(),
    }


def native_vector(env: gym.vector.VectorEnv) -> Timed:
    if isinstance(env, gym.vector.SyncVectorEnv):
        raise SystemExit(f"{env} is not native: this would compare scalar environments.")
    return in_batches(env, VECTOR_BATCHES, ACTIONS)


def in_batches(env: gym.vector.VectorEnv, count: int, actions: Any) -> Timed:
    batches = np.random.default_rng(0).integers(0, 4, (count, COPIES))
    prepared = list(batches)
    if actions is ACTIONS:
        prepared = [[actions[number] for number in batch] for batch in batches.tolist()]
    env.reset(seed=0)

    def timed() -> float:
        start = time.process_time()
        for batch in prepared:
            env.step(batch)
        return (time.process_time() - start) / (count * COPIES)

    return timed


def one_by_one(env: gym.Env, actions: Any) -> Timed:
    chosen = [actions[n] for n in np.random.default_rng(0).integers(0, 4, SCALAR_STEPS).tolist()]
    env.reset(seed=0)

    def timed() -> float:
        step, reset = env.step, env.reset
        start = time.process_time()
        for action in chosen:
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                reset()
        seconds = time.process_time() - start
        reset()
        return seconds / SCALAR_STEPS

    return timed


def fresh_episodes() -> Timed:
    """Time whole episodes on new maps: the reset and four steps, none of which ends the episode."""
    env = gym.make(ENV_ID)
    env.reset(seed=0)
    plans = []
    for _ in range(EPISODES):
        env.reset()
        plans.append(safe_moves(env.unwrapped.task))

    def timed() -> float:
        step, reset = env.step, env.reset
        reset(seed=0)  # the same maps every time, none of them remembered
        start = time.process_time()
        for plan in plans:
            reset()
            for action in plan:
                step(action)
        return (time.process_time() - start) / EPISODES

    return timed


def safe_moves(lake: Any) -> list[str]:
    """Return four moves that stay on the ice; an unreadable one where there is no such move."""
    rng, tile, plan = np.random.default_rng(lake.start), lake.start, []
    for _ in range(EPISODE_STEPS):
        safe = [number for number in range(4) if not lake.is_over(lake.moves[tile][number])]
        if not safe:
            return ["stay"] * EPISODE_STEPS
        number = int(rng.choice(safe))
        tile = lake.moves[tile][number]
        plan.append(ACTIONS[number])
    return plan


def row(name: str, ours: list[float], theirs: list[float]) -> dict[str, Any]:
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    return {
        "what": name,
        "ours_us": statistics.median(ours) * 1e6,
        "gymnasium_us": statistics.median(theirs) * 1e6,
        "times_as_fast": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "target": TARGETS.get(name),
    }


def episode_row(episodes: list[float], steps: list[float]) -> dict[str, Any]:
    ratios = [episode / step for episode, step in zip(episodes, steps, strict=True)]
    return {
        "what": EPISODE,
        "ours_us": statistics.median(episodes) * 1e6,
        "gymnasium_us": statistics.median(steps) * 1e6,
        "gymnasium_steps": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "target": EPISODE_TARGET,
    }


def table(results: dict[str, Any]) -> str:
    lines = [
        f"{results['machine']}; microseconds of one environment step, {COPIES} copies in a vector",
        f"{'':50}{'ours':>9}{'Gymnasium':>11}{'ratio':>8}  (lowest-highest)   target",
    ]
    for each in results["rows"]:
        is_speed = "times_as_fast" in each
        ratio = each["times_as_fast" if is_speed else "gymnasium_steps"]
        spread = f"({each['lowest']:.1f}-{each['highest']:.1f})"
        bound = ">=" if is_speed else "<="
        target = "" if each["target"] is None else f"{bound} {each['target']}"
        lines.append(
            f"{each['what']:50}{each['ours_us']:9.2f}{each['gymnasium_us']:11.2f}{ratio:8.1f}"
            f"  {spread:18} {target}"
        )
    lines.append("The last row's ratio is the episode's cost in steps of Gymnasium's FrozenLake.")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
