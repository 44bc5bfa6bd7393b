"""What trainers need to begin: environments, tasks in their order, held-out episodes, a learner."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import budget_envs  # noqa: F401  registers the ids
from budget_envs.agents.models.loading import LanguageModel, load_language_model
from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.budget_mix import BudgetSampler, with_budget_text
from budget_envs.agents.trainers.collect import Collector, Rollouts
from budget_envs.agents.trainers.config import EnvSettings, RLSettings, TrainSettings
from budget_envs.agents.trainers.held_out import HeldOut, t_max_of
from budget_envs.agents.trainers.run import TrainingRun
from budget_envs.agents.trainers.update import shuffled
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.evaluation.env_maker import EnvMaker, oracle_entry
from budget_envs.streams import derive_key, text_key
from budget_envs.wrappers.base import has_text

__all__ = ["Learner", "TaskOrder", "env_maker", "held_out"]

_TASKS: Final = text_key("budget_envs.agents.trainers.TaskOrder")
_SHUFFLE: Final = text_key("budget_envs.agents.trainers.minibatches")
_HELD_OUT: Final = text_key("budget_envs.agents.trainers.HeldOut")


def env_maker(
    settings: EnvSettings, keywords: Mapping[str, Any], *, needs_oracle: bool = False
) -> EnvMaker:
    """Return a maker of environments to train on.

    Args:
        settings: What is played.
        keywords: For ``gym.make``, in place of those of the settings.
        needs_oracle: Let an oracle judge every action. It is left out otherwise, as some run tests.

    Raises:
        OptionError: If there is no turn budget, or no oracle where one is needed, or the budget is
            drawn by the environment.
        UnsupportedError: If observations or actions are no text.
    """
    if keywords.get("budget_mix"):
        raise OptionError("training sets the budget of every episode: say budget.arm='budget_mix'.")
    made = EnvMaker.of(settings.id, keywords)
    if made.t_max is None:
        raise OptionError(f"{settings.id} has no turn budget: give one, env.set.budget = 10.")
    env = made()
    try:
        if not has_text(env.action_space) or not has_text(env.observation_space):
            raise UnsupportedError(f"language models play text, and {env} has none.")
        has_oracle = bool(keywords.get("oracle")) or oracle_entry(env) is not None
    finally:
        env.close()
    if needs_oracle and not has_oracle:
        raise OptionError(f"oracle_reward needs an oracle, and {settings.id} has none of its own.")
    return with_oracle(made) if needs_oracle else made


def with_oracle(make_env: EnvMaker) -> EnvMaker:
    """Return a maker of environments in which an oracle judges every action, if they have one."""
    env = make_env()
    try:
        has_oracle = oracle_entry(env) is not None
    finally:
        env.close()
    if not has_oracle:
        return make_env
    return dataclasses.replace(make_env, kwargs={"oracle": True, **make_env.kwargs})


def held_out(
    settings: TrainSettings, language_model: LanguageModel, make_env: EnvMaker, max_tokens: int
) -> HeldOut:
    """Return what is measured on the side.

    Raises:
        OptionError: If the held-out tasks are those that are trained on.
    """
    if settings.held_out.split == settings.env.split:
        raise OptionError(
            f"held_out.split and env.split are both {settings.env.split!r}: a held-out task is one "
            "that is not trained on."
        )
    return HeldOut(
        language_model,
        with_oracle(make_env),
        settings.held_out,
        max_tokens_per_turn=max_tokens,
        seed=derive_key(settings.seed, _HELD_OUT),
    )


class TaskOrder:
    """The tasks of a split in shuffled order, round after round, each round in another.

    Args:
        make_env: Makes an environment that has them.
        settings: Split and number.
        seed: Of the shuffling.
    """

    def __init__(self, make_env: EnvMaker, settings: EnvSettings, seed: int) -> None:
        env = make_env()
        try:
            inner: Any = env.unwrapped
            tasks = [inner.task_at(settings.split, index) for index in range(settings.tasks)]
            self.task_ids: Sequence[str] = [inner.name_task(task) for task in tasks]
        finally:
            env.close()
        self._key = derive_key(seed, _TASKS)
        self._orders: dict[int, list[int]] = {}

    def __len__(self) -> int:
        """Number of tasks."""
        return len(self.task_ids)

    def at(self, position: int) -> str:
        """Return the task at a position of the endless order."""
        round_number, place = divmod(position, len(self))
        if round_number not in self._orders:
            order = shuffled(len(self), derive_key(self._key, round_number)).tolist()
            self._orders = {round_number: order}  # an earlier one is drawn anew if asked for
        return self.task_ids[self._orders[round_number][place]]

    def visit(self, step: int, count: int) -> list[str]:
        """Return the distinct tasks of a step.

        Raises:
            OptionError: If there are fewer tasks than a step needs.
        """
        if count > len(self):
            raise OptionError(
                f"a step has {count} groups, and there are only {len(self)} tasks: lower "
                "rollouts.groups, or raise env.tasks."
            )
        found: dict[str, None] = {}
        position = step * count
        while len(found) < count:  # a step across two rounds may meet a task twice
            found[self.at(position)] = None
            position += 1
        return list(found)


@dataclass(frozen=True, slots=True, eq=False)
class Learner:
    """A model that is going to learn from its own rollouts, and what it plays.

    Attributes:
        settings: Of the trainer.
        language_model: What is trained.
        reference: The model as it was at first, for a KL term; ``None`` without one.
        tasks: In the order of their visits.
        budgets: Gives each group its budget.
        collector: Plays.
        held_out: Measures.
    """

    settings: RLSettings
    language_model: LanguageModel
    reference: Any
    tasks: TaskOrder
    budgets: BudgetSampler
    collector: Collector
    held_out: HeldOut

    @classmethod
    def begin(cls, settings: RLSettings, run: TrainingRun) -> Learner:
        """Load the model, and make everything around it."""
        language_model = run.load_model()
        keywords = with_budget_text(settings.env.set, settings.budget.arm)
        make_env = env_maker(settings.env, keywords, needs_oracle=settings.oracle_reward)
        most = settings.rollouts.max_tokens_per_turn
        policy = LanguageModelPolicy(
            language_model,
            temperature=settings.rollouts.temperature,
            max_tokens_per_turn=most,
            record=True,
        )
        return cls(
            settings,
            language_model,
            load_language_model(settings.model).model if settings.loss.kl_coef else None,
            TaskOrder(make_env, settings.env, settings.seed),
            BudgetSampler(settings.budget, t_max_of(make_env), settings.seed),
            Collector(policy, make_env, settings.rollouts, settings.seed),
            held_out(settings, language_model, make_env, most),
        )

    @property
    def num_updates(self) -> int:
        """Updates of the optimiser in the whole run."""
        loss = self.settings.loss
        return self.settings.num_steps * loss.epochs * loss.minibatches

    def collect(self, step: int) -> Rollouts:
        """Play a step's rollouts."""
        count = self.budgets.num_groups(self.settings.rollouts.groups)
        names = self.tasks.visit(step, count)
        return self.collector.collect(
            step, [(name, self.budgets.draw(step, name)) for name in names]
        )

    def key(self, step: int) -> int:
        """Return the key of a step's minibatches."""
        return derive_key(self.settings.seed, _SHUFFLE, step)
