"""GiGPO: as GRPO, and within a group also the turns that were taken in the same state compared.

=================  ==========  =====================================================
symbol             shape       meaning
=================  ==========  =====================================================
``rewards``        ``(M,)``    reward of each turn
``state_keys``     M           anchor of the state that each turn was taken in
``advantages``     ``(M,)``    of each turn: episode advantage + weight * step advantage
=================  ==========  =====================================================

Feng et al., 2025, arXiv:2505.10978. Anchors are ``info["state_key"]``, which neither the history
nor the text of the budget is part of. Where states hardly repeat, ``rollout/singleton_share`` is
near 1 and nothing but GRPO is left.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from budget_envs.agents.trainers.advantages import GiGPOAdvantages, Scale, gigpo
from budget_envs.agents.trainers.collect import Rollouts
from budget_envs.agents.trainers.config import RLSettings, check_range
from budget_envs.agents.trainers.run import Report, TrainingRun
from budget_envs.agents.trainers.setup import Learner
from budget_envs.agents.trainers.update import Optimizer, update_policy

__all__ = ["GiGPOSettings", "train_gigpo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GiGPOSettings(RLSettings):
    """Settings of GiGPO. With ``oracle_reward`` the reward of a turn is its negative regret.

    Attributes:
        gamma: Discount of the returns that turns are compared by.
        step_weight: Weight of the step advantage.
        scale: ``"std"`` divides advantages by the deviation of their group, ``"none"`` does not.
    """

    gamma: float = 0.95
    step_weight: float = 1.0
    scale: Scale = "none"

    def __post_init__(self) -> None:
        RLSettings.__post_init__(self)
        check_range("gamma", self.gamma, 0, 1)


def train_gigpo(settings: GiGPOSettings, report: Report | None = None) -> Path:
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
            advantages = turn_advantages(rollouts, settings)
            batch = rollouts.batch()
            losses = update_policy(
                model,
                optimizer,
                batch,
                batch.of_turns(advantages.values),
                settings.loss,
                temperature=settings.rollouts.temperature,
                key=learner.key(step),
                reference=learner.reference,
            )
            losses["time/train"] = time.perf_counter() - started
            losses["rollout/singleton_share"] = advantages.singleton_share
            run.finish_step(step + 1, {**values, **rollouts.metrics(), **losses})
        return run.finish(learner.held_out.measure() if settings.held_out.every else {})


def turn_advantages(rollouts: Rollouts, settings: GiGPOSettings) -> GiGPOAdvantages:
    """Return the advantages of all turns."""
    return gigpo(
        rollouts.shaped_rewards if settings.oracle_reward else rollouts.rewards,
        rollouts.trajectories,
        rollouts.state_keys,
        rollouts.groups,
        is_void=rollouts.is_void,
        gamma=settings.gamma,
        step_weight=settings.step_weight,
        scale=settings.scale,
    )
