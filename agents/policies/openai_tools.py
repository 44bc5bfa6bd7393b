"""Native tool calls: a tool dialogue in an endpoint's own form, and its calls as the text played.

The environment speaks text in its ``"openai"`` format. `native_fields` turns a conversation into
``tools``, ``tool_calls`` and messages of the role ``"tool"``; `as_text` writes the calls that come
back as the message that the environment reads. What has no native form, such as a malformed call
or results that a fault garbled, goes as the text that it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import gymnasium as gym

from budget_envs.envs.tool_dialogue import ToolDialogueEnv
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.policy import Conversation
from budget_envs.tool_calls.documentation import tool_line
from budget_envs.tool_calls.formats import by_name
from budget_envs.tool_calls.model import Call

__all__ = ["as_text", "check_tool_env", "native_fields"]

_FORMAT: Final = by_name("openai")

Sent = dict[str, Any]


def check_tool_env(env: gym.Env[Any, Any]) -> None:
    """Refuse an environment that calls cannot be translated for.

    Raises:
        UnsupportedError: If it is no tool dialogue, or speaks another format.
    """
    inner = env.unwrapped
    if not isinstance(inner, ToolDialogueEnv):
        raise UnsupportedError(f"tool_calls='native' is for tool dialogues, got {inner}.")
    if inner.format.name != _FORMAT.name:
        raise UnsupportedError(
            f"tool_calls='native' writes calls in the format {_FORMAT.name!r}, and the environment "
            f"reads {inner.format.name!r}: make it with format={_FORMAT.name!r}."
        )


def native_fields(conversation: Conversation) -> Sent:
    """Return the messages of a request, and the tools that can be called in it."""
    env: ToolDialogueEnv = conversation.env.unwrapped  # type: ignore[union-attr, assignment]  # checked
    dialogue = env.episode.dialogue
    turn = min(env.episode.turn, len(dialogue.turns) - 1)
    opening = _FORMAT.render_tools(dialogue.tools_at(0))
    texts = [message["content"] for message in conversation.messages]
    # The opening describes the tools, and asks for calls as text: "tools" says the first in its
    # own way, and the second would be wrong.
    first: Sent = {"role": "user", "content": texts[0].removeprefix(opening).lstrip("\n")}
    exchanges = zip(texts[1::2], texts[2::2], strict=True)
    later = [m for n, (said, seen) in enumerate(exchanges) for m in _exchange(n, said, seen)]
    tools = [json.loads(tool_line(tool)) for tool in dialogue.tools_at(turn)]
    return {"messages": [first, *later], **({"tools": tools} if tools else {})}


def as_text(content: str, tool_calls: Sequence[Mapping[str, Any]]) -> str:
    """Return an answer as the environment reads it; arguments stay as the model wrote them.

    Args:
        content: What was said beside the calls.
        tool_calls: As the endpoint gave them. What is none is for the environment to refuse.
    """
    if not tool_calls:
        return content
    calls = [_numbered(place, call) for place, call in enumerate(tool_calls, start=1)]
    message = {"role": "assistant", "content": content or None, "tool_calls": calls}
    return json.dumps(message, ensure_ascii=False)


def _numbered(place: int, call: Mapping[str, Any]) -> Sent:
    function = call.get("function")
    if isinstance(function, Mapping):  # some endpoints add fields of their own
        function = {key: function[key] for key in ("name", "arguments") if key in function}
    return {"id": f"call_{place}", "type": call.get("type", "function"), "function": function}


def _exchange(turn: int, said: str, seen: str) -> Iterator[Sent]:
    """Return what the agent said in a turn (from 0) and what it was answered, as messages."""
    output = _FORMAT.parse(said)
    calls = [item for item in output.items if isinstance(item, Call)]
    results, rest = _results(seen, len(calls))
    if not calls or len(calls) < len(output.items) or results is None:
        yield {"role": "assistant", "content": said}
        yield {"role": "user", "content": seen}
        return
    ids = [f"call_{turn}_{place}" for place in range(len(calls))]
    yield {
        "role": "assistant",
        "content": output.text or None,
        "tool_calls": [_written(*pair) for pair in zip(ids, calls, strict=True)],
    }
    for id_, result in zip(ids, results, strict=True):
        yield {"role": "tool", "tool_call_id": id_, "content": result}
    if rest:  # what a wrapper has added, such as the remaining budget
        yield {"role": "user", "content": rest}


def _written(id_: str, call: Call) -> Sent:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    return {"id": id_, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _results(seen: str, count: int) -> tuple[list[str] | None, str]:
    """Return the results that an observation begins with, and what follows them."""
    lines = seen.split("\n", count)
    results = []
    for line in lines[:count]:
        try:
            result = json.loads(line)
        except (ValueError, RecursionError):
            return None, seen
        if not isinstance(result, dict) or not isinstance(result.get("content"), str):
            return None, seen
        results.append(result["content"])
    return (results if len(results) == count else None), "\n".join(lines[count:]).lstrip("\n")
