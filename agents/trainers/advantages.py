"""Advantages as pure functions of numbers: GRPO, GiGPO, GAE, and an oracle's process reward.

=================  ==========  ===============================================================
symbol             shape       meaning
=================  ==========  ===============================================================
``returns``        ``(N,)``    return of each trajectory
``groups``         ``(N,)``    group of each trajectory: those that share a task and a budget
``is_void``        ``(N,)``    nobody can say how the trajectory went
``trajectories``   ``(M,)``    trajectory in [0, N) of each turn, the turns of one in order
``rewards``        ``(M,)``    reward of each turn
=================  ==========  ===============================================================

A void trajectory is no failure: it enters no mean and no deviation, and its own advantage is 0.
Whoever computes a loss leaves its tokens out altogether, so that it does not count there either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from budget_envs.errors import OptionError, did_you_mean

__all__ = ["GiGPOAdvantages", "Scale", "discounted_returns", "gae", "gigpo", "grpo", "process"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Scale = Literal["std", "none"]

_EPSILON: Final = 1e-6


def grpo(
    returns: ArrayLike,
    groups: ArrayLike,
    *,
    is_void: ArrayLike | None = None,
    scale: Scale = "std",
) -> FloatArray:
    """Return how much better each trajectory did than its group: ``(R - mean) / scale``.

    Every trajectory enters the mean once, however many turns it has: a mean over turns would
    favour whichever side has the shorter trajectories. There is no mean per turn index either,
    which would reward another turn for its own sake.

    Args:
        returns: ``(N,)``; of void trajectories anything, NaN included.
        groups: ``(N,) int``.
        is_void: ``(N,) bool``; ``None`` if none is.
        scale: ``"std"`` divides by the group's sample deviation plus 1e-6 (GRPO); ``"none"`` does
            not, so that neither easy nor hard tasks weigh more (Dr. GRPO).

    Returns:
        ``(N,) float64``; 0 in a group of equal returns or of a single trajectory, and where void.

    Raises:
        OptionError: If the shapes disagree, or the scale is unknown.

    Reference: Shao et al., 2024, arXiv:2402.03300 (GRPO); Liu et al., 2025, arXiv:2503.20783
        (Dr. GRPO).
    """
    values, members, valid = _grouped(returns, groups, is_void)
    return _centred(values, members, valid, scale)


@dataclass(frozen=True, slots=True)
class GiGPOAdvantages:
    """Advantages of turns, and how much of them came from anchor states.

    Attributes:
        values: ``(M,) float64``, episode advantage plus weighted step advantage.
        episode: ``(M,) float64``, that of the turn's trajectory.
        step: ``(M,) float64``, that of the turn in its step group.
        singleton_share: Share in [0, 1] of the non-void turns that are alone in their step group
            and so have a step advantage of 0; 0 without turns.
    """

    values: FloatArray
    episode: FloatArray
    step: FloatArray
    singleton_share: float


def gigpo(
    rewards: ArrayLike,
    trajectories: ArrayLike,
    state_keys: Sequence[str],
    groups: ArrayLike,
    *,
    is_void: ArrayLike | None = None,
    gamma: float = 0.95,
    step_weight: float = 1.0,
    scale: Scale = "none",
) -> GiGPOAdvantages:
    """Return advantages of turns: those of the episodes, plus those among equal states.

    Turns of one group with the same state key form a step group, across trajectories and across
    time. In it, the discounted return from the turn on is compared as episodes are in
    :func:`grpo`. A state key holds neither the history nor the text of the budget, so showing the
    budget leaves the step groups as they are.

    Args:
        rewards: ``(M,)``; NaN only in void trajectories.
        trajectories: ``(M,) int``.
        state_keys: M anchors, each that of the state in which the turn was taken.
        groups: ``(N,) int``.
        is_void: ``(N,) bool``; ``None`` if none is.
        gamma: Discount in [0, 1] of the returns that steps are compared by.
        step_weight: Weight of the step advantage.
        scale: As in :func:`grpo`, for both parts.

    Raises:
        OptionError: If the shapes disagree, or the scale is unknown.

    Reference: Feng et al., 2025, arXiv:2505.10978.
    """
    owners = _indices(trajectories, "trajectories")
    gained = _floats(rewards, owners.shape, "rewards")
    count = len(np.asarray(groups))
    episode_returns = np.bincount(owners, weights=np.nan_to_num(gained), minlength=count)
    returns, members, valid = _grouped(episode_returns, groups, is_void)
    episode = _centred(returns, members, valid, scale)[owners]
    to_go = discounted_returns(np.nan_to_num(gained), owners, gamma=gamma)
    anchors = _anchors(members[owners], state_keys)
    step = _centred(to_go, anchors, valid[owners], scale)
    return GiGPOAdvantages(
        episode + step_weight * step, episode, step, _singleton_share(anchors[valid[owners]])
    )


def process(
    regrets: ArrayLike,
    trajectories: ArrayLike,
    groups: ArrayLike,
    *,
    is_void: ArrayLike | None = None,
) -> FloatArray:
    """Return advantages of turns from an oracle: what the action was worth, against the group.

    The oracle's ``Q*(s, a)`` has its own baseline, the best value in the state, so what is
    compared is the regret ``max Q* - Q*``, and hard states do not count against whoever gets into
    them. Regrets are centred over the group, in which every trajectory counts once. The papers
    name an oracle's Q as the reward of a step and leave its baseline open: this one is ours. As
    rewards, negative regrets are the outcome reshaped by the potential ``V*``, which changes no
    optimal policy (Ng et al., 1999, "Policy invariance under reward transformations").

    Args:
        regrets: ``(M,)`` in [0, 1]; NaN where the oracle gave none, which makes the advantage 0.
        trajectories: ``(M,) int``.
        groups: ``(N,) int``.
        is_void: ``(N,) bool``; ``None`` if none is.

    Returns:
        ``(M,) float64``.

    Raises:
        OptionError: If the shapes disagree.
    """
    owners = _indices(trajectories, "trajectories")
    lost = _floats(regrets, owners.shape, "regrets")
    judged = ~np.isnan(lost)
    count = len(np.asarray(groups))
    turns = np.bincount(owners[judged], minlength=count)
    sums = np.bincount(owners[judged], weights=lost[judged], minlength=count)
    means, members, valid = _grouped(sums / np.maximum(turns, 1), groups, is_void)
    baseline = _group_means(means, members, valid & (turns > 0))
    used = judged & valid[owners]
    return np.where(used, baseline[members[owners]] - np.nan_to_num(lost), 0.0)


def discounted_returns(rewards: ArrayLike, trajectories: ArrayLike, *, gamma: float) -> FloatArray:
    """Return the discounted sum of rewards from each turn to the end of its trajectory.

    Args:
        rewards: ``(M,)``.
        trajectories: ``(M,) int``, the turns of one trajectory adjacent and in order.
        gamma: Discount in [0, 1].

    Returns:
        ``(M,) float64``.

    Raises:
        OptionError: If the shapes disagree, or the discount is out of range.
    """
    owners = _indices(trajectories, "trajectories")
    to_go = _floats(rewards, owners.shape, "rewards").copy()
    if not 0 <= gamma <= 1:
        raise OptionError(f"gamma must be in [0, 1], got {gamma!r}.")
    for turn in range(len(to_go) - 2, -1, -1):
        if owners[turn] == owners[turn + 1]:
            to_go[turn] += gamma * to_go[turn + 1]
    return to_go


def gae(
    rewards: ArrayLike,
    values: ArrayLike,
    next_values: ArrayLike,
    terminated: ArrayLike,
    ended: ArrayLike,
    *,
    gamma: float = 0.99,
    lam: float = 0.95,
) -> FloatArray:
    """Generalized advantage estimates for a batch of rollouts.

    Args:
        rewards: ``(T, B)``.
        values: ``(T, B)``, V of the observation acted on.
        next_values: ``(T, B)``, V of the observation reached (the *final* one, not the reset one,
            where an episode was truncated).
        terminated: ``(T, B) bool``; true zeroes ``next_values``.
        ended: ``(T, B) bool``, terminated or truncated; true cuts the trace.
        gamma: Discount in [0, 1].
        lam: Bias/variance trade-off in [0, 1], lambda of eq. 16.

    Returns:
        ``(T, B) float64`` advantages, not normalised.

    Raises:
        OptionError: If the shapes disagree, or a factor is out of range.

    Reference: Schulman et al., 2016, arXiv:1506.02438.
    """
    gained = np.asarray(rewards, dtype=np.float64)
    if gained.ndim != 2:
        raise OptionError(f"rewards must have shape (turns, rollouts), got {gained.shape}.")
    for name, factor in (("gamma", gamma), ("lam", lam)):
        if not 0 <= factor <= 1:
            raise OptionError(f"{name} must be in [0, 1], got {factor!r}.")
    before = _floats(values, gained.shape, "values")
    after = _floats(next_values, gained.shape, "next_values")
    last = _flags(terminated, gained.shape, "terminated")
    cut = _flags(ended, gained.shape, "ended") | last
    deltas = gained + gamma * np.where(last, 0.0, after) - before
    advantages = np.zeros_like(gained)
    trace = np.zeros(gained.shape[1])
    for turn in range(len(gained) - 1, -1, -1):
        trace = deltas[turn] + gamma * lam * np.where(cut[turn], 0.0, trace)
        advantages[turn] = trace
    return advantages


def _centred(
    values: FloatArray, members: IntArray, valid: NDArray[np.bool_], scale: Scale
) -> FloatArray:
    """Return values minus their group's mean, scaled; 0 where not valid."""
    if scale not in get_args(Scale):
        known = get_args(Scale)
        raise OptionError(
            f"scale must be one of {', '.join(known)}, got {scale!r}." + did_you_mean(scale, known)
        )
    difference = np.where(valid, values - _group_means(values, members, valid)[members], 0.0)
    if scale == "none":
        return difference
    counts = np.bincount(members[valid], minlength=_num_groups(members))
    squares = np.bincount(members, weights=difference**2, minlength=_num_groups(members))
    deviations = np.sqrt(squares / np.maximum(counts - 1, 1))
    scaled: FloatArray = difference / (deviations[members] + _EPSILON)
    return scaled


def _group_means(values: FloatArray, members: IntArray, valid: NDArray[np.bool_]) -> FloatArray:
    """Return the mean of each group's valid values, exact where they are all equal."""
    size = _num_groups(members)
    counts = np.bincount(members[valid], minlength=size)
    # Sums are taken of differences to one member: equal values then give a difference of 0, not
    # the rounding error of 1/3 + 1/3 + 1/3, which a deviation of 0 would blow up.
    anchors = np.zeros(size)
    anchors[members[valid][::-1]] = values[valid][::-1]
    offsets = np.where(valid, values - anchors[members], 0.0)
    sums = np.bincount(members, weights=offsets, minlength=size)
    means: FloatArray = anchors + sums / np.maximum(counts, 1)
    return means


def _anchors(groups: IntArray, state_keys: Sequence[str]) -> IntArray:
    """Number the pairs of group and state key."""
    if isinstance(state_keys, str) or len(state_keys) != len(groups):
        raise OptionError(f"expected {len(groups)} state keys, one a turn, got {len(state_keys)}.")
    numbers: dict[tuple[int, str], int] = {}
    pairs = zip(groups.tolist(), state_keys, strict=True)
    return np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], dtype=np.int64)


def _singleton_share(anchors: IntArray) -> float:
    if not len(anchors):
        return 0.0
    _, counts = np.unique(anchors, return_counts=True)
    return float(np.sum(counts == 1) / len(anchors))


def _num_groups(members: IntArray) -> int:
    return int(members.max(initial=-1)) + 1


def _grouped(
    values: ArrayLike, groups: ArrayLike, is_void: ArrayLike | None
) -> tuple[FloatArray, IntArray, NDArray[np.bool_]]:
    """Return values with 0 for void ones, group numbers from 0, and what is not void."""
    names = _indices(groups, "groups", lowest=None)
    found = _floats(values, names.shape, "returns")
    void = np.zeros(names.shape, bool) if is_void is None else is_void
    valid = ~_flags(void, names.shape, "is_void")
    _, members = np.unique(names, return_inverse=True)
    if not np.isfinite(found[valid]).all():
        raise OptionError("a return is not finite; mark its trajectory as void.")
    return np.where(valid, found, 0.0), members.astype(np.int64), valid


def _indices(values: ArrayLike, name: str, lowest: int | None = 0) -> IntArray:
    found = np.asarray(values)
    if found.size == 0:
        found = found.astype(np.int64)
    is_low = lowest is not None and bool(np.any(found < lowest))
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer) or is_low:
        raise OptionError(f"{name} must be one-dimensional integers, got {found!r:.80}.")
    return found.astype(np.int64)


def _floats(values: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
    return _shaped(np.asarray(values, dtype=np.float64), shape, name)


def _flags(values: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.bool_]:
    return _shaped(np.asarray(values, dtype=bool), shape, name)


def _shaped(found: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[Any]:
    if found.shape != shape:
        raise OptionError(f"{name} must have shape {shape}, got {found.shape}.")
    return found
