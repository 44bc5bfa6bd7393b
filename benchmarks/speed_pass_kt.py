"""Time Pass@(K,T) with bootstrap intervals in every cell, against the usual loop over cells.

    python benchmarks/speed_pass_kt.py [--json]

One run times, on one thread: this package on the full problem (10,000 tasks of 256 trajectories,
every K, 50 budgets, 1,000 resamples), from the array of success turns to all intervals; and the
loop on a small subset, whose time is *extrapolated* to the full problem, since the loop itself
would run for minutes (values kept) to days (values computed anew in every resample). On the subset
both must give the same numbers, or the script fails.
"""

import argparse
import json
import math
import os
import platform
import resource
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy loads its BLAS
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np

from budget_envs.evaluation.cell_intervals import pass_kt_intervals
from budget_envs.evaluation.outcomes import NEVER, Outcomes, SuccessCounts

TASKS, N, BUDGETS, RESAMPLES, SEED = 10_000, 256, range(1, 51), 1000, 0
SUBSET_TASKS, SUBSET_RESAMPLES = 100, 100
SUBSET_KS, SUBSET_BUDGETS = range(1, 257, 15), [5, 15, 25, 35, 45]  # spread: typical costs
GATHER_CELLS = 5  # cells on which the loop's resampling of kept values is timed, at full size
REPEATS = 3


def make_turns():
    """Tasks of very different difficulty; a third or so of the trajectories succeed."""
    rng = np.random.default_rng(SEED)
    is_success = rng.random((TASKS, N)) < rng.beta(0.5, 1.0, (TASKS, 1))
    return np.where(is_success, rng.integers(1, max(BUDGETS) + 1, (TASKS, N)), NEVER)


def ours(turns, budgets, ks, num_resamples):
    counts = SuccessCounts.truncate(Outcomes.from_array(turns), budgets)
    return pass_kt_intervals(counts, ks, seed=SEED, num_resamples=num_resamples)


def resample(index, num_tasks):
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(index,)))
    return rng.integers(0, num_tasks, num_tasks).tolist()


def formula(n, c, k):
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def loop(turns, budgets, ks, num_resamples):
    """The formula for every resample, budget, K and task; returns two ``(K, T)`` percentiles."""
    rows = [turns[i].tolist() for i in sorted(range(len(turns)), key=str)]  # drawn in order of ids
    counts = [[sum(0 < turn <= budget for turn in row) for row in rows] for budget in budgets]
    replicates = np.empty((num_resamples, len(ks), len(budgets)))
    for r in range(num_resamples):
        drawn = resample(r, len(rows))
        for t in range(len(budgets)):
            for i, k in enumerate(ks):
                values = [formula(N, counts[t][task], k) for task in drawn]
                replicates[r, i, t] = sum(values) / len(values)
    return np.quantile(replicates, [0.025, 0.975], axis=0)


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def gather(values, draws):
    """Resample one cell whose per-task values were kept; the draws are shared between cells."""
    return np.quantile([values[drawn].mean() for drawn in draws], [0.025, 0.975])


def measure():
    turns = make_turns()
    runs = [timed(ours, turns, BUDGETS, None, RESAMPLES)[0] for _ in range(REPEATS)]
    peak_rss_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    subset = turns[:SUBSET_TASKS]
    arguments = (subset, SUBSET_BUDGETS, SUBSET_KS, SUBSET_RESAMPLES)
    loop_s, (low, high) = timed(loop, *arguments)
    same = ours(*arguments)
    difference = max(np.abs(same.low - low).max(), np.abs(same.high - high).max())

    cells = N * len(BUDGETS)
    subset_formulas = SUBSET_TASKS * len(SUBSET_KS) * len(SUBSET_BUDGETS) * SUBSET_RESAMPLES
    formula_s = loop_s / subset_formulas
    draws = [np.array(resample(r, TASKS)) for r in range(50)]
    values = np.random.default_rng(SEED).random((GATHER_CELLS, TASKS))
    gather_s = timed(lambda: [gather(row, draws) for row in values])[0]
    gather_s /= GATHER_CELLS * len(draws)
    anew_s = formula_s * cells * TASKS * RESAMPLES
    kept_s = formula_s * cells * TASKS + gather_s * cells * RESAMPLES
    ours_s = statistics.median(runs)
    return {
        "tasks": TASKS,
        "n": N,
        "num_ks": N,
        "num_budgets": len(BUDGETS),
        "num_resamples": RESAMPLES,
        "threads": 1,
        "ours_s": ours_s,
        "ours_runs_s": runs,
        "peak_rss_mib": peak_rss_mib,
        "subset": {
            "tasks": SUBSET_TASKS,
            "ks": list(SUBSET_KS),
            "budgets": SUBSET_BUDGETS,
            "num_resamples": SUBSET_RESAMPLES,
            "formulas": subset_formulas,
            "loop_s": loop_s,
            "largest_difference": float(difference),
        },
        "loop_values_anew_extrapolated_s": anew_s,
        "loop_values_kept_extrapolated_s": kept_s,
        "ratio_values_anew_extrapolated": anew_s / ours_s,
        "ratio_values_kept_extrapolated": kept_s / ours_s,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }


def show(row):
    part = row["subset"]
    print(
        f"Pass@(K,T), {row['tasks']:,} tasks x n={row['n']}, {row['num_ks']} K x "
        f"{row['num_budgets']} T, {row['num_resamples']:,} resamples, one thread (BLAS too)\n"
        f"  ours, measured       {row['ours_s']:.2f} s, median of {len(row['ours_runs_s'])}; "
        f"peak memory of the process {row['peak_rss_mib']:.0f} MiB\n"
        f"  loop, measured       {part['loop_s']:.2f} s on a subset: {part['tasks']} tasks, "
        f"{len(part['ks'])} K, {len(part['budgets'])} T, {part['num_resamples']} resamples "
        f"({part['formulas']:,} formulas)\n"
        f"  loop, EXTRAPOLATED   {row['loop_values_anew_extrapolated_s'] / 86400:.1f} days, the "
        f"formula anew in every resample: {row['ratio_values_anew_extrapolated']:,.0f} x ours\n"
        f"  loop, EXTRAPOLATED   {row['loop_values_kept_extrapolated_s'] / 60:.1f} minutes, each "
        f"task's values kept, then resampled by numpy: "
        f"{row['ratio_values_kept_extrapolated']:,.0f} x ours\n"
        f"  largest difference   {part['largest_difference']:.1e} between the subset's intervals\n"
        f"  Python {row['python']}, numpy {row['numpy']}, {row['machine']}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = parser.parse_args()
    row = measure()
    print(json.dumps(row)) if arguments.json else show(row)
    if not row["subset"]["largest_difference"] < 1e-12:
        sys.exit("The loop and this package disagree on the subset.")


if __name__ == "__main__":
    main()
