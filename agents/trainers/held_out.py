"""`HeldOut`: R_multi and R_single on tasks that are never trained on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from budget_envs.agents.models.loading import LanguageModel
from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.config import HeldOutSettings
from budget_envs.evaluation.env_maker import EnvMaker, TaskBounds
from budget_envs.evaluation.live_episode import request_episode
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.trajectory import Episode

__all__ = ["HeldOut"]


class HeldOut:
    """Measures a model in training on the same held-out episodes each time.

    ``rollout/R_multi``: share of episodes solved within T_max. ``rollout/R_single``: mean oracle
    value of one action, the first, in the fixed states that the held-out tasks start in; where the
    environment has an oracle. It is never a reward. ``rollout/upper_bound``: the structural bound
    of R_multi. Void episodes are in none of them.

    Args:
        language_model: What is measured, with the weights it has at the time.
        make_env: Makes environments with T_max turns, and with an oracle if there is one.
        settings: How much is played.
        max_tokens_per_turn: Most tokens of one action.
        seed: Of the episodes' luck.
    """

    def __init__(
        self,
        language_model: LanguageModel,
        make_env: EnvMaker,
        settings: HeldOutSettings,
        *,
        max_tokens_per_turn: int,
        seed: int,
    ) -> None:
        self.settings = settings
        self.make_env = make_env
        self.policy = LanguageModelPolicy(
            language_model,
            temperature=settings.temperature,
            max_tokens_per_turn=max_tokens_per_turn,
        )
        env = make_env()
        try:
            inner = env.unwrapped
            tasks = [inner.task_at(settings.split, i) for i in range(settings.tasks)]  # type: ignore[attr-defined]
            names = [inner.name_task(task) for task in tasks]  # type: ignore[attr-defined]
            self._bounds = TaskBounds.of(env, make_env.kwargs, (t_max_of(make_env),))
        finally:
            env.close()
        self._requests = [
            request_episode(seed, name, t_max_of(make_env), number)
            for name in names
            for number in range(settings.rollouts)
        ]

    def is_due(self, step: int) -> bool:
        """Return whether there is a measurement before a step."""
        return self.settings.every > 0 and step % self.settings.every == 0

    def measure(self) -> dict[str, float]:
        """Play the episodes; return values by key of the log."""
        rounds = rollout(
            self.policy,
            self.make_env,
            self._requests,
            batch_size=len(self._requests),
            bounds=self._bounds,
        )
        valid = [e for finished in rounds for e in finished if e.verdict != "void"]
        found = {
            "rollout/R_multi": [float(episode.verdict == "pass") for episode in valid],
            "rollout/R_single": [v for v in map(_first_value, valid) if v is not None],
            "rollout/upper_bound": [v for v in map(_bound, valid) if v is not None],
        }
        return {name: float(np.mean(values)) for name, values in found.items() if values}


def t_max_of(make_env: EnvMaker) -> int:
    """Return the turn budget T_max of a maker whose environments have one."""
    assert make_env.t_max is not None
    return make_env.t_max


def _first_value(episode: Episode) -> float | None:
    report: Mapping[str, float] = (episode.turns[0].oracle or {}) if episode.turns else {}
    return report.get("value")


def _bound(episode: Episode) -> float | None:
    bounds = episode.upper_bounds or {}
    return bounds.get(episode.budget)
