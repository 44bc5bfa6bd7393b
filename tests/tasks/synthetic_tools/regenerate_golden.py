"""Writes the golden dialogues: ``python tests/tasks/synthetic_tools/regenerate_golden.py``.

A change in these files means that ids now name other dialogues: review it, and raise
``GENERATOR_VERSION``.
"""

import json
from pathlib import Path

from budget_envs.tasks.synthetic_tools import (
    GENERATOR_VERSION,
    fingerprint,
    open_world,
    task_from_id,
)
from budget_envs.tool_calls.model import Dialogue

GOLDEN = Path(__file__).parent / "golden"
TASK_IDS = tuple(
    f"tool_use_synthetic/{name}"
    for name in (
        "level1/base/seen/train/000000",
        "level1/miss_func/seen/test/000001",
        "level1/miss_param/held_out/test/000002",
        "level2/base/seen/validation/000003",
        "level2/miss_param/seen/train/000004",
        "level3/miss_func/held_out/train/000005",
        "level4/base/seen/test/000006",
    )
)


def golden_path(task_id: str) -> Path:
    return GOLDEN / (task_id.split("/", 1)[1].replace("/", "-") + ".txt")


def golden_text(dialogue: Dialogue) -> str:
    """Return everything about a dialogue as readable text."""
    lines = [
        f"id: {dialogue.task_id}",
        f"generator version: {GENERATOR_VERSION}",
        f"category: {dialogue.category}",
        f"fingerprint: {fingerprint(dialogue)}",
        "\n=== tools",
        *(f"{t.name}: {t.description} {json.dumps(t.parameters)}" for t in dialogue.tools),
        "\n=== world",
        *(f"{api}: {json.dumps(state)}" for api, state in dialogue.world["apis"].items()),
    ]
    world = open_world(dialogue)
    for number, turn in enumerate(dialogue.turns, 1):
        arrivals = f" (arrives: {', '.join(turn.arrivals)})" if turn.arrivals else ""
        lines.append(f"\n=== user turn {number}{arrivals}\n{turn.message}")
        for call in turn.calls:
            lines.append(f"> {call.name} {json.dumps(call.arguments)}\n{world.call(call)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for task_id in TASK_IDS:
        golden_path(task_id).write_text(golden_text(task_from_id(task_id)), encoding="utf-8")
