"""A listing of the first dialogues of the endless set, for the registry."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from budget_envs.tasks.registry import DatasetInfo
from budget_envs.tasks.sources import LocatedFile
from budget_envs.tasks.synthetic_tools.generator import (
    APIS,
    CATEGORIES,
    LEVELS,
    SPLITS,
    fingerprint,
    generate,
)
from budget_envs.tasks.task_set import Contents, Entry
from budget_envs.tool_calls.model import Dialogue

__all__ = ["read"]


def read(files: Sequence[LocatedFile], info: DatasetInfo) -> Contents[Dialogue]:
    """List the first dialogues of every level, category, group of APIs and split.

    Args:
        files: None.
        info: The dataset; its option ``per_kind`` says how many of each.
    """
    kinds = itertools.product(LEVELS, CATEGORIES, APIS, SPLITS, range(info.options["per_kind"]))
    entries = []
    for level, category, apis, split, index in kinds:
        dialogue = generate(level, category, apis, split, index)
        entries.append(Entry(dialogue, fingerprint(dialogue), split))
    return Contents(tuple(entries))
