"""The data set ``tool_use_synthetic``: an endless supply of dialogues with a small tool world."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, get_args

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import derive_key, text_key
from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.discrimination import is_discriminating
from budget_envs.tasks.synthetic_tools.plan import (
    SHAPES,
    Apis,
    Category,
    Plan,
    Split,
    draw_plan,
)
from budget_envs.tasks.synthetic_tools.scene import DeadEnd
from budget_envs.tool_calls.model import Dialogue

__all__ = [
    "APIS",
    "CATEGORIES",
    "DATASET",
    "GENERATOR_VERSION",
    "LEVELS",
    "SPLITS",
    "dialogues",
    "fingerprint",
    "generate",
    "split_of",
    "task_from_id",
]

DATASET: Final = "tool_use_synthetic"
"""Name of the data set: the first part of every task id."""
GENERATOR_VERSION: Final = 1
"""Raised whenever any id can name another dialogue."""
LEVELS: Final = tuple(SHAPES)
"""Difficulties."""
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
"""Kinds of dialogue: nothing is missing; a tool arrives late; an argument is given late."""
APIS: Final[tuple[Apis, ...]] = get_args(Apis)
"""Groups of APIs."""
SPLITS: Final[tuple[Split, ...]] = get_args(Split)
"""The splits."""

_ID: Final = re.compile(
    rf"{DATASET}/level([1-9])/({'|'.join(CATEGORIES)})/({'|'.join(APIS)})/({'|'.join(SPLITS)})/"
    r"([0-9]{6}|[1-9][0-9]{6,17})",
    re.ASCII,
)
_INDICES: Final = 10**18  # as many as ids can name
_ROOT: Final = text_key(DATASET)


def generate(level: int, category: Category, apis: Apis, split: Split, index: int) -> Dialogue:
    """Return a dialogue: always the same one, in every process.

    Its ground truth was executed: see `is_discriminating` for what it promises. All calls of a
    user turn can be made at once: what they need is in what the user said so far, and in the
    results of earlier user turns.

    Args:
        level: Difficulty, 1 to 4.
        category: ``"base"``; ``"miss_func"``, in which a tool arrives a turn after it is needed;
            or ``"miss_param"``, in which the user leaves out an argument and gives it afterwards.
        apis: ``"seen"``, or ``"held_out"`` for tools that no dialogue of ``"seen"`` has.
        split: ``"train"``, ``"validation"`` or ``"test"``. What the calls do, and to what, holds
            something in each dialogue of the last two that no other split has; numbers and the
            user's words make no difference.
        index: Any integer from 0 up, of at most 18 digits.

    Raises:
        OptionError: If an argument is not one of these.
    """
    _check("a level", level, LEVELS)
    _check("a category", category, CATEGORIES)
    _check("a group of APIs", apis, APIS)
    _check("a split", split, SPLITS)
    if type(index) is not int or not 0 <= index < _INDICES:
        raise OptionError(f"Expected an index, an integer from 0 to 10**18 - 1, got {index!r}.")
    return _generate(level, category, apis, split, index)


def task_from_id(task_id: str) -> Dialogue:
    """Return the dialogue with an id such as ``"tool_use_synthetic/level1/base/seen/test/000017"``.

    Raises:
        OptionError: If the id is not of that form.
    """
    match = _ID.fullmatch(task_id) if isinstance(task_id, str) else None
    if match is None:
        raise OptionError(
            f"Expected a task id such as '{DATASET}/level1/base/seen/test/000017' (a level, a "
            f"category, a group of APIs, a split and an index of at least six digits), "
            f"got {task_id!r}."
        )
    level, category, apis, split, index = match.groups()
    return generate(int(level), category, apis, split, int(index))  # type: ignore[arg-type]


def dialogues(
    split: Split,
    levels: int | Iterable[int] = LEVELS,
    categories: Iterable[Category] = CATEGORIES,
    apis: Apis = "seen",
    n: int | None = None,
) -> Iterator[Dialogue]:
    """Yield dialogues of a split, one of each level and category in turn, in order of index.

    Args:
        split: ``"train"``, ``"validation"`` or ``"test"``.
        levels: One level or several.
        categories: Several categories.
        apis: ``"seen"`` or ``"held_out"``.
        n: How many to yield; None goes on for ever.

    Raises:
        OptionError: If an argument is not one of these.
    """
    kinds = list(itertools.product([levels] if isinstance(levels, int) else levels, categories))
    if not kinds or (n is not None and (type(n) is not int or n < 0)):
        raise OptionError(f"Expected levels, categories and n >= 0 or None, got {kinds!r}, {n!r}.")
    places = ((index, kind) for index in itertools.count() for kind in kinds)
    return itertools.islice(
        (generate(level, category, apis, split, index) for index, (level, category) in places), n
    )


def split_of(task_id: str) -> Split:
    """Return the split that an id names."""
    return task_id.split("/")[-2]  # type: ignore[return-value]  # one of SPLITS


def fingerprint(dialogue: Dialogue) -> str:
    """Return 16 hexadecimal digits, equal for dialogues that ask for the same of the same world.

    The words and the category don't count.
    """
    calls = [[call.name, dict(call.arguments)] for turn in dialogue.turns for call in turn.calls]
    return f"{text_key(json.dumps([dict(dialogue.world), calls], sort_keys=True)):016x}"


@lru_cache(maxsize=1024)
def _generate(level: int, category: Category, apis: Apis, split: Split, index: int) -> Dialogue:
    path = [GENERATOR_VERSION, level, *map(text_key, (category, apis, split)), index]
    stream = derive_key(_ROOT, *path)
    plan = _plan(level, category, apis, split, stream)
    return Dialogue(
        task_id=f"{DATASET}/level{level}/{category}/{apis}/{split}/{index:06d}",
        category=category,
        turns=plan.turns,
        tools=plan.tools,
        world={"apis": json.loads(plan.world.key())},
    )


def _plan(level: int, category: Category, apis: Apis, split: Split, stream: int) -> Plan:
    """Return the first plan of a stream that makes a task."""
    for attempt in itertools.count():
        try:
            plan = draw_plan(level, category, apis, split, Draws(derive_key(stream, attempt)))
        except DeadEnd:
            continue
        if is_discriminating(plan.turns, plan.world):
            return plan
    raise AssertionError("unreachable")


def _check(what: str, value: object, known: Sequence[Any]) -> None:
    if type(value) is not type(known[0]) or value not in known:
        options = ", ".join(map(repr, known))
        hint = did_you_mean(value, known) if type(value) is type(known[0]) is str else ""
        raise OptionError(f"Expected {what}, one of {options}, got {value!r}.{hint}")
