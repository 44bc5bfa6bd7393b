"""What can be done to one node of a syntax tree: the kinds of mistakes, as new nodes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Change", "Site", "edits_at"]

T = TypeVar("T", bound=ast.AST)

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Mod, ast.Div),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_CONFUSED = {
    name: other
    for pair in (
        "min max", "any all", "sum len", "upper lower", "lstrip rstrip", "startswith endswith",
        "find rfind", "index count", "isdigit isalpha", "keys values", "append extend",
        "ceil floor",
    )
    for name, other in (pair.split(), reversed(pair.split()))
}  # fmt: skip
_PASSED_THROUGH = {"sorted", "reversed", "set", "abs", "list"}
_DROPPED = (ast.Assign, ast.AugAssign, ast.Return, ast.Continue, ast.Break)

Change = tuple[str, ast.AST, bool]  # kind, new node, whether it goes after the old one


@dataclass(frozen=True)
class Site:
    """A node, its place in the tree, and the variables that can be read there."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    variables: dict[str, int]  # name -> first line on which it has a value


def edits_at(site: Site) -> Iterator[Change]:
    """Yield what can be done to one node."""
    node = site.node
    if isinstance(node, ast.expr):
        for kind, new in _expression_edits(node, site):
            yield kind, new, False
    elif isinstance(node, ast.stmt):
        yield from _statement_edits(node, site)


def _statement_edits(node: ast.stmt, site: Site) -> Iterator[Change]:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if isinstance(node, _DROPPED) or is_call or (isinstance(node, ast.If) and not node.orelse):
        yield "dropped statement", ast.Pass(), False
    if isinstance(node, ast.AugAssign):
        for operator in _ARITHMETIC.get(type(node.op), ()):
            yield "arithmetic", _with(node, op=operator()), False
    loop, last = site.parent, not isinstance(node, ast.Return | ast.Break | ast.Continue)
    if last and isinstance(loop, ast.For) and node is loop.body[-1]:
        yield "early exit", ast.Break(), True


def _expression_edits(node: ast.expr, site: Site) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare():
            yield from _comparison_edits(node)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "and/or", _with(node, op=other)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "dropped operator", node.operand
        case ast.BinOp():
            yield from _arithmetic_edits(node)
        case ast.Constant():
            yield from _constant_edits(node)
        case ast.Name(ctx=ast.Load()):
            yield from _variable_edits(node, site)
        case ast.Subscript(ctx=ast.Load()):
            yield from _subscript_edits(node)
        case ast.Call():
            yield from _call_edits(node)
        case ast.IfExp():
            yield "swapped branches", _with(node, body=node.orelse, orelse=node.body)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _filter_edits(node)
    if site.field == "test" and isinstance(site.parent, ast.If) and not _is_not(node):
        yield "negated condition", ast.UnaryOp(ast.Not(), node)


def _comparison_edits(node: ast.Compare) -> Iterator[tuple[str, ast.expr]]:
    for i, old in enumerate(node.ops):
        for new in _COMPARISONS[type(old)]:
            yield "comparison", _with(node, ops=[*node.ops[:i], new(), *node.ops[i + 1 :]])


def _arithmetic_edits(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    for new in _ARITHMETIC.get(type(node.op), ()):
        yield "arithmetic", _with(node, op=new())
    if isinstance(node.op, _ORDERED):
        yield "swapped operands", _with(node, left=node.right, right=node.left)


def _constant_edits(node: ast.Constant) -> Iterator[tuple[str, ast.expr]]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "off by one", _number(value + 1)
        yield "off by one", _number(value - 1)
    elif isinstance(value, float):
        yield "constant", ast.Constant(value + 1.0)
    elif isinstance(value, str):
        yield "constant", ast.Constant(value[:-1] if value else " ")


def _variable_edits(node: ast.Name, site: Site) -> Iterator[tuple[str, ast.expr]]:
    is_called = isinstance(site.parent, ast.Call) and site.field == "func"
    if node.id in site.variables and not is_called:
        for name, line in sorted(site.variables.items()):
            if name != node.id and line <= node.lineno:
                yield "wrong variable", ast.Name(name, ast.Load())


def _subscript_edits(node: ast.Subscript) -> Iterator[tuple[str, ast.expr]]:
    where = node.slice
    if isinstance(where, ast.Slice):
        for bounds in _slice_edits(where):
            yield "slice", _with(node, slice=bounds)
        yield "slice", node.value
    elif isinstance(where, ast.Name | ast.BinOp):
        for moved in _moved(where):
            yield "off by one", _with(node, slice=moved)


def _slice_edits(node: ast.Slice) -> Iterator[ast.Slice]:
    for bound, default in (("lower", 1), ("upper", -1)):
        old = getattr(node, bound)
        if old is None and node.step is None:
            yield _with(node, **{bound: _number(default)})
        elif old is not None:
            yield _with(node, **{bound: None})
            for moved in _moved(old) if not isinstance(old, ast.Constant) else ():
                yield _with(node, **{bound: moved})


def _call_edits(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    function, arguments = node.func, node.args
    name = function.id if isinstance(function, ast.Name) else ""
    if name in _CONFUSED:
        yield "wrong function", _with(node, func=ast.Name(_CONFUSED[name], ast.Load()))
    if isinstance(function, ast.Attribute) and function.attr in _CONFUSED:
        yield "wrong function", _with(node, func=_with(function, attr=_CONFUSED[function.attr]))
    if name in _PASSED_THROUGH and len(arguments) == 1 and not node.keywords:
        yield "dropped call", arguments[0]
    if name == "range" and arguments:
        stop = min(1, len(arguments) - 1)
        for moved in _moved(arguments[stop]):
            yield "off by one", _with(node, args=[*arguments[:stop], moved, *arguments[stop + 1 :]])
    if name == "sorted" or (isinstance(function, ast.Attribute) and function.attr == "sort"):
        yield "order", _with(node, keywords=_toggled_reverse(node.keywords))
    for i, keyword in enumerate(node.keywords):
        if keyword.arg == "key":
            yield "order", _with(node, keywords=[*node.keywords[:i], *node.keywords[i + 1 :]])


def _toggled_reverse(keywords: list[ast.keyword]) -> list[ast.keyword]:
    kept = [keyword for keyword in keywords if keyword.arg != "reverse"]
    return (
        kept if len(kept) < len(keywords) else [*kept, ast.keyword("reverse", ast.Constant(True))]
    )


def _filter_edits(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> Iterator[tuple[str, ast.expr]]:
    """Yield the comprehension with one ``if`` dropped, or with it negated."""
    for i, generator in enumerate(node.generators):
        for j, test in enumerate(generator.ifs):
            for kind, kept in (
                ("dropped condition", []),
                ("negated condition", [ast.UnaryOp(ast.Not(), test)]),
            ):
                ifs = [*generator.ifs[:j], *kept, *generator.ifs[j + 1 :]]
                generators = list(node.generators)
                generators[i] = _with(generator, ifs=ifs)
                yield kind, _with(node, generators=generators)


def _with(node: T, **fields: Any) -> T:
    """Return a shallow copy of a node with some fields replaced."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _moved(node: ast.expr) -> list[ast.expr]:
    """Return the expression plus one and minus one."""
    return [ast.BinOp(node, operator, _number(1)) for operator in (ast.Add(), ast.Sub())]


def _number(value: int) -> ast.expr:
    """Return an integer the way it is parsed: a negative one is a minus and a constant."""
    constant = ast.Constant(abs(value))
    return ast.UnaryOp(ast.USub(), constant) if value < 0 else constant


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
