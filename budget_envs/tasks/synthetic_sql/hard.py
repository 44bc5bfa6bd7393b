"""Hard questions: a subquery, a set operation, three tables, or a grouping that is filtered."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.columns import Column
from budget_envs.tasks.synthetic_sql.database import literal
from budget_envs.tasks.synthetic_sql.joins import chain, identity, membership, parent_first
from budget_envs.tasks.synthetic_sql.query import Condition, Query, SetOperation
from budget_envs.tasks.synthetic_sql.scene import Clause, Draft, Scene, ref, text_of
from budget_envs.tasks.synthetic_sql.schema import Table
from budget_envs.tasks.synthetic_sql.template import Template, templates

__all__ = ["HARD"]


def parents_without(scene: Scene) -> Draft:
    """SELECT label FROM parent WHERE key NOT IN (SELECT reference FROM child WHERE ...)."""
    relation = scene.relation()
    parent = relation.parent
    clause = scene.maybe(0.7, lambda: scene.clause(relation.child))
    query = Query((parent.label.name,), parent.name, (membership(relation, clause, negated=True),))
    which = f" {clause.english}" if clause else ""
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {parent.who} has no "
        f"{relation.column.child}{which}.",
        query,
    )


def parents_with(scene: Scene) -> Draft:
    """SELECT label FROM parent WHERE condition AND key IN (SELECT ... WHERE ...)."""
    relation = scene.relation()
    parent = relation.parent
    own = scene.clause(parent)
    clause = scene.clause(relation.child)
    query = Query((parent.label.name,), parent.name, (own.condition, membership(relation, clause)))
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {own.whose} and "
        f"{parent.who} has at least one {relation.column.child} {clause.english}.",
        query,
    )


def above_average(scene: Scene) -> Draft:
    """SELECT label WHERE measure > (SELECT AVG(measure) FROM table)."""
    table = scene.table(lambda table: table.reals)
    measure = scene.one_of(table.reals)
    clause = scene.maybe(0.6, lambda: scene.clause(table, without=[measure]))
    over = scene.draw.chance(0.5)
    sign, opposite = (">", "<") if over else ("<", ">")
    name, words = measure.name, measure.comparison
    average = f"SELECT AVG({name}) FROM {table.name}"
    slips = [f"{name} {opposite} ({average})"]
    if clause:
        slips.append(f"{name} {sign} ({average} WHERE {clause.sql})")
    condition = Condition(f"{name} {sign} ({average})", slips=tuple(slips))
    where = (clause.condition, condition) if clause else (condition,)
    own = f"{clause.whose} and " if clause else ""
    return Draft(
        f"{scene.verb()} the {table.label.noun} and the {measure.noun} of every {table.noun} {own}"
        f"whose {measure.noun} is {words.more if over else words.less} the average {measure.noun} "
        f"of all {table.plural}.",
        Query((table.label.name, name), table.name, where),
    )


def parents_with_many(scene: Scene) -> Draft:
    """SELECT label, COUNT(*) FROM parent JOIN child GROUP BY parent HAVING COUNT(*) >= k."""
    relation = scene.relation()
    parent = relation.parent
    clause = scene.maybe(0.5, lambda: scene.clause(relation.child, qualified=True))
    count = scene.draw.integer(2, 5)
    having = Condition(f"COUNT(*) >= {count}", slips=(f"COUNT(*) > {count}", f"COUNT(*) < {count}"))
    query = Query(
        (ref(parent, parent.label), "COUNT(*)"), parent_first(relation),
        (clause.condition,) if clause else (), group=identity(parent), having=(having,),
    )  # fmt: skip
    which = f" {clause.english}" if clause else ""
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {parent.who} has at least "
        f"{count} {relation.column.children}{which}, and the number of those "
        f"{relation.column.children}.",
        query,
    )


def parent_with_most(scene: Scene) -> Draft:
    """SELECT label, COUNT(*) ... GROUP BY parent ORDER BY COUNT(*) DESC LIMIT 1."""
    relation = scene.relation()
    parent = relation.parent
    clause = scene.maybe(0.7, lambda: scene.clause(relation.child, qualified=True))
    query = Query(
        (ref(parent, parent.label), "COUNT(*)"), parent_first(relation),
        (clause.condition,) if clause else (), group=identity(parent),
        order=("COUNT(*) DESC",), limit=1,
    )  # fmt: skip
    which = f" {clause.english}" if clause else ""
    return Draft(
        f"Which {parent.noun} has the most {relation.column.children}{which}? Show the "
        f"{parent.label.noun} and the number of those {relation.column.children}.",
        query,
    )


def only_in_the_first(scene: Scene) -> Draft:
    """SELECT category WHERE a EXCEPT SELECT category WHERE b."""
    table, column, first, second = _two_sets(scene)
    return Draft(
        f"Which {column.plural} occur among the {table.plural} {first.english} but not among the "
        f"{table.plural} {second.english}?",
        _combined("EXCEPT", table, column, first, second),
    )


def three_tables(scene: Scene) -> Draft:
    """SELECT two labels FROM three tables WHERE condition."""
    direct = scene.draw.chance(0.5)
    first, second = scene.siblings() if direct else scene.lineage()
    child, one, other = first.child, first.parent, second.parent
    clause = scene.clause(child, qualified=True)
    owner = f"{child.its} {second.role}" if direct else f"that {first.role}'s {second.role}"
    query = Query(
        (ref(child, child.label), ref(one, one.label), ref(other, other.label)),
        chain(child, first, second), (clause.condition,),
    )  # fmt: skip
    return Draft(
        f"For every {child.noun} {clause.english}, show the {child.label.noun}, the "
        f"{one.label.noun} of {child.its} {first.role} and the {other.label.noun} of {owner}.",
        query,
    )


def high_average_groups(scene: Scene) -> Draft:
    """SELECT category, AVG(measure) GROUP BY category HAVING AVG(measure) > value."""
    table = scene.table(lambda table: table.reals and table.categories)
    column, measure = scene.one_of(table.categories), scene.one_of(table.reals)
    clause = scene.maybe(0.5, lambda: scene.clause(table, without=[column, measure]))
    over = scene.draw.chance(0.5)
    sign, opposite = (">", "<") if over else ("<", ">")
    value = scene.inner_value(table, measure)
    average, limit = f"AVG({measure.name})", literal(value)
    having = Condition(
        f"{average} {sign} {limit}",
        slips=(f"{average} {opposite} {limit}", f"MAX({measure.name}) {sign} {limit}"),
    )
    query = Query(
        (column.name, average), table.name, (clause.condition,) if clause else (),
        group=(column.name,), having=(having,),
    )  # fmt: skip
    rows = f"{table.plural} {clause.english}" if clause else table.plural
    words = measure.comparison
    return Draft(
        f"Group the {rows} by {column.noun}. For which {column.plural} is the average "
        f"{measure.noun} {words.more if over else words.less} {text_of(value)}? Show the "
        f"{column.noun} and that average.",
        query,
    )


def own_and_child(scene: Scene) -> Draft:
    """SELECT columns FROM parent WHERE condition AND EXISTS (SELECT 1 FROM child WHERE ...)."""
    relation = scene.relation()
    child, parent = relation.child, relation.parent
    own = scene.clause(parent)
    clause = scene.clause(child, qualified=True)
    inner = f"SELECT 1 FROM {child.name} WHERE {relation.on}"
    exists = Condition(
        f"EXISTS ({inner} AND {clause.sql})",
        weaker=(f"EXISTS ({inner})",),
        slips=(f"NOT EXISTS ({inner} AND {clause.sql})",),
    )
    columns = [parent.label, scene.one_of(c for c in parent.columns if c != parent.label)]
    return Draft(
        f"{scene.verb()} the {columns[0].noun} and the {columns[1].noun} of every {parent.noun} "
        f"{own.whose}, provided that there is at least one {relation.column.child} for "
        f"{'them' if parent.person else 'it'} {clause.english}.",
        Query(tuple(c.name for c in columns), parent.name, (own.condition, exists)),
    )


def own_or_child(scene: Scene) -> Draft:
    """SELECT label FROM parent WHERE a UNION SELECT label FROM parent JOIN child WHERE b."""
    relation = scene.relation()
    parent = relation.parent
    own = scene.clause(parent, qualified=True)
    clause = scene.clause(relation.child, qualified=True)
    label = (ref(parent, parent.label),)
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {own.whose} or "
        f"{parent.who} has at least one {relation.column.child} {clause.english}. Name each "
        f"{parent.noun} once.",
        SetOperation(
            "UNION",
            Query(label, parent.name, (own.condition,)),
            Query(label, parent_first(relation), (clause.condition,)),
        ),
    )


def in_both(scene: Scene) -> Draft:
    """SELECT category WHERE a INTERSECT SELECT category WHERE b."""
    table, column, first, second = _two_sets(scene)
    return Draft(
        f"Which {column.plural} occur both among the {table.plural} {first.english} and among the "
        f"{table.plural} {second.english}?",
        _combined("INTERSECT", table, column, first, second),
    )


def beyond_all(scene: Scene) -> Draft:
    """SELECT label WHERE measure > (SELECT MAX(measure) WHERE category = value)."""
    table = scene.table(lambda table: table.categories and table.measures)
    column, measure = scene.one_of(table.categories), scene.one_of(table.measures)
    over = scene.draw.chance(0.5)
    sign, limit, other = (">", "MAX", "MIN") if over else ("<", "MIN", "MAX")
    value = literal(scene.one_of(scene.base.values(table, column)))
    inner = f"FROM {table.name} WHERE {column.name} = {value}"
    name = measure.name
    condition = Condition(
        f"{name} {sign} (SELECT {limit}({name}) {inner})",
        slips=(
            f"{name} {sign} (SELECT {other}({name}) {inner})",
            f"{name} {sign}= (SELECT {limit}({name}) {inner})",
        ),
    )
    words = measure.comparison
    return Draft(
        f"{scene.verb()} the {table.label.noun} and the {column.noun} of every {table.noun} whose "
        f"{measure.noun} is {words.more if over else words.less} that of every {table.noun} whose "
        f"{column.noun} is {value}.",
        Query((table.label.name, column.name), table.name, (condition,)),
    )


def _two_sets(scene: Scene) -> tuple[Table, Column, Clause, Clause]:
    table = scene.table(lambda table: table.categories)
    column = scene.one_of(table.categories)
    first = scene.clause(table, without=[column])
    second = scene.clause(table, without=[column, first.column])
    return table, column, first, second


def _combined(
    operator: str, table: Table, column: Column, first: Clause, second: Clause
) -> SetOperation:
    left, right = (
        Query((column.name,), table.name, (clause.condition,)) for clause in (first, second)
    )
    return SetOperation(operator, left, right)


HARD: Final[tuple[Template, ...]] = templates(
    "hard",
    common=[
        parents_without, parents_with, above_average, parents_with_many, parent_with_most,
        only_in_the_first, three_tables, high_average_groups,
    ],
    validation=[own_and_child, own_or_child],
    test=[in_both, beyond_all],
)  # fmt: skip
"""The hard templates."""
