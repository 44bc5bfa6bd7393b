"""How fast is BFCL? Against the official executor and checker, in one run.

    python benchmarks/speed_bfcl.py [--repeats 7] [--json]

Needs the ``bfcl-eval`` distribution (``budget-envs tasks show bfcl_base`` says how). One thread,
CPU time of this process. Every repeat plays the ground truth of all dialogues of a category once on
each side in turn; a ratio is the median of the repeats' own ratios, so that a machine that slows
down for a while slows both sides. The calls of a user turn are one message, or, "stepwise", each is
its own.

- Ours is ``gym.make(...)`` with nothing taken off, in each format: ``reset``, then one ``step`` for
  each message, which parses it, executes its calls, writes the observation, computes the state key,
  counts the budget and judges user turns. Our executor and verdicts alone are listed too. They keep
  what a dialogue begins with and what its ground truth leads to, as training wants it, which comes
  back to each dialogue many times; the official checker plays the ground truth anew each time. What
  a first visit costs, with nothing kept, is listed for one format.
- Theirs is ``execute_multi_turn_func_call`` for each message, as the runner calls it while a model
  generates, and ``multi_turn_checker`` at the end. They start from calls that are parsed already (a
  handler's parser needs packages that are not installed here), and removing their instances is not
  counted. The checker alone is listed too.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

import gymnasium as gym
from bfcl_official import Entry, Official, Turns, entries

import budget_envs
from budget_envs.envs.bfcl import BFCLEnv
from budget_envs.envs.tool_dialogue import served, truths_of
from budget_envs.tasks.bfcl import CATEGORIES
from budget_envs.tool_calls.formats import FORMATS

ENV_ID = "budget_envs/BFCL-v0"
TARGET = 3.0
CHECKER, BOTH = "official checker alone", "official executor + checker"
ALONE = "our executor + verdicts alone"
FIRST = "hermes, each dialogue for the first time"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7, help="how often all sides are timed")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    every, official = entries(), Official()
    results = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {
            "budget_envs": budget_envs.__version__,
            "bfcl-eval": metadata.version("bfcl-eval"),
        },
        "target": TARGET,
        "categories": {
            f"{category}{', stepwise' if stepwise else ''}": category_row(
                [entry for entry in every if entry.category == category],
                official,
                arguments.repeats,
                stepwise=stepwise,
            )
            for category in CATEGORIES
            for stepwise in (False, True)
        },
    }
    sys.stdout.write(json.dumps(results, indent=2) + "\n" if arguments.json else text(results))
    alike = [row["ratios"][ALONE]["times_as_fast"] for row in results["categories"].values()]
    return int(min(alike) < TARGET)


def category_row(
    played: list[Entry], official: Official, repeats: int, *, stepwise: bool
) -> dict[str, Any]:
    """Time one category on all sides."""
    category = played[0].category
    sides: dict[str, Callable[[], float]] = {
        CHECKER: lambda: theirs(played, official, executes=False, stepwise=stepwise),
        BOTH: lambda: theirs(played, official, executes=True, stepwise=stepwise),
        ALONE: alone(played, category),
        **{name: ours(played, category, name, stepwise=stepwise) for name in FORMATS},
        FIRST: ours(played, category, "hermes", stepwise=stepwise, forgets=True),
    }
    for side in sides.values():
        side()  # warm: caches filled, code paths specialised
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            seconds[name].append(side())
    return {
        "ms_per_dialogue": {
            name: statistics.median(each) / len(played) * 1e3 for name, each in seconds.items()
        },
        "ratios": {name: ratio(seconds[BOTH], seconds[name]) for name in (ALONE, *FORMATS, FIRST)},
    }


def ratio(theirs: list[float], ours: list[float]) -> dict[str, float]:
    each = [their / our for their, our in zip(theirs, ours, strict=True)]
    return {"times_as_fast": statistics.median(each), "lowest": min(each), "highest": max(each)}


def messages_of(calls: Sequence[Any], *, stepwise: bool) -> list[list[Any]]:
    return [[call] for call in calls] if stepwise else [list(calls)] if calls else []


def ours(
    played: list[Entry], category: str, form: str, *, stepwise: bool, forgets: bool = False
) -> Callable[[], float]:
    env = gym.make(ENV_ID, category=category, format=form, budget=60, disable_env_checker=True)
    write = env.unwrapped.format.render_calls
    kept = (env.unwrapped._truths, env.unwrapped._openings, env.unwrapped.source._scenarios)
    messages = []
    for entry in played:
        dialogue = env.unwrapped.load_task(entry.task_id)
        said = [
            message
            for turn in dialogue.turns
            for message in [*map(write, messages_of(turn.calls, stepwise=stepwise)), "Done."]
        ]
        messages.append((entry.task_id, said))

    def timed() -> float:
        for cache in kept if forgets else ():
            cache.clear()
        start = time.process_time()
        for task_id, said in messages:
            env.reset(options={"task": task_id})
            for message in said:
                last = env.step(message)
            if last[1] != 1:
                raise SystemExit(f"not solved by its ground truth: {task_id}")
        return time.process_time() - start

    return timed


def alone(played: list[Entry], category: str) -> Callable[[], float]:
    source = BFCLEnv(category=category).source
    dialogues = [source.load(entry.task_id) for entry in played]
    truths = [truths_of(dialogue, source.world(dialogue)) for dialogue in dialogues]

    def timed() -> float:
        start = time.process_time()
        for dialogue, truth in zip(dialogues, truths, strict=True):
            world, results = source.world(dialogue), Counter()
            for turn, wanted in zip(dialogue.turns, truth, strict=True):
                results.update([world.call(call) for call in turn.calls])
                if turn.calls and not served(wanted, world, results, called=True):
                    raise SystemExit(f"not solved by its ground truth: {dialogue.task_id}")
        return time.process_time() - start

    return timed


def theirs(played: list[Entry], official: Official, *, executes: bool, stepwise: bool) -> float:
    seconds = 0.0
    for entry in played:
        turns: Turns = [messages_of(calls, stepwise=stepwise) for calls in entry.ground_truth]
        start = time.process_time()
        if executes:
            official.execute(entry, turns, "timed")
        verdict = official.check(entry, turns, "timed")
        seconds += time.process_time() - start
        official.clean("timed")
        if not verdict["valid"]:
            raise SystemExit(f"the official checker fails the ground truth of {entry.task_id}")
    return seconds


def text(results: Mapping[str, Any]) -> str:
    lines = [
        f"{results['machine']}; "
        + ", ".join(f"{name} {version}" for name, version in results["versions"].items()),
        "",
        "| category | side | ms per dialogue | times as fast as executor + checker |",
        "|---|---|---:|---:|",
    ]
    for category, row in results["categories"].items():
        for name, milliseconds in row["ms_per_dialogue"].items():
            fast = row["ratios"].get(name)
            times = (
                "{times_as_fast:.1f} ({lowest:.1f} to {highest:.1f})".format(**fast) if fast else ""
            )
            lines.append(f"| {category} | {name} | {milliseconds:.3f} | {times} |")
    required = f"Required of {ALONE}: at least {results['target']:g} times as fast."
    return "\n".join([*lines, "", required, ""])


if __name__ == "__main__":
    raise SystemExit(main())
