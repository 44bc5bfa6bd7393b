"""How far does a tiny model get on FrozenLake, from nothing, on a laptop?

    python benchmarks/train_frozen_lake.py [--folder runs] [--seed 0] [--write]

Runs what examples/train_frozen_lake.py runs: supervised on noisy demonstrations, then GRPO on the
outcome of its own episodes. Then plays the test maps, which neither saw, and compares with the
structural bound: the share of maps that anybody can solve within the budget. One thread.

A digest of the parameters tells whether two runs are the same. A stopped run goes on where it was,
and its times then count from there, which the table says.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy and torch load their libraries
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import torch

from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.config import TrainSettings, read_toml
from budget_envs.agents.trainers.grpo import GRPOSettings, train_grpo
from budget_envs.agents.trainers.run import steps_done
from budget_envs.agents.trainers.sft import SFTSettings, train_sft
from budget_envs.evaluation import evaluate
from budget_envs.evaluation.bootstrap import wilson_interval
from budget_envs.evaluation.provenance import package_versions

EXAMPLES = Path(__file__).parents[1] / "examples"
RESULT = Path(__file__).parent / "results" / "train_frozen_lake.md"
BUDGETS = ("25%", "50%", "75%", "100%")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="runs", type=Path, help="where the runs are kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", type=int, default=1000, help="test maps")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sft = read_toml(SFTSettings, EXAMPLES / "train_sft.toml")
    grpo = read_toml(GRPOSettings, EXAMPLES / "train_grpo.toml")
    sft = dataclasses.replace(sft, folder=str(arguments.folder / "sft"), seed=arguments.seed)
    grpo = dataclasses.replace(
        grpo,
        folder=str(arguments.folder / "grpo"),
        model=str(arguments.folder / "sft" / "model"),
        seed=arguments.seed,
    )
    lines = [*header(arguments), *timed("SFT", train_sft, sft), *timed("GRPO", train_grpo, grpo)]
    lines += ["", f"| model | temperature | {' | '.join(BUDGETS)} | at full budget, 95 % |"]
    lines.append("|---|---|" + "---|" * (len(BUDGETS) + 1))
    lines += played(grpo, arguments)
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if arguments.write:
        RESULT.write_text(text, encoding="utf-8")
    return 0


def header(arguments: argparse.Namespace) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in package_versions().items())
    return [
        "# A tiny model on FrozenLake",
        "",
        f"`python benchmarks/train_frozen_lake.py --seed {arguments.seed}`; "
        f"{platform.machine()}, {os.cpu_count()} cores, one thread; {versions}.",
        "",
        "| phase | steps | wall | CPU | digest of the parameters |",
        "|---|---|---|---|---|",
    ]


def timed(name: str, train: Any, settings: TrainSettings) -> list[str]:
    """Train; return a row of the table."""
    before = steps_done(settings)
    wall, cpu = time.perf_counter(), time.process_time()
    folder = train(settings, show)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    steps = f"{settings.num_steps}" if not before else f"{before} before, to {settings.num_steps}"
    return [f"| {name} | {steps} | {wall:.0f} s | {cpu:.0f} s | `{digest(folder)}` |"]


def show(done: int, total: int, values: Any) -> None:
    if "rollout/R_multi" in values:
        print(
            f"step {done} of {total}: {values['rollout/R_multi']:.3f}", file=sys.stderr, flush=True
        )


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:16]


def played(settings: GRPOSettings, arguments: argparse.Namespace) -> list[str]:
    """Evaluate both models; return a row for each, and one for the bound."""
    rows, bounds = [], ""
    for name in ("sft", "grpo"):
        for temperature in (1.0, 0.0):
            policy = LanguageModelPolicy(
                arguments.folder / name / "model", temperature=temperature, max_tokens_per_turn=8
            )
            result = evaluate(
                policy,
                settings.env.id,
                BUDGETS,
                k=1,
                num_rollouts=1,
                tasks=arguments.tasks,
                env_kwargs={"oracle": True, **settings.env.set},
            )
            means = result.pass_kt([1]).mean[0]
            wins = round(means[-1] * arguments.tasks)
            found = wilson_interval(wins, arguments.tasks)
            shares = " | ".join(f"{mean:.3f}" for mean in means)
            rows.append(
                f"| {name} | {temperature} | {shares} | {found.low:.3f} to {found.high:.3f} |"
            )
            if not bounds:
                known = (result.upper_bounds() or {}).values()
                bounds = " | ".join(f"{bound.estimate:.3f}" for bound in known)
    return [*rows, f"| structural bound | | {bounds} | |"]


if __name__ == "__main__":
    sys.exit(main())
