"""The joins and memberships that templates share."""

from __future__ import annotations

from budget_envs.tasks.synthetic_sql.query import Condition
from budget_envs.tasks.synthetic_sql.scene import Clause, ref
from budget_envs.tasks.synthetic_sql.schema import Relation, Table

__all__ = ["chain", "child_first", "identity", "membership", "parent_first"]


def child_first(relation: Relation) -> str:
    """The child joined with the parent."""
    return f"{relation.child.name} JOIN {relation.parent.name} ON {relation.on}"


def membership(relation: Relation, clause: Clause | None, negated: bool = False) -> Condition:
    """The condition that a parent has, or has not, a child that meets a condition.

    Args:
        relation: The two tables.
        clause: The child's condition; its SQL has no table names.
        negated: Whether there must be none.
    """
    key = relation.parent.key.name
    inner = f"SELECT {relation.column.name} FROM {relation.child.name}"
    word, opposite = ("NOT IN", "IN") if negated else ("IN", "NOT IN")
    if clause is None:
        return Condition(f"{key} {word} ({inner})", slips=(f"{key} {opposite} ({inner})",))
    full = f"{inner} WHERE {clause.sql}"
    return Condition(
        f"{key} {word} ({full})",
        weaker=(f"{key} {word} ({inner})",),
        slips=(
            f"{key} {opposite} ({full})",
            *(f"{key} {word} ({inner} WHERE {slip})" for slip in clause.condition.slips[:1]),
        ),
    )


def parent_first(relation: Relation) -> str:
    """The parent joined with the child."""
    return f"{relation.parent.name} JOIN {relation.child.name} ON {relation.on}"


def chain(start: Table, first: Relation, second: Relation) -> str:
    """Three tables joined along two foreign keys, from an end of the first."""
    one = first.parent if start == first.child else first.child
    return f"{start.name} JOIN {one.name} ON {first.on} JOIN {second.parent.name} ON {second.on}"


def identity(table: Table) -> tuple[str, ...]:
    """The columns to group by for one group a row of a table."""
    return tuple(dict.fromkeys((ref(table, table.key), ref(table, table.label))))
