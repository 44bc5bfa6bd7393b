"""How fast is a GRPO iteration? A ratio against TRL's `GRPOTrainer`, measured in one run.

    pip install trl
    python benchmarks/speed_training.py [--iterations 6] [--json]

Both sides train the same Hugging Face model, on one thread, on the same environments: 8 groups of
8 episodes on a lake without holes, of one turn or of eight. The model's weights are random, so
hardly any action can be read and every episode takes all of its turns; actions have up to 16 tokens
on both sides, and the tokens of a training batch are printed for both, to see that they are alike.
Rewards are random numbers, so that every episode has an advantage and no work can be left out.

TRL samples with its own `_generate_single_turn`, on its own batches and with its own settings; for
eight turns it is called once a turn with the whole conversation, which is what TRL's loop for tools
does. What a user of TRL would have to write around it, playing the environments, is written here.

An iteration is collecting, advantages, forward, backward and the optimiser's step. Times are
medians over the iterations after the first; the ratio is that of the seconds of CPU, which other
work on the machine changes least.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy and torch load their libraries
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import numpy as np
import torch
import transformers

import budget_envs  # noqa: F401  registers the ids
from budget_envs.agents.models.loading import LanguageModel, load_language_model
from budget_envs.agents.models.tiny import TinyConfig, make_tiny
from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.advantages import grpo
from budget_envs.agents.trainers.collect import Collector
from budget_envs.agents.trainers.config import LossSettings, OptimizerSettings, RolloutSettings
from budget_envs.agents.trainers.update import Optimizer, update_policy
from budget_envs.evaluation.env_maker import EnvMaker

LAKE = "budget_envs/FrozenLake-4x4-v0"
TASK = "SFFF/FFFF/FFFF/FFFG"
GROUPS, GROUP_SIZE, MAX_TOKENS = 8, 8, 16


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=6, help="the first is not counted")
    parser.add_argument("--turns", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    results: dict[str, Any] = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    with tempfile.TemporaryDirectory() as folder:
        model = make_tiny(texts(), TinyConfig())
        model.save(folder)
        results["parameters"] = model.model.num_parameters()
        for turns in arguments.turns:
            ours = run_ours(load_language_model(folder), turns, arguments.iterations)
            theirs = run_trl(folder, turns, arguments.iterations, results["versions"])
            results[f"{turns} turns"] = compared(ours, theirs)
    sys.stdout.write(json.dumps(results, indent=2) + "\n" if arguments.json else table(results))
    return 0


def texts() -> list[str]:
    """Return text of the environment, for the tokenizer."""
    env = EnvMaker.of(LAKE, {})()
    first, _ = env.reset(seed=0)
    return [first, *(env.step(action)[0] for action in ("Left", "Up", "nothing"))]


def run_ours(language_model: LanguageModel, turns: int, iterations: int) -> dict[str, Any]:
    policy = LanguageModelPolicy(language_model, max_tokens_per_turn=MAX_TOKENS, record=True)
    settings = RolloutSettings(groups=GROUPS, group_size=GROUP_SIZE, max_tokens_per_turn=MAX_TOKENS)
    collector = Collector(policy, EnvMaker.of(LAKE, {}), settings, seed=0)
    optimizer = Optimizer(language_model.model.parameters(), OptimizerSettings(), iterations)
    tasks = [(task, turns) for task in tasks_of(GROUPS)]
    found: dict[str, Any] = {"cpu": [], "wall": [], "tokens": [], "phases": []}
    random = np.random.default_rng(0)
    for step in range(iterations):
        wall, cpu = time.perf_counter(), time.process_time()
        rollouts = collector.collect(step, tasks)
        advantages = grpo(random.random(len(rollouts.episodes)), rollouts.groups)
        batch = rollouts.batch()
        spread = batch.of_turns(advantages[rollouts.trajectories])
        update_policy(
            language_model.model, optimizer, batch, spread, LossSettings(), temperature=1.0, key=0
        )
        found["wall"].append(time.perf_counter() - wall)
        found["cpu"].append(time.process_time() - cpu)
        found["tokens"].append(int(batch.lengths.sum()))
        phases = {phase: seconds / found["wall"][-1] for phase, seconds in rollouts.seconds.items()}
        found["phases"].append(phases)
    return found


def tasks_of(count: int) -> list[str]:
    """Return lakes without holes."""
    cells = "FFFFFFFFFFFFFFF"
    lakes = [f"S{cells[: 14 - goal]}G{cells[14 - goal + 1 :]}" for goal in range(count)]
    return ["/".join(lake[row : row + 4] for row in range(0, 16, 4)) for lake in lakes]


def run_trl(
    folder: str, turns: int, iterations: int, versions: dict[str, str]
) -> dict[str, Any] | None:
    try:
        import trl
        from datasets import Dataset
    except ImportError:
        return None
    versions["trl"] = trl.__version__
    language_model = load_language_model(folder)
    chat, tasks = language_model.chat, tasks_of(GROUPS)
    found: dict[str, Any] = {"cpu": [], "wall": [], "tokens": []}
    envs = [EnvMaker.of(LAKE, {})() for _ in range(GROUPS * GROUP_SIZE)]

    def play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Play one episode for each prompt, which names its task."""
        trainer.generation_config.max_new_tokens = MAX_TOKENS
        histories, masks, ends = [], [], []
        for env, prompt in zip(envs, prompts, strict=True):
            options = {"task": prompt, "budget": {"turns": turns}}
            observation, _ = env.reset(seed=0, options=options)
            histories.append(chat.first([{"role": "user", "content": observation}]))
            masks.append([])
        starts = [len(history) for history in histories]
        playing = list(range(len(envs)))
        while playing:
            asked = [histories[row] for row in playing]
            said, _ = trainer._generate_single_turn(asked, None, {}, 1)
            ends = playing
            playing = []
            for row, ids in zip(ends, said, strict=True):
                histories[row] += ids
                masks[row] += [1] * len(ids)
                observation, _, terminated, truncated, _ = envs[row].step(chat.decode(ids))
                if not (terminated or truncated):
                    rest = chat.append(observation, is_closed=ids[-1] == chat.end_id)
                    histories[row] += rest
                    masks[row] += [0] * len(rest)
                    playing.append(row)
        found["tokens"].append(sum(map(len, histories)))
        return {
            "prompt_ids": [h[:s] for h, s in zip(histories, starts, strict=True)],
            "completion_ids": [h[s:] for h, s in zip(histories, starts, strict=True)],
            "logprobs": None,
            "env_mask": masks,
        }

    class Clock(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, *arguments: Any, **keywords: Any) -> None:
            self.start = (time.perf_counter(), time.process_time())

        def on_step_end(self, *arguments: Any, **keywords: Any) -> None:
            found["wall"].append(time.perf_counter() - self.start[0])
            found["cpu"].append(time.process_time() - self.start[1])

    random = np.random.default_rng(0)

    def reward(prompts: list[Any], **rest: Any) -> list[float]:
        return random.random(len(prompts)).tolist()

    with tempfile.TemporaryDirectory() as output:
        trainer = trl.GRPOTrainer(
            model=language_model.model,
            processing_class=language_model.tokenizer,
            reward_funcs=reward,
            train_dataset=Dataset.from_dict({"prompt": tasks}),
            rollout_func=play,
            callbacks=[Clock()],
            args=trl.GRPOConfig(
                output_dir=output,
                use_cpu=True,
                bf16=False,
                per_device_train_batch_size=GROUPS * GROUP_SIZE,
                num_generations=GROUP_SIZE,
                max_completion_length=4096,
                max_steps=iterations,
                learning_rate=1e-3,
                beta=0.0,
                temperature=1.0,
                top_k=0,
                loss_type="dapo",
                gradient_checkpointing=False,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                logging_strategy="no",
            ),
        )
        # It generates within training_step, between the two calls of the clock.
        trainer.train()
    return found


def compared(ours: dict[str, Any], theirs: dict[str, Any] | None) -> dict[str, Any]:
    phases = {
        phase: statistics.median(each[phase] for each in ours["phases"][1:])
        for phase in ours["phases"][0]
    }
    row: dict[str, Any] = {"ours": shown(ours), "environment share": phases["environment"]}
    if theirs is not None:
        row["TRL"] = shown(theirs)
        row["ratio"] = row["TRL"]["CPU s"] / row["ours"]["CPU s"]
    return row


def shown(found: dict[str, Any]) -> dict[str, float]:
    return {
        "CPU s": statistics.median(found["cpu"][1:]),
        "wall s": statistics.median(found["wall"][1:]),
        "tokens": statistics.mean(found["tokens"]),
    }


def table(results: dict[str, Any]) -> str:
    lines = [f"{results['machine']}; {results['versions']}; {results['parameters']:,} parameters"]
    for name, row in results.items():
        if isinstance(row, dict) and "ours" in row:
            lines.append(f"\n{name}: environments {100 * row['environment share']:.1f} % of ours")
            for side in ("ours", "TRL"):
                if side in row:
                    values = ", ".join(f"{key} {value:,.2f}" for key, value in row[side].items())
                    lines.append(f"  {side:5} {values}")
            if "ratio" in row:
                lines.append(f"  ratio {row['ratio']:.2f}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
