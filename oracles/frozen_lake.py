"""`FrozenLakeOracle`: the exact value of every action, given the turns that remain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from budget_envs.actions import read_choice
from budget_envs.budget import Ledger, as_limit
from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import ACTIONS, CHOICES, Lake
from budget_envs.errors import EnvStateError, UnsupportedError
from budget_envs.oracles.finite_horizon import Solution
from budget_envs.oracles.lake_tables import NO_MOVE, TABLES, TIE, UNLIMITED, Judgement, LakeTable
from budget_envs.streams import uniform

__all__ = ["FrozenLakeOracle"]

_Source = tuple[gym.Env[Any, Any], FrozenLakeEnv, tuple[Any, ...]]


class FrozenLakeOracle:
    """Judges actions on a frozen lake by Q*_h, the best success probability within h turns.

    The value of an action is the probability of reaching a goal within the turns that remain, this
    one included, if the player takes the action now and plays optimally from then on; the
    equations are in `budget_envs.oracles.finite_horizon`. The remaining turns come from the budget
    layers of the environment. Without a turn budget, the value is the probability of ever reaching
    a goal. Other resources (tokens, cost) are not part of the value.

    Turns cost nothing as such, and nothing is discounted: while both fit into the budget, a short
    and a long safe route are equally good, and both are among the best actions. A text that names
    no action leaves the player in place and uses the turn: its value is V_{h-1} of the tile. After
    the episode every value is 1 on a goal, and 0 in a hole and with no turn left.

    Tables are computed once for each lake and success rate and shared by all oracles of a process,
    up to 256 MiB, least recently used out first. They are not part of an oracle's state: a copy or
    an unpickled oracle is as good as a new one.

    Attributes:
        exact: True: values are those of the true dynamics.
    """

    exact: bool = True

    def __init__(self) -> None:
        self._source: _Source | None = None  # of the environment asked about last
        self._lake: Lake | None = None
        self._table: LakeTable | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def judge(self, env: gym.Env[Any, Any], action: str) -> Judgement:
        """Return everything about one action in one look-up.

        Args:
            env: A `FrozenLakeEnv` in any stack of wrappers, before the step.
            action: Any text; it is read as the environment reads it.

        Returns:
            The value of the action; the best value; and the names of all actions whose value is
            within 1e-12 of it, in the order of `ACTIONS`. The regret, second minus first, is never
            negative.

        Raises:
            EnvStateError: Before the first reset.
            UnsupportedError: If ``env`` is not a frozen lake.
            TypeError: If ``action`` is not a string.
        """
        table, turns, tile = self._locate(env)
        row = table.rows.get((turns, tile)) or table.make_row(turns, tile)
        return row.get(action) or row[_name(action)]

    def value(self, env: gym.Env[Any, Any], action: str) -> float:
        """Return the value in [0, 1] of taking ``action`` now; see :meth:`judge`."""
        return self.judge(env, action)[0]

    def values(self, env: gym.Env[Any, Any]) -> Mapping[str, float]:
        """Return the value in [0, 1] of every action, in the order of `ACTIONS`."""
        return {name: self.judge(env, name)[0] for name in ACTIONS}

    def soonest_action(self, env: gym.Env[Any, Any]) -> str:
        """Return the best action that wins soonest: no best action wastes turns beside it.

        Among the best actions for the turns that remain, it is the one that is best already for the
        fewest turns in which the best value can be reached.

        Args:
            env: As for :meth:`judge`.
        """
        _, best, best_actions = self.judge(env, ACTIONS[0])
        table, turns, tile = self._locate(env)
        tiles = len(table.lake.tiles)
        if turns == UNLIMITED:  # a shorter way than through every tile is never needed
            table = TABLES.get(table.lake, table.success_rate, tiles)
            turns = tiles
        values = table.solution.v[: table.solution.row(turns) + 1, tile]
        enough = np.flatnonzero(values >= best - TIE)
        if not len(enough) or not enough[0]:
            return best_actions[0]
        return table.make_row(int(enough[0]), tile)[ACTIONS[0]][2][0]

    def upper_bound(self, env: gym.Env[Any, Any], turns: int) -> float:
        """Return the best success probability of any policy on the task that ``env`` holds.

        Args:
            env: As for :meth:`judge`. The bound is that of the task's start, wherever the player
                is now.
            turns: Turn budget, at least 1. The budget of ``env`` itself plays no part.
        """
        turns = as_limit(turns, "turns")
        solution, start = self._from_start(env, turns)
        return float(solution.v[solution.row(turns), start])

    def upper_bounds(self, env: gym.Env[Any, Any], max_turns: int) -> list[float]:
        """Return :meth:`upper_bound` for the budgets 1, 2, ..., ``max_turns``."""
        max_turns = as_limit(max_turns, "max_turns")
        solution, start = self._from_start(env, max_turns)
        bounds: list[float] = solution.v[1 : max_turns + 1, start].tolist()
        return bounds + bounds[-1:] * (max_turns - len(bounds))

    def error_action(self, env: gym.Env[Any, Any], action: str, key: int) -> str | None:
        """Return a worse, recoverable action to put in place of the agent's.

        Nothing that can come of the action ends the episode or makes success impossible in the
        turns that then remain. On slippery ice its value is lower than the best one by more than
        1e-9. On ice that is not slippery every recoverable action has the best value, 1; the
        error there is a detour, an action after which the shortest way to a goal is not shorter.

        Args:
            env: As for :meth:`judge`.
            action: What the agent chose; the error is another action.
            key: 64-bit key that picks among several, all equally likely.

        Returns:
            The name of the action, or ``None`` if this state has none.
        """
        chosen = _name(action)
        table, turns, tile = self._locate(env)
        errors = [name for name in table.errors(turns, tile) if name != chosen]
        return errors[int(uniform(key, 0) * len(errors))] if errors else None

    def _locate(self, env: gym.Env[Any, Any]) -> tuple[LakeTable, int, int]:
        """Return the table for the state of ``env``, the remaining turns, and the tile."""
        source = self._source
        if source is None or source[0] is not env:
            source = self._source = self._bind(env)
        _, lake_env, layers = source
        turns = UNLIMITED
        for layer in layers:
            ledger = layer.ledger
            limit = ledger.budget.turns
            if limit is not None:  # Ledger.remaining, spelled out: this is the hot path
                left = max(0, limit - ledger.used["turns"])
                if turns == UNLIMITED or left < turns:
                    turns = left
        table = self._table
        if (
            table is None
            or self._lake is not lake_env.task
            or table.success_rate != lake_env.success_rate
            or not table.fewest <= turns <= table.most
        ):
            self._lake = _task(lake_env)
            table = self._table = TABLES.get(self._lake, lake_env.success_rate, turns)
        return table, turns, lake_env.position

    def _from_start(self, env: gym.Env[Any, Any], turns: int) -> tuple[Solution, int]:
        """Return the values of the task of ``env`` up to ``turns``, and its start tile."""
        _, lake_env, _ = self._bind(env)
        lake = _task(lake_env)
        return TABLES.get(lake, lake_env.success_rate, turns).solution, lake.start

    def _bind(self, env: gym.Env[Any, Any]) -> _Source:
        """Return ``env``, its innermost environment and its budget layers."""
        layers = {}
        layer: Any = env
        while isinstance(layer, gym.Wrapper):
            ledger = getattr(layer, "ledger", None)
            if isinstance(ledger, Ledger):
                layers[id(ledger)] = layer  # the innermost of those that show the same ledger
            layer = layer.env
        if not isinstance(layer, FrozenLakeEnv):
            raise UnsupportedError(
                f"FrozenLakeOracle judges FrozenLakeEnv in any stack of wrappers, got {layer!r}: "
                "give this environment an oracle of its own."
            )
        _task(layer)  # layers may have no ledger before the first reset
        return env, layer, tuple(layers.values())


def _task(lake_env: FrozenLakeEnv) -> Lake:
    if lake_env.task is None:
        raise EnvStateError("the oracle was asked before reset(): call reset() first.")
    return lake_env.task


def _name(action: str) -> str:
    """Return the action that a text names, or `NO_MOVE`."""
    if not isinstance(action, str):
        raise TypeError(
            f"expected the action as a str, got {action!r} of type {type(action).__name__}."
        )
    number = read_choice(action, CHOICES)
    return NO_MOVE if number is None else ACTIONS[number]
