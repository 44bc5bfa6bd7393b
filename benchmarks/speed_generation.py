"""How fast are multi-turn episodes of a small model? Ratios in one run, and tokens per second.

    python benchmarks/speed_generation.py [--repeats 5] [--json]

One thread, one model of about 0.9 million parameters with random weights, random prompts that no
two episodes share, actions of a fixed length. Every repeat times all sides in turn, and each ratio
is the median of the repeats' own ratios, so that a machine that slows down for a while slows all
sides. Times are CPU time of this process. All sides of a row read the same tokens and generate as
many:

- persistent: `Sampler` as it is, which reads the newest message only;
- general: the same through the model's own forward pass in place of the lean one;
- read again: `Sampler`, made to forget each conversation after every turn (it samples the very same
  tokens, which is checked);
- generate: `model.generate` of transformers on the left-padded conversations, anew in every turn.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch loads its BLAS
os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np
import torch
import transformers

import budget_envs
from budget_envs.agents.models.generation import Request, Sampler
from budget_envs.agents.models.hf_forward import HFForward

VOCABULARY = 1024
TARGETS = {"read again": 3.0}
Played = list[tuple[int, ...]]
Side = Callable[[], Played]


@dataclass(frozen=True)
class Workload:
    """Episodes of one shape; the numbers of tokens are per message."""

    what: str
    batch: int
    turns: int
    prompt: int
    observation: int
    action: int

    @property
    def num_sampled(self) -> int:
        return self.batch * self.turns * self.action


WORKLOADS = (
    Workload("8 turns, actions of 4 tokens", 64, 8, 120, 40, 4),
    Workload("8 turns, actions of 16 tokens", 64, 8, 120, 60, 16),
    Workload("8 turns, long observations", 16, 8, 300, 100, 16),
    Workload("1 turn of 64 tokens", 64, 1, 32, 0, 64),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="how often all sides are timed")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = small_model()
    rows = [measure(model, workload, arguments.repeats) for workload in WORKLOADS]
    results = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {m.__name__: m.__version__ for m in (torch, transformers, budget_envs)},
        "parameters": model.num_parameters(),
        "rows": rows,
    }
    sys.stdout.write(json.dumps(results, indent=2) + "\n" if arguments.json else table(results))
    return 0


def small_model() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=1,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return transformers.LlamaForCausalLM(config).eval()


def measure(model: Any, workload: Workload, repeats: int) -> dict[str, Any]:
    """Time all sides of a workload ``repeats`` times, taking turns."""
    sides = all_sides(model, workload)
    played = {name: side() for name, side in sides.items()}  # warm
    if not played["persistent"] == played["read again"] == played["general"]:
        raise SystemExit("the sides that sample alike have sampled otherwise.")
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            start = time.process_time()
            side()
            seconds[name].append(time.process_time() - start)
    speeds = {
        name: workload.num_sampled / statistics.median(times) for name, times in seconds.items()
    }
    ratios = {
        name: [other / own for other, own in zip(times, seconds["persistent"], strict=True)]
        for name, times in seconds.items()
        if name != "persistent"
    }
    return {"what": workload.what, "batch": workload.batch, "tokens_s": speeds, "ratios": ratios}


def all_sides(model: Any, workload: Workload) -> dict[str, Side]:
    """Return what is timed, by name; each call plays all episodes and returns what was sampled."""
    messages = draw_messages(workload)
    lean, general = Sampler(model, []), Sampler(model, [], forward=HFForward(model))
    return {
        "persistent": lambda: play(lean, workload, messages),
        "general": lambda: play(general, workload, messages),
        "read again": lambda: play(lean, workload, messages, forgets=True),
        "generate": lambda: play_generate(model, workload, messages),
    }


def draw_messages(workload: Workload) -> list[list[list[int]]]:
    """Return for each turn and episode the tokens that come before the action."""
    rng = np.random.default_rng(0)
    sizes = [workload.prompt] + [workload.observation] * (workload.turns - 1)
    return [rng.integers(3, VOCABULARY, (workload.batch, size)).tolist() for size in sizes]


def play(
    sampler: Sampler, workload: Workload, messages: list[list[list[int]]], *, forgets: bool = False
) -> Played:
    names = [str(episode) for episode in range(workload.batch)]
    for turn, news in enumerate(messages):
        requests = []
        for episode, (name, new) in enumerate(zip(names, news, strict=True)):
            known = sampler.ids(name) if forgets else []
            requests.append(Request(name, [*known, *new], workload.action, episode + 1000 * turn))
        if forgets:
            sampler.drop(names)
        sampler.extend_and_generate(requests)
    played = [tuple(sampler.ids(name)) for name in names]
    sampler.drop(names)
    return played


def play_generate(model: Any, workload: Workload, messages: list[list[list[int]]]) -> Played:
    ids = torch.zeros(workload.batch, 0, dtype=torch.int64)
    for news in messages:  # all of a length here, so that even padding costs this side nothing
        ids = torch.cat((ids, torch.tensor(news)), dim=1)
        ids = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=workload.action,
            do_sample=True,
            top_k=0,
        )
    return [tuple(row) for row in ids.tolist()]


def table(results: dict[str, Any]) -> str:
    names = ("persistent", "general", "read again", "generate")
    lines = [
        f"{results['machine']}; {results['parameters']:,} parameters; tokens sampled per second of "
        "CPU, and in brackets how many times as long the same episodes take as with the persistent "
        "cache (lowest-highest)",
        f"{'':32}{'batch':>6}" + "".join(f"{name:>24}" for name in names) + "  target",
    ]
    for row in results["rows"]:
        cells = [f"{row['tokens_s'][name]:,.0f}{spread(row['ratios'].get(name))}" for name in names]
        is_target = row["what"].startswith("8 turns")
        target = f"read again >= {TARGETS['read again']:g}" if is_target else ""
        cells_text = "".join(f"{cell:>24}" for cell in cells)
        lines.append(f"{row['what']:32}{row['batch']:6}{cells_text}  {target}")
    return "\n".join(lines) + "\n"


def spread(ratios: list[float] | None) -> str:
    if ratios is None:
        return ""
    return f" ({statistics.median(ratios):.1f}; {min(ratios):.1f}-{max(ratios):.1f})"


if __name__ == "__main__":
    raise SystemExit(main())
