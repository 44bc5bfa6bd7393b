"""`InteractionBudget`: ends an episode when its budget is used up."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, get_args

import gymnasium as gym
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from budget_envs.budget import Budget, Ledger, OnExhausted, Resource
from budget_envs.errors import EnvStateError, OptionError, did_you_mean
from budget_envs.wrappers.base import BudgetEnvsWrapper, copied, layers
from budget_envs.wrappers.episode_statistics import record_episode
from budget_envs.wrappers.limits import number_of_calls, smallest_limits, split_options
from budget_envs.wrappers.token_counter import token_counter as counter_of

__all__ = ["InteractionBudget"]

Step = tuple[Any, Any, bool, bool, dict[str, Any]]

_MEASURED: Final = ("seconds", "cost")  # reported as floats even while they are whole


class InteractionBudget(BudgetEnvsWrapper):
    """Gives an episode a budget, of any Gymnasium environment.

    A budget of T turns allows exactly T steps; an environment that ends on step T has ended by
    itself. A step costs one turn, and as many calls as the environment reports in
    ``info["calls"]`` (one, if it reports none). Tokens, seconds and cost are charged by whoever
    runs the policy, by :meth:`charge`, before the step that they belong to; where nobody charges
    tokens, the named counter counts those of a text action. The environment's own work, such as
    a verifier's, costs nothing.

    A budget that is used up exactly ends the episode after the step that did it. If more was
    used than allowed before a step (its tokens are too many, say), that step's action is not
    carried out: the episode ends with reward 0, ``info["action_executed"]`` is False, and the
    observation says so where it is text, and is the last one again where it is not.

    The limits that hold are the smallest of this budget's and of those inside: Gymnasium's
    ``TimeLimit``, or another budget. ``reset(options={"budget": {"turns": 5}})``, or ``5``,
    replaces this budget's limits for that episode.

    ``info["budget"]`` holds, on reset and on every step, ``{"limit", "used", "remaining"}`` of
    every limited resource (``tokens`` also ``"counter"``: ``"charged"`` or the counter's name),
    ``"binding"``, the resource with the smallest share left, and ``"exhausted"``, the resource
    that ended the episode, else ``None``. On exhaustion ``info["truncation_reason"]`` is
    ``"budget"``, and a text environment's ``is_success`` is False and its ``verdict`` "fail".

    Args:
        env: The environment to wrap.
        budget: Turns, or a mapping such as ``{"turns": 8, "tokens": 2000}``; ``None`` limits
            nothing and only keeps count.
        on_exhausted: ``"truncate"``: running out is outside the task, and a value estimate
            continues past it. ``"terminate"``: the remaining budget is part of the observation, so
            running out is an ending of the task (Pardo et al., 2018, arXiv:1712.00378).
        token_counter: ``"characters"``, ``"words"``, ``"bytes"``, or the path of a
            ``tokenizer.json``.

    Attributes:
        budget: The limits that every episode starts from.
        ledger: What the current episode used, and the limits that hold for it.

    Raises:
        BudgetError: If a limit is not a positive integer or names an unknown resource.
        OptionError: If another keyword is not valid.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        budget: Budget | Mapping[str, Any] | int | None,
        on_exhausted: OnExhausted = "truncate",
        token_counter: str = "characters",
    ) -> None:
        limits = Budget.of(budget)
        gym.utils.RecordConstructorArgs.__init__(
            self, budget=limits.limits(), on_exhausted=on_exhausted, token_counter=token_counter
        )
        super().__init__(env)
        if on_exhausted not in get_args(OnExhausted):
            raise OptionError(
                f"on_exhausted must be 'truncate' or 'terminate', got {on_exhausted!r}."
                + did_you_mean(on_exhausted, get_args(OnExhausted))
            )
        for layer in layers(env):
            if getattr(layer, "reads_budget", False):
                name = type(layer).__name__
                raise OptionError(
                    f"{name} acts on the remaining budget and would not see this one: put the "
                    f"budget inside {name}."
                )
        self.budget = limits
        self.on_exhausted = on_exhausted
        self.token_counter = token_counter
        self._count = counter_of(token_counter)
        self._inner_budget = self._find_inner_budget()
        self._budget_layer = self
        self._time_limits = [layer for layer in layers(env) if isinstance(layer, TimeLimit)]
        self._recorders = [x for x in layers(env) if isinstance(x, RecordEpisodeStatistics)]
        self._offers_calls = hasattr(env.unwrapped, "calls_allowed")
        self._last: tuple[Any, dict[str, Any]] = (None, {})
        self._token_source = token_counter
        self._is_charged = self._has_tasks = self._running = False
        self._open(limits)
        self._close()
        self._was_reset: bool = False

    # The Gymnasium interface.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode with a fresh budget; the option ``budget`` is for this wrapper.

        Raises:
            BudgetError: If the option ``budget`` is not valid; nothing was reset then.
        """
        override, options = split_options(options)
        if override:
            self.budget.replace(override)  # refuses a bad limit while nothing has changed yet
        observation, info = self.env.reset(seed=seed, options=options)
        budget = self._draw(seed, info)
        self._open(self._cut(budget.replace(override) if override else budget))
        self._last = (observation, info)
        self._has_tasks = "task_id" in info
        return observation, {**info, "budget": self._report(None)}

    def step(self, action: Any) -> Step:
        """Take a step and pay for it.

        Raises:
            EnvStateError: Before the first reset, and after the episode ended.
        """
        limit = self._only_limit
        if not limit:
            return self._checked_step(action)
        # The common case, only turns are limited, is kept short.
        used = self.ledger.used
        if isinstance(action, str):
            used["tokens"] += self._count(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        used["turns"] = turns = used["turns"] + 1
        used["calls"] += number_of_calls(info["calls"]) if "calls" in info else 1
        if terminated or truncated or turns >= limit:
            return self._conclude(observation, reward, terminated, truncated, info)
        self._last = (observation, info)
        info = info.copy()
        info["budget"] = {
            "turns": {"limit": limit, "used": turns, "remaining": limit - turns},
            "binding": "turns",
            "exhausted": None,
        }
        return observation, reward, terminated, truncated, info

    def _checked_step(self, action: Any) -> Step:
        """Take a step before which a budget may be used up, or an episode over."""
        if not self._running:
            raise EnvStateError(self._why_not_running())
        ledger = self.ledger
        self._count_own(action)
        self._is_charged = False
        if ledger.remaining("turns") == 0:  # charged; the step would be one too many
            return self._refuse("turns")
        if ledger.overrun is not None:
            return self._refuse(ledger.overrun)
        if self._offers_calls:
            self.env.unwrapped.calls_allowed = ledger.remaining("calls")  # type: ignore[attr-defined]
        observation, reward, terminated, truncated, info = self.env.step(action)
        ledger.used["turns"] += 1
        ledger.used["calls"] += number_of_calls(info["calls"]) if "calls" in info else 1
        return self._conclude(observation, reward, terminated, truncated, info)

    def _conclude(
        self, observation: Any, reward: Any, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> Step:
        """Say how a step that was carried out leaves the budget, and the episode."""
        self._last = (observation, info)
        exhausted = self._exhausted_by(terminated, truncated, info)
        if exhausted is not None:
            return self._exhaust(observation, reward, info, exhausted)
        if terminated or truncated:
            self._close()
        return observation, reward, terminated, truncated, {**info, "budget": self._report(None)}

    # Charges.

    def charge(self, **amounts: float) -> None:
        """Charge what a step cannot see, before the step that it belongs to.

        Charging tokens replaces the counter for the next step.

        Args:
            **amounts: Resource to amount, e.g. ``tokens=250, cost=3``; see `Ledger.charge`.

        Raises:
            BudgetError: If a resource is unknown or an amount not valid. Nothing is charged.
            EnvStateError: If no episode is running.
        """
        if not self._running:
            raise EnvStateError(self._why_not_running("charge()"))
        self.ledger.charge(**amounts)
        self._only_limit = 0  # from now on, look before each step
        if "tokens" in amounts:
            self._is_charged = True
            self._token_source = "charged"
        if self._inner_budget is not None:
            self._inner_budget.charge(**amounts)

    def count_action(self, action: Any) -> None:
        """Count the tokens of an action that another will replace before it gets here.

        Without effect if somebody charged the tokens of this step.
        """
        self._count_own(action)
        self._is_charged = True
        self._only_limit = 0
        if self._inner_budget is not None:
            self._inner_budget.count_action(action)

    def _count_own(self, action: Any) -> None:
        if not self._is_charged and isinstance(action, str):
            self.ledger.used["tokens"] += self._count(action)
            self._token_source = self.token_counter

    # Limits.

    def _draw(self, seed: int | None, info: Mapping[str, Any]) -> Budget:
        """Return the budget of the episode that begins; a subclass may draw it."""
        return self.budget

    def _cut(self, budget: Budget) -> Budget:
        """Return a budget, cut to the limits inside."""
        if self._inner_budget is None and not self._time_limits:
            return budget
        inside = [Budget(turns=limit._max_episode_steps) for limit in self._time_limits]
        if self._inner_budget is not None:
            inside.append(self._inner_budget.ledger.budget)
        return smallest_limits([budget, *inside])

    def _open(self, budget: Budget) -> None:
        """Start a ledger for an episode with these limits."""
        self.ledger = Ledger(budget)
        self._token_source = self.token_counter
        self._is_charged = False
        limits = budget.limits()
        only_turns = limits.keys() == {"turns"}
        self._only_limit = limits["turns"] if only_turns else 0  # 0: a step has more to look at
        if only_turns and self._offers_calls:  # said once, and not before each step
            self.env.unwrapped.calls_allowed = None  # type: ignore[attr-defined]
        self._running = self._was_reset = True

    def _close(self) -> None:
        self._running = False
        self._only_limit = 0

    def _find_inner_budget(self) -> InteractionBudget | None:
        inner = self._budget_layer
        if inner is not None and inner.token_counter != self.token_counter:
            raise OptionError(
                f"the budget inside counts tokens by {inner.token_counter!r} and this one by "
                f"{self.token_counter!r}: give both the same token_counter."
            )
        return inner

    # Endings.

    def _exhausted_by(
        self, terminated: bool, truncated: bool, info: Mapping[str, Any]
    ) -> Resource | None:
        """Return the resource whose end ends the episode; ``None`` if the environment did."""
        if terminated:
            # An inner budget may call its exhaustion a termination.
            return None if self._inner_budget is None else info["budget"]["exhausted"]
        if truncated and info.get("truncation_reason", "budget") != "budget":
            return None
        return self.ledger.exhausted

    def _refuse(self, resource: Resource) -> Step:
        """End the episode in place of a step that the budget does not cover."""
        observation, info = copy.deepcopy(self._last[0]), copied(self._last[1])
        info["action_executed"] = False
        if "executed_action" in info:
            info["executed_action"] = ""
        if "invalid_action" in info:
            info["invalid_action"] = False
        if isinstance(observation, str):
            amounts = self._report(resource)[resource]
            observation = (
                f"The budget of {amounts['limit']} {resource} was exceeded ({amounts['used']} "
                "used): the action was not carried out, and the episode is over."
            )
        return self._exhaust(observation, 0.0, info, resource)

    def _exhaust(
        self, observation: Any, reward: Any, info: Mapping[str, Any], resource: Resource
    ) -> Step:
        self._close()
        truncated = self.on_exhausted == "truncate"
        ended = {**info, "budget": self._report(resource)}
        if truncated:
            ended["truncation_reason"] = "budget"
        else:
            ended.pop("truncation_reason", None)
        if self._has_tasks:  # a text environment says on the last step how it went
            ended["is_success"] = False
            ended["verdict"] = "fail"
        for recorder in self._recorders:
            record_episode(recorder, ended)
        return observation, reward, not truncated, truncated, ended

    def _report(self, exhausted: Resource | None) -> dict[str, Any]:
        report = self.ledger.report()
        if "tokens" in report:
            report["tokens"]["counter"] = self._token_source
        for name in _MEASURED:
            if name in report:  # one type throughout, as vector environments need it
                report[name]["used"] = float(report[name]["used"])
                report[name]["remaining"] = float(report[name]["remaining"])
        return {**report, "binding": self.ledger.binding, "exhausted": exhausted}

    def _why_not_running(self, call: str = "step()") -> str:
        if not self._was_reset:
            return f"{call} was called before reset(): call reset() to start an episode."
        return f"{call} was called after the episode ended: call reset() to start the next one."

    # State.

    def save(self) -> Mapping[str, Any]:
        """Return the ledger, and what a refused step would repeat."""
        observation, info = self._last
        return {
            "budget": self.ledger.budget,
            "used": dict(self.ledger.used),
            "token_source": self._token_source,
            "is_charged": self._is_charged,
            "only_limit": self._only_limit,
            "has_tasks": self._has_tasks,
            "running": self._running,
            "last": (copy.deepcopy(observation), copied(info)),
            "elapsed": tuple(limit._elapsed_steps for limit in self._time_limits),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over the ledger."""
        self._open(state["budget"])
        self.ledger.used.update(state["used"])
        self._token_source = state["token_source"]
        self._is_charged = state["is_charged"]
        self._only_limit = state["only_limit"]
        self._has_tasks = state["has_tasks"]
        self._running = state["running"]
        self._last = state["last"]
        for limit, elapsed in zip(self._time_limits, state["elapsed"], strict=True):
            limit._elapsed_steps = elapsed
