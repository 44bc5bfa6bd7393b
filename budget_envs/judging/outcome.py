"""What a judge says: one `TestOutcome` for each test, together a `Judgement`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["MAX_SHOWN", "Judgement", "TestOutcome", "clip", "shown"]

MAX_SHOWN: Final = 300
"""Most characters of an output, a value or an error that are kept."""
_NOTE_LENGTH: Final = 40


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """How one test went.

    Attributes:
        passed: Whether the program gave what was expected, and ended well.
        got: What it gave, as text, cut visibly; ``""`` if nothing.
        error: Why there is no answer, cut visibly; ``""`` if there is one.
        timed_out: Whether it ran out of time.
    """

    __test__ = False  # not a test class, whatever its name suggests to pytest

    passed: bool
    got: str = ""
    error: str = ""
    timed_out: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "got", clip(self.got))
        object.__setattr__(self, "error", clip(self.error))


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a program did on the tests of its task.

    Attributes:
        public: One outcome for each public test.
        hidden: One outcome for each hidden test, at least one; they decide.
    """

    public: tuple[TestOutcome, ...]
    hidden: tuple[TestOutcome, ...]

    @property
    def share(self) -> float:
        """Share of the hidden tests that passed, in [0, 1]."""
        return sum(outcome.passed for outcome in self.hidden) / len(self.hidden)

    @property
    def is_success(self) -> bool:
        """Whether all hidden tests passed."""
        return all(outcome.passed for outcome in self.hidden)

    @property
    def timed_out(self) -> bool:
        """Whether the program ran out of time on a test."""
        return any(outcome.timed_out for outcome in (*self.public, *self.hidden))


def clip(text: str, limit: int = MAX_SHOWN) -> str:
    """Return a text, or its head and tail with a note between them of how much was cut out.

    Args:
        text: Any text.
        limit: Most characters of the result, the note among them; at least 50.
    """
    if len(text) <= limit:
        return text
    half = (limit - _NOTE_LENGTH) // 2
    return f"{text[:half]}... ({len(text) - 2 * half} characters cut) ...{text[-half:]}"


def shown(value: Any) -> str:
    """Return a plain value as Python would write it, also where Python itself refuses to.

    Args:
        value: A plain value; one that holds an integer of more than 4,300 digits is described.
    """
    try:
        return repr(value)
    except ValueError:
        kind = type(value).__name__
        return f"({kind} with an integer too long to print)"
