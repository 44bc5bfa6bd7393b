"""`BudgetSampler`: which turn budget each group of rollouts gets. Any trainer can take it.

BudgetMix draws one T for a whole group, so that a group's baseline compares rollouts under equal
conditions; the arms beside it are the controls that tell its effect from that of the text that
shows the budget, of merely short episodes, and of the smaller number of turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from budget_envs.agents.trainers.config import Arm, BudgetSettings
from budget_envs.errors import BudgetError
from budget_envs.streams import derive_key, text_key, uniform
from budget_envs.wrappers.budget_mix import grid

__all__ = ["SHOWN", "BudgetSampler", "with_budget_text"]

SHOWN: Final[Mapping[Arm, bool]] = {
    "budget_mix": True,
    "full": False,
    "full_shown": True,
    "fixed": True,
    "turn_matched": False,
}
"""Whether the agent is told its budget, by arm."""

_STREAM: Final = text_key("budget_envs.agents.trainers.BudgetSampler")


def with_budget_text(keywords: Mapping[str, Any], arm: Arm) -> dict[str, Any]:
    """Return an environment's keywords with ``show_budget`` as an arm has it, unless given."""
    return {"show_budget": True, **keywords} if SHOWN[arm] else dict(keywords)


class BudgetSampler:
    """Draws turn budgets, each a function of seed, step and task alone.

    Args:
        settings: The arm.
        t_max: The largest budget T_max.
        seed: Of the draws.

    Raises:
        BudgetError: If the fixed budget is above T_max.
    """

    def __init__(self, settings: BudgetSettings, t_max: int, seed: int) -> None:
        fixed = settings.fixed_turns
        if fixed is not None and not 1 <= fixed <= t_max:
            raise BudgetError(f"fixed_turns must be in 1..{t_max}, the T_max, got {fixed}.")
        self.arm = settings.arm
        self.t_max = t_max
        self.candidates = {"budget_mix": grid(t_max), "fixed": (fixed or t_max,)}.get(
            settings.arm, (t_max,)
        )
        self._key = derive_key(seed, _STREAM)

    def draw(self, step: int, task_id: str) -> int:
        """Return the turns of a task's group in a step."""
        key = derive_key(self._key, step, text_key(task_id))
        return self.candidates[int(uniform(key, 0) * len(self.candidates))]

    def num_groups(self, groups: int) -> int:
        """Return how many groups a step has, of as many as asked for.

        All of them, but for ``"turn_matched"``, where the share is that of the mean of BudgetMix's
        budgets in T_max, about 55 %.
        """
        if self.arm != "turn_matched":
            return groups
        budgets = grid(self.t_max)
        return max(1, round(groups * sum(budgets) / len(budgets) / self.t_max))
