"""A template: a function that drafts a task, with its hardness and the split that may use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from budget_envs.tasks.synthetic_sql.scene import Draft, Scene

__all__ = ["Group", "Hardness", "Template", "templates"]

Hardness: TypeAlias = Literal["easy", "medium", "hard", "extra"]
Group: TypeAlias = Literal["common", "validation", "test"]

_Draw: TypeAlias = Callable[[Scene], Draft]


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of question.

    Args:
        name: ``"list_filtered"``.
        hardness: Its level.
        group: ``"common"`` if every split may use it, else the one split that does.
        draft: Draws a question and a query; raises `DeadEnd` if the database has none.
    """

    name: str
    hardness: Hardness
    group: Group
    draft: _Draw


def templates(
    hardness: Hardness,
    *,
    common: Sequence[_Draw],
    validation: Sequence[_Draw],
    test: Sequence[_Draw],
) -> tuple[Template, ...]:
    """Return the templates of a level, named as their functions."""
    groups: dict[Group, Sequence[_Draw]] = {
        "common": common, "validation": validation, "test": test,
    }  # fmt: skip
    return tuple(
        Template(draft.__name__, hardness, group, draft)
        for group, drafts in groups.items()
        for draft in drafts
    )
