"""GRPO: outcomes compared within groups of rollouts that share a task and a budget.

=================  ==========  =====================================================
symbol             shape       meaning
=================  ==========  =====================================================
``returns``        ``(N,)``    outcome of each rollout
``advantages``     ``(M,)``    of each turn: that of its rollout
``batch``          ``(B, L)``  tokens; B = N
=================  ==========  =====================================================

Shao et al., 2024, arXiv:2402.03300. With ``scale = "none"`` and ``normalisation = "constant"`` it
is Dr. GRPO (Liu et al., 2025, arXiv:2503.20783); with ``clip_high`` above ``clip_low`` and
``normalisation = "token"`` it has these two parts of DAPO (Yu et al., 2025, arXiv:2503.14476).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from budget_envs.agents.trainers.advantages import Scale, grpo, process
from budget_envs.agents.trainers.collect import Rollouts
from budget_envs.agents.trainers.config import RLSettings
from budget_envs.agents.trainers.run import Report, TrainingRun
from budget_envs.agents.trainers.setup import Learner
from budget_envs.agents.trainers.update import Optimizer, update_policy

__all__ = ["GRPOSettings", "train_grpo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GRPOSettings(RLSettings):
    """Settings of GRPO.

    Attributes:
        scale: ``"std"`` divides advantages by the deviation of the group, ``"none"`` does not.
    """

    scale: Scale = "std"


def train_grpo(settings: GRPOSettings, report: Report | None = None) -> Path:
    """Train a model on its own rollouts.

    Args:
        settings: Of the run; one that was stopped goes on.
        report: Called after each step.

    Returns:
        The folder of the trained model.
    """
    with TrainingRun(settings, report) as run:
        learner = Learner.begin(settings, run)
        model = learner.language_model.model
        optimizer = Optimizer(model.parameters(), settings.optimizer, learner.num_updates)
        run.keep(optimizer=optimizer)

        for step in range(run.first_step, settings.num_steps):
            values = learner.held_out.measure() if learner.held_out.is_due(step) else {}
            rollouts = learner.collect(step)
            started = time.perf_counter()
            batch = rollouts.batch()
            losses = update_policy(
                model,
                optimizer,
                batch,
                batch.of_turns(turn_advantages(rollouts, settings)),
                settings.loss,
                temperature=settings.rollouts.temperature,
                key=learner.key(step),
                reference=learner.reference,
            )
            losses["time/train"] = time.perf_counter() - started
            run.finish_step(step + 1, {**values, **rollouts.metrics(), **losses})
        return run.finish(learner.held_out.measure() if settings.held_out.every else {})


def turn_advantages(rollouts: Rollouts, settings: GRPOSettings) -> NDArray[np.float64]:
    """Return the advantage ``(M,)`` of each turn."""
    groups, is_void = rollouts.groups, rollouts.is_void
    if settings.oracle_reward:
        return process(rollouts.regrets, rollouts.trajectories, groups, is_void=is_void)
    of_rollouts = grpo(rollouts.returns, groups, is_void=is_void, scale=settings.scale)
    return of_rollouts[rollouts.trajectories]
