"""The trajectories that the page's viewer steps through: which, and in what form."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from budget_envs.evaluation.report.embedded import embedded_json
from budget_envs.evaluation.report.model import ReportData
from budget_envs.evaluation.report.text import cut, visible
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Episode, Turn
from budget_envs.streams import text_key

__all__ = ["MAX_PER_CELL", "MAX_TEXT", "Trajectories", "pick_trajectories"]

MAX_PER_CELL: Final = 4
"""Trajectories of one run, task and budget in the page."""
MAX_TEXT: Final = 20_000
"""Characters of one observation, action or error in the page."""
_MAX_NAMES: Final = 50  # best actions of a turn

Unit = list[tuple[int, int, int, Episode]]  # comparison, run, task, episode: all or none of them


@dataclass(frozen=True, slots=True)
class Trajectories:
    """Trajectories in the form that the viewer reads.

    Attributes:
        json: ``{"values": [...], "episodes": [...]}`` for a script element. An episode's texts,
            budgets and oracle values are places in ``values``, as most of them occur often.
        num_included: Trajectories that it holds.
        num_stored: Trajectories that the runs have.
    """

    json: str
    num_included: int
    num_stored: int


def pick_trajectories(store: Store, report: ReportData, max_bytes: int) -> Trajectories:
    """Take as many trajectories as fit, chosen without looking at how they went.

    In rounds: first rollout 0 of every task, for all runs and budgets, so that they can be
    compared; then those that an error ended, which are rare and tell what to repair; then the next
    rollouts, up to `MAX_PER_CELL`. Within a round, tasks come in the order of a hash of their ids,
    and the first that does not fit ends it all.

    Args:
        store: The results database.
        report: Its summary, which says what the runs and tasks are called.
        max_bytes: Size of the JSON in UTF-8.
    """
    writer = _Writer(max_bytes)
    num_stored = sum(run.num_stored for run in report.runs)
    for unit in _units(store, report):
        if not writer.add(store, report, unit):
            break
    return Trajectories(writer.json(), len(writer.episodes), num_stored)


def _units(store: Store, report: ReportData) -> Iterator[Unit]:
    units: dict[tuple[int, int, int, str], Unit] = defaultdict(list)
    for c, comparison in enumerate(report.comparisons):
        places = {task: place for place, task in enumerate(comparison.task_ids)}
        for r, run in enumerate(comparison.runs):
            for rank, episode in _ranked(store.episodes(run.run.run_id)):
                task = episode.task_id
                order = (rank, text_key(task), c, task)
                units[order].append((c, r, places[task], episode))
    for order in sorted(units):
        yield units[order]


def _ranked(episodes: Iterable[Episode]) -> Iterator[tuple[int, Episode]]:
    """Number the episodes of each task and budget in the order in which they are taken."""
    cells: dict[tuple[str, int], list[Episode]] = defaultdict(list)
    for episode in episodes:
        cells[episode.task_id, episode.budget].append(episode)
    for cell in cells.values():
        cell.sort(key=lambda e: (e.rollout != 0, e.error is None, e.rollout))
        yield from enumerate(cell[:MAX_PER_CELL])


class _Writer:
    """Writes episodes until the space is used up."""

    def __init__(self, max_bytes: int) -> None:
        self.episodes: list[dict[str, Any]] = []
        self._left = max_bytes - len('{"values":[],"episodes":[]}')
        self._values: dict[str, int] = {}  # JSON of a value to its place

    def add(self, store: Store, report: ReportData, unit: Unit) -> bool:
        """Add episodes, all or none; return whether there was space."""
        before = len(self._values)
        rows = [self._episode(store, report, *member) for member in unit]
        fresh = [*self._values][before:]
        size = sum(len(text.encode()) + 1 for text in fresh)
        size += sum(len(embedded_json(row).encode()) + 1 for row in rows)
        if size > self._left:
            for text in fresh:
                del self._values[text]
            return False
        self._left -= size
        self.episodes += rows
        return True

    def json(self) -> str:
        """Return everything that was added."""
        values = ",".join(self._values)
        return f'{{"values":[{values}],"episodes":{embedded_json(self.episodes)}}}'

    def _episode(
        self, store: Store, report: ReportData, c: int, r: int, task: int, episode: Episode
    ) -> dict[str, Any]:
        run_id = report.comparisons[c].runs[r].run.run_id
        return {
            "comparison": c,
            "run": r,
            "task": task,
            "budget": episode.budget,
            "rollout": episode.rollout,
            "verdict": visible(episode.verdict),
            "solved": episode.success_turn,
            "return": _finite(episode.episode_return),
            "boundary": None if episode.boundary is None else visible(episode.boundary),
            "error": None if episode.error is None else self._text(episode.error),
            "final": self._text(episode.final_observation),
            "turns": [self._turn(turn) for turn in store.turns(run_id, episode.key)],
        }

    def _turn(self, turn: Turn) -> list[Any]:
        """Return observation, action, executed, reward, invalid, budget, oracle, injected."""
        return [
            self._text(turn.observation),
            self._text(turn.action),
            None if turn.executed_action is None else self._text(turn.executed_action),
            _finite(turn.reward),
            int(turn.is_invalid),
            None if turn.budget is None else self._place(_budget(turn.budget)),
            None if turn.oracle is None else self._place(_oracle(turn.oracle)),
            None if turn.injected is None else self._place(_receipt(turn.injected)),
        ]

    def _text(self, text: str) -> int:
        return self._place(_shown(text))

    def _place(self, value: Any) -> int:
        return self._values.setdefault(embedded_json(value), len(self._values))


def _budget(budget: Mapping[str, Any]) -> list[list[Any]]:
    """Return resource, limit, used and remaining of every resource."""
    return [
        [_shown(name), *(_finite(amount.get(key)) for key in ("limit", "used", "remaining"))]
        for name, amount in budget.items()
        if isinstance(amount, Mapping)
    ]


def _oracle(oracle: Mapping[str, Any]) -> dict[str, Any]:
    best = oracle.get("best_actions")
    names = best if isinstance(best, Sequence) and not isinstance(best, str) else []
    return {
        **{name: _finite(oracle.get(name)) for name in ("value", "best", "regret")},
        "best_actions": [_shown(str(name)) for name in names[:_MAX_NAMES]],
    }


def _receipt(injected: Mapping[str, Any]) -> list[list[str]]:
    """Return the receipt as pairs of texts."""
    return [
        [_shown(str(name)), _shown(value if isinstance(value, str) else json.dumps(value))]
        for name, value in injected.items()
    ]


def _shown(text: str) -> str:
    return visible(cut(text, MAX_TEXT))


def _finite(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return round(value, 6) if is_number else None
