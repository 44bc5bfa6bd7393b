"""From nothing to nearly the structural bound on FrozenLake, on a laptop, by one command.

    python examples/train_frozen_lake.py [--folder runs]

A model of a quarter of a million parameters learns from a noisy player (supervised), then from the
outcomes of its own episodes (GRPO), and is evaluated on maps that it has never seen. Stopped, it
goes on where it was when it is started again.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.config import read_toml
from budget_envs.agents.trainers.grpo import GRPOSettings, train_grpo
from budget_envs.agents.trainers.sft import SFTSettings, train_sft
from budget_envs.evaluation import evaluate

HERE = Path(__file__).parent


def main(argv: list[str] | None = None) -> float:
    """Train and evaluate; return by how much success falls short of the bound at full budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="runs", help="where the runs are kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sft", default=HERE / "train_sft.toml", type=Path, help="its settings")
    parser.add_argument("--grpo", default=HERE / "train_grpo.toml", type=Path, help="its settings")
    parser.add_argument("--tasks", type=int, default=500, help="maps of the final evaluation")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)  # such a small model gains nothing from more
    started, cpu = time.perf_counter(), time.process_time()

    folder = Path(arguments.folder)
    sft = dataclasses.replace(
        read_toml(SFTSettings, arguments.sft), folder=str(folder / "sft"), seed=arguments.seed
    )
    grpo = dataclasses.replace(
        read_toml(GRPOSettings, arguments.grpo),
        folder=str(folder / "grpo"),
        model=str(folder / "sft" / "model"),
        seed=arguments.seed,
    )
    imitator = train_sft(sft, show)
    learner = train_grpo(grpo, show)
    wall, busy = time.perf_counter() - started, time.process_time() - cpu
    print(f"trained in {wall:.0f} s, of which {busy:.0f} s of CPU", flush=True)

    shortfall = 0.0
    for name, model in (("sft", imitator), ("grpo", learner)):
        for temperature in (1.0, 0.0):
            policy = LanguageModelPolicy(model, temperature=temperature, max_tokens_per_turn=8)
            result = evaluate(
                policy,
                grpo.env.id,
                ["25%", "50%", "100%"],
                k=1,
                num_rollouts=1,
                tasks=arguments.tasks,
                env_kwargs={"oracle": True, **grpo.env.set},
            )
            known = result.upper_bounds() or {}
            bounds = {turns: bound.estimate for turns, bound in known.items()}
            found = dict(zip(bounds, result.pass_kt([1]).mean[0].tolist(), strict=True))
            print(f"{name}, temperature {temperature}: success {found}, bound {bounds}")
            shortfall = max(bounds.values()) - found[max(found)]
    return shortfall


def show(done: int, total: int, values: Mapping[str, float]) -> None:
    """Print what was measured, where something was."""
    if "rollout/R_multi" in values or done == total:
        shown = {name: round(value, 3) for name, value in values.items() if "/" in name}
        names = ("rollout/R_multi", "rollout/success_rate", "losses/sft_loss", "losses/entropy")
        print(f"step {done}/{total}", {n: shown[n] for n in names if n in shown}, flush=True)


if __name__ == "__main__":
    main()
