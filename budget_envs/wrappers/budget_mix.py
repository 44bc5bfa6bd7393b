"""`BudgetMix`: draws the turn budget anew for each task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import gymnasium as gym

from budget_envs.budget import Budget, OnExhausted, as_limit
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import text_key, uniform
from budget_envs.wrappers.episode_key import EpisodeKey
from budget_envs.wrappers.interaction_budget import InteractionBudget

__all__ = ["BudgetMix", "Schedule", "grid"]

Schedule = Literal["grid", "uniform", "fixed", "full", "curriculum"]

_STREAM: Final = text_key("budget_envs.wrappers.BudgetMix")


class BudgetMix(InteractionBudget):
    """An `InteractionBudget` whose turn budget T is drawn for each visit of a task.

    One draw is shared by all rollouts of a group: resets with the same explicit ``seed`` and the
    same task, whatever their ``rollout`` option and whatever process they are in. A reset without
    a seed draws again. Other resources keep their limits. ``reset(options={"budget": 5})``
    replaces the drawn T.

    Schedules, with T_max the turns of ``budget``:

    ``"grid"``
        Uniform over the 10 % steps of T_max, ``ceil(j * T_max / 10)`` for j = 1..10, each distinct
        value once: the BudgetMix of multi-turn RL.
    ``"uniform"``
        Uniform over 1..T_max.
    ``"full"``
        Always T_max: the control with the same budget text.
    ``"fixed"``
        Always ``fixed_turns``: the control with a small budget.
    ``"curriculum"``
        Uniform over the grid up to ``progress * T_max``; :meth:`set_progress` lets it grow.

    Args:
        env: The environment to wrap.
        budget: As for `InteractionBudget`; its turns are T_max and must be limited.
        schedule: See above.
        fixed_turns: T of ``"fixed"``, in 1..T_max.
        seed: Seed of the draws.
        on_exhausted: As for `InteractionBudget`.
        token_counter: As for `InteractionBudget`.

    Attributes:
        progress: Share in [0, 1] that ``"curriculum"`` has grown to; 0 at first.

    Raises:
        BudgetError: If ``budget`` or ``fixed_turns`` is not valid.
        OptionError: If another keyword is not valid.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        budget: Budget | Mapping[str, Any] | int | None,
        schedule: Schedule = "grid",
        fixed_turns: int | None = None,
        seed: int = 0,
        on_exhausted: OnExhausted = "truncate",
        token_counter: str = "characters",
    ) -> None:
        limits = Budget.of(budget)
        if fixed_turns is not None:
            fixed_turns = as_limit(fixed_turns, "fixed_turns")
        gym.utils.RecordConstructorArgs.__init__(
            self,
            budget=limits.limits(),
            schedule=schedule,
            fixed_turns=fixed_turns,
            seed=as_seed(seed),
            on_exhausted=on_exhausted,
            token_counter=token_counter,
        )
        _check(schedule, limits.turns, fixed_turns)
        super().__init__(env, budget=limits, on_exhausted=on_exhausted, token_counter=token_counter)
        self.schedule = schedule
        self.fixed_turns = fixed_turns
        self.progress = 0.0
        self._episode_key = EpisodeKey(_STREAM ^ as_seed(seed))

    def set_progress(self, share: float) -> None:
        """Let the curriculum reach up to ``share`` of T_max, from the next reset on.

        Args:
            share: In [0, 1].

        Raises:
            OptionError: If the share is out of range, or the schedule is not ``"curriculum"``.
        """
        if self.schedule != "curriculum":
            raise OptionError(
                f"only schedule='curriculum' has progress; this one is {self.schedule!r}."
            )
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise OptionError(f"progress must be a share in [0, 1], got {share!r}.")
        self.progress = float(share)

    def candidates(self) -> tuple[int, ...]:
        """Return the turn budgets that the next draw chooses from, in rising order."""
        t_max: int = self.budget.turns  # type: ignore[assignment]  # checked at construction
        if self.schedule == "uniform":
            return tuple(range(1, t_max + 1))
        if self.schedule == "full":
            return (t_max,)
        if self.schedule == "fixed":
            return (self.fixed_turns,)  # type: ignore[return-value]  # checked at construction
        points = grid(t_max)
        if self.schedule == "grid":
            return points
        reach = math.ceil(self.progress * t_max - 1e-9)  # 0.7 * 10 is a little more than 7
        return tuple(turns for turns in points if turns <= reach) or points[:1]

    def _draw(self, seed: int | None, info: Mapping[str, Any]) -> Budget:
        self._episode_key.begin(self.env, seed)
        candidates = self.candidates()
        key = self._episode_key.of_task(str(info.get("task_id", "")))
        turns = candidates[int(uniform(key, 0) * len(candidates))]
        return self.budget.replace({"turns": turns})

    def save(self) -> Mapping[str, Any]:
        """Return the ledger, the progress and what the next draw depends on."""
        return {
            **super().save(),
            "progress": self.progress,
            "episode_key": self._episode_key.save(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over the state."""
        super().load(state)
        self.progress = state["progress"]
        self._episode_key.load(state["episode_key"])


def grid(t_max: int) -> tuple[int, ...]:
    """Return the distinct 10 % steps of ``t_max``, in rising order.

    Example:
        >>> grid(10), grid(15), grid(3)
        ((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (2, 3, 5, 6, 8, 9, 11, 12, 14, 15), (1, 2, 3))
    """
    return tuple(sorted({-(-j * t_max // 10) for j in range(1, 11)}))


def as_seed(seed: object) -> int:
    """Return a wrapper's seed as an int.

    Raises:
        OptionError: If it is not an integer of at least 0.
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or seed.__index__() < 0:
        raise OptionError(f"seed must be an integer of at least 0, got {seed!r}.")
    return seed.__index__()  # type: ignore[no-any-return]


def _check(schedule: str, t_max: int | None, fixed_turns: int | None) -> None:
    known = get_args(Schedule)
    if schedule not in known:
        raise OptionError(
            f"schedule must be one of {', '.join(known)}, got {schedule!r}."
            + did_you_mean(schedule, known)
        )
    if t_max is None:
        raise OptionError("BudgetMix draws up to a turn budget: give one, e.g. budget=10.")
    if (schedule == "fixed") != (fixed_turns is not None):
        raise OptionError("schedule='fixed' and fixed_turns go together: give both or neither.")
    if fixed_turns is not None and fixed_turns > t_max:
        raise OptionError(f"fixed_turns must be at most the budget's {t_max}, got {fixed_turns}.")
