"""PPO: a value head on the model, and generalised advantages over turns.

=================  ==========  ================================================================
symbol             shape       meaning
=================  ==========  ================================================================
``values``         ``(M,)``    V of the conversation before each action
``bootstrap``      ``(N,)``    V of the final observation of each rollout that was truncated
``advantages``     ``(M,)``    of each turn, by GAE over the turns of its rollout
``targets``        ``(M,)``    what the value head learns: advantage + value
``is_first``       ``(B, L)``  the first token of each action, before which its V is read off
=================  ==========  ================================================================

A step of the process is a turn: all tokens of an action share its advantage. A rollout that a limit
cut short is bootstrapped with the value of what it reached, one that ended by itself is not (Pardo
et al., 2018, arXiv:1712.00378). Where running out of turns is to count as a failure, say that it is
an ending of the task, ``env.set.on_exhausted = "terminate"``, best with the budget shown. Otherwise
the model is trained as if it could go on after T_max, and the value there is that of conversations
longer than any it has learned from.

Schulman et al., 2017, arXiv:1707.06347.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from budget_envs.agents.models.chat import ChatFormat
from budget_envs.agents.models.tokens import TokenTrajectory
from budget_envs.agents.trainers.advantages import gae
from budget_envs.agents.trainers.batch import TokenBatch, in_passes
from budget_envs.agents.trainers.collect import Rollouts
from budget_envs.agents.trainers.config import RLSettings, check_range
from budget_envs.agents.trainers.forward import Forward, Part, forward
from budget_envs.agents.trainers.losses import value_loss
from budget_envs.agents.trainers.run import Report, TrainingRun
from budget_envs.agents.trainers.setup import Learner
from budget_envs.agents.trainers.update import MoreTerms, Optimizer, update_policy
from budget_envs.errors import UnsupportedError

__all__ = ["PPOSettings", "train_ppo"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOSettings(RLSettings):
    """Settings of PPO. With ``oracle_reward`` the reward of a turn is its negative regret.

    Attributes:
        gamma: Discount of a turn.
        gae_lambda: Lambda of the generalised advantages.
        value_coef: Weight of the value loss.
        value_clip: See `budget_envs.agents.trainers.losses.value_loss`.
        normalise_advantages: Shift and scale those of a batch to mean 0 and deviation 1.
    """

    gamma: float = 0.99
    gae_lambda: float = 0.95
    value_coef: float = 0.5
    value_clip: float | None = None
    normalise_advantages: bool = True

    def __post_init__(self) -> None:
        RLSettings.__post_init__(self)
        check_range("gamma", self.gamma, 0, 1)
        check_range("gae_lambda", self.gae_lambda, 0, 1)
        if self.env.set.get("error_states"):
            raise UnsupportedError(
                "PPO has no value of a state in which an injected error stands in place of the "
                "action: leave error_states out, or use GRPO."
            )


def train_ppo(settings: PPOSettings, report: Report | None = None) -> Path:
    """Train a model, and a value head on it, on its own rollouts.

    Args:
        settings: Of the run; one that was stopped goes on.
        report: Called after each step.

    Returns:
        The folder of the trained model.
    """
    with TrainingRun(settings, report) as run:
        learner = Learner.begin(settings, run)
        model = learner.language_model.model
        head = value_head(model.config.hidden_size)
        parameters = [*model.parameters(), *head.parameters()]
        optimizer = Optimizer(parameters, settings.optimizer, learner.num_updates)
        run.keep(optimizer=optimizer, head=head)

        for step in range(run.first_step, settings.num_steps):
            values = learner.held_out.measure() if learner.held_out.is_due(step) else {}
            rollouts = learner.collect(step)
            started = time.perf_counter()
            batch = rollouts.batch()
            estimates, bootstrap = state_values(
                model, head, rollouts, learner.language_model.chat, settings
            )
            advantages, targets = turn_advantages(rollouts, estimates, bootstrap, settings)
            losses = update_policy(
                model,
                optimizer,
                batch,
                batch.of_turns(advantages),
                settings.loss,
                temperature=settings.rollouts.temperature,
                key=learner.key(step),
                reference=learner.reference,
                more=value_terms(head, batch, targets, estimates, settings),
            )
            losses["time/train"] = time.perf_counter() - started
            losses["losses/explained_variance"] = explained(estimates, targets)
            run.finish_step(step + 1, {**values, **rollouts.metrics(), **losses})
        return run.finish(learner.held_out.measure() if settings.held_out.every else {})


def value_head(hidden_size: int) -> torch.nn.Linear:
    """Return a layer that values every state at 0, without a draw from the global random state."""
    with torch.random.fork_rng(devices=[]):  # what the layer starts with is drawn from there
        head = torch.nn.Linear(hidden_size, 1)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    return head


def turn_advantages(
    rollouts: Rollouts, values: FloatArray, bootstrap: FloatArray, settings: PPOSettings
) -> tuple[FloatArray, FloatArray]:
    """Return the advantages and the value targets ``(M,)`` of all turns; 0 where void."""
    owners = rollouts.trajectories
    counts = np.bincount(owners, minlength=len(rollouts.episodes))
    places = np.concatenate([np.arange(count) for count in counts]) if len(owners) else owners
    is_last = places == counts[owners] - 1
    rewards = rollouts.shaped_rewards if settings.oracle_reward else rollouts.rewards
    after = np.where(is_last, bootstrap[owners], np.roll(values, -1))
    is_end = is_last & rollouts.is_terminated[owners]
    columns = (places, owners)

    def table(turns: NDArray[Any]) -> NDArray[Any]:
        filled = np.zeros((int(counts.max(initial=1)), len(counts)), turns.dtype)
        filled[columns] = turns
        return filled

    found = gae(
        table(np.nan_to_num(rewards)),
        table(values),
        table(after),
        table(is_end),
        table(is_last),
        gamma=settings.gamma,
        lam=settings.gae_lambda,
    )[columns]
    valid = ~rollouts.is_void[owners]
    advantages, targets = np.where(valid, found, 0.0), np.where(valid, found + values, 0.0)
    if settings.normalise_advantages and valid.any():
        spread = (advantages - advantages[valid].mean()) / (advantages[valid].std() + 1e-8)
        advantages = np.where(valid, spread, 0.0)
    return advantages, targets


def state_values(
    model: Any, head: torch.nn.Linear, rollouts: Rollouts, chat: ChatFormat, settings: PPOSettings
) -> tuple[FloatArray, FloatArray]:
    """Return V before each action ``(M,)``, and V of what truncated rollouts reached ``(N,)``."""
    batch = rollouts.batch()
    first = first_tokens(batch)
    values = np.zeros(len(rollouts.trajectories))
    for rows, found in _values_at(model, head, batch.ids, first, batch.lengths, settings):
        values[batch.turns[rows, : found[0].shape[1]][found[0]].numpy()] = found[1]
    bootstrap = np.zeros(len(rollouts.episodes))
    cut = [n for n, ended in enumerate(rollouts.is_terminated) if not ended and first[n].any()]
    if cut:
        reached = [_with_final(rollouts, number, chat) for number in cut]
        lengths = np.array([len(ids) for ids in reached])
        ids = torch.zeros(len(cut), int(lengths.max()), dtype=torch.int64)
        ends = torch.zeros(ids.shape, dtype=torch.bool)
        for row, tokens in enumerate(reached):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            ends[row, len(tokens) - 1] = True
        for rows, found in _values_at(model, head, ids, ends, lengths, settings):
            bootstrap[np.array(cut)[rows.numpy()]] = found[1]
    return values, bootstrap


def first_tokens(batch: TokenBatch) -> Tensor:
    """Return ``(B, L) bool``: the first counted token of each turn."""
    before = torch.zeros_like(batch.mask)
    before[:, 1:] = batch.mask[:, :-1] & (batch.turns[:, :-1] == batch.turns[:, 1:])
    return batch.mask & ~before


def value_terms(
    head: torch.nn.Linear,
    batch: TokenBatch,
    targets: FloatArray,
    old: FloatArray,
    settings: PPOSettings,
) -> MoreTerms:
    """Return the value loss as terms of an update, in which all its turns weigh the same."""
    first, goals, olds = first_tokens(batch), batch.of_turns(targets), batch.of_turns(old)

    def of_rows(rows: NDArray[np.int64]) -> Callable[[Part, Forward], dict[str, Tensor]]:
        count = max(1, int(first[rows].sum()))

        def of_part(part: Part, found: Forward) -> dict[str, Tensor]:
            chosen = part.take(first)
            each = value_loss(
                head(found.hidden[chosen].float())[:, 0],
                part.take(goals)[chosen],
                old_values=part.take(olds)[chosen],
                clip=settings.value_clip,
            )
            loss = each.sum() / count
            return {"loss": settings.value_coef * loss, "losses/value_loss": loss.detach()}

        return of_part

    return of_rows


def explained(values: FloatArray, targets: FloatArray) -> float:
    """Return the share of the targets' variance that the values explain; NaN if there is none."""
    variance = np.var(targets) if len(targets) else 0.0
    return float(1 - np.var(targets - values) / variance) if variance > 0 else float("nan")


def _with_final(rollouts: Rollouts, number: int, chat: ChatFormat) -> list[int]:
    """Return a rollout's tokens, the observation it reached, and a token before which V is read."""
    tokens: TokenTrajectory = rollouts.tokens[number]
    is_closed = bool(tokens.ids[-1] == chat.end_id)
    rest = chat.append(rollouts.episodes[number].final_observation, is_closed=is_closed)
    return [*tokens.ids.tolist(), *rest, 0]


def _values_at(
    model: Any,
    head: torch.nn.Linear,
    ids: Tensor,
    mask: Tensor,
    lengths: NDArray[np.int64],
    settings: PPOSettings,
) -> Any:
    """Yield rows, and for each part its mask and the values before the tokens of the mask."""
    with torch.no_grad():
        for rows, length in in_passes(lengths, settings.optimizer.tokens_per_pass):
            part = Part(rows, ids[rows, :length], mask[rows, :length])
            found = head(forward(model, part).hidden.float())[:, 0]
            yield rows, (part.mask, found.double().numpy())
