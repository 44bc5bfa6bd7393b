"""What an agent wrote where a call belongs: `RawCall`, `MalformedCall`, and any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from budget_envs.tool_calls.model import Call

__all__ = ["MalformedCall", "RawCall", "WrittenCall"]


@dataclass(frozen=True, slots=True)
class RawCall:
    """A well-formed call whose positional arguments have no names yet.

    Attributes:
        name: The tool's name as written, dots included.
        positional: Values in the order in which they were written.
        keywords: Values by name, in the order in which they were written.
    """

    name: str
    positional: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MalformedCall:
    """A block that stands where a call belongs and is none.

    Attributes:
        text: The block as written.
        reason: What was expected and what came, to be shown in place of a result.
    """

    text: str
    reason: str


WrittenCall: TypeAlias = Call | RawCall | MalformedCall
