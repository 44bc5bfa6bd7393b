"""What each requested episode did (`Outcomes`), and the counts that follow (`SuccessCounts`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from budget_envs.errors import OptionError, did_you_mean

__all__ = [
    "NEVER",
    "VOID",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Outcomes",
    "Protocol",
    "Rate",
    "SuccessCounts",
    "increasing",
    "integers",
    "join_task_ids",
]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Protocol = Literal["truncate", "rerun"]
Rate = Literal["conditional", "strict"]

NEVER: Final = -1  # not 0: an array of zeros must not read as "all failed", nor as "all solved"
VOID: Final = "void"


def integers(name: str, values: ArrayLike, ndim: int) -> IntArray:
    """Return ``values`` as int64 of ``ndim`` axes; flags, floats and ragged lists are refused."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise OptionError(f"{name} must be a rectangular array of {ndim} axes: {error}") from error
    if array.ndim != ndim or (array.size and array.dtype.kind not in "iu"):
        raise OptionError(
            f"{name} must be an integer array with {ndim} axes, got shape {array.shape} of "
            f"{array.dtype}. In success_turns, NEVER ({NEVER}) stands for no success."
        )
    return array.astype(np.int64)


def increasing(name: str, values: ArrayLike) -> IntArray:
    """Return ``values`` as int64, or refuse all but positive, strictly increasing integers."""
    array = integers(name, values, 1)
    if not array.size or array[0] < 1 or np.any(np.diff(array) <= 0):
        raise OptionError(
            f"{name} must be positive and strictly increasing, got {array.tolist()!r}. "
            "Sort it and remove duplicates."
        )
    return array


def join_task_ids(wanted: Sequence[str], available: Sequence[str]) -> IntArray:
    """Return where each of ``wanted`` stands in ``available``, two listings of the same tasks.

    Raises:
        OptionError: If either listing has an id that the other lacks.
    """
    position = {task_id: index for index, task_id in enumerate(available)}
    missing = [task_id for task_id in wanted if task_id not in position]
    surplus = sorted(set(available) - set(wanted))
    for absent, other in ((missing, available), (surplus, wanted)):
        if absent:
            raise OptionError(
                f"Both sides must hold the same tasks, but {len(absent)} are on one side only, "
                f"e.g. {absent[0]!r}.{did_you_mean(absent[0], other)} Join on the shared ids first."
            )
    return np.array([position[task_id] for task_id in wanted], dtype=np.int64)


def _encode(task_id: str, turn: object) -> tuple[int, bool]:
    """Return ``(success turn, is void)`` of one episode's entry."""
    if turn is None or turn == VOID:
        return NEVER, turn is not None
    if isinstance(turn, int | np.integer) and not isinstance(turn, bool) and turn >= NEVER:
        return int(turn), False
    raise OptionError(
        f"An episode of task {task_id!r} must be a turn number, None (no success) or {VOID!r}, "
        f"got {turn!r}."
    )


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What every *requested* episode of every task did.

    An episode that died or was never recorded is a failure, because the denominator is what was
    requested. An episode that is void (the environment could not judge it) is no failure: it
    leaves the denominator and is counted. So is one that was solved before its first action.

    Attributes:
        task_ids: The ``tasks`` distinct names, in row order.
        success_turns: ``(tasks, n) int64``: turn of the first verified success from 1, `NEVER`, or
            0 for an episode already solved at reset. Columns past ``requested`` are padding.
        void: ``(tasks, n) bool``.
        requested: ``(tasks,) int64``, episodes asked for.
    """

    task_ids: tuple[str, ...]
    success_turns: IntArray
    void: BoolArray
    requested: IntArray

    def __post_init__(self) -> None:
        shape = self.success_turns.shape
        if self.void.shape != shape or self.void.dtype != np.bool_:
            raise OptionError(
                f"void must be a bool array of shape {shape}, like success_turns; got "
                f"{self.void.shape} of {self.void.dtype}."
            )
        if self.requested.shape != shape[:1] or len(self.task_ids) != shape[0]:
            raise OptionError(
                f"requested and task_ids need one entry for each of {shape[0]} tasks, got "
                f"{self.requested.shape} and {len(self.task_ids)}."
            )
        if len(set(self.task_ids)) != shape[0]:
            raise OptionError(f"task_ids must be distinct, got {self.task_ids!r:.200}.")
        if np.any(self.requested < 0) or np.any(self.requested > shape[1]):
            raise OptionError(
                f"requested must lie in 0..{shape[1]} (the columns), got {self.requested!r}."
            )
        is_padding = np.arange(shape[1]) >= self.requested[:, None]
        is_success = self.success_turns != NEVER
        if np.any(self.success_turns < NEVER) or np.any(self.void & is_success):
            raise OptionError(
                f"success_turns must be turns from 1 or NEVER ({NEVER}), and NEVER where void: "
                "an episode with a verified success has a verdict."
            )
        if np.any(is_padding & (self.void | is_success)):
            raise OptionError(
                f"Past `requested`, success_turns must be NEVER ({NEVER}) and void False: those "
                "episodes were not asked for."
            )

    @classmethod
    def from_array(
        cls,
        success_turns: ArrayLike,
        *,
        void: ArrayLike | None = None,
        requested: ArrayLike | None = None,
        task_ids: Sequence[str] | None = None,
    ) -> Outcomes:
        """Read a ``(tasks, n)`` integer array of first-success turns.

        Args:
            success_turns: ``(tasks, n)``; turns from 1, `NEVER` for no success.
            void: ``(tasks, n) bool``; none by default.
            requested: ``(tasks,)`` where fewer than ``n`` were requested; ``n`` by default.
            task_ids: Names of the rows; ``"0", "1", ...`` by default.

        Raises:
            OptionError: If shapes, types or values do not fit, or a turn is 0.
        """
        turns = integers("success_turns", success_turns, 2)
        if np.any(turns == 0):
            raise OptionError(
                f"success_turns has a 0, which could mean no success (write NEVER, {NEVER}) or "
                "solved at reset (leave the task out, or use Outcomes.from_episodes)."
            )
        tasks, n = turns.shape
        names = tuple(map(str, range(tasks))) if task_ids is None else tuple(task_ids)
        voids = np.zeros_like(turns, dtype=bool) if void is None else np.asarray(void)
        counts = np.full(tasks, n) if requested is None else integers("requested", requested, 1)
        return cls(names, turns, voids, counts)

    @classmethod
    def from_episodes(
        cls,
        episodes: Mapping[str, Sequence[int | str | None]],
        *,
        requested: int | Mapping[str, int],
    ) -> Outcomes:
        """Read one list of episodes per task; the lists may differ in length.

        Args:
            episodes: Task id to one entry per episode: the turn of the first verified success from
                1, None for no success, ``"void"``, or 0 if the episode was solved at reset.
            requested: Episodes asked for, of every task or by task id. What a list lacks counts as
                failed, and a task named only here keeps its place with nothing but failures.

        Raises:
            OptionError: If a list is longer than requested, or an entry or a name is not known.
        """
        wanted = requested if isinstance(requested, Mapping) else dict.fromkeys(episodes, requested)
        counts = integers("requested", list(wanted.values()), 1)
        for task_id, entries in episodes.items():
            if task_id not in wanted or len(entries) > wanted[task_id]:
                raise OptionError(
                    f"Task {task_id!r} has {len(entries)} episodes, but {wanted.get(task_id)!r} "
                    f"were requested.{did_you_mean(task_id, set(wanted) - set(episodes))}"
                )
        turns = np.full((len(wanted), int(counts.max(initial=0))), NEVER, dtype=np.int64)
        void = np.zeros_like(turns, dtype=bool)
        for row, task_id in enumerate(wanted):
            for column, entry in enumerate(episodes.get(task_id, ())):
                turns[row, column], void[row, column] = _encode(task_id, entry)
        return cls(tuple(wanted), turns, void, counts)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[str, Hashable, int | str | None]],
        *,
        requested: int | Mapping[str, int],
    ) -> Outcomes:
        """Read flat ``(task id, episode key, outcome)`` rows, e.g. from a database.

        An episode that fills several equal rows (one per turn, say) counts once.

        Raises:
            OptionError: If two rows of one episode differ, or as in `from_episodes`.
        """
        episodes: dict[str, dict[Hashable, int | str | None]] = {}
        for task_id, key, outcome in rows:
            seen = episodes.setdefault(task_id, {}).setdefault(key, outcome)
            if seen != outcome:
                raise OptionError(
                    f"Rows of one episode must agree, but episode {key!r} of task {task_id!r} has "
                    f"{seen!r} and {outcome!r}. Give every episode its own key."
                )
        lists = {task_id: list(by_key.values()) for task_id, by_key in episodes.items()}
        return cls.from_episodes(lists, requested=requested)


def _successes_within(outcomes: Outcomes, budgets: IntArray) -> IntArray:
    """``c_T`` of every task and budget, ``(tasks, T)``: one histogram of turns, accumulated."""
    tasks, cells = len(outcomes.task_ids), len(budgets) + 1  # the last cell: later than any budget
    turns = outcomes.success_turns
    cell = np.where(turns > 0, np.searchsorted(budgets, turns), cells - 1)
    flat = (cell + np.arange(tasks)[:, None] * cells).ravel()
    histogram = np.bincount(flat, minlength=tasks * cells).reshape(tasks, cells)
    return histogram.cumsum(axis=1)[:, :-1]


@dataclass(frozen=True, eq=False)
class SuccessCounts:
    """The counts that determine every Pass@(K,T); all arrays are ``(tasks, T) int64``.

    Attributes:
        protocol: ``"truncate"`` or ``"rerun"``.
        task_ids: Row names.
        budgets: ``(T,) int64``, strictly increasing turn limits.
        successes: ``c_T``, episodes verified successful within the budget.
        judged: Episodes with a verdict, missing ones included: the ``n`` of the conditional rate.
        void: Episodes without a verdict.
        solved_at_reset: Episodes that were left out because there was nothing to do.
    """

    protocol: Protocol
    task_ids: tuple[str, ...]
    budgets: IntArray
    successes: IntArray
    judged: IntArray
    void: IntArray
    solved_at_reset: IntArray

    @classmethod
    def truncate(cls, outcomes: Outcomes, budgets: ArrayLike) -> SuccessCounts:
        """Read every budget off one set of rollouts, none above the limit they ran under.

        Raises:
            OptionError: If ``budgets`` is not positive and strictly increasing.
        """
        limits = increasing("budgets", budgets)
        void = outcomes.void.sum(axis=1)
        solved = (outcomes.success_turns == 0).sum(axis=1)
        columns = (outcomes.requested - void - solved, void, solved)
        shape = (len(outcomes.task_ids), len(limits))
        judged, void, solved = (np.broadcast_to(c[:, None], shape) for c in columns)
        successes = _successes_within(outcomes, limits)
        return cls("truncate", outcomes.task_ids, limits, successes, judged, void, solved)

    @classmethod
    def rerun(cls, outcomes: Mapping[int, Outcomes]) -> SuccessCounts:
        """Join separate rollouts for each budget on their task ids.

        Args:
            outcomes: Budget to the outcomes of the rollouts under that hard limit.

        Raises:
            OptionError: If the task ids differ, or a success came later than its budget.
        """
        limits = increasing("budgets", sorted(outcomes))
        columns = []
        for budget in limits.tolist():
            latest = outcomes[budget].success_turns.max(initial=0)
            if latest > budget:
                raise OptionError(
                    f"Rollouts under a budget of {budget} turns cannot succeed at turn {latest}. "
                    "To cut longer rollouts, use SuccessCounts.truncate."
                )
            columns.append(cls.truncate(outcomes[budget], [budget]))
        task_ids = columns[0].task_ids
        aligned = [column.align(task_ids) for column in columns]
        successes, judged, void, solved = (
            np.hstack([getattr(column, name) for column in aligned])
            for name in ("successes", "judged", "void", "solved_at_reset")
        )
        return cls("rerun", task_ids, limits, successes, judged, void, solved)

    def align(self, task_ids: Sequence[str]) -> SuccessCounts:
        """Return the same counts with rows in the order of ``task_ids``.

        Raises:
            OptionError: If the tasks are not the same.
        """
        rows = join_task_ids(task_ids, self.task_ids)
        counts = (self.successes, self.judged, self.void, self.solved_at_reset)
        return SuccessCounts(
            self.protocol, tuple(task_ids), self.budgets, *(count[rows] for count in counts)
        )

    def trials(self, rate: Rate) -> IntArray:
        """Return ``n`` of every task and budget, ``(tasks, T)``; strict adds the void episodes.

        Raises:
            OptionError: If ``rate`` is neither ``"conditional"`` nor ``"strict"``.
        """
        if rate not in get_args(Rate):
            raise OptionError(
                f"rate must be one of {get_args(Rate)}, got {rate!r}."
                f"{did_you_mean(rate, get_args(Rate))}"
            )
        return self.judged + self.void if rate == "strict" else self.judged

    def resolve_ks(self, ks: ArrayLike | None) -> IntArray:
        """Return ``ks`` checked, or every K from 1 to the largest ``n`` of the strict rate."""
        largest = int(self.trials("strict").max(initial=1))
        return np.arange(1, largest + 1) if ks is None else increasing("ks", ks)
