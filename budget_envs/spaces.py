"""`TextSpace`: the space of all strings, with examples to sample from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym

from budget_envs.errors import OptionError

__all__ = ["TextSpace"]


class TextSpace(gym.spaces.Space[str]):
    """The set of all Python strings: any length, any code point, empty included.

    ``gymnasium.spaces.Text`` fixes a character set and a maximal length, which no text of a
    language model respects, and gymnasium's asynchronous vector environment turns it into zeros
    in shared memory without a word. This space is not a ``Text``: batched, it becomes a tuple of
    strings, and ``AsyncVectorEnv(shared_memory=True)`` refuses it.

    Args:
        examples: Strings to sample from. An action space's examples parse as actions, so that
            random agents and ``check_env`` exercise the environment.
        seed: Seed of :meth:`sample`.

    Example:
        >>> space = TextSpace(["Left", "Right"], seed=0)
        >>> space.sample() in {"Left", "Right"}
        True
        >>> "anything at all" in space
        True
    """

    def __init__(self, examples: Sequence[str] = ("",), seed: int | None = None) -> None:
        if not examples or not all(isinstance(text, str) for text in examples):
            raise OptionError(f"TextSpace needs one or more example strings, got {examples!r}.")
        self.examples = tuple(examples)
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: strings have no fixed-size array form."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draw one of the examples uniformly.

        Raises:
            OptionError: If a mask or probability is given; strings cannot be enumerated.
        """
        if mask is not None or probability is not None:
            raise OptionError(
                "TextSpace.sample takes no mask or probability: it holds all strings."
            )
        return self.examples[int(self.np_random.integers(len(self.examples)))]

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a string."""
        return isinstance(x, str)

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Return the strings as a list, ready for JSON."""
        return [str(text) for text in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Read back what :meth:`to_jsonable` gave."""
        return [str(text) for text in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace) and other.examples == self.examples

    def __hash__(self) -> int:
        return hash((TextSpace, self.examples))

    def __repr__(self) -> str:
        shown = ", ".join(repr(text[:20]) for text in self.examples[:4])
        more = ", ..." if len(self.examples) > 4 else ""
        return f"TextSpace([{shown}{more}])"
