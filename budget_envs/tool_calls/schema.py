"""BFCL's type names as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from budget_envs.errors import OptionError

__all__ = ["json_schema"]

_TYPES: Final[dict[str, str | None]] = {
    **dict.fromkeys(("array", "list", "tuple", "Array", "ArrayList", "Queue", "Stack"), "array"),
    **dict.fromkeys(("boolean", "bool", "Boolean"), "boolean"),
    **dict.fromkeys(("integer", "int", "byte", "short", "long", "Bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("object", "dict", "HashMap", "Hashtable"), "object"),
    **dict.fromkeys(("string", "str", "char", "String"), "string"),
    **dict.fromkeys(("null", "none", "None"), "null"),
    **dict.fromkeys(("any", "Any"), None),
}


def json_schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter's description, in BFCL's type names, as JSON Schema.

    Types are mapped wherever the description has schemas: in ``properties``, ``items``,
    ``additionalProperties`` and ``anyOf`` and its like. ``any`` is any value, so its
    schema has no ``type`` (BFCL's own tables make a string of it). Everything else is taken over
    as it is, in its order.

    Args:
        parameter: A description such as ``{"type": "dict", "properties": {...}}``.

    Raises:
        OptionError: If a type's name is unknown.
    """
    return {key: mapped for key, value in parameter.items() for mapped in _mapped(key, value)}


def _mapped(key: str, value: Any) -> list[Any]:
    """Return what stands under a key, or nothing if the key is left out."""
    match key, value:
        case "type", str(name):
            known = _json_type(name)
            return [] if known is None else [known]
        case "properties", Mapping():
            return [{name: json_schema(schema) for name, schema in value.items()}]
        case (("items" | "additionalProperties"), Mapping()):
            return [json_schema(value)]
        case (("items" | "anyOf" | "oneOf" | "allOf"), [*schemas]):
            return [[json_schema(schema) for schema in schemas]]
    return [value]


def _json_type(name: str) -> str | None:
    if name not in _TYPES:
        raise OptionError(f"Expected a type, one of {', '.join(_TYPES)}; got {name!r}.")
    return _TYPES[name]
