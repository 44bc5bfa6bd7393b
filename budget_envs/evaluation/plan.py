"""`Plan`: what an evaluation will play, worked out and checked before anything is played."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, get_args

import gymnasium as gym

from budget_envs.budget import as_limit
from budget_envs.errors import (
    BudgetEnvsError,
    BudgetError,
    OptionError,
    UnsupportedError,
    did_you_mean,
)
from budget_envs.evaluation.env_maker import EnvMaker, TaskBounds
from budget_envs.evaluation.live_episode import EpisodeRequest, request_episode
from budget_envs.evaluation.outcomes import Protocol
from budget_envs.evaluation.policy import Policy, check_policy
from budget_envs.evaluation.provenance import class_version
from budget_envs.evaluation.trajectory import Run
from budget_envs.streams import derive_key
from budget_envs.text_env import TASK_SPLITS
from budget_envs.version import __version__
from budget_envs.wrappers.base import has_text, layers
from budget_envs.wrappers.budget_mix import BudgetMix
from budget_envs.wrappers.error_states import ErrorStates
from budget_envs.wrappers.interaction_budget import InteractionBudget
from budget_envs.wrappers.show_budget import ShowBudget
from budget_envs.wrappers.step_oracle import StepOracle

__all__ = ["Plan", "make_plan", "resolve_budgets"]

_MAX_SEED: Final = 2**63
_MAX_TURNS: Final = 2**31 - 1
_MAX_TASKS: Final = 10_000
_MAX_EPISODES: Final = 10_000_000  # all of them are listed before the first one is played
_SHARE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)%")


@dataclass(frozen=True, slots=True)
class Plan:
    """An evaluation before it is played.

    Attributes:
        run: Its settings; time and results are still missing.
        make_env: Makes its environments.
        bounds: Gives the upper bounds of a task; ``None`` without an oracle.
    """

    run: Run
    make_env: EnvMaker
    bounds: TaskBounds | None

    @property
    def requests(self) -> tuple[EpisodeRequest, ...]:
        """The episodes, tasks in order; listed anew each time."""
        return tuple(_requests(self.run))

    @property
    def num_episodes(self) -> int:
        """Number of episodes that will be played."""
        return len(self.run.task_ids) * self.run.num_rollouts * len(_limits(self.run))

    @property
    def max_turns(self) -> int:
        """Number of turns that the episodes cannot exceed in all."""
        return len(self.run.task_ids) * self.run.num_rollouts * sum(_limits(self.run))


def make_plan(
    policy: Policy,
    env_id: str,
    budgets: Sequence[int | str],
    *,
    k: int = 8,
    num_rollouts: int | None = None,
    tasks: int | Sequence[str] = 100,
    split: str = "test",
    protocol: Protocol = "rerun",
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Plan:
    """Work out an evaluation; makes one environment, and plays nothing.

    The arguments and errors are those of `budget_envs.evaluation.evaluate.evaluate`.
    """
    check_policy(policy)
    count = _count(k, num_rollouts)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MAX_SEED:
        raise OptionError(f"seed must be an integer in [0, 2**63), got {seed!r}.")
    kwargs = dict(env_kwargs or {})
    make_env = EnvMaker.of(env_id, kwargs)
    limits = resolve_budgets(budgets, make_env.t_max)
    make_env = make_env.with_turns(limits[-1])
    env = make_env()
    try:
        is_shown = _check_env(env)
        _check_policy_env(policy, env)
        _check_protocol(policy, protocol, is_shown, env)
        task_ids, is_split = _task_ids(env.unwrapped, tasks, split)
        run = Run(
            run_id="",
            env_id=env_id,
            env_kwargs=kwargs,
            policy=policy.name,
            policy_settings=dict(policy.settings),
            protocol=protocol,
            budgets=limits,
            k=k,
            num_rollouts=count,
            task_ids=task_ids,
            split=split if is_split else None,
            seed=seed,
            env_spec=_spec_json(env),
            is_budget_shown=is_shown,
            token_counter=_token_counter(env),
            dataset_checksums=dict(getattr(env.unwrapped, "dataset_checksums", {})),
            versions={"policy": class_version(type(policy))},
        )
        _check_size(run)
        bounds = TaskBounds.of(env, kwargs, limits)
    finally:
        env.close()
    return Plan(_identified(run), make_env, bounds)


def resolve_budgets(budgets: Sequence[int | str], t_max: int | None) -> tuple[int, ...]:
    """Return turn budgets as distinct rising integers.

    Args:
        budgets: Positive integers, or shares such as ``"25%"`` of ``t_max``, rounded up.
        t_max: The turns that shares are of.

    Raises:
        BudgetError: If one is neither, or a share lacks its ``t_max``.
    """
    if isinstance(budgets, str | int) or not budgets:
        raise BudgetError(f"budgets must be a list such as [2, 4] or ['50%'], got {budgets!r}.")
    return tuple(sorted({_turns(budget, t_max) for budget in budgets}))


def _turns(budget: int | str, t_max: int | None) -> int:
    if not isinstance(budget, str):
        limit = as_limit(budget, "a budget")
        if limit > _MAX_TURNS:
            raise BudgetError(f"a budget is at most {_MAX_TURNS:,} turns, got {_short(limit)}.")
        return limit
    found = _SHARE.fullmatch(budget)
    share = Fraction(found[1]) if found else Fraction(0)
    if not 0 < share <= 100:
        raise BudgetError(
            "a budget is a positive integer or a share such as '25%' or '12.5%', in (0, 100]; got "
            f"{_short(budget)}."
        )
    if t_max is None:
        raise BudgetError(f"{budget!r} of what? This id has no turn budget: give integers.")
    return math.ceil(share * t_max / 100)


def _short(value: object) -> str:
    """Return a value as it stands, but for the middle of a long one."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text):,} characters)"


def _count(k: int, num_rollouts: int | None) -> int:
    count = 2 * k if num_rollouts is None else num_rollouts
    for name, value in (("k", k), ("num_rollouts", count)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise OptionError(f"{name} must be an integer of at least 1, got {value!r}.")
    if count < k:
        raise OptionError(
            f"Pass@({k},T) needs at least {k} rollouts of each task, got num_rollouts={count}. "
            f"Lower k, or raise num_rollouts (twice k gives steady estimates)."
        )
    return count


def _check_env(env: gym.Env[Any, Any]) -> bool:
    """Refuse environments that cannot be evaluated; return whether they show the budget."""
    if not has_text(env.action_space) or not has_text(env.observation_space):
        raise UnsupportedError(
            f"evaluation needs text observations and actions, got {env.observation_space} and "
            f"{env.action_space}: leave numeric=True out."
        )
    if any(isinstance(layer, BudgetMix) for layer in layers(env)):
        raise UnsupportedError(
            "evaluation sets the budget of every episode: leave budget_mix out of env_kwargs."
        )
    return any(isinstance(layer, ShowBudget) and layer.when != "never" for layer in layers(env))


def _check_policy_env(policy: Policy, env: gym.Env[Any, Any]) -> None:
    """Ask the policy whether it can play here; what it breaks at is an answer too."""
    try:
        policy.check_env(env)
    except BudgetEnvsError:
        raise
    except Exception as error:
        raise OptionError(
            f"policy {policy.name!r} with settings {dict(policy.settings)!r} cannot play {env}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _check_size(run: Run) -> None:
    count = len(run.task_ids) * run.num_rollouts * len(_limits(run))
    if count > _MAX_EPISODES:
        raise OptionError(
            f"{len(run.task_ids):,} tasks with {run.num_rollouts:,} rollouts each under "
            f"{len(_limits(run))} budgets are {count:,} episodes; one run holds at most "
            f"{_MAX_EPISODES:,}. Lower k, num_rollouts, or the number of tasks."
        )


def _check_protocol(
    policy: Policy, protocol: Protocol, is_shown: bool, env: gym.Env[Any, Any]
) -> None:
    known = get_args(Protocol)
    if protocol not in known:
        raise OptionError(
            f"protocol must be one of {', '.join(known)}, got {protocol!r}."
            + did_you_mean(protocol, known)
        )
    if protocol == "truncate" and (is_shown or policy.uses_budget):
        why = (
            "the environment shows its budget" if is_shown else f"{policy.name!r} knows its budget"
        )
        raise UnsupportedError(
            f"protocol='truncate' reads every budget off rollouts under the largest one, but {why} "
            "and would have acted otherwise under a smaller one. Use protocol='rerun'."
        )
    if protocol == "truncate" and any(map(_picks_by_budget, layers(env))):
        raise UnsupportedError(
            "protocol='truncate' reads every budget off rollouts under the largest one, but what "
            "error_states injects as a wrong_action depends on the remaining budget. Use "
            "protocol='rerun', or kinds of errors that change observations only."
        )


def _picks_by_budget(layer: gym.Env[Any, Any]) -> bool:
    """Return whether what a layer changes in an episode depends on what remains of the budget.

    A fault in an observation does not, and neither does what an oracle says about an action.
    """
    if not getattr(type(layer), "reads_budget", False) or isinstance(layer, StepOracle):
        return False
    if not isinstance(layer, ErrorStates):
        return True
    kind = getattr(layer, "_saved_kwargs", {}).get("kind", "wrong_action")
    return "wrong_action" in ([kind] if isinstance(kind, str) else kind)


def _task_ids(env: Any, tasks: int | Sequence[str], split: str) -> tuple[tuple[str, ...], bool]:
    """Return the ids of the tasks, and whether they are from the split."""
    missing = [n for n in ("load_task", "task_at", "name_task", "draw_task") if not hasattr(env, n)]
    if missing:
        raise UnsupportedError(
            f"evaluation needs an environment with named tasks, as budget_envs.TextEnv has them; "
            f"{env} lacks {', '.join(missing)}."
        )
    if isinstance(tasks, str) or not isinstance(tasks, int | Sequence) or isinstance(tasks, bool):
        raise OptionError(f"tasks must be a number or a list of task ids, got {tasks!r}.")
    if not isinstance(tasks, int):
        return _named_tasks(env, tasks), False
    if split not in TASK_SPLITS:
        raise OptionError(
            f"unknown split {split!r}; known are {', '.join(TASK_SPLITS)}."
            + did_you_mean(split, TASK_SPLITS)
        )
    if tasks < 1:
        raise OptionError(f"tasks must be at least 1, got {tasks!r}.")
    if tasks > _MAX_TASKS:
        raise OptionError(f"tasks must be at most {_MAX_TASKS:,}, got {_short(tasks)}.")
    only = _only_task(env)
    if only is not None:
        return (only,), False
    return _split_tasks(env, split, tasks), True


def _split_tasks(env: Any, split: str, count: int) -> tuple[str, ...]:
    """Return the first tasks of a split; with one of them twice, every rate would be wrong."""
    places: dict[str, int] = {}
    for index in range(count):
        name = env.name_task(env.task_at(split, index))
        if name in places:
            raise UnsupportedError(
                f"{type(env).__name__} has task {name!r} at {split} {places[name]} and at {split} "
                f"{index}: task_at must give another task, and name_task another id, for every "
                f"index. Evaluate at most {index} tasks of this split."
            )
        places[name] = index
    return tuple(places)


def _named_tasks(env: Any, tasks: Iterable[str]) -> tuple[str, ...]:
    names = tuple(env.name_task(env.load_task(task)) for task in tasks)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated or not names:
        what = f"{repeated[0]!r} more than once" if repeated else "none"
        raise OptionError(f"tasks must be one or more different task ids, got {what}.")
    return names


def _only_task(env: Any) -> str | None:
    """Return the task of an environment that has no splits but the same task for every seed."""
    try:
        env.task_at("test", 0)
    except OptionError:
        names = {env.name_task(env.draw_task(derive_key(number))) for number in range(4)}
        return names.pop() if len(names) == 1 else None
    return None


def _token_counter(env: gym.Env[Any, Any]) -> str | None:
    for layer in layers(env):
        if isinstance(layer, InteractionBudget) and layer.budget.tokens is not None:
            return layer.token_counter
    return None


def _spec_json(env: gym.Env[Any, Any]) -> str:
    spec = env.spec
    if spec is None:
        return "{}"
    try:
        return spec.to_json()
    except (ValueError, TypeError):  # registered with a callable, or with keywords JSON lacks
        return json.dumps({"id": spec.id, "kwargs": {k: str(v) for k, v in spec.kwargs.items()}})


def _limits(run: Run) -> tuple[int, ...]:
    """Return the hard limits that episodes are played under."""
    return run.budgets[-1:] if run.protocol == "truncate" else run.budgets


def _requests(run: Run) -> Iterable[EpisodeRequest]:
    for task_id in run.task_ids:
        for budget in _limits(run):
            for number in range(run.num_rollouts):
                yield request_episode(run.seed, task_id, budget, number)


def _identified(run: Run) -> Run:
    """Return the run with its id: equal settings give equal ids."""
    names = ("env_id", "env_kwargs", "env_spec", "policy", "policy_settings", "protocol")
    settings = {name: getattr(run, name) for name in names}
    settings |= {"budgets": run.budgets, "n": run.num_rollouts, "tasks": run.task_ids}
    settings |= {"seed": run.seed, "version": __version__, "versions": run.versions}
    try:
        text = json.dumps(settings, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(
            "policy settings and env_kwargs must be JSON-safe (text, finite numbers, lists, "
            f"mappings): {error}."
        ) from error
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return dataclasses.replace(run, run_id=digest)
