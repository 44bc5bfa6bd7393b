"""The fixed inputs on which programs are compared, and what makes their outputs varied."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from budget_envs.tasks.synthetic_code.dsl import Type
from budget_envs.tasks.synthetic_code.inputs import SHAPES, draw_arguments
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

__all__ = ["ORDINARY_COUNT", "PROBE_COUNT", "probes", "varied"]

PROBE_COUNT = 32
"""Number of probe inputs of every signature."""
ORDINARY_COUNT = 8
"""The first so many probes have no special shape: few degenerate programs survive them."""


@functools.cache
def probes(arguments: tuple[Type, ...]) -> tuple[tuple[Any, ...], ...]:
    """Return the probe inputs of a signature: one of every shape, then ordinary ones.

    Args:
        arguments: Argument types.

    Returns:
        `PROBE_COUNT` tuples of argument values, the same in every process.
    """
    rng = SplitMix64(*(type_.value for type_ in arguments))
    shapes = ["any"] * ORDINARY_COUNT + [*SHAPES[1:]]
    shapes += ["any"] * (PROBE_COUNT - len(shapes))
    return tuple(
        draw_arguments(arguments, (shape, *("any" for _ in arguments[1:])), [], rng)
        for shape in shapes
    )


def varied(type_: Type, column: Sequence[Any], others: Sequence[Sequence[Any]]) -> bool:
    """Return whether a column of values is worth having besides other columns.

    Args:
        type_: Type of the values.
        column: One value for every probe.
        others: Columns of the same length to compare with.

    Returns:
        False if one value makes up more than half of the column (three quarters of a column
        of ``BOOL``), if more than half of it equals one of the other columns, or if more than
        half of its lists have fewer than two elements.
    """
    if type_ is Type.BOOL:
        return bool(len(column) <= 4 * sum(column) <= 3 * len(column))
    values: Iterable[Any] = column
    if isinstance(column[0], list):
        if 2 * sum(len(value) > 1 for value in column) < len(column):
            return False
        values = map(repr, column)
    commonest = max(Counter(values).values())
    for other in others:
        commonest = max(commonest, sum(map(operator.eq, column, other)))
    return bool(2 * commonest <= len(column))
