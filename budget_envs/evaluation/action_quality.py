"""Step-level action quality: what two policies do in the same states, valued by an oracle.

In each state a policy samples G actions, and the quality of its action set is the mean of their
values. Two policies are compared by the share of states in which one has the better set. Many
sets are exactly equal where few actions have few values, so ties are reported by themselves, and
once more split evenly: without the split, chance is below one half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from budget_envs.errors import OptionError
from budget_envs.evaluation.bootstrap import Interval, mean_interval
from budget_envs.evaluation.policy import Action, Conversation, Failure, Policy
from budget_envs.evaluation.rollout import ask
from budget_envs.evaluation.states import MakeEnv, State
from budget_envs.oracle import Oracle
from budget_envs.snapshot import restore_inner
from budget_envs.streams import derive_key

__all__ = ["QualityBucket", "QualityComparison", "action_values", "compare", "compare_by_position"]

FloatArray = NDArray[np.float64]

_TIE: Final = 1e-9  # means of equal values, summed in another order


def action_values(
    policy: Policy,
    states: Sequence[State],
    make_env: MakeEnv,
    oracle: Oracle,
    *,
    num_samples: int = 16,
) -> FloatArray:
    """Sample actions in given states, and value each.

    Args:
        policy: Asked for all samples of a state in one batch, each with its own key.
        states: From `budget_envs.evaluation.states.collect_states`.
        make_env: Makes an environment of the same kind.
        oracle: Judges the actions.
        num_samples: Actions G of each state.

    Returns:
        ``(states, G) float64`` in [0, 1]; 0 where the policy failed to act, NaN where the failure
        was not its own (a provider's, say).

    Raises:
        OptionError: If ``num_samples`` is not a positive integer.
    """
    if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples < 1:
        raise OptionError(f"num_samples must be an integer of at least 1, got {num_samples!r}.")
    values = np.full((len(states), num_samples), np.nan)
    env = make_env()
    try:
        env.reset(seed=0)  # a snapshot is restored into an environment that has been reset
        for row, state in enumerate(states):
            restore_inner(env, state.snapshot)
            answers = _sample(policy, state, env, num_samples)
            values[row] = [_value(oracle, env, answer) for answer in answers]
    finally:
        env.close()
    return values


@dataclass(frozen=True, slots=True)
class QualityComparison:
    """One policy's action sets against another's, over states; intervals draw states.

    Attributes:
        better: Share of states in which the first has the better set, ties on neither side.
        worse: Share in which the second has.
        tied: Share in which both are equal.
        better_with_ties_split: ``better`` and half of ``tied``; chance is one half.
        difference: Mean of the first's quality minus the second's.
        num_dropped: States left out because a side has no value there.
    """

    better: Interval
    worse: Interval
    tied: Interval
    better_with_ties_split: Interval
    difference: Interval
    num_dropped: int


def compare(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> QualityComparison:
    """Compare two policies in the same states.

    Args:
        values: ``(states, G)``, the first policy's, from :func:`action_values`.
        baseline: ``(states, G)``, the second's, in the same states.
        seed: Of the bootstrap.
        level: Nominal coverage of the intervals in (0, 1).
        num_resamples: Resamples of the states.

    Raises:
        OptionError: If the two do not have the same states.
    """
    difference = _difference(values, baseline)
    kept = difference[~np.isnan(difference)]

    def average(numbers: NDArray[Any]) -> Interval:
        by_state = {f"{index:09d}": [float(number)] for index, number in enumerate(numbers)}
        return mean_interval(by_state, seed=seed, level=level, num_resamples=num_resamples)

    better, worse = kept > _TIE, kept < -_TIE
    return QualityComparison(
        better=average(better),
        worse=average(worse),
        tied=average(~(better | worse)),
        better_with_ties_split=average(better + 0.5 * ~(better | worse)),
        difference=average(kept),
        num_dropped=len(difference) - len(kept),
    )


@dataclass(frozen=True, slots=True)
class QualityBucket:
    """A comparison over one part of the episodes.

    Attributes:
        low: Smallest position of its states, in [0, 1); see `State.position`.
        high: The position that they stay below.
        comparison: The comparison.
    """

    low: float
    high: float
    comparison: QualityComparison


def compare_by_position(
    states: Sequence[State],
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    num_buckets: int = 5,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 1000,
) -> list[QualityBucket]:
    """Compare two policies early and late in episodes.

    Args:
        states: The states.
        values: ``(states, G)``, the first policy's.
        baseline: ``(states, G)``, the second's.
        num_buckets: Equal parts of an episode.
        seed: Of the bootstrap.
        level: Nominal coverage of the intervals in (0, 1).
        num_resamples: Resamples of the states.
    """
    ours, theirs = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    _difference(ours, theirs)
    bucket = np.array([state.turn * num_buckets // state.length for state in states], dtype=int)
    return [
        QualityBucket(
            low=number / num_buckets,
            high=(number + 1) / num_buckets,
            comparison=compare(
                ours[bucket == number],
                theirs[bucket == number],
                seed=seed,
                level=level,
                num_resamples=num_resamples,
            ),
        )
        for number in range(num_buckets)
    ]


def _sample(policy: Policy, state: State, env: gym.Env[Any, Any], num_samples: int) -> list[object]:
    conversations = [
        Conversation(
            id=f"{state.key:016x}#{number}",
            key=derive_key(state.key, number),
            action_space=env.action_space,
            messages=list(state.messages),
            token_limit=state.token_limit,
            env=env if policy.needs_env else None,
        )
        for number in range(num_samples)
    ]
    policy.begin(conversations)
    try:
        return ask(policy.act, conversations)
    finally:
        policy.end(conversations)


def _value(oracle: Oracle, env: gym.Env[Any, Any], answer: object) -> float:
    if isinstance(answer, Action):
        return float(oracle.value(env, answer.text))
    is_excused = isinstance(answer, Failure) and answer.boundary != "agent"
    return float("nan") if is_excused else 0.0


def _difference(values: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """Return the difference of mean qualities by state; NaN where a side has no value."""
    ours, theirs = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if ours.ndim != 2 or theirs.ndim != 2 or len(ours) != len(theirs):
        raise OptionError(
            f"both sides need values of shape (states, G) in the same states, got {ours.shape} "
            f"and {theirs.shape}."
        )
    return _means(ours) - _means(theirs)


def _means(values: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    totals = np.where(known, values, 0.0).sum(axis=1)
    means = np.full(len(values), np.nan)
    np.divide(totals, count, out=means, where=count > 0)
    return means
