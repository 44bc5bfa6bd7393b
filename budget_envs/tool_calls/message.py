"""What surrounds a message's content and is none of it: think block, end token, fences."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CONTROL_FRAGMENTS", "END_TOKEN", "body_of", "escape_tags", "without_fence"]

END_TOKEN: Final = "<|im_end|>"
CONTROL_FRAGMENTS: Final = ("im_start", END_TOKEN, "<think>", "</think>")
_THINK_OPEN: Final = "<think>"
_THINK_CLOSE: Final = "</think>"
_FENCE: Final = "```"
_TAG_START: Final = re.compile(r"<(?=/?tool_|/?think>|\|)")
_FENCE_LANGUAGE: Final = re.compile(r"[\w+-]*[ \t]*\n")


def body_of(message: str) -> str:
    """Return a message without its leading think block, one final end token and outer whitespace.

    A think block that is never closed stays: it is a fragment of a tag in every format.
    """
    body = message.strip()
    if body.startswith(_THINK_OPEN):
        end = body.find(_THINK_CLOSE)
        body = body[end + len(_THINK_CLOSE) :].lstrip() if end >= 0 else body
    return body.removesuffix(END_TOKEN).rstrip()


def without_fence(body: str) -> str:
    """Return what a code fence or inline backticks hold, if they hold the whole text."""
    if len(body) >= 2 * len(_FENCE) and body.startswith(_FENCE) and body.endswith(_FENCE):
        inside = body[len(_FENCE) : -len(_FENCE)]
        language = _FENCE_LANGUAGE.match(inside)
        return inside[language.end() if language else 0 :].strip()
    return body.strip("`").strip() if body.startswith("`") and body.endswith("`") else body


def escape_tags(text: str, escaped: str) -> str:
    """Replace the ``<`` of everything that a chat template or a tool format takes for a tag.

    Args:
        text: Any text.
        escaped: How ``<`` is written instead, in the text's own syntax.
    """
    return _TAG_START.sub(lambda _: escaped, text) if "<" in text else text
