"""What a message of an agent is: its calls in order, and one of four states of its structure.

Reference: Hao et al., 2026, arXiv:2606.26027 (paper 2), the states whose shares tell a collapse.
The paper names the states; the counts that decide are our reading of it:

- ``healthy_call``: one call or more, all of them well-formed, and nothing else that belongs to the
  format.
- ``healthy_text``: text that holds nothing of the format, not even a fragment of a tag.
- ``collapsed``: an empty message; or one that is neither of the above, holds a control token, and
  apart from control tokens has fewer than five tokens, or consists for one half or more of a
  control token that is repeated.
- ``polluted``: everything else: unbalanced tags, malformed calls, tags inside prose.

What counts as a control token and as a fragment is said by each format. A token is a control token,
a run of letters, digits and underscores, or a run of punctuation: no tokenizer is needed, and the
state of a message is the same for every model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from budget_envs.tool_calls.model import Call
from budget_envs.tool_calls.written_calls import MalformedCall, RawCall, WrittenCall

__all__ = ["Output", "OutputState", "classify"]

OutputState: TypeAlias = Literal["healthy_call", "healthy_text", "polluted", "collapsed"]
_TOKEN: Final = re.compile(r"\w+|[^\w\s]+")
_FEW_TOKENS: Final = 5


class Output(NamedTuple):
    """What a format reads in a message.

    Attributes:
        state: State of the message's structure.
        items: Calls and malformed blocks, in the order in which they stand; without any, the
            message ends the user turn.
        text: What stands outside of them, without a think block.
        opens: How many times the format's opening tag occurs.
        closes: How many times its closing tag occurs.
    """

    state: OutputState
    items: tuple[WrittenCall, ...] = ()
    text: str = ""
    opens: int = 0
    closes: int = 0

    @property
    def calls(self) -> tuple[Call | RawCall, ...]:
        """The well-formed calls, in order; their number is the count of schema-valid blocks."""
        return tuple(item for item in self.items if not isinstance(item, MalformedCall))

    @property
    def errors(self) -> tuple[str, ...]:
        """One reason for each malformed block, in order."""
        return tuple(item.reason for item in self.items if isinstance(item, MalformedCall))


def classify(
    body: str, *, healthy_call: bool, has_fragment: bool, controls: Sequence[str]
) -> OutputState:
    """Return the state of a message.

    Args:
        body: The message without its think block and end token. Time is linear in its length.
        healthy_call: Whether it consists of well-formed calls and clean text.
        has_fragment: Whether it holds a tag of the format, or a part of one.
        controls: The format's control tokens, none of them a part of another.
    """
    if healthy_call:
        return "healthy_call"
    if body and not has_fragment:
        return "healthy_text"
    counts = [body.count(control) for control in controls]
    for control in controls:
        body = body.replace(control, " ")
    payload = sum(1 for _ in _TOKEN.finditer(body))
    most, total = max(counts), sum(counts) + payload
    degenerate = payload < _FEW_TOKENS or (most > 1 and 2 * most >= total)
    empty = not total
    return "collapsed" if empty or (any(counts) and degenerate) else "polluted"
