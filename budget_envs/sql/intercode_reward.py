"""The reward of InterCode-SQL, number for number, for comparison with published results.

Yang et al., 2023, "InterCode: Standardizing and Benchmarking Interactive Coding with Execution
Feedback", arXiv:2306.14898; ``SqlEnv.get_reward`` of its code. It has quirks, and they are kept:

- Cells are compared as text: 1 differs from 1.0, and so does a Decimal from a float.
- Order counts although the gold query may not order: the reward of a reversed result can be -1.
- The order is compared by Kendall's tau between the *texts* of the rows at equal places, not
  between their places, so that what a swap costs depends on how the rows sort as text.
- The product with tau is rounded to 2 decimals; an overlap that is not scaled is not rounded.

`budget_envs.sql.results` has none of them.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from budget_envs.sql.row_bags import Row

__all__ = ["intercode_reward", "kendall_tau_b"]


def intercode_reward(got: Sequence[Row] | str | None, gold: Sequence[Row]) -> float:
    """Return InterCode's reward of the last observation: a number from -1 to 1.

    The intersection over union of the bags of rows, times Kendall's tau between the common rows
    in the order of the one and of the other, where tau is defined.

    Args:
        got: The rows of the agent's last statement. ``None`` (a statement without a result, or
            none at all) and an error's text earn 0.
        gold: The rows of the gold query. InterCode takes a gold query that fails for an empty
            result; whoever calls this must not.
    """
    if got is None or isinstance(got, str):
        return 0.0
    agent, expected = _texts(got), _texts(gold)
    counts, gold_counts = Counter(agent), Counter(expected)
    union = (counts | gold_counts).total()
    if not union:
        return 1.0
    common = counts & gold_counts
    over_union = common.total() / union
    tau = kendall_tau_b(_first(agent, common), _first(expected, common))
    if math.isnan(tau):
        return over_union
    return float(np.round(np.float64(tau * over_union), 2))  # NumPy's rounding, not Python's


def kendall_tau_b(left: Sequence[str], right: Sequence[str]) -> float:
    """Return Kendall's tau-b of two sequences, equal to ``scipy.stats.kendalltau``.

    Args:
        left: Values; their order as text is their rank.
        right: As many values.

    Returns:
        A number from -1 to 1, or NaN where all values of a side are equal or there are none.

    Reference: Kendall, 1945, "The treatment of ties in ranking problems".
    """
    pairs = len(left) * (len(left) - 1) // 2
    ties_left, ties_right = _tied_pairs(left), _tied_pairs(right)
    if ties_left == pairs or ties_right == pairs:
        return math.nan
    both = _tied_pairs(list(zip(left, right, strict=True)))
    balance = pairs - ties_left - ties_right + both - 2 * _discordant_pairs(left, right)
    tau = balance / math.sqrt(pairs - ties_left) / math.sqrt(pairs - ties_right)
    return min(1.0, max(-1.0, tau))


def _texts(rows: Iterable[Row]) -> list[str]:
    return [str(tuple(row)) for row in rows]


def _first(rows: Iterable[str], counts: Counter[str]) -> list[str]:
    """Return the first occurrences of rows, as many of each as counted."""
    left = counts.copy()
    kept = []
    for row in rows:
        if left[row] > 0:
            left[row] -= 1
            kept.append(row)
    return kept


def _tied_pairs(values: Iterable[object]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _discordant_pairs(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many pairs the two sides put in strictly opposite order."""
    seen: list[str] = []
    discordant = 0
    for _, value in sorted(zip(left, right, strict=True)):  # ties of the left count as in order
        discordant += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return discordant
