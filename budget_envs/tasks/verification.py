"""The result of checking a dataset: do its own solutions pass, and does doing nothing fail?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from budget_envs.tasks.registry import dataset

__all__ = ["Verdict", "VerifyReport"]

Verdict = Literal["pass", "fail", "void"]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Verdicts of the reference solutions and of an empty policy on the tasks of a dataset.

    Args:
        name: The dataset.
        gold: Task id -> verdict of its reference solution, for tasks that have one.
        null: Task id -> verdict of an empty answer.
        left_out: The tasks among them that `budget_envs.tasks.load` leaves out by default.
    """

    name: str
    gold: Mapping[str, Verdict]
    null: Mapping[str, Verdict]
    left_out: tuple[str, ...] = ()

    @property
    def gold_passed(self) -> int:
        """How many reference solutions passed."""
        return sum(verdict == "pass" for verdict in self.gold.values())

    @property
    def null_passed(self) -> int:
        """How many tasks the empty policy passed."""
        return sum(verdict == "pass" for verdict in self.null.values())

    @property
    def gold_failed(self) -> tuple[str, ...]:
        """The tasks whose reference solution failed."""
        return tuple(task_id for task_id, verdict in self.gold.items() if verdict == "fail")

    @property
    def void(self) -> tuple[str, ...]:
        """The tasks that could not be judged in one of the two checks."""
        verdicts = (*self.gold.items(), *self.null.items())
        return tuple(dict.fromkeys(task_id for task_id, verdict in verdicts if verdict == "void"))

    @property
    def surprises(self) -> tuple[str, ...]:
        """What differs from the registry's expectation, in words; empty if nothing does.

        Of a part of a dataset only the tasks that were checked count: a reference solution must
        pass unless the registry lists the task as bad, and the empty policy must pass nowhere but
        in tasks that are left out, often for that very reason.
        """
        expected = dataset(self.name).expected
        bad = set(expected.bad) if expected is not None else set()
        lines = [f"{task_id}: could not be judged" for task_id in self.void]
        for task_id, verdict in self.gold.items():
            if verdict == "fail" and task_id not in bad:
                lines.append(f"{task_id}: the reference solution fails")
            elif verdict == "pass" and task_id in bad:
                lines.append(f"{task_id}: listed as bad, but the reference solution passes")
        null = [task_id for task_id, verdict in self.null.items() if verdict == "pass"]
        null = [task_id for task_id in null if task_id not in self.left_out]
        lines.extend(f"{task_id}: an empty answer passes" for task_id in null)
        return tuple(lines)

    def __str__(self) -> str:
        gold = f"gold {self.gold_passed}/{len(self.gold)}"
        null = f"null {self.null_passed}/{len(self.null)}"
        outcome = "as expected" if not self.surprises else f"{len(self.surprises)} surprises"
        return f"{self.name}: {gold}, {null}, {outcome}"
