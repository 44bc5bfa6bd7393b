"""JSON that a page can hold inside a script element, whatever text is in it."""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["embedded_json"]

# With these written out, no text in the document can end the element or start a comment in it,
# nor is anything in it a line end to scripts and none to JSON.
_ESCAPES: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def embedded_json(value: Any) -> str:
    """Return a value as JSON for the inside of ``<script type="application/json">``.

    Args:
        value: Plain values; texts without lone surrogates (see `visible`), finite numbers.

    Returns:
        JSON in which ``<``, ``>``, ``&``, U+2028 and U+2029 are escaped.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)
