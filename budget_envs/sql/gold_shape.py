"""What the outermost level of a query says about order: sorted or not, cut or not, and the ties.

The question is settled on the syntax tree. Which rows tie is asked of the engine, with its own
collation: `Shape.ranked` is the query without its LIMIT and with one more column that numbers
the classes of rows that sort alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from budget_envs.errors import require

__all__ = ["Dialect", "Node", "Shape", "parse_query", "shape_of"]

Dialect: TypeAlias = Literal["sqlite", "mysql"]
Node: TypeAlias = Any
"""A node of a syntax tree of sqlglot, whose base class has another name in every release."""

_MAY_SORT_OR_CUT: Final = re.compile(r"\b(order\s+by|limit|fetch)\b", re.IGNORECASE)
_QUERY_START: Final = re.compile(r"[\s(]*(select|with)\b", re.IGNORECASE)
_RANK: Final = "tie_class"


@dataclass(frozen=True, slots=True)
class Shape:
    """The outermost ORDER BY and LIMIT of a query.

    Args:
        ordered: Whether the outermost level has an ORDER BY.
        cut: Whether it has a LIMIT or OFFSET.
        limit: The LIMIT; ``None`` if there is none or it is not a number.
        offset: Rows left out at the start.
        ranked: The query without LIMIT and OFFSET whose last column counts the classes of ties
            from first to last; ``None`` if nothing is sorted or cut, or it can't be written.
    """

    ordered: bool = False
    cut: bool = False
    limit: int | None = None
    offset: int = 0
    ranked: str | None = None


def parse_query(sql: str, dialect: Dialect = "sqlite") -> Node | None:
    """Return the syntax tree of one SELECT, WITH or set operation, or ``None`` of other text.

    Raises:
        DependencyNotInstalled: If sqlglot is missing.
    """
    sqlglot = require("sqlglot", "sql")
    if not _QUERY_START.match(sql):  # sqlglot would log a warning for SHOW and its like
        return None
    try:
        trees = sqlglot.parse(sql, read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    trees = [tree for tree in trees if tree is not None]
    if len(trees) != 1 or not isinstance(trees[0], sqlglot.exp.Query):
        return None
    return trees[0]


def shape_of(sql: str, dialect: Dialect = "sqlite") -> Shape:
    """Read the outermost ORDER BY and LIMIT of a query.

    A query that cannot be parsed counts as neither sorted nor cut.

    Args:
        sql: One query.
        dialect: Of the query and of `Shape.ranked`.

    Raises:
        DependencyNotInstalled: If sqlglot is missing and the text has an ORDER BY or LIMIT
            at any level.
    """
    if not _MAY_SORT_OR_CUT.search(sql):
        return Shape()
    tree = parse_query(sql, dialect)
    if tree is None:
        return Shape()
    tree = _without_parentheses(tree)
    order, limit, offset = (tree.args.get(name) for name in ("order", "limit", "offset"))
    if order is None and limit is None and offset is None:
        return Shape()
    numbers = _number(limit), _number(offset)
    known = (limit is None or numbers[0] is not None) and (offset is None or numbers[1] is not None)
    return Shape(
        ordered=order is not None,
        cut=limit is not None or offset is not None,
        limit=numbers[0],
        offset=numbers[1] or 0,
        ranked=_ranked(tree, dialect) if known else None,
    )


def _without_parentheses(tree: Node) -> Node:
    exp = require("sqlglot", "sql").exp
    while isinstance(tree, exp.Subquery) and not any(
        tree.args.get(name) for name in ("order", "limit", "offset", "with", "with_")
    ):
        tree = tree.this
    return tree


def _number(clause: Node | None) -> int | None:
    """The number in a LIMIT or OFFSET, or ``None`` of anything else."""
    value = clause.args.get("expression") if clause is not None else None
    return int(value.this) if value is not None and value.is_int and value.is_number else None


def _ranked(tree: Node, dialect: Dialect) -> str | None:
    exp = require("sqlglot", "sql").exp
    plain = tree.copy()
    plain.set("limit", None)
    plain.set("offset", None)
    if isinstance(plain, exp.Select):
        keys = _sort_keys(plain)
        if keys is None or (plain.args.get("distinct") and not _follow_from(keys, plain)):
            return None
        ranked = plain.select(_rank_column(keys), append=True, copy=False)
    elif isinstance(plain, exp.SetOperation):
        keys = _output_columns(plain)
        if keys is None:
            return None
        plain.set("order", None)
        source = plain.subquery("result", copy=False)
        ranked = exp.select("*", _rank_column(keys)).from_(source).order_by(_RANK)
    else:
        return None
    return str(ranked.sql(dialect=dialect))


def _rank_column(keys: Sequence[Node]) -> Node:
    """A column that numbers the classes of rows with equal keys; 1 for all if there are none."""
    exp = require("sqlglot", "sql").exp
    if not keys:
        column = exp.Literal.number(1)
    else:
        order = exp.Order(expressions=list(keys))
        column = exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order)
    return exp.alias_(column, _RANK)


def _sort_keys(tree: Node) -> list[Node] | None:
    """The sort keys of a SELECT in terms of its sources: aliases and positions are resolved."""
    exp = require("sqlglot", "sql").exp
    aliases = {item.alias.lower(): item.this for item in tree.selects if item.alias}
    keys = []
    for key in _ordered(tree):
        expression = key.this
        if expression.is_int:
            expression = _at_position(tree, int(expression.this))
            if expression is None:
                return None
        else:
            expression = expression.transform(
                lambda node: (
                    aliases[node.name.lower()].copy()
                    if isinstance(node, exp.Column)
                    and not node.table
                    and node.name.lower() in aliases
                    else node
                )
            )
        keys.append(_with_expression(key, expression))
    return keys


def _ordered(tree: Node) -> list[Node]:
    order = tree.args.get("order")
    return list(order.expressions) if order is not None else []


def _with_expression(key: Node, expression: Node) -> Node:
    copy = key.copy()
    copy.set("this", expression.copy())
    return copy


def _at_position(tree: Node, position: int) -> Node | None:
    """The expression of a column that ORDER BY gives by number, unless a star hides it."""
    columns = tree.selects
    if not 1 <= position <= len(columns) or any(item.is_star for item in columns[:position]):
        return None
    return columns[position - 1].unalias()


def _follow_from(keys: Sequence[Node], tree: Node) -> bool:
    """Whether the selected columns determine the keys: then they add nothing to a DISTINCT."""
    exp = require("sqlglot", "sql").exp
    selected = [item.unalias() for item in tree.selects]
    if any(isinstance(item, exp.Star) for item in selected):
        return True
    return all(
        key.this in selected or all(column in selected for column in key.find_all(exp.Column))
        for key in keys
    )


def _output_columns(tree: Node) -> list[Node] | None:
    """The sort keys of a set operation, which name its result columns or their positions."""
    exp = require("sqlglot", "sql").exp
    names = tree.named_selects
    keys = []
    for key in _ordered(tree):
        expression = key.this
        if expression.is_int:
            position = int(expression.this)
            if not 1 <= position <= len(names) or not names[position - 1]:
                return None
            expression = exp.column(names[position - 1], quoted=True)
        keys.append(_with_expression(key, expression))
    return keys
