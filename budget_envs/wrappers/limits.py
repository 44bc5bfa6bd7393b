"""Limits from reset options, and the smallest of several; what an environment reports of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from budget_envs.budget import RESOURCES, Budget
from budget_envs.errors import OptionError

__all__ = ["number_of_calls", "smallest_limits", "split_options"]


def split_options(options: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the limits that reset options name, and the options without them.

    The options given are left as they are.

    Raises:
        BudgetError: If the option ``budget`` is no budget. A mapping is checked where it is used.
    """
    if not options or "budget" not in options:
        return {}, options
    rest = {name: value for name, value in options.items() if name != "budget"}
    override = options["budget"]
    if override is None:
        return dict.fromkeys(RESOURCES), rest
    if isinstance(override, Mapping):
        return dict(override), rest
    return Budget.of(override).limits(), rest  # type: ignore[return-value]  # keys are names


def smallest_limits(budgets: Iterable[Budget]) -> Budget:
    """Return the budget that holds where several do: the smallest limit of each resource."""
    smallest: dict[str, int] = {}
    for budget in budgets:
        for name, limit in budget.limits().items():
            smallest[name] = min(limit, smallest.get(name, limit))
    return Budget(**smallest)


def number_of_calls(reported: Any) -> int:
    """Return what an environment reports as its number of calls in a step.

    Raises:
        OptionError: If it is not an integer of at least 0.
    """
    if isinstance(reported, bool) or not hasattr(reported, "__index__") or reported < 0:
        raise OptionError(
            f'info["calls"] must be the number of calls of the step, at least 0, got {reported!r}.'
        )
    return reported.__index__()  # type: ignore[no-any-return]
