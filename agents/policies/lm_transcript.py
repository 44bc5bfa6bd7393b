"""`Transcript`: the tokens of one conversation while it is played, and what is to be read next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from budget_envs.agents.models.chat import ChatFormat
from budget_envs.agents.models.tokens import Finish, TokenTrajectory
from budget_envs.errors import OptionError
from budget_envs.evaluation.policy import Message

__all__ = ["Piece", "Transcript", "Unread"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive tokens of one kind.

    Attributes:
        ids: The tokens.
        turn: Their turn, from 0.
        logprobs: Of each token, where the policy sampled them; ``None`` for all others.
        finish: Why their generation ended, likewise.
    """

    ids: Sequence[int]
    turn: int
    logprobs: Sequence[float] | None = None
    finish: Finish | Literal["replaced"] | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """What a model has to read before it can answer.

    Attributes:
        num_kept: Tokens of the transcript that still stand.
        pieces: What follows them.
    """

    num_kept: int
    pieces: list[Piece]

    @property
    def ids(self) -> list[int]:
        """All tokens to be read."""
        return [token for piece in self.pieces for token in piece.ids]


@dataclass(slots=True)
class Transcript:
    """One conversation, token for token.

    Attributes:
        pieces: What was read and sampled so far.
        num_messages: Messages that the pieces stand for, the newest action included.
        said: Text of the newest action.
        is_closed: Whether the newest action ends with the template's own end token.
    """

    pieces: list[Piece] = field(default_factory=list)
    num_messages: int = 0
    said: str = ""
    is_closed: bool = True

    def __len__(self) -> int:
        """Number of tokens."""
        return sum(len(piece.ids) for piece in self.pieces)

    def unread(self, messages: Sequence[Message], chat: ChatFormat) -> Unread:
        """Return what is new in a conversation that ends with an observation.

        Usually that is the observation. Where the environment put another action in the place of
        the newest, that action takes its tokens' place. Where the conversation is not known, it is
        everything.
        """
        if not self.num_messages or len(messages) != self.num_messages + 1:
            return Unread(0, _encoded(messages, chat))
        turn, observation = len(messages) // 2, messages[-1]["content"]
        if not self.is_replaced(messages):
            ids = chat.append(observation, is_closed=self.is_closed)
            return Unread(len(self), [Piece(ids, turn)])
        replaced = self._replaced(messages, chat)
        newest = len(self.pieces[-1].ids)
        return Unread(len(self) - newest, [replaced, Piece(chat.append(observation), turn)])

    def is_replaced(self, messages: Sequence[Message]) -> bool:
        """Return whether another action than the newest stands in its place."""
        index = self.num_messages - 1
        return 0 < index < len(messages) and messages[index]["content"] != self.said

    def extend(self, unread: Unread, action: Piece, said: str, *, is_closed: bool) -> None:
        """Add what was read, and the action that was sampled then."""
        self._keep(unread.num_kept)
        self.pieces += [*unread.pieces, action]
        self.num_messages = 2 * action.turn + 2
        self.said = said
        self.is_closed = is_closed

    def close(self, messages: Sequence[Message], chat: ChatFormat) -> None:
        """Learn how the conversation ended: the newest action may have been replaced."""
        if self.is_replaced(messages):
            self.pieces[-1] = self._replaced(messages, chat)

    def trajectory(self) -> TokenTrajectory:
        """Return the conversation as arrays."""
        lengths = [len(piece.ids) for piece in self.pieces]
        turns = [piece.turn for piece in self.pieces]
        sampled = [piece.logprobs is not None for piece in self.pieces]
        logprobs = [piece.logprobs or [0.0] * len(piece.ids) for piece in self.pieces]
        return TokenTrajectory(
            ids=np.array([token for piece in self.pieces for token in piece.ids], np.int64),
            is_action=np.repeat(np.array(sampled, bool), lengths),
            logprobs=np.array([value for values in logprobs for value in values], np.float32),
            turns=np.repeat(np.array(turns, np.int64), lengths),
            finishes=tuple(piece.finish for piece in self.pieces if piece.finish is not None),
        )

    def _replaced(self, messages: Sequence[Message], chat: ChatFormat) -> Piece:
        text = messages[self.num_messages - 1]["content"]
        return Piece(chat.action(text), self.pieces[-1].turn, finish="replaced")

    def _keep(self, count: int) -> None:
        """Drop the pieces after the first ``count`` tokens, which is where a piece ends."""
        while len(self) > count:
            self.pieces.pop()


def _encoded(messages: Sequence[Message], chat: ChatFormat) -> list[Piece]:
    """Return a conversation to be answered as pieces; actions in it are somebody else's."""
    if len(messages) % 2 == 0:
        raise OptionError(f"expected an observation as the last message of {messages!r:.200}.")
    encoded = chat.encode(messages)
    ends = np.flatnonzero(np.diff(encoded.turns, append=-1)) + 1
    starts = [0, *ends[:-1]]
    return [
        Piece(encoded.ids[a:b].tolist(), int(encoded.turns[a]))
        for a, b in zip(starts, ends, strict=True)
    ]
