"""Types of the commands' parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

from cyclopts import Parameter, Token

__all__ = ["Flag", "Integer", "OptionalInteger", "Texts"]

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_MAX_DIGITS: Final = 20  # no setting is near it


def _read_integer(kind: Any, tokens: Sequence[Token]) -> int:
    """Read an integer, and no number that would have to be rounded to one."""
    text = tokens[0].value
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"expected an integer, got {text!r:.80}.")
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"expected an integer of at most {_MAX_DIGITS} digits, got {text[:20]}….")
    return int(text)


Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
"""On if given."""

Integer = Annotated[int, Parameter(converter=_read_integer)]
"""A whole number."""

OptionalInteger = Annotated[int | None, Parameter(converter=_read_integer)]
"""A whole number; ``None`` if not given."""

Texts = Annotated[list[str] | None, Parameter(negative=(), consume_multiple=False)]
"""Any number of texts, each with the flag in front; ``None`` if not given."""
