"""`Sampling`: how tokens are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from budget_envs.errors import OptionError

__all__ = ["Sampling"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is drawn.

    Attributes:
        temperature: Divides the logits; 0 takes the most likely token (the first of equals).
        top_p: Only the most likely tokens that together have at least this probability, and those
            as likely as the last of them; in (0, 1]. (Holtzman et al., 2020, arXiv:1904.09751.)

    Raises:
        OptionError: If a value is out of its range.
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not _is_number(self.temperature) or not 0 <= self.temperature < math.inf:
            raise OptionError(
                f"temperature must be a finite number of at least 0 (0 is greedy), got "
                f"{self.temperature!r}."
            )
        if not _is_number(self.top_p) or not 0 < self.top_p <= 1:
            raise OptionError(f"top_p must be a number in (0, 1], got {self.top_p!r}.")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
