"""`Episode`: how far a dialogue has come, and the world in which it takes place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from budget_envs.tool_calls.model import Call, Dialogue, World

__all__ = ["MAX_CALLS", "MAX_CALLS_IN_MESSAGE", "MAX_CHARACTERS", "Episode", "Progress"]

MAX_CALLS_IN_MESSAGE: Final = 256
"""Calls of one message that are carried out or answered, malformed ones included."""
MAX_CHARACTERS: Final = 1_000_000
"""Characters of one message's results after which no more of its calls are carried out."""
MAX_CALLS: Final = 10_000
"""Calls of one episode that are carried out."""

TurnVerdict = Literal["pass", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Progress:
    """An episode as plain values: all that is needed to go on from here.

    Attributes:
        turn: The user turn, from 0; the number of user turns once the dialogue is over.
        generations: Messages of the agent in this user turn.
        called: Whether anything was called in this user turn.
        calls: All calls that were carried out. Repeating them restores the world.
        results: Their results.
        verdicts: One for each user turn that has ended.
    """

    turn: int = 0
    generations: int = 0
    called: bool = False
    calls: tuple[Call, ...] = ()
    results: tuple[str, ...] = ()
    verdicts: tuple[TurnVerdict, ...] = ()


class Episode:
    """A dialogue that is under way.

    Args:
        dialogue: What is played.
        make_world: Makes a fresh world of a dialogue.
        progress: Where to go on from.

    Attributes:
        dialogue: What is played.
        turn: See `Progress`; so are the others.
        generations: See there.
        called: See there.
        verdicts: See there.
        results: All results so far -> how often.
    """

    def __init__(
        self,
        dialogue: Dialogue,
        make_world: Callable[[Dialogue], World],
        progress: Progress = Progress(),
    ) -> None:
        self.dialogue = dialogue
        self.turn = progress.turn
        self.generations = progress.generations
        self.called = progress.called
        self.verdicts = progress.verdicts
        self.results: dict[str, int] = dict(Counter(progress.results))
        self._calls = list(progress.calls)
        self._texts = list(progress.results)
        self._make_world = make_world
        self._world: World | None = None

    @property
    def progress(self) -> Progress:
        """The episode as plain values."""
        return Progress(
            self.turn,
            self.generations,
            self.called,
            tuple(self._calls),
            tuple(self._texts),
            self.verdicts,
        )

    @property
    def world(self) -> World:
        """The world, made when it is first needed, by repeating the calls."""
        if self._world is None:
            self._world = self._make_world(self.dialogue)
            for call in self._calls:
                self._world.call(call)
        return self._world

    def fork(self) -> Episode:
        """Return another episode that goes on from here, in a world of its own."""
        return Episode(self.dialogue, self._make_world, self.progress)

    @property
    def is_over(self) -> bool:
        """Whether every user turn has ended."""
        return self.turn >= len(self.dialogue.turns)

    @property
    def number_of_calls(self) -> int:
        """How many calls were carried out."""
        return len(self._calls)

    def call(self, call: Call) -> str:
        """Carry out a call and return its result."""
        result = self.world.call(call)
        self._calls.append(call)
        self._texts.append(result)
        self.results[result] = self.results.get(result, 0) + 1
        self.called = True
        return result

    def is_repeated(self, call: Call) -> bool:
        """Return whether the newest call was this one, in this user turn."""
        return self.called and bool(self._calls) and self._calls[-1] == call

    def end_turn(self, verdict: TurnVerdict) -> None:
        """End the user turn with a verdict on it."""
        self.verdicts = (*self.verdicts, verdict)
        self.turn += 1
        self.generations = 0
        self.called = False

    def history(self) -> Iterator[tuple[Call, str]]:
        """Yield the calls that were carried out, each with its result."""
        return iter(list(zip(self._calls, self._texts, strict=True)))
