"""Types of parameters: JSON Schemas, and the one check that every argument goes through."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

__all__ = [
    "LONGEST_TEXT",
    "Refusal",
    "Schema",
    "bind",
    "choice",
    "flag",
    "integer",
    "number",
    "parameters",
    "shown",
    "text",
    "texts",
    "tidy",
]

Schema: TypeAlias = dict[str, Any]

LONGEST_TEXT: Final = 200
"""Characters that a text argument may have."""

_MOST_TEXTS: Final = 20
_SHOWN: Final = 40  # characters of an argument that an error repeats


class Refusal(Exception):
    """What a tool answers when it does nothing: the text of the result ``{"error": ...}``."""


def text(description: str = "") -> Schema:
    """Return the schema of a text."""
    return _schema("string", description)


def choice(*options: str, description: str = "") -> Schema:
    """Return the schema of one text out of several."""
    return _schema("string", description) | {"enum": list(options)}


def integer(low: int, high: int, description: str = "", *, default: int | None = None) -> Schema:
    """Return the schema of an integer from ``low`` to ``high``; a default makes it optional."""
    limits = {"minimum": low, "maximum": high}
    return _schema("integer", description) | limits | _default(default)


def number(low: float, high: float, description: str = "") -> Schema:
    """Return the schema of a number from ``low`` to ``high``."""
    return _schema("number", description) | {"minimum": low, "maximum": high}


def flag(description: str = "", *, default: bool | None = None) -> Schema:
    """Return the schema of a boolean; a default makes it optional."""
    return _schema("boolean", description) | _default(default)


def texts(description: str = "") -> Schema:
    """Return the schema of a list of texts, of which there is at least one."""
    return _schema("array", description) | {"items": {"type": "string"}, "minItems": 1}


def parameters(properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of a tool's arguments; those without a default are required."""
    required = [name for name, schema in properties.items() if "default" not in schema]
    return {"type": "object", "properties": dict(properties), "required": required}


def _schema(kind: str, description: str) -> Schema:
    return {"type": kind} | ({"description": description} if description else {})


def _default(value: int | bool | None) -> Schema:
    return {} if value is None else {"default": value}


def tidy(value: float) -> int | float:
    """Return a finite number to a thousandth, as an integer where it is one."""
    value = round(value, 3)
    return int(value) if value == int(value) else value


def bind(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments of a tool, checked, with defaults filled in.

    Integral floats become integers, as JSON Schema has them equal, so that 20 and 20.0 lead to
    the same state; numbers are taken to a thousandth; tuples become lists.

    Args:
        schema: From `parameters`.
        arguments: Any values by name.

    Raises:
        Refusal: If one is unknown, missing, or of another type or range.
    """
    properties = schema["properties"]
    for name in arguments:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise Refusal(f"Unknown parameter {shown(name)}. Parameters: {known}.")
    for name in schema["required"]:
        if name not in arguments:
            raise Refusal(f"Missing parameter '{name}'.")
    return {
        name: _checked(name, kind, arguments[name]) if name in arguments else kind["default"]
        for name, kind in properties.items()
    }


def shown(value: object) -> str:
    """Return a short description of any value, whatever it is."""
    if isinstance(value, str):
        return f"'{value[:_SHOWN]}'" + ("..." if len(value) > _SHOWN else "")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float) and (abs(value) < 1e15 or value != value):
        return str(value)
    return {int: "a large number", float: "a large number", list: "a list", tuple: "a list"}.get(
        type(value), "an object"
    )


def _checked(name: str, schema: Schema, value: object) -> Any:
    kind = schema["type"]
    try:
        value = _READERS[kind](value)
    except ValueError:
        raise Refusal(f"'{name}' must be {_NAMES[kind]}, got {shown(value)}.") from None
    if "enum" in schema and value not in schema["enum"]:
        options = ", ".join(schema["enum"])
        raise Refusal(f"'{name}' must be one of {options}, got {shown(value)}.")
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        limits = f"from {schema['minimum']} to {schema['maximum']}"
        raise Refusal(f"'{name}' must be {limits}, got {shown(value)}.")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise ValueError
    return value


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise ValueError
    return tidy(value)


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _integer(value: object) -> int:
    number = _number(value)
    if not isinstance(number, int):
        raise ValueError
    return number


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= _MOST_TEXTS:
        raise ValueError
    return [_text(each) for each in value]


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _flag,
    "array": _texts,
}
_NAMES: Final = {
    "string": f"a text of at most {LONGEST_TEXT} characters",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": f"a list of 1 to {_MOST_TEXTS} texts",
}
