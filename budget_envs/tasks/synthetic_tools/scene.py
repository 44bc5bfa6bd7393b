"""What a user says and what it means: requests, and the kinds of them that draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tool_calls.model import Call

__all__ = ["DeadEnd", "Focus", "Kind", "Request", "Scene", "call"]

T = TypeVar("T")


class DeadEnd(Exception):  # no error: the plan draws again
    """The state has nothing of the kind that a request needs."""


@dataclass(frozen=True, slots=True)
class Focus:
    """What the answer to a query was about: the next user turn may call it "it" or "that".

    Attributes:
        kind: ``"item"``.
        values: What the answer told, e.g. the name of the item.
    """

    kind: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that a user wants.

    Attributes:
        says: Ways to say it, all complete: every argument is in them, in the focus, or both.
        calls: What serves it.
        vague: Ways to say it with one argument left out that nobody can guess or look up.
        details: Ways to give that argument afterwards.
        withheld: A tool among those of ``calls`` without which it cannot be done at all, not even
            in part; empty if others could replace it.
        focus: What a later request may refer to.
    """

    says: tuple[str, ...]
    calls: tuple[Call, ...]
    vague: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    withheld: str = ""
    focus: Focus | None = None


class Scene:
    """What a request is drawn from.

    Args:
        draw: Where the randomness comes from.
        state: State of the API as it is when the user speaks; not to be changed.
        level: Difficulty.
        focus: What the last answer of the turn before was about.
    """

    def __init__(
        self, draw: Draws, state: Mapping[str, Any], level: int, focus: Focus | None
    ) -> None:
        self.draw = draw
        self.state = state
        self.level = level
        self._focus = focus

    def one_of(self, items: Iterable[T]) -> T:
        """Draw one item.

        Raises:
            DeadEnd: If there is none.
        """
        pool = list(items)
        if not pool:
            raise DeadEnd
        return self.draw.choice(pool)

    def two_of(self, items: Iterable[T]) -> tuple[T, T]:
        """Draw two different items.

        Raises:
            DeadEnd: If there are fewer.
        """
        pool = list(items)
        if len(pool) < 2:
            raise DeadEnd
        first, second = self.draw.sample(pool, 2)
        return first, second

    def integer(self, low: int, high: int, *, other_than: object = None) -> int:
        """Draw an integer from ``low`` to ``high``.

        Raises:
            DeadEnd: If there is none.
        """
        return self.one_of(value for value in range(low, high + 1) if value != other_than)

    def focus(self, kind: str) -> tuple[Any, ...]:
        """Return what the user can refer to.

        Raises:
            DeadEnd: If it is not of this kind.
        """
        if self._focus is None or self._focus.kind != kind:
            raise DeadEnd
        return self._focus.values


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request.

    Attributes:
        draft: Draws a request; raises `DeadEnd` where the state has none.
        level: The lowest level at which users ask for it.
        follows: Kind of focus that it refers to; empty for a request that stands alone.
    """

    draft: Callable[[Scene], Request]
    level: int = 1
    follows: str = ""


def call(name: str, /, **arguments: Any) -> Call:
    """Return a call."""
    return Call(name, arguments)
