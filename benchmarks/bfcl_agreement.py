"""Do our verdicts on BFCL agree with the official checker's? On ground truth and on mutants of it.

    python benchmarks/bfcl_agreement.py [--mutants 10] [--seed 0] [--output FILE] [--json]

Needs the ``bfcl-eval`` distribution (``budget-envs tasks show bfcl_base`` says how). Each of the
800 dialogues is judged as its ground truth says, and with ``--mutants`` seeded changes. The
official side runs the package's own executor and checker on the calls as text; ours plays the same
calls through ``BFCLEnv``: one message for each of them in every second dialogue, and one for each
user turn in the others. Compared are the verdict, the user turn of the first failure, and the text
of every result.

Every other verdict is listed with its reason, and examples of other texts. Where the official side,
its modules loaded anew, says what ours says, its own state had leaked from one dialogue into
another; the remaining reasons are named by the rules below, which were written after reading every
difference. The exit status is 1 if one has none of them.
"""

import argparse
import json
import platform
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from bfcl_official import Entry, Judged, Official, Turns, as_text, entries

from budget_envs.envs.bfcl import BFCLEnv
from budget_envs.tasks.bfcl import CATEGORIES
from budget_envs.tool_calls.model import Call, Dialogue

GROUND_TRUTH = "ground truth"
EXAMPLES = 4

SAME = "none"
LEAK = "official state leaked from an earlier dialogue"
BOUNDS = "ours refuses work without bounds"
REWRITTEN = "official runner rewrites a function's name inside a text argument"
CLOCK_OR_SET = "a set is printed in an arbitrary order"
BUILTIN = "official runner evaluates a Python builtin of that name"
UNKNOWN = "unexplained"

BUILTINS = ("sorted", "getattr", "json")  # names that mean something to Python in the runner

ARGUED = {
    LEAK: "Loaded anew, the official side says what ours says. Some of its tables and default "
    "lists are module globals that calls write into.",
    BOUNDS: "A directory that is copied into itself holds itself from then on in the official file "
    "system; thousands of digits are computed. Ours refuses both, and leaves everything as it was.",
    REWRITTEN: "It puts the name of an instance before `name(` wherever that stands, also inside "
    "quotes, and the two sides' instances are named differently. Ours leaves text alone.",
    CLOCK_OR_SET: "The order changes from process to process. Ours prints it sorted.",
    BUILTIN: "Ours evaluates nothing: the name is not defined.",
}

REFUSALS = ("a directory would hold itself", "is more than 1000", "too many digits")

Steps = list[list[Call]]
"""Calls of a dialogue by user turn."""


@dataclass(frozen=True)
class Case:
    """A dialogue that is judged on both sides.

    Attributes:
        entry: The dialogue in the official form.
        mutation: What was done to its ground truth.
        calls: Calls by user turn.
        text: The same as official text.
        batched: Whether a user turn's calls are one message.
    """

    entry: Entry
    mutation: str
    calls: Steps
    text: list[list[str]]
    batched: bool

    @property
    def turns(self) -> Turns:
        if self.batched:
            return [[calls] if calls else [] for calls in self.text]
        return [[[call] for call in calls] for calls in self.text]


@dataclass(frozen=True)
class Compared:
    """One case, judged.

    Attributes:
        case: The case.
        theirs: The official verdict.
        ours: Ours, in the same form.
        why: The reason for a difference.
        results: The first differing result: official, ours; empty if there is none.
    """

    case: Case
    theirs: Judged
    ours: Judged
    why: str
    results: tuple[str, str] | tuple[()]


# Mutations. Each changes the calls of a dialogue in place and says whether it could.

Mutation = Callable[[random.Random, Steps, Dialogue], bool]


def places(steps: Steps, at_least: int = 1) -> list[int]:
    return [place for place, calls in enumerate(steps) if len(calls) >= at_least]


def some_call(rng: random.Random, steps: Steps) -> tuple[list[Call], int] | None:
    turns = places(steps)
    if not turns:
        return None
    calls = steps[rng.choice(turns)]
    return calls, rng.randrange(len(calls))


def change(rng: random.Random, steps: Steps, make: Callable[[Call], Call | None]) -> bool:
    """Put another call in place of one."""
    for _ in range(20):
        found = some_call(rng, steps)
        if found is None:
            return False
        calls, place = found
        changed = make(calls[place])
        if changed is not None:
            calls[place] = changed
            return True
    return False


def dropped(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    found = some_call(rng, steps)
    if found is not None:
        del found[0][found[1]]
    return found is not None


def last_dropped(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    turns = places(steps)
    if turns:
        steps[turns[-1]].pop()
    return bool(turns)


def swapped(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    turns = places(steps, 2)
    if not turns:
        return False
    calls = steps[rng.choice(turns)]
    place = rng.randrange(len(calls) - 1)
    calls[place], calls[place + 1] = calls[place + 1], calls[place]
    return True


def reordered(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    turns = places(steps, 2)
    if turns:
        rng.shuffle(steps[rng.choice(turns)])
    return bool(turns)


def duplicated(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    found = some_call(rng, steps)
    if found is not None:
        found[0].insert(found[1], found[0][found[1]])
    return found is not None


def moved_on(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    turns = [place for place in places(steps) if place + 1 < len(steps)]
    if turns:
        place = rng.choice(turns)
        steps[place + 1].insert(0, steps[place].pop())
    return bool(turns)


def moved_back(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    turns = [place for place in places(steps) if place]
    if turns:
        place = rng.choice(turns)
        steps[place - 1].append(steps[place].pop(0))
    return bool(turns)


def in_empty_turn(rng: random.Random, steps: Steps, dialogue: Dialogue) -> bool:
    """Call in a turn in which nothing may be called: what comes next, or anything."""
    empty = [place for place, turn in enumerate(dialogue.turns) if not turn.calls]
    if not empty:
        return False
    place = rng.choice(empty)
    later = [call for calls in steps[place:] for call in calls]
    steps[place].append(rng.choice(later or [any_call(rng, dialogue)]))
    return True


def turn_left_out(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    turns = places(steps)
    if turns:
        steps[rng.choice(turns)].clear()
    return bool(turns)


def stopped_early(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    for calls in steps[rng.randrange(len(steps)) :]:
        calls.clear()
    return True


def extra_call(rng: random.Random, steps: Steps, dialogue: Dialogue) -> bool:
    calls = rng.choice(steps)
    calls.insert(rng.randint(0, len(calls)), any_call(rng, dialogue))
    return True


def wrong_function(rng: random.Random, steps: Steps, dialogue: Dialogue) -> bool:
    def other(call: Call) -> Call:
        return replace(call, name=rng.choice(dialogue.tools).name)

    return change(rng, steps, other)


def unknown_function(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    names = ("no_such_function", "Sort", "cd_", *BUILTINS)
    return change(rng, steps, lambda call: replace(call, name=rng.choice(names)))


def argument_changed(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    def other(call: Call) -> Call | None:
        if not call.arguments:
            return None
        name = rng.choice(list(call.arguments))
        return replace(call, arguments={**call.arguments, name: near(rng, call.arguments[name])})

    return change(rng, steps, other)


def argument_dropped(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    def fewer(call: Call) -> Call | None:
        if not call.arguments:
            return None
        gone = rng.choice(list(call.arguments))
        left = {name: value for name, value in call.arguments.items() if name != gone}
        return replace(call, arguments=left)

    return change(rng, steps, fewer)


def argument_added(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    return change(
        rng, steps, lambda call: replace(call, arguments={**call.arguments, "verbose": True})
    )


def type_changed(rng: random.Random, steps: Steps, _: Dialogue) -> bool:
    def other(call: Call) -> Call | None:
        if not call.arguments:
            return None
        name = rng.choice(list(call.arguments))
        value = call.arguments[name]
        changed: Any = rng.choice([str(value), [value], None, float(len(str(value))), value == 1])
        return replace(call, arguments={**call.arguments, name: changed})

    return change(rng, steps, other)


def call_in_text(rng: random.Random, steps: Steps, dialogue: Dialogue) -> bool:
    """Write something that looks like a call into a text argument."""

    def other(call: Call) -> Call | None:
        texts = [name for name, value in call.arguments.items() if isinstance(value, str)]
        if not texts:
            return None
        name = rng.choice(texts)
        text = f"{call.arguments[name]} {rng.choice(dialogue.tools).name}(now)"
        return replace(call, arguments={**call.arguments, name: text})

    return change(rng, steps, other)


MUTATIONS: tuple[Mutation, ...] = (
    *(dropped, last_dropped, swapped, reordered, duplicated, moved_on, moved_back, in_empty_turn),
    *(turn_left_out, stopped_early, extra_call, wrong_function, unknown_function),
    *(argument_changed, argument_dropped, argument_added, type_changed, call_in_text),
)


def near(rng: random.Random, value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice((-1, 1, 10))
    if isinstance(value, str):
        return rng.choice((value + "x", value[:-1], value.upper(), "", f"'{value}\"\n\\"))
    if isinstance(value, list):
        return rng.choice((value[1:], [*value, *value], []))
    return {}


def any_call(rng: random.Random, dialogue: Dialogue) -> Call:
    """Return a call of any function, its arguments made up or taken from the dialogue."""
    tool = rng.choice(dialogue.tools)
    calls = [call for turn in dialogue.turns for call in turn.calls]
    texts = [v for call in calls for v in call.arguments.values() if isinstance(v, str)]
    made: dict[str, Callable[[], Any]] = {
        "string": lambda: rng.choice(texts or ["AAPL"]),
        "integer": lambda: rng.choice([1, 2, 12446, 100]),
        "number": lambda: rng.choice([0.5, 1.0, 100]),
        "boolean": lambda: rng.random() < 0.5,
        "array": lambda: rng.choice([["driver"], ["AAPL"], ["@someone"], []]),
        "object": lambda: rng.choice([{"status": "Closed"}, {"colour": 1, "shape": 2}]),
    }
    properties, required = tool.parameters["properties"], tool.parameters["required"]
    names = [name for name in properties if name in required or rng.random() < 0.3]
    return Call(tool.name, {name: made[properties[name]["type"]]() for name in names})


# Judging.


def our_verdict(env: BFCLEnv, case: Case) -> tuple[Judged, list[list[str]]]:
    """Play a case and return our verdict, and the results by user turn."""
    env.reset(options={"task": case.entry.task_id})
    write, results = env.format.render_calls, []
    for calls in case.calls:
        before = len(env.episode.progress.results)
        for message in [calls] if case.batched and calls else [[call] for call in calls]:
            env.step(write(message))
        results.append(list(env.episode.progress.results[before:]))
        reward = env.step("Done.")[1]
    verdicts = env.episode.verdicts
    turn = verdicts.index("fail") if "fail" in verdicts else None
    return Judged(reward == 1, turn, "", []), results


def compare(env: BFCLEnv, official: Official, case: Case) -> Compared:
    ours, results = our_verdict(env, case)
    theirs = official.judge(case.entry, case.turns)
    their_results = official.results(case.entry, case.turns)
    different = first_difference(their_results, results)
    if (theirs.valid, theirs.turn) == (ours.valid, ours.turn) and not different:
        return Compared(case, theirs, ours, SAME, ())
    official.load()
    again = official.judge(case.entry, case.turns)
    official.load()
    results_again = official.results(case.entry, case.turns)
    if (again.valid, again.turn) == (ours.valid, ours.turn) and results_again == results:
        return Compared(case, theirs, ours, LEAK, different)
    return Compared(case, again, ours, reason(case, different), different)


def first_difference(theirs: list[list[str]], ours: list[list[str]]) -> tuple[str, str] | tuple[()]:
    for their_turn, our_turn in zip(theirs, ours, strict=True):
        for their, our in zip(their_turn, our_turn, strict=True):
            if their != our:
                return their, our
    return ()


def reason(case: Case, different: tuple[str, str] | tuple[()]) -> str:
    """Name the reason for a difference; the rules were written after reading every one."""
    names = {call.name for calls in case.calls for call in calls}
    if case.mutation == call_in_text.__name__:
        return REWRITTEN
    if names & set(BUILTINS):
        return BUILTIN
    if different and ("Must be one of {" in different[0] or "Invalid fields" in different[0]):
        return CLOCK_OR_SET
    if different and any(text in different[1] for text in REFUSALS):
        return BOUNDS
    return UNKNOWN


# The report.


def cases(every: Sequence[Entry], env: BFCLEnv, mutants: int, seed: int) -> list[Case]:
    rng, found = random.Random(seed), []
    for number, entry in enumerate(every):
        dialogue = env.load_task(entry.task_id)
        truth = [list(turn.calls) for turn in dialogue.turns]
        batched = number % 2 == 0
        found.append(Case(entry, GROUND_TRUTH, truth, entry.ground_truth, batched))
        while len(found) % (mutants + 1):
            mutation = MUTATIONS[rng.randrange(len(MUTATIONS))]
            steps = [list(turn.calls) for turn in dialogue.turns]
            if mutation(rng, steps, dialogue):
                text = [[as_text(call) for call in calls] for calls in steps]
                found.append(Case(entry, mutation.__name__, steps, text, batched))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=10, help="mutants of each dialogue")
    parser.add_argument("--seed", type=int, default=0, help="seed of the mutations")
    parser.add_argument("--output", type=Path, help="write the tables here, in Markdown")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    every, official = entries(), Official()
    env = BFCLEnv(category=CATEGORIES)
    judged = [
        compare(env, official, case)
        for case in cases(every, env, arguments.mutants, arguments.seed)
    ]
    table = report(judged, arguments)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(table, "utf-8")
    sys.stdout.write(json.dumps(numbers(judged), indent=2) + "\n" if arguments.json else table)
    return int(any(each.why == UNKNOWN for each in judged))


def differs(each: Compared) -> bool:
    return (each.theirs.valid, each.theirs.turn) != (each.ours.valid, each.ours.turn)


def numbers(judged: Sequence[Compared]) -> dict[str, Any]:
    mutations = dict.fromkeys(each.case.mutation for each in judged)
    return {
        "dialogues": len(judged),
        "same_verdict": sum(each.theirs.valid == each.ours.valid for each in judged),
        "same_verdict_and_turn": sum(not differs(each) for each in judged),
        "same_results": sum(not each.results for each in judged),
        "differences": Counter(each.why for each in judged if each.why != SAME),
        "by_mutation": {
            name: {
                "dialogues": sum(each.case.mutation == name for each in judged),
                "valid": sum(each.case.mutation == name and each.ours.valid for each in judged),
                "other_verdict": sum(
                    each.case.mutation == name and each.theirs.valid != each.ours.valid
                    for each in judged
                ),
            }
            for name in mutations
        },
    }


def report(judged: Sequence[Compared], arguments: argparse.Namespace) -> str:
    counted = numbers(judged)
    others = [each for each in judged if each.why != SAME]
    other_verdicts = [each for each in others if differs(each)]
    kinds = Counter(each.theirs.kind or "valid" for each in judged)
    return "\n".join(
        [
            "# Verdicts on BFCL's multi-turn dialogues, ours and the official checker's",
            "",
            f"bfcl-eval {metadata.version('bfcl-eval')}, Python {platform.python_version()}.",
            "",
            f"    python benchmarks/bfcl_agreement.py --mutants {arguments.mutants} "
            f"--seed {arguments.seed} --output FILE",
            "",
            f"Of {counted['dialogues']} dialogues {counted['same_verdict']} have the same verdict, "
            f"{counted['same_verdict_and_turn']} also the same first failing user turn, and "
            f"{counted['same_results']} the same text of every result. Official verdicts: "
            + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
            + ".",
            "",
            "| what was done to the ground truth | dialogues | valid | other verdict |",
            "|---|---:|---:|---:|",
            *(
                f"| {name.replace('_', ' ')} | {row['dialogues']} | {row['valid']} "
                f"| {row['other_verdict']} |"
                for name, row in counted["by_mutation"].items()
            ),
            "",
            "## Why they differ",
            "",
            "| reason | dialogues | other verdict | |",
            "|---|---:|---:|---|",
            *(
                f"| {why} | {count} | {sum(each.why == why for each in other_verdicts)} "
                f"| {ARGUED.get(why, '')} |"
                for why, count in counted["differences"].most_common()
            ),
            "",
            "## Every other verdict",
            "",
            *listed(other_verdicts),
            "",
            f"## The first {EXAMPLES} of each reason with the same verdict and another text",
            "",
            *listed([each for why in counted["differences"] for each in same_verdict(others, why)]),
            "",
        ]
    )


def same_verdict(others: Sequence[Compared], why: str) -> list[Compared]:
    return [each for each in others if each.why == why and not differs(each)][:EXAMPLES]


def listed(chosen: Sequence[Compared]) -> list[str]:
    return [
        "| dialogue | done to it | official | ours | reason | official result | our result |",
        "|---|---|---|---|---|---|---|",
        *map(difference, chosen),
    ]


def difference(each: Compared) -> str:
    results = [shortened(text) for text in each.results] or ["", ""]
    cells = [
        each.case.entry.task_id,
        each.case.mutation.replace("_", " "),
        verdict(each.theirs),
        verdict(each.ours),
        each.why,
        *results,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def verdict(judged: Judged) -> str:
    if judged.valid:
        return "valid"
    return f"turn {judged.turn}" + (f": {judged.kind}" if judged.kind else "")


def shortened(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."


if __name__ == "__main__":
    raise SystemExit(main())
