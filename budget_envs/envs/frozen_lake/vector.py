"""`FrozenLakeVectorEnv`: thousands of copies in NumPy, turn for turn equal to scalar ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from budget_envs.budget import Budget, as_limit
from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import Lake
from budget_envs.envs.frozen_lake.vector_actions import as_batch, read_batch
from budget_envs.envs.frozen_lake.vector_budget import TurnBudgets, turn_limit
from budget_envs.envs.frozen_lake.vector_game import Game, Mask, Turn
from budget_envs.envs.frozen_lake.vector_infos import vector_info
from budget_envs.envs.frozen_lake.vector_lakes import Integers, Objects
from budget_envs.envs.frozen_lake.vector_seeds import EpisodeKeys
from budget_envs.errors import EnvStateError, OptionError
from budget_envs.streams import derive_keys
from budget_envs.text_env import DYNAMICS

__all__ = ["FrozenLakeVectorEnv"]

Step = tuple[tuple[str, ...], NDArray[np.float64], Mask, Mask, dict[str, Any]]

_BUILD: Final = "budget_envs.registration:build"  # by name: environments import nothing above them
_NOT_NATIVE: Final = ("budget_mix", "error_states", "oracle", "oracle_reward", "numeric")


class FrozenLakeVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], NDArray[Any]]):
    """Many copies of `FrozenLakeEnv` under turn budgets, stepped together in NumPy.

    Equal, turn for turn, to scalar environments of the same keywords in a
    ``gymnasium.vector.SyncVectorEnv``: seeds, options (with ``reset_mask``), observations, rewards,
    endings, infos and their masks, in all three autoreset modes. Observations are a tuple of N
    strings, actions any sequence of N strings. Everything returned is fresh.

    Two misuses are errors before any copy has moved: a batch that is not N actions, and, with
    ``AutoresetMode.DISABLED``, a step while the episode of a copy is over.

    Args:
        num_envs: Number of copies N, at least 1.
        autoreset_mode: When an episode that ended is followed by the next.
        budget: Turns, or ``{"turns": ...}``; ``None`` for no limit.
        show_budget: As for `budget_envs.registration.build`.
        **keywords: Those of `FrozenLakeEnv`, and the others of `budget_envs.registration.build`
            that :meth:`supports` accepts.

    Raises:
        OptionError: If a keyword is unknown or not valid.
    """

    def __init__(
        self,
        *,
        num_envs: int,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        budget: Budget | Mapping[str, Any] | int | None = None,
        show_budget: bool | str | list[str | int] | Mapping[str, Any] = False,
        **keywords: Any,
    ) -> None:
        self.num_envs = as_limit(num_envs, "num_envs")
        # A scalar twin checks the keywords, and later the reset options, and holds the settings.
        build: Any = load_env_creator(_BUILD)
        self._scalar: gym.Env[Any, Any] = build(
            family="frozen_lake", budget=budget, show_budget=show_budget, **keywords
        )
        self._env = cast(FrozenLakeEnv, self._scalar.unwrapped)
        self.metadata = {**self._env.metadata, "autoreset_mode": autoreset_mode}
        self.render_mode = self._env.render_mode
        self.single_observation_space = self._scalar.observation_space
        self.single_action_space = self._scalar.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        limits = Budget.of(budget)
        self._mode = autoreset_mode
        self._has_budget = bool(limits.limits())
        self._shows_budget = bool(show_budget)
        self._terminates = keywords.get("on_exhausted") == "terminate"
        self._budgets = TurnBudgets(self._scalar, limits, self.num_envs)
        self._game = Game(self._env, self.num_envs)
        self._keys = EpisodeKeys(self.num_envs)
        self._observations: Objects = np.empty(self.num_envs, dtype=object)
        self._was_reset = np.zeros(self.num_envs, dtype=np.bool_)
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._everyone = np.ones(self.num_envs, dtype=np.bool_)

    @staticmethod
    def supports(keywords: Mapping[str, Any]) -> bool:
        """Return whether this class has every feature that keywords of ``gym.make`` ask for."""
        if any(keywords.get(name) for name in _NOT_NATIVE):
            return False
        if keywords.get("render_mode") not in (None, "ansi"):
            return False
        return Budget.of(keywords.get("budget")).limits().keys() <= {"turns"}

    # The Gymnasium interface.

    def reset(  # as in SyncVectorEnv, there may be a seed for each copy
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Start an episode in every copy, or in those that ``options["reset_mask"]`` picks.

        Args:
            seed: ``None`` continues the generator of each copy; an integer gives copy ``i`` the
                seed ``seed + i``; a sequence gives each its own, or ``None``.
            options: Those of `TextEnv.reset`; ``budget``, if there is one; and ``reset_mask``,
                ``(N,) bool`` with one true at least.

        Returns:
            N observations, of copies that were not reset their last ones, and the infos of those
            that were.

        Raises:
            OptionError: If an option or the number of seeds is not valid; nothing was reset then.
        """
        options = dict(options or {})
        mask = _checked_mask(options.pop("reset_mask", self._everyone), self.num_envs)
        named = self._named(options) if options else {}
        seeds = self._keys.make(seed)
        copies = np.flatnonzero(mask)
        self._keys.adopt(seeds, copies)
        turn = Turn.nothing(self.num_envs)
        turn.begin(copies, self._begin(copies, **named))
        self._was_reset |= mask
        self._ended &= ~mask
        self._observations[copies] = self._observed(turn)[copies]
        return tuple(self._observations.tolist()), self._infos(turn, mask)

    def step(self, actions: Sequence[str]) -> Step:
        """Take one turn in every copy.

        Args:
            actions: N strings; those of copies that autoreset in this call are not looked at.

        Returns:
            N observations, rewards ``(N,) float64``, terminated and truncated ``(N,) bool``, infos.

        Raises:
            EnvStateError: Before the first reset, and with ``AutoresetMode.DISABLED`` while the
                episode of a copy is over.
            OptionError: If there are not N actions.
            TypeError: If an action is not a string.
        """
        due = self._due_resets()
        batch = as_batch(actions, self.num_envs)
        turn = self._game.play(batch, read_batch(batch, due.tolist()), due)
        if len(due):
            turn.begin(due, self._begin(due))
        turn.exhausted = exhausted = self._budgets.used_up(self._game.turns) & ~turn.over
        terminated = turn.ended if self._terminates else turn.over
        truncated = np.zeros_like(exhausted) if self._terminates else exhausted
        rewards = turn.success.astype(np.float64)
        self._observations = self._observed(turn)
        self._ended = turn.ended
        infos: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            turn, infos = self._restart(turn)
        infos.update(self._infos(turn, self._everyone))
        return tuple(self._observations.tolist()), rewards, terminated, truncated, infos

    def render(self) -> tuple[str, ...] | None:
        """Return the grid of every copy as text ("ansi").

        Raises:
            EnvStateError: Before the first reset.
        """
        if self.render_mode is None:
            self._env.render()  # which warns that there is no render mode
            return None
        if not self._was_reset.all():
            raise EnvStateError("render() was called before reset().")
        return self._game.render()

    @property  # type: ignore[misc]  # not to be set
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generator of each copy."""
        return self._keys.generators

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each copy's generator."""
        return self._keys.seeds

    # Episodes.

    def _named(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return what reset options ask for; the scalar twin refuses what is not valid."""
        self._scalar.reset(seed=0, options=options)
        named: dict[str, Any] = {}
        if "task" in options or "split" in options:
            named["lake"] = self._env.task
        if not options.get("common_random_numbers", False):
            named["rollout"] = int(options.get("rollout", 0))
        if "budget" in options:
            named["limit"] = turn_limit(self._scalar.get_wrapper_attr("ledger").budget)
        return named

    def _begin(
        self,
        copies: Integers,
        *,
        lake: Lake | None = None,
        rollout: int = 0,
        limit: int | None = None,
    ) -> Objects:
        """Start an episode in some copies; return the first texts."""
        keys, dynamics = self._keys.draw(copies)
        if rollout:
            dynamics = derive_keys(keys, DYNAMICS, rollout)
        texts = self._game.begin(copies, keys, dynamics, lake)
        self._budgets.begin(copies, limit)
        return texts

    def _due_resets(self) -> Integers:
        """Return the copies that this call resets instead of stepping them."""
        if not self._was_reset.all():
            raise EnvStateError("step() was called before reset(): call reset() to start episodes.")
        due = np.flatnonzero(self._ended)
        if len(due) and self._mode is AutoresetMode.DISABLED:
            raise EnvStateError(
                f"the episodes of copies {due.tolist()} are over, and this environment does not "
                "autoreset: call reset(options={'reset_mask': terminated | truncated}) first."
            )
        return due

    def _restart(self, turn: Turn) -> tuple[Turn, dict[str, Any]]:
        """Start the next episode where one ended; return the turn then, and what was last."""
        ended, self._ended = self._ended, np.zeros_like(self._ended)
        infos = vector_info({"final_obs": self._observations}, ended)
        infos |= {"final_info": self._infos(turn, ended), "_final_info": ended.copy()}
        turn = turn.copy()
        copies = np.flatnonzero(ended)
        turn.begin(copies, self._begin(copies))
        self._observations = self._observed(turn)
        return turn, infos

    # What is said.

    def _observed(self, turn: Turn) -> Objects:
        if not self._shows_budget:
            return turn.texts
        return turn.texts + self._budgets.lines(self._game.turns)  # type: ignore[no-any-return]

    def _infos(self, turn: Turn, mask: Mask) -> dict[str, Any]:
        """Return the infos of the masked copies, among which are all that ended."""
        infos = self._game.info(turn, mask)
        if self._has_budget:
            infos["budget"] = self._budgets.info(self._game.turns, turn.exhausted, mask)
            infos["_budget"] = mask.copy()
        if self._has_budget and not self._terminates:
            reasons = np.full(np.count_nonzero(turn.exhausted), "budget", dtype=object)
            infos |= vector_info({"truncation_reason": reasons}, turn.exhausted)
        if self._shows_budget:
            infos |= vector_info({"observation": turn.texts}, mask)
        return infos


def _checked_mask(mask: Any, num_envs: int) -> Mask:
    fits = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (num_envs,)
    if not fits or not mask.any():
        raise OptionError(
            f"the option 'reset_mask' is a NumPy array of {num_envs} booleans with at least one "
            f"True, got {mask!r}."
        )
    return mask  # type: ignore[no-any-return]
