"""Formats in which an agent calls tools: the protocol that they share, and where each is found."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, Protocol

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.tool_calls.bracket import BracketFormat
from budget_envs.tool_calls.hermes import HermesFormat
from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.openai import OpenAIFormat
from budget_envs.tool_calls.output_state import Output
from budget_envs.tool_calls.written_calls import WrittenCall

__all__ = ["FORMATS", "ToolFormat", "by_name"]


class ToolFormat(Protocol):
    """How tools are described, called and answered, as text.

    What `render_calls` writes is what `parse` reads: demonstrations, scripted policies and the
    prompts that an agent sees are the same bytes.
    """

    @property
    def name(self) -> str:
        """Name of the format, e.g. ``"hermes"``."""
        ...

    def render_tools(self, tools: Sequence[Tool]) -> str:
        """Return what an agent must know before the first message: the tools, and how to call."""
        ...

    def render_late_tools(self, tools: Sequence[Tool]) -> str:
        """Return the description of tools that arrive during a dialogue."""
        ...

    def render_calls(self, calls: Sequence[Call], text: str = "") -> str:
        """Return an assistant message that makes calls, or, without any, one that is ``text``.

        Args:
            calls: Calls in order.
            text: What is said beside them; left out where a format has no room for it.

        Raises:
            OptionError: If a call holds what the format cannot write.
        """
        ...

    def render_results(self, calls: Sequence[WrittenCall], results: Sequence[str]) -> str:
        """Return the observation that answers a message.

        Args:
            calls: The message's items, in order.
            results: One result for each.

        Raises:
            ValueError: If their numbers differ.
        """
        ...

    def parse(self, message: str) -> Output:
        """Read a message. Never raises, whatever the text is; time is linear in its length."""
        ...


FORMATS: Final = MappingProxyType[str, ToolFormat](
    {form.name: form for form in (HermesFormat(), BracketFormat(), OpenAIFormat())}
)


def by_name(name: str) -> ToolFormat:
    """Return the format with a name.

    Raises:
        OptionError: If there is none.
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise OptionError(
            f"Expected a tool-call format, one of {', '.join(FORMATS)}; got {name!r}."
            f"{did_you_mean(name, FORMATS)}"
        )
    return FORMATS[name]
