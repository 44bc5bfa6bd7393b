"""How fast is the oracle? Ratios against plain Python and quantecon, measured in one run.

    python benchmarks/speed_oracle.py [--repeats 7] [--json]

One thread on every side. The times are the best of the repeats, taken in turns (plain Python runs
once). Compilation of quantecon's numba kernels is left out by a warm-up, and so is the building of
its problems, while ours starts from the tiles. Results are compared before a ratio is printed.

quantecon's `backward_induction` returns V and the policy; ours returns V and all of Q*. It is given
its fastest form: for the large lake state-action pairs with a sparse matrix (a dense one would take
half a gigabyte), for the small ones whichever of its three forms is fastest here.
"""

import argparse
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy loads its BLAS
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["NUMBA_NUM_THREADS"] = "1"

import numpy as np
import quantecon
import scipy.sparse
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv as GymnasiumLake
from quantecon.markov import DiscreteDP, backward_induction

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import Lake
from budget_envs.envs.frozen_lake.maps import MapSource
from budget_envs.oracles.finite_horizon import solve
from budget_envs.oracles.frozen_lake import FrozenLakeOracle
from budget_envs.streams import derive_key
from budget_envs.wrappers import InteractionBudget

SUCCESS_RATE = 1 / 3
LARGE, LARGE_TURNS = 64, 500
SMALL, SMALL_TURNS, SMALL_COUNT = 4, 10, 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7, help="timings of each side (best counts)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    results = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {"numpy": np.__version__, "quantecon": quantecon.__version__},
        **large_lake(arguments.repeats),
        **small_lakes(arguments.repeats),
        **judging(arguments.repeats),
    }
    sys.stdout.write(json.dumps(results, indent=2) + "\n" if arguments.json else table(results))
    return 0


def large_lake(repeats: int) -> dict[str, float]:
    """Q* of one 64x64 lake for all horizons up to 500."""
    lake = draw(LARGE, 1)[0]
    problem, goal = sparse_problem(lake), goals_of(lake).reshape(-1).astype(float)
    backward_induction(problem, 2, goal)
    ours, theirs = best_times(
        [
            lambda: solve(holes_of(lake), goals_of(lake), SUCCESS_RATE, LARGE_TURNS),
            lambda: backward_induction(problem, LARGE_TURNS, goal),
        ],
        repeats,
    )
    dynamics = transitions(lake)
    plain, unrolled = best_times(
        [
            lambda: plain_python(dynamics, goal, LARGE_TURNS),
            lambda: unrolled_python(lake, goal, LARGE_TURNS),
        ],
        1,
    )
    check_equal(ours.result.v, theirs.result[0][::-1], plain.result, unrolled.result)
    return {
        "large_ours_s": ours.seconds,
        "large_quantecon_s": theirs.seconds,
        "large_plain_python_s": plain.seconds,
        "large_unrolled_python_s": unrolled.seconds,
        "large_vs_quantecon": theirs.seconds / ours.seconds,
        "large_vs_plain_python": plain.seconds / ours.seconds,
        "large_vs_unrolled_python": unrolled.seconds / ours.seconds,
    }


def small_lakes(repeats: int) -> dict[str, float | str]:
    """Q* of 1,024 lakes of 4x4 for all horizons up to 10: one call against one call each."""
    lakes = draw(SMALL, SMALL_COUNT)
    holes = np.stack([holes_of(lake) for lake in lakes])
    goals = np.stack([goals_of(lake) for lake in lakes])
    ends = goals.reshape(SMALL_COUNT, -1).astype(float)

    def one_by_one(problems: list[Any]) -> Callable[[], list[Any]]:
        pairs = list(zip(problems, ends, strict=True))
        return lambda: [backward_induction(problem, SMALL_TURNS, end) for problem, end in pairs]

    forms = {"sparse pairs": sparse_problem, "dense pairs": dense_pairs, "dense": dense_problem}
    rivals = {name: one_by_one([form(lake) for lake in lakes]) for name, form in forms.items()}
    for rival in rivals.values():
        rival()
    batch = best_times([lambda: solve(holes, goals, SUCCESS_RATE, SMALL_TURNS)], repeats)[0]
    timed = dict(zip(rivals, best_times(list(rivals.values()), repeats), strict=True))
    fastest = min(timed, key=lambda name: timed[name].seconds)
    values = np.stack([result[0][::-1] for result in timed[fastest].result], axis=1)
    check_equal(batch.result.v, values)
    return {
        "small_ours_s": batch.seconds,
        "small_quantecon_s": timed[fastest].seconds,
        "small_quantecon_form": fastest,
        "small_vs_quantecon": timed[fastest].seconds / batch.seconds,
    }


def judging(repeats: int) -> dict[str, float]:
    """Time of one judgement of a state seen before, in an environment with a budget."""
    env = InteractionBudget(FrozenLakeEnv(map_name="4x4", success_rate=SUCCESS_RATE), budget=100)
    env.reset(seed=0)
    oracle, calls = FrozenLakeOracle(), 100_000

    def ask() -> None:
        judge = oracle.judge
        for _ in range(calls):
            judge(env, "Down")

    return {"judge_us": best_times([ask], repeats)[0].seconds / calls * 1e6}


# The lakes, and the same problem in the forms that others take.


def draw(size: int, count: int) -> list[Lake]:
    source = MapSource(sizes=(size,), frozen_share=0.8, placement="corners")
    return [source.draw(derive_key(size, index)) for index in range(count)]


def holes_of(lake: Lake) -> np.ndarray:
    return np.array(list(lake.tiles)).reshape(lake.nrow, lake.ncol) == "H"


def goals_of(lake: Lake) -> np.ndarray:
    return np.array(list(lake.tiles)).reshape(lake.nrow, lake.ncol) == "G"


def transitions(lake: Lake) -> list[list[list[tuple[float, int]]]]:
    """Return ``[tile][action] -> [(probability, tile), ...]`` from Gymnasium's dynamics."""
    dynamics = GymnasiumLake(desc=lake.id.split("/"), is_slippery=True, success_rate=SUCCESS_RATE).P
    return [
        [[(p, after) for p, after, _, _ in dynamics[tile][action]] for action in range(4)]
        for tile in range(len(lake.tiles))
    ]


def plain_python(
    dynamics: list[list[list[tuple[float, int]]]], goal: np.ndarray, turns: int
) -> np.ndarray:
    """Backward induction as the textbook writes it."""
    v, q = [goal.tolist()], []
    for _ in range(turns):
        before = v[-1]
        q.append(
            [
                [sum(p * before[after] for p, after in outcomes) for outcomes in actions]
                for actions in dynamics
            ]
        )
        v.append([max(values) for values in q[-1]])
    return np.array(v)


def unrolled_python(lake: Lake, goal: np.ndarray, turns: int) -> np.ndarray:
    """The same with everything known about lakes written out: as fast as plain Python gets."""
    side = (1 - SUCCESS_RATE) / 2
    reached = [
        (tile,) * 4 if lake.is_over(tile) else lake.moves[tile] for tile in range(len(lake.tiles))
    ]
    v, q = [goal.tolist()], []
    for _ in range(turns):
        before, values = v[-1], []
        for left, down, right, up in reached:
            ahead_l, ahead_d, ahead_r, ahead_u = (
                before[left],
                before[down],
                before[right],
                before[up],
            )
            across, along = side * (ahead_d + ahead_u), side * (ahead_l + ahead_r)
            values.append(
                (
                    SUCCESS_RATE * ahead_l + across,
                    SUCCESS_RATE * ahead_d + along,
                    SUCCESS_RATE * ahead_r + across,
                    SUCCESS_RATE * ahead_u + along,
                )
            )
        q.append(values)
        v.append([max(four) for four in values])
    return np.array(v)


def pairs(lake: Lake) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and probabilities of the pair-by-state matrix, and its pairs."""
    entries = [
        (4 * tile + action, after, p)
        for tile, actions in enumerate(transitions(lake))
        for action, outcomes in enumerate(actions)
        for p, after in outcomes
    ]
    rows, columns, probabilities = (np.array(column) for column in zip(*entries, strict=True))
    tiles = len(lake.tiles)
    return (
        rows,
        columns,
        probabilities,
        np.repeat(np.arange(tiles), 4),
        np.tile(np.arange(4), tiles),
    )


def sparse_problem(lake: Lake) -> Any:
    rows, columns, probabilities, states, actions = pairs(lake)
    shape = (len(states), len(lake.tiles))
    matrix = scipy.sparse.csr_matrix((probabilities, (rows, columns)), shape=shape)
    return quiet(np.zeros(len(states)), matrix, states, actions)


def dense_pairs(lake: Lake) -> Any:
    rows, columns, probabilities, states, actions = pairs(lake)
    matrix = np.zeros((len(states), len(lake.tiles)))
    np.add.at(matrix, (rows, columns), probabilities)
    return quiet(np.zeros(len(states)), matrix, states, actions)


def dense_problem(lake: Lake) -> Any:
    rows, columns, probabilities, _, _ = pairs(lake)
    tiles = len(lake.tiles)
    matrix = np.zeros((4 * tiles, tiles))
    np.add.at(matrix, (rows, columns), probabilities)
    return quiet(np.zeros((tiles, 4)), matrix.reshape(tiles, 4, tiles))


def quiet(rewards: Any, matrix: Any, *pair_indices: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "infinite horizon solution methods are disabled"
        return DiscreteDP(rewards, matrix, 1.0, *pair_indices)


# Timing.


class Timed:
    def __init__(self, seconds: float, result: Any) -> None:
        self.seconds = seconds
        self.result = result


def best_times(calls: list[Callable[[], Any]], repeats: int) -> list[Timed]:
    """Call all in turns, and return the best time and the last result of each."""
    timed = [Timed(float("inf"), None) for _ in calls]
    for _ in range(repeats):
        for record, call in zip(timed, calls, strict=True):
            record.result = None  # its memory is free before the clock starts
            start = time.perf_counter()
            record.result = call()
            record.seconds = min(record.seconds, time.perf_counter() - start)
    return timed


def check_equal(first: np.ndarray, *others: np.ndarray) -> None:
    for other in others:
        np.testing.assert_allclose(first, other, rtol=0, atol=1e-12)


def table(results: dict[str, Any]) -> str:
    r = results
    return (
        f"{r['machine']}; one thread; results equal to 1e-12\n"
        f"Q* of a {LARGE}x{LARGE} lake, T = {LARGE_TURNS}: {r['large_ours_s'] * 1e3:.1f} ms\n"
        f"  {r['large_vs_plain_python']:6.0f} x plain Python ({r['large_plain_python_s']:.2f} s)\n"
        f"  {r['large_vs_unrolled_python']:6.0f} x plain Python unrolled by hand"
        f" ({r['large_unrolled_python_s']:.2f} s)\n"
        f"  {r['large_vs_quantecon']:6.2f} x quantecon, V and policy only"
        f" ({r['large_quantecon_s'] * 1e3:.1f} ms)\n"
        f"Q* of {SMALL_COUNT} lakes of {SMALL}x{SMALL}, T = {SMALL_TURNS}, in one call:"
        f" {r['small_ours_s'] * 1e3:.2f} ms\n"
        f"  {r['small_vs_quantecon']:6.1f} x quantecon one by one, {r['small_quantecon_form']}"
        f" ({r['small_quantecon_s'] * 1e3:.1f} ms)\n"
        f"one judgement of a state seen before: {r['judge_us']:.2f} us\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
