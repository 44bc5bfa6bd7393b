"""Supervised fine-tuning: imitating demonstrations, with a loss on the agent's own tokens only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from budget_envs.agents.models.loading import LanguageModel, load_language_model
from budget_envs.agents.models.tiny import TinyConfig, make_tiny
from budget_envs.agents.trainers.batch import TokenBatch, pad
from budget_envs.agents.trainers.budget_mix import BudgetSampler, with_budget_text
from budget_envs.agents.trainers.config import BudgetSettings, TrainSettings, check_range
from budget_envs.agents.trainers.demonstrations import (
    DemonstrationSettings,
    as_messages,
    encode,
    play_demonstrations,
    recorded,
)
from budget_envs.agents.trainers.forward import Part, forward
from budget_envs.agents.trainers.held_out import t_max_of
from budget_envs.agents.trainers.losses import Normalisation, token_weights
from budget_envs.agents.trainers.run import Report, TrainingRun
from budget_envs.agents.trainers.setup import TaskOrder, env_maker, held_out
from budget_envs.agents.trainers.update import Optimizer, accumulate, finish_update, shuffled
from budget_envs.evaluation.env_maker import EnvMaker
from budget_envs.evaluation.trajectory import Episode
from budget_envs.streams import derive_key

__all__ = ["SFTSettings", "train_sft"]

_TOKENIZER_EPISODES: Final = 1000  # hold every word of an environment's text


@dataclass(frozen=True, slots=True, kw_only=True)
class SFTSettings(TrainSettings):
    """Settings of supervised fine-tuning.

    Attributes:
        demonstrations: Where they are from.
        budget: Turn budgets that they are played under.
        batch_size: Episodes of a step.
        normalisation: See `budget_envs.agents.trainers.losses.token_weights`.
        tiny: Shape of the model that ``model = "tiny"`` makes, with random weights and a tokenizer
            of the demonstrations' text.
        max_tokens_per_turn: Most tokens of one action in held-out episodes.
    """

    demonstrations: DemonstrationSettings = field(default_factory=DemonstrationSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    batch_size: int = 32
    normalisation: Normalisation = "token"
    tiny: TinyConfig = field(default_factory=TinyConfig)
    max_tokens_per_turn: int = 32

    def __post_init__(self) -> None:
        TrainSettings.__post_init__(self)
        check_range("batch_size", self.batch_size, 1)


def train_sft(settings: SFTSettings, report: Report | None = None) -> Path:
    """Train a model on demonstrations.

    Args:
        settings: Of the run; one that was stopped goes on.
        report: Called after each step.

    Returns:
        The folder of the trained model.
    """
    with TrainingRun(settings, report) as run:
        make_env = env_maker(settings.env, with_budget_text(settings.env.set, settings.budget.arm))
        episodes = demonstrations(settings, make_env)
        language_model = run.load_model(lambda: initial_model(settings, episodes))
        model = language_model.model
        optimizer = Optimizer(model.parameters(), settings.optimizer, settings.num_steps)
        run.keep(optimizer=optimizer)
        measured = held_out(settings, language_model, make_env, settings.max_tokens_per_turn)

        for step in range(run.first_step, settings.num_steps):
            values = measured.measure() if measured.is_due(step) else {}
            chosen = [episodes[row] for row in batch_rows(len(episodes), settings, step)]
            batch = pad(
                [encode(language_model.chat, episode) for episode in chosen],
                [len(episode.turns) for episode in chosen],
            )
            values |= update_sft(model, optimizer, batch, settings.normalisation)
            run.finish_step(step + 1, values)
        return run.finish(measured.measure() if settings.held_out.every else {})


def update_sft(
    model: Any, optimizer: Optimizer, batch: TokenBatch, normalisation: Normalisation
) -> dict[str, float]:
    """Take one step towards the tokens of a batch; return values by key of the log."""
    weights = token_weights(batch.mask, normalisation)

    def terms_of(part: Part) -> dict[str, torch.Tensor]:
        found = forward(model, part)
        share = part.take(weights)
        is_best = found.logits.detach().argmax(dim=-1) == part.ids[part.mask]
        loss = -(share * found.logprobs).sum()
        return {
            "loss": loss,
            "losses/sft_loss": loss.detach(),
            "losses/token_accuracy": (share * is_best).sum(),
        }

    rows = np.arange(len(batch))
    totals = accumulate(batch, rows, optimizer.settings.tokens_per_pass, terms_of)
    return finish_update(optimizer, totals)


def demonstrations(settings: SFTSettings, make_env: EnvMaker) -> list[Episode]:
    """Return the episodes to imitate."""
    wanted = settings.demonstrations
    if wanted.database is not None:
        return recorded(wanted)
    order = TaskOrder(make_env, settings.env, settings.seed)
    sampler = BudgetSampler(settings.budget, t_max_of(make_env), settings.seed)
    names = [order.at(number) for number in range(wanted.episodes)]
    tasks = [(name, sampler.draw(number, name)) for number, name in enumerate(names)]
    return play_demonstrations(wanted, make_env, tasks, seed=settings.seed)


def initial_model(settings: SFTSettings, episodes: list[Episode]) -> LanguageModel:
    """Return the model that the settings name, or a new tiny one that can read the episodes."""
    if settings.model != "tiny":
        return load_language_model(settings.model)
    few = episodes[:_TOKENIZER_EPISODES]
    texts = [message["content"] for each in few for message in as_messages(each)]
    return make_tiny(texts, settings.tiny, seed=settings.seed)


def batch_rows(count: int, settings: SFTSettings, step: int) -> list[int]:
    """Return the demonstrations of a step: each epoch visits all, in an order of its own."""
    positions = range(step * settings.batch_size, (step + 1) * settings.batch_size)
    orders = {
        epoch: shuffled(count, derive_key(settings.seed, epoch))
        for epoch in {position // count for position in positions}
    }
    return [int(orders[position // count][position % count]) for position in positions]
