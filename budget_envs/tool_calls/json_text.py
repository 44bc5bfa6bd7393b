"""Strict, bounded JSON: what agents write is read once, one way, or refused with a reason."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from budget_envs.errors import OptionError
from budget_envs.tool_calls.message import escape_tags
from budget_envs.tool_calls.values import MAX_CHARACTERS, MAX_DEPTH, TOO_DEEP, refusal

__all__ = ["JSON_LESS_THAN", "JsonRefused", "read_json", "write_json"]

JSON_LESS_THAN: Final = r"\u003c"
_MAX_SIGNED_DIGITS: Final = 301
_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\(?:.|$))*(?:"|$)|[\[\]{}]', re.DOTALL)


class JsonRefused(ValueError):
    """A text is not JSON as it is expected here; the message says what came instead."""


def read_json(text: str) -> Any:
    """Read a JSON text of at most `MAX_CHARACTERS` characters.

    Refused, beside what JSON does not allow: a key that occurs twice in an object, ``NaN`` and
    ``Infinity``, and what `values.refusal` refuses.

    Raises:
        JsonRefused: If it is refused. Nothing else is raised, whatever the text is.
    """
    if len(text) > MAX_CHARACTERS:
        raise JsonRefused(f"a text of more than {MAX_CHARACTERS} characters")
    try:
        value = _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        deep = _nesting(text) > MAX_DEPTH
        raise JsonRefused(TOO_DEEP if deep else "a text that is not valid JSON") from None
    reason = refusal(value)
    if reason is not None:
        raise JsonRefused(reason)
    return value


def write_json(value: Any) -> str:
    r"""Return a value as JSON on one line, in which no text looks like a tag.

    A ``<`` that begins a tag is written ``\u003c``, which reads as the same text: an argument
    that holds ``</tool_call>`` does not end the call that it is in.

    Raises:
        OptionError: If JSON cannot hold the value.
    """
    reason = refusal(value)
    if reason is not None:
        raise OptionError(f"Expected a value that JSON can hold; got {reason}.")
    return escape_tags(_ENCODER.encode(value), JSON_LESS_THAN)


def _nesting(text: str) -> int:
    """Return how deep brackets are nested: the parser's own limit depends on the stack."""
    depth = deepest = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.group(), 0)
        deepest = max(deepest, depth)
    return deepest


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise JsonRefused("an object with the same key twice")
    return read


def _integer(digits: str) -> int:
    if len(digits) > _MAX_SIGNED_DIGITS:
        raise JsonRefused("an integer of more than 300 digits")
    return int(digits)


def _constant(name: str) -> NoReturn:
    raise JsonRefused(f"{name}, which is not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_constant=_constant
)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
