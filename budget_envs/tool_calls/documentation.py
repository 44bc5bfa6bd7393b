"""What every format says about tools in the same words."""

from __future__ import annotations

from collections.abc import Iterable

from budget_envs.tool_calls.json_text import write_json
from budget_envs.tool_calls.model import Tool

__all__ = ["END_OF_TURN", "LATE_TOOLS", "tool_line", "tool_lines"]

END_OF_TURN = (
    "Calls are carried out in the order in which they are written, and the next message holds "
    "their results. When the request is served, or cannot be served, answer in plain text: a "
    "message without a call ends your turn."
)
LATE_TOOLS = "These tools can be called from now on:"


def tool_line(tool: Tool) -> str:
    """Return a tool as one line of JSON, in the shape that chat templates give to tools."""
    described = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return write_json({"type": "function", "function": described})


def tool_lines(tools: Iterable[Tool]) -> str:
    """Return one line for each tool."""
    return "\n".join(map(tool_line, tools))
