"""`FrozenLakeEnv`: the scalar environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from budget_envs.actions import read_choice
from budget_envs.budget import as_limit
from budget_envs.envs.frozen_lake.lake import ACTIONS, CHOICES, MAPS, Lake, Outcome
from budget_envs.envs.frozen_lake.maps import MapSource, Placement, split_of
from budget_envs.envs.frozen_lake.text import (
    grid,
    instructions,
    invalid_observation,
    moved_observation,
)
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.streams import uniform
from budget_envs.text_env import TASK_SPLITS, StepResult, TextEnv, Verdict

__all__ = ["FrozenLakeEnv", "check_success_rate"]

_EXACT: Final = {name: number for number, name in enumerate(ACTIONS)}  # read without a search


class FrozenLakeEnv(TextEnv[Lake]):
    """Cross a frozen lake from start to goal without falling into a hole.

    **Observation Space**
    Text. The first observation holds the rules and the lake, later ones what the last turn did
    (a slip is said, with the tile it led to) and the lake. Symbols, separated by blanks:
    P player, _ ice, O hole, G goal; P covers the tile that the player is on.

    **Action Space**
    Text holding one of Left, Down, Right, Up, read by `budget_envs.actions.read_choice`: a bare
    word, the last ``<answer>...</answer>``, the last fenced block or the last line. Anything
    else costs the turn and does not move the player.

    **Starting State**
    The player on the map's start tile. Maps are random and solvable, unless given.

    **Transitions**
    Equal to Gymnasium's ``FrozenLakeEnv.P``: the move goes as intended with ``success_rate``,
    else to either side with equal probability.

    **Rewards**
    1 on reaching a goal, else 0.

    **Episode End**
    Terminates on a hole or a goal. The environment itself has no turn limit.

    **Budget**
    Ids come with 10 turns, those with larger maps with 20.

    **Oracle**
    `budget_envs.oracles.frozen_lake.FrozenLakeOracle`, exact: the finite-horizon optimum that
    knows the remaining turns.

    **Information**
    Beside what `TextEnv` promises: ``min_turns`` (int, shortest path of the task; -1 if there is
    none), ``executed_action`` (str, what the ice made of the action; ``""`` at reset and after an
    invalid action) and ``slipped`` (bool).

    **Arguments**
    Args:
        size: Side of the random maps, at least 2; a pair ``(low, high)`` mixes sizes.
        frozen_share: Probability that a tile is ice, in (0, 1].
        placement: ``"random"`` start and goal, or in the ``"corners"`` as in Gymnasium.
        map_name: One of Gymnasium's maps, ``"4x4"`` or ``"8x8"``, instead of random ones.
        desc: A map in Gymnasium's letters, e.g. ``["SFF", "FHG"]``, instead of random ones.
        success_rate: Probability that a move goes as intended, in [1/3, 1].
        split: Draw maps of ``"train"``, ``"validation"`` or ``"test"`` only. No map, turned or
            mirrored, is in two.
        feasible_only: Draw only maps whose shortest path fits into ``horizon`` turns.
        infeasible_share: Share in [0, 1] of drawn maps that do not fit into ``horizon``.
        horizon: Turns that count as feasible; `gym.make` fills in the turn budget (with
            ``budget_mix``, the largest that may be drawn).
        allow_unsolvable: Accept a ``desc`` without a path from start to goal.
        render_mode: ``"ansi"`` or ``"human"``.

    **Version History**
    * v0: first version.

    References:
        Brockman et al., 2016, "OpenAI Gym" (the game); Wang et al., 2025, "RAGEN",
        arXiv:2504.20073 (the symbols and random starts).
    """

    action_names: ClassVar[tuple[str, ...]] = ACTIONS

    def __init__(
        self,
        *,
        size: int | Sequence[int] = 4,
        frozen_share: float = 0.8,
        placement: Placement = "random",
        map_name: str | None = None,
        desc: Sequence[str] | None = None,
        success_rate: float = 1.0,
        split: str | None = None,
        feasible_only: bool = False,
        infeasible_share: float | None = None,
        horizon: int | None = None,
        allow_unsolvable: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(action_examples=ACTIONS, render_mode=render_mode)
        _check_flag(feasible_only, "feasible_only")
        _check_flag(allow_unsolvable, "allow_unsolvable")
        self.success_rate = check_success_rate(success_rate)
        self._side = (1 - self.success_rate) / 2
        self._instructions = instructions(self.success_rate)
        self.lake = _given_lake(map_name, desc, allow_unsolvable)
        choosing = split is not None or infeasible_share is not None or feasible_only
        if self.lake is not None and choosing:
            raise OptionError(
                "split, feasible_only and infeasible_share choose among random maps: give no map."
            )
        self.maps = MapSource(
            sizes=_sizes(size),
            frozen_share=_share(frozen_share, "frozen_share", low_open=True),
            placement=_one_of(placement, ("random", "corners"), "placement"),
            split=None if split is None else _one_of(split, TASK_SPLITS, "split"),
            horizon=None if horizon is None else as_limit(horizon, "horizon"),
            infeasible_share=_feasibility(feasible_only, infeasible_share, horizon),
        )
        self.position = 0
        self._side_length = (
            max(self.maps.sizes) if self.lake is None else max(self.lake.nrow, self.lake.ncol)
        )

    # Tasks.

    def draw_task(self, key: int) -> Lake:
        """Return the given map, or the random one that the key picks."""
        return self.maps.draw(key) if self.lake is None else self.lake

    def load_task(self, task_id: str) -> Lake:
        """Return the lake of a task id such as ``"SFF/FHG"``."""
        if not isinstance(task_id, str):
            raise OptionError(f"a task id is a map such as 'SFF/FHG', got {task_id!r}.")
        return Lake.from_rows(task_id.split("/"))

    def task_at(self, split: str, index: int) -> Lake:
        """Return the ``index``-th distinct map of a split."""
        if self.lake is not None:
            raise OptionError("this environment was made with one map: it has no splits.")
        return self.maps.at(split, index)

    def name_task(self, task: Lake) -> str:
        """Return the map as text."""
        return task.id

    # The game.

    def begin(self, task: Lake) -> tuple[str, dict[str, Any]]:
        """Put the player on the start tile."""
        self.position = task.start
        return f"{self._instructions}\n\n{grid(task, task.start)}", _still(task)

    def act(self, action: str) -> StepResult:
        """Move the player, or say why not."""
        chosen = _EXACT.get(action)
        if chosen is None:
            chosen = read_choice(action, CHOICES)
        lake: Lake = self.task  # type: ignore[assignment]  # set by reset
        before = self.position
        if chosen is None:
            info = {**_still(lake), "invalid_action": True}
            return invalid_observation(lake, before, action), 0.0, None, info
        executed = chosen if self.success_rate == 1 else self._slide(chosen)
        outcome = lake.outcomes.get((before, chosen, executed))
        if outcome is None:
            outcome = self._outcome(lake, before, chosen, executed)
        self.position, observation, reward, verdict = outcome
        info = {
            "invalid_action": False,
            "min_turns": lake.min_turns,
            "executed_action": ACTIONS[executed],
            "slipped": executed != chosen,
        }
        return observation, reward, verdict, info

    @staticmethod
    def _outcome(lake: Lake, before: int, chosen: int, executed: int) -> Outcome:
        """Work out what a move does, and remember it with the lake."""
        after = lake.moves[before][executed]
        observation = moved_observation(lake, before, after, chosen, executed)
        tile = lake.tiles[after]
        verdict: Verdict | None = None if tile == "F" else "pass" if tile == "G" else "fail"
        outcome = (after, observation, float(tile == "G"), verdict)
        lake.remember((before, chosen, executed), outcome)
        return outcome

    def _slide(self, chosen: int) -> int:
        """Return the action that the ice makes of the chosen one, in Gymnasium's order."""
        drawn = uniform(self.dynamics_key, self.turn)
        if drawn < self._side:
            return (chosen - 1) % 4
        return chosen if drawn < self._side + self.success_rate else (chosen + 1) % 4

    # State.

    @property
    def state_key(self) -> str:
        """Hash of the map, and the player's tile."""
        lake: Lake = self.task  # type: ignore[assignment]  # set by reset
        return lake.state_keys.get(self.position) or lake.state_key(self.position)

    def save(self) -> Mapping[str, Any]:
        """Return the player's tile."""
        return {"position": self.position}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over the player's tile."""
        self.position = state["position"]

    def describe(self) -> str:
        """Return the grid with the player."""
        return grid(self.task, self.position)  # type: ignore[arg-type]  # set by reset

    # For libraries that know no text.

    @property
    def numeric_space(self) -> Box:
        """``(4 * side * side,) float32``: one plane each for player, ice, hole and goal."""
        return Box(0.0, 1.0, (4 * self._side_length**2,), np.float32)

    def numeric_observation(self) -> NDArray[np.float32]:
        """Return the state as flattened planes; maps smaller than the largest are padded with 0."""
        lake: Lake = self.task  # type: ignore[assignment]  # set by reset
        if max(lake.nrow, lake.ncol) > self._side_length:
            raise OptionError(
                f"task {lake.id} has more than {self._side_length} rows or columns: make the "
                "environment with a larger size= to observe it as numbers."
            )
        planes = np.zeros((4, self._side_length, self._side_length), dtype=np.float32)
        tiles = np.frombuffer(lake.tiles.encode("ascii"), dtype="S1").reshape(-1, lake.ncol)
        for plane, letter in zip(planes[1:], (b"F", b"H", b"G"), strict=True):
            plane[: lake.nrow, : lake.ncol] = tiles == letter
        planes[0, self.position // lake.ncol, self.position % lake.ncol] = 1
        return planes.ravel()

    @property
    def split(self) -> str:
        """The split that the current map belongs to."""
        return split_of(self.task)  # type: ignore[arg-type]  # set by reset


def _still(lake: Lake) -> dict[str, Any]:
    """Return the info of a turn, or of a reset, that moved nobody."""
    return {
        "invalid_action": False,
        "min_turns": lake.min_turns,
        "executed_action": "",
        "slipped": False,
    }


def check_success_rate(value: float) -> float:
    """Return a success rate, or refuse one outside [1/3, 1], where a side could be likelier.

    Raises:
        OptionError: If it is not a number in [1/3, 1].
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 / 3 <= value <= 1:
        raise OptionError(
            f"success_rate must be in [1/3, 1] (1: not slippery, 1/3: Gymnasium's slippery lake), "
            f"got {value!r}."
        )
    return float(value)


def _given_lake(
    map_name: str | None, desc: Sequence[str] | None, allow_unsolvable: bool
) -> Lake | None:
    if map_name is None and desc is None:
        return None
    if map_name is not None and desc is not None:
        raise OptionError("give either map_name or desc, not both.")
    if map_name is not None and map_name not in MAPS:
        raise OptionError(
            f"unknown map_name {map_name!r}; known are {', '.join(MAPS)}."
            + did_you_mean(map_name, MAPS)
        )
    lake = Lake.from_rows(MAPS[map_name] if map_name is not None else desc or ())
    if lake.min_turns < 0 and not allow_unsolvable:
        raise OptionError(
            f"the map {lake.id} has no path from S to G; change it, or pass allow_unsolvable=True."
        )
    return lake


def _sizes(size: int | Sequence[int]) -> tuple[int, ...]:
    pair: Any = (size, size) if _is_integer(size) else size
    if (
        isinstance(pair, str)
        or not isinstance(pair, Sequence)
        or len(pair) != 2
        or not all(map(_is_integer, pair))
        or not 2 <= pair[0] <= pair[1]
    ):
        raise OptionError(
            f"size must be an integer of at least 2, or a pair (low, high) of such, got {size!r}."
        )
    return tuple(range(int(pair[0]), int(pair[1]) + 1))


def _is_integer(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _check_flag(value: object, name: str) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be True or False, got {value!r}.")


def _share(value: float, name: str, *, low_open: bool = False) -> float:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if not ok or (low_open and value == 0):
        raise OptionError(f"{name} must be in {'(' if low_open else '['}0, 1], got {value!r}.")
    return float(value)


def _feasibility(
    feasible_only: bool, infeasible_share: float | None, horizon: int | None
) -> float | None:
    if not feasible_only and infeasible_share is None:
        return None
    if feasible_only and infeasible_share is not None:
        raise OptionError("give either feasible_only or infeasible_share, not both.")
    if horizon is None:
        raise OptionError(
            "feasible_only and infeasible_share compare the shortest path with a turn budget: "
            "pass budget= to gym.make, or horizon= directly."
        )
    return 0.0 if feasible_only else _share(infeasible_share, "infeasible_share")  # type: ignore[arg-type]


def _one_of(value: Any, known: Sequence[str], name: str) -> Any:
    if value not in known:
        raise OptionError(
            f"{name} must be one of {', '.join(known)}, got {value!r}." + did_you_mean(value, known)
        )
    return value
