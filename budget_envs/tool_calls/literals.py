"""Calls in Python syntax, read and written: literals only, and nothing is ever evaluated.

Read are lists of calls ``[f(a=1), g('x', b=[2, 3])]`` whose arguments are literals: ``None``,
``True``, ``False``, numbers with at most one sign, texts, and lists, tuples and dicts with text
keys of them. Refused are names, attributes, calls inside of calls, operators, comprehensions,
f-strings, stars, and also sets, bytes, complex numbers and ``...``, which no tool takes.

A dotted name such as ``FileSystem.cd`` is read as one name with dots in it, which BFCL's decoder
does too; it stands for no tool unless a tool is called exactly so.
"""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Final

from budget_envs.actions import quote
from budget_envs.errors import OptionError
from budget_envs.tool_calls.message import escape_tags
from budget_envs.tool_calls.model import Call
from budget_envs.tool_calls.values import MAX_CHARACTERS, MAX_DEPTH, refusal
from budget_envs.tool_calls.written_calls import MalformedCall, RawCall

__all__ = ["RawCall", "read_call", "read_calls", "render_call", "render_calls"]

_MAY_WARN: Final = re.compile(r"\\|[0-9]\.?[A-Za-z]")
_MAX_TREE_DEPTH: Final = 3 * MAX_DEPTH
_TREE_TOO_DEEP: Final = "an expression that is nested too deeply"
_EXPECTED_CALL: Final = "a call with literal arguments, such as f(a=1, b='x')"
_EXPECTED_LIST: Final = "a list of calls with literal arguments, such as [f(a=1), g(b='x')]"
_KINDS: Final[dict[type[ast.AST], str]] = {
    ast.Constant: "a value",
    ast.List: "a list",
    ast.Tuple: "a tuple",
    ast.Dict: "a dict",
    ast.Attribute: "an attribute",
    ast.Call: "a call inside of a call",
    ast.GeneratorExp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.JoinedStr: "an f-string",
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.NamedExpr: "an assignment",
    ast.Set: "a set",
    ast.SetComp: "a comprehension",
    ast.Starred: "a star",
    ast.Subscript: "a subscript",
}


class _Refused(ValueError):
    """Part of a text is not what may stand there; the message says what came instead."""


def read_call(source: str) -> RawCall | str:
    """Read one call, such as ``f(1, b='x')``.

    Args:
        source: Any string.

    Returns:
        The call, or why it is none. Nothing is raised, whatever the text is.
    """
    try:
        return _call(_shallow(_parse(source)))
    except _Refused as refused:
        return _explained(_EXPECTED_CALL, refused, source)


def read_calls(source: str) -> tuple[RawCall | MalformedCall, ...] | str:
    """Read a list of calls, such as ``[f(1, b='x'), g()]``.

    Args:
        source: Any string.

    Returns:
        One entry for each element of the list, at least one of them written as a call; or, if
        ``source`` is no such list, why not. Nothing is raised, whatever the text is.
    """
    try:
        tree = _parse(source)
        calls = _well_formed(tree)
        if calls is not None:
            return calls
        elements = _call_list(_shallow(tree))
    except _Refused as refused:
        return _explained(_EXPECTED_LIST, refused, source)
    lines = _lines(source)
    return tuple(_element(node, lines) for node in elements)


def render_call(call: Call) -> str:
    """Return a call in Python syntax, such as ``f(a=1, b='x')``, which `read_call` reads back.

    Raises:
        OptionError: If a name is not an identifier, or a value not what `values.refusal` lets pass.
    """
    for name in (*call.name.split("."), *call.arguments):
        if not name.isidentifier() or keyword.iskeyword(name) or not _is_normal(name):
            raise OptionError(
                f"Python syntax can only name a tool or parameter so that it is an "
                f"identifier; got {name!r} in a call of {call.name!r}."
            )
    reason = refusal(dict(call.arguments))
    if reason is not None:
        raise OptionError(f"Expected arguments of {call.name!r} that can be written; got {reason}.")
    written = (f"{name}={value!r}" for name, value in call.arguments.items())
    return escape_tags(f"{call.name}({', '.join(written)})", r"\x3c")


def render_calls(calls: Iterable[Call]) -> str:
    """Return calls as a list in Python syntax, which `read_calls` reads back."""
    return f"[{', '.join(map(render_call, calls))}]"


def _is_normal(name: str) -> bool:
    """Tell whether Python reads an identifier as it is written; it normalises identifiers."""
    return unicodedata.normalize("NFKC", name) == name


def _explained(expected: str, refused: _Refused, source: str) -> str:
    return f"Expected {expected}; got {refused}: {quote(source.strip())}."


def _parse(source: str) -> ast.expr:
    """Parse a text as one expression."""
    if len(source) > MAX_CHARACTERS:
        raise _Refused(f"more than {MAX_CHARACTERS} characters")
    try:
        return _parse_quietly(_normalized(source))
    except (RecursionError, MemoryError):  # how CPython's parser says that its stack is full
        raise _Refused(_TREE_TOO_DEEP) from None
    except (SyntaxError, ValueError):  # ValueError: null bytes, half surrogate pairs
        raise _Refused("invalid syntax") from None


def _shallow(tree: ast.expr) -> ast.expr:
    """Return a tree that is not nested too deeply."""
    if _is_deep(tree):
        raise _Refused(_TREE_TOO_DEEP)
    return tree


def _normalized(source: str) -> str:
    return source.strip().replace("\r\n", "\n").replace("\r", "\n")


def _parse_quietly(source: str) -> ast.expr:
    r"""Parse without the warnings that the parser has for texts such as ``'\d'`` and ``1or 2``.

    The process's warning filters are touched only where a warning is possible.
    """
    if not _MAY_WARN.search(source):
        return ast.parse(source, mode="eval").body
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source, mode="eval").body


def _is_deep(tree: ast.AST) -> bool:
    """Tell whether a tree is deeper than any readable call, without a recursion of its own.

    Where exactly CPython gives up depends on the stack around it; this limit does not.
    """
    level = [tree]
    for _ in range(_MAX_TREE_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _well_formed(tree: ast.expr) -> tuple[RawCall, ...] | None:
    """Return the calls of a list in which nothing is wrong; ``None`` for anything else.

    What is read here is never nested too deeply, which spares the dear look at the whole tree.
    """
    if not isinstance(tree, ast.List) or not tree.elts:
        return None
    try:
        calls = tuple(map(_call, tree.elts))
    except (_Refused, RecursionError):
        return None
    return None if any(call.name.count(".") > MAX_DEPTH for call in calls) else calls


def _call_list(tree: ast.expr) -> list[ast.expr]:
    if not isinstance(tree, ast.List):
        raise _Refused(_described(tree))
    if not any(isinstance(element, ast.Call) for element in tree.elts):
        raise _Refused("a list without a call")
    return tree.elts


def _lines(source: str) -> list[bytes]:
    return _normalized(source).encode().split(b"\n")


def _element(node: ast.expr, lines: list[bytes]) -> RawCall | MalformedCall:
    try:
        return _call(node)
    except _Refused as refused:
        text = _segment(node, lines)
        return MalformedCall(text, _explained(_EXPECTED_CALL, refused, text))


def _segment(node: ast.expr, lines: list[bytes]) -> str:
    """Return a node's source; `ast.get_source_segment` would split the text anew for each node."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    if first == last:
        return lines[first][node.col_offset : node.end_col_offset].decode(errors="replace")
    inner = lines[first + 1 : last]
    covered = [lines[first][node.col_offset :], *inner, lines[last][: node.end_col_offset]]
    return b"\n".join(covered).decode(errors="replace")


def _call(node: ast.expr) -> RawCall:
    if not isinstance(node, ast.Call):
        raise _Refused(_described(node))
    name = _dotted_name(node.func)
    positional = tuple(map(_value, node.args))
    keywords: dict[str, Any] = {}
    for argument in node.keywords:
        if argument.arg is None:
            raise _Refused("a star")
        if argument.arg in keywords:
            raise _Refused(f"the argument {quote(argument.arg)} twice")
        keywords[argument.arg] = _value(argument.value)
    return RawCall(name, positional, keywords)


def _dotted_name(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise _Refused("a call of something that is not a name")
    return ".".join(reversed([*parts, node.id]))


def _value(node: ast.expr) -> Any:
    """Return the value of a literal, of a kind and size that arguments may have."""
    value = _literal(node)
    reason = refusal(value)
    if reason is not None:
        raise _Refused(reason)
    return value


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=(ast.USub() | ast.UAdd()) as sign, operand=ast.Constant(value=number)):
            if type(number) is int or type(number) is float:
                return -number if isinstance(sign, ast.USub) else number
        case ast.List(elts=elements):
            return list(map(_literal, elements))
        case ast.Tuple(elts=elements):
            return tuple(map(_literal, elements))
        case ast.Dict(keys=keys, values=values):
            return dict(_items(keys, values))
    raise _Refused(_described(node))


def _items(keys: list[ast.expr | None], values: list[ast.expr]) -> Iterator[tuple[str, Any]]:
    seen = set()
    for key, value in zip(keys, values, strict=True):
        if not isinstance(key, ast.Constant) or type(key.value) is not str:
            raise _Refused("a dict key that is not a text" if key is not None else "a star")
        if key.value in seen:
            raise _Refused("a dict with the same key twice")
        seen.add(key.value)
        yield key.value, _literal(value)


def _described(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return f"the name {quote(node.id)}, which is no literal"
    return _KINDS.get(type(node), "an expression")
