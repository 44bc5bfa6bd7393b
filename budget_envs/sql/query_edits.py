"""Single edits of a query's syntax tree, of the kinds that people get wrong.

None of them can multiply tables: a predicate with columns on both sides joins two tables, in ON
as in WHERE, and is never edited, negated or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from budget_envs.errors import require
from budget_envs.sql.gold_shape import Node

__all__ = ["Columns", "Edit", "edits"]

Columns: TypeAlias = Mapping[str, Mapping[str, str]]
"""Table -> column -> SQL type."""

_COMPARISONS: Final = {
    "eq": ("NEQ",), "neq": ("EQ",), "gt": ("GTE", "LT"), "gte": ("GT", "LTE"),
    "lt": ("LTE", "GT"), "lte": ("LT", "GTE"),
}  # fmt: skip
_AGGREGATES: Final = {
    "max": ("Min",), "min": ("Max",), "sum": ("Avg", "Max"), "avg": ("Sum", "Max"),
}  # fmt: skip
_SET_OPERATIONS: Final = {
    "union": ("Intersect", "Except"), "intersect": ("Union", "Except"),
    "except": ("Intersect", "Union"),
}  # fmt: skip
_NEGATABLE: Final = ("in", "exists", "is", "like", "between")
_NUMBERS: Final = ("int", "real", "doub", "floa", "dec", "num")


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of a node.

    Args:
        kind: Name of the kind of mistake.
        apply: Takes the node and returns what stands in its place.
    """

    kind: str
    apply: Callable[[Node], Node]


def edits(node: Node, columns: Columns) -> Iterator[Edit]:
    """Yield the edits of one node of a tree.

    Args:
        node: The node, inside its tree.
        columns: The schema, with lower-case names.
    """
    if _is_inside_join_condition(node):
        return
    key = node.key
    if key in _COMPARISONS:
        yield from (_as_type("comparison", name) for name in _COMPARISONS[key])
    elif key in _AGGREGATES:
        yield from (Edit("aggregate", _aggregate(name)) for name in _AGGREGATES[key])
    elif key in _SET_OPERATIONS:
        yield from _set_operation(node)
    elif key in _NEGATABLE and not isinstance(node.parent, _exp().Not):
        yield Edit("negation", _negated)
    elif key in _BY_TYPE:
        yield from _BY_TYPE[key](node)
    elif key == "column":
        yield from _other_columns(node, columns)


def _as_type(kind: str, name: str) -> Edit:
    """An edit that keeps the operands and changes the operator."""
    return Edit(kind, lambda node: getattr(_exp(), name)(**node.args))


def _aggregate(name: str) -> Callable[[Node], Node]:
    return lambda node: getattr(_exp(), name)(this=node.this)


def _negated(node: Node) -> Node:
    if node.args.get("negate"):  # how newer releases of sqlglot hold NOT LIKE
        return _setting(node, "negate", None)
    return _exp().Not(this=node.copy())


def _set_operation(node: Node) -> Iterator[Edit]:
    for name in _SET_OPERATIONS[node.key]:
        yield Edit("set operation", lambda node, name=name: _with_operator(node, name))  # type: ignore[misc]  # a default binds it
    if node.key == "union":
        yield Edit("duplicates", lambda node: _setting(node, "distinct", not node.args["distinct"]))
    if not any(node.args.get(name) for name in ("order", "limit", "with", "with_")):
        yield Edit("operand", lambda node: node.this)
        yield Edit("operand", lambda node: node.expression)


def _with_operator(node: Node, name: str) -> Node:
    return getattr(_exp(), name)(**{**node.args, "distinct": True})


def _conjunction(node: Node) -> Iterator[Edit]:
    left, right = node.this, node.expression
    if not _has_join_condition(right):
        yield Edit("condition dropped", lambda node: node.this)
    if not _has_join_condition(left):
        yield Edit("condition dropped", lambda node: node.expression)
    if not _has_join_condition(node):
        yield Edit("connective", lambda node: _in_parentheses(node, "Or"))


def _disjunction(node: Node) -> Iterator[Edit]:
    if not _has_join_condition(node):
        yield Edit("condition dropped", lambda node: node.this)
        yield Edit("condition dropped", lambda node: node.expression)
        yield Edit("connective", lambda node: _in_parentheses(node, "And"))


def _in_parentheses(node: Node, name: str) -> Node:
    exp = _exp()
    return exp.Paren(this=getattr(exp, name)(**node.args))


def _select(node: Node) -> Iterator[Edit]:
    for clause in ("where", "having"):
        if node.args.get(clause) and not _has_join_condition(node.args[clause]):
            yield Edit(
                "condition dropped",
                lambda node, clause=clause: _setting(node, clause, None),  # type: ignore[misc]  # a default binds it
            )
    if node.args.get("distinct"):
        yield Edit("duplicates", lambda node: _setting(node, "distinct", None))
    elif not node.args.get("group"):
        yield Edit("duplicates", lambda node: node.distinct(copy=False))
    if node.args.get("limit"):
        yield Edit("limit", lambda node: _setting(node, "limit", None))
    elif node.is_star and _is_outermost_ungrouped(node):
        yield Edit("limit", lambda node: node.limit(1, copy=False))
    if len(node.expressions) > 1 and not node.find_ancestor(_exp().SetOperation):
        yield Edit("columns", lambda node: _setting(node, "expressions", node.expressions[:-1]))
        yield Edit(
            "columns",
            lambda node: _setting(
                node,
                "expressions",
                [node.expressions[1], node.expressions[0], *node.expressions[2:]],
            ),
        )


def _negation(node: Node) -> Iterator[Edit]:
    if not _has_join_condition(node):
        yield Edit("negation", lambda node: node.this)


def _join(node: Node) -> Iterator[Edit]:
    if node.args.get("on") and node.args.get("kind") in (None, "", "INNER", "OUTER"):
        side = None if node.args.get("side") else "LEFT"
        yield Edit("join", lambda node: _setting(_setting(node, "kind", None), "side", side))


def _ordered(node: Node) -> Iterator[Edit]:
    falls = not node.args.get("desc")  # NULLs are the smallest values, in both engines
    yield Edit(
        "direction",
        lambda node: _setting(_setting(node, "desc", falls or None), "nulls_first", not falls),
    )


def _limit(node: Node) -> Iterator[Edit]:
    count = node.expression
    if count.is_int and not count.is_string:
        for change in (1, -1):
            if int(count.this) + change > 0:
                yield Edit("limit", lambda node, change=change: _shifted_limit(node, change))  # type: ignore[misc]  # a default binds it


def _shifted_limit(node: Node, change: int) -> Node:
    return _setting(node, "expression", _exp().Literal.number(int(node.expression.this) + change))


def _literal(node: Node) -> Iterator[Edit]:
    if node.is_int and not node.is_string and node.parent.key in _COMPARISONS:
        for change in (1, -1):
            yield Edit(
                "number",
                lambda node, change=change: _exp().Literal.number(int(node.this) + change),  # type: ignore[misc]  # a default binds it
            )


def _count(node: Node) -> Iterator[Edit]:
    exp = _exp()
    counted = node.this
    if isinstance(counted, exp.Distinct):
        yield Edit("aggregate", lambda node: exp.Count(this=node.this.expressions[0]))
    elif isinstance(counted, exp.Star) and _is_outermost_ungrouped(node.parent):
        yield Edit("aggregate", lambda node: exp.Star())
    elif isinstance(counted, exp.Column):
        yield Edit("aggregate", lambda node: exp.Count(this=exp.Distinct(expressions=[node.this])))


def _is_outermost_ungrouped(node: Node) -> bool:
    return isinstance(node, _exp().Select) and node.parent is None and not node.args.get("group")


_BY_TYPE: Final[dict[str, Callable[[Node], Iterator[Edit]]]] = {
    "and": _conjunction, "or": _disjunction, "not": _negation, "select": _select, "join": _join,
    "ordered": _ordered, "limit": _limit, "literal": _literal, "count": _count,
}  # fmt: skip


def _other_columns(node: Node, columns: Columns) -> Iterator[Edit]:
    """Yield the other columns of the same table and type."""
    table = columns.get(_table_of(node, columns), {})
    if node.name.lower() not in table:
        return
    kind = _kind(table[node.name.lower()])
    for name, sql_type in table.items():
        if name != node.name.lower() and _kind(sql_type) == kind:
            yield Edit(
                "column",
                lambda node, name=name: _exp().column(name, table=node.args.get("table")),  # type: ignore[misc]  # a default binds it
            )


def _table_of(node: Node, columns: Columns) -> str:
    """The table that a column belongs to, in lower case, or "" if that is not certain."""
    select = node.parent_select
    if select is None:
        return ""
    sources = {
        table.alias_or_name.lower(): table.name.lower()
        for table in select.find_all(_exp().Table)
        if table.parent_select is select
    }
    if node.table:
        return str(sources.get(node.table.lower(), ""))
    owners = {name for name in sources.values() if node.name.lower() in columns.get(name, {})}
    return str(owners.pop()) if len(owners) == 1 else ""


def _kind(sql_type: str) -> str:
    return "number" if any(word in sql_type.lower() for word in _NUMBERS) else "text"


def _setting(node: Node, name: str, value: object) -> Node:
    node.set(name, value)
    return node


def _is_join_condition(node: Node) -> bool:
    """Whether a predicate has columns in more than one operand, not counting subqueries."""
    if node.key not in _COMPARISONS and node.key not in _NEGATABLE:
        return False
    operands = [node.this, *node.expressions]
    operands += [node.args.get(name) for name in ("expression", "low", "high")]
    return sum(operand is not None and _has_column(operand) for operand in operands) > 1


def _has_column(operand: Node) -> bool:
    exp = _exp()
    return any(
        isinstance(node, exp.Column) and node.parent_select is operand.parent_select
        for node in operand.walk(prune=lambda node: isinstance(node, exp.Query))
    )


def _has_join_condition(node: Node) -> bool:
    return any(map(_is_join_condition, node.walk()))


def _is_inside_join_condition(node: Node) -> bool:
    exp = _exp()
    while node is not None and not isinstance(node, exp.Query):
        if _is_join_condition(node):
            return True
        node = node.parent
    return False


def _exp() -> Node:
    return require("sqlglot", "sql").exp
