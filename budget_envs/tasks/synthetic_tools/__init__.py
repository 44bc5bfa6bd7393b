"""``tool_use_synthetic``: dialogues in which a user has several requests and an agent has tools.

A small stateful tool world: APIs with typed tools, errors and hidden state; endless dialogues
whose ground truth was executed; four levels, three categories, splits by what is done to what,
and two APIs held out. In the shape of BFCL's multi-turn set (Patil et al., 2025).

>>> dialogue = generate(1, "base", "seen", "test", 17)
>>> dialogue.task_id
'tool_use_synthetic/level1/base/seen/test/000017'
"""

from budget_envs.tasks.synthetic_tools.generator import (
    APIS,
    CATEGORIES,
    DATASET,
    GENERATOR_VERSION,
    LEVELS,
    SPLITS,
    dialogues,
    fingerprint,
    generate,
    split_of,
    task_from_id,
)
from budget_envs.tasks.synthetic_tools.plan import Apis, Category, Split
from budget_envs.tasks.synthetic_tools.world import ToolWorld, open_world

__all__ = [
    "APIS",
    "CATEGORIES",
    "DATASET",
    "GENERATOR_VERSION",
    "LEVELS",
    "SPLITS",
    "Apis",
    "Category",
    "Split",
    "ToolWorld",
    "dialogues",
    "fingerprint",
    "generate",
    "open_world",
    "split_of",
    "task_from_id",
]
