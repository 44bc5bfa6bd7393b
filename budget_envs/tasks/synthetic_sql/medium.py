"""Medium questions: a join, a grouping, or two things to do with one table."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.joins import child_first, identity, parent_first
from budget_envs.tasks.synthetic_sql.query import Condition, Query
from budget_envs.tasks.synthetic_sql.scene import Clause, Draft, Scene, listing, ref
from budget_envs.tasks.synthetic_sql.schema import Relation
from budget_envs.tasks.synthetic_sql.template import Template, templates

__all__ = ["MEDIUM"]


def child_with_parent(scene: Scene) -> Draft:
    """SELECT child, parent's label FROM child JOIN parent WHERE condition."""
    relation = scene.relation()
    child, parent = relation.child, relation.parent
    clause = _either_side(scene, relation)
    columns = scene.shown(child, without=[clause.column], most=2)
    query = Query(
        (*(ref(child, column) for column in columns), ref(parent, parent.label)),
        child_first(relation),
        (clause.condition,),
    )
    return Draft(
        f"For every {child.noun} {clause.english}, show "
        f"{listing(columns, f'the {parent.label.noun} of {child.its} {relation.role}')}.",
        query,
    )


def count_by_category(scene: Scene) -> Draft:
    """SELECT category, COUNT(*) WHERE condition GROUP BY category."""
    table = scene.table(lambda table: table.categories)
    column = scene.one_of(table.categories)
    clause = scene.clause(table, without=[column])
    query = Query((column.name, "COUNT(*)"), table.name, (clause.condition,), group=(column.name,))
    return Draft(
        f"For each {column.noun} that occurs among the {table.plural} {clause.english}, show the "
        f"{column.noun} and the number of such {table.plural}.",
        query,
    )


def aggregate_by_category(scene: Scene) -> Draft:
    """SELECT category, aggregate GROUP BY category."""
    table = scene.table(lambda table: table.categories and table.measures)
    column = scene.one_of(table.categories)
    aggregate = scene.aggregate(table)
    clause = scene.maybe(0.5, lambda: scene.clause(table, without=[column, aggregate.column]))
    query = Query(
        (column.name, aggregate.sql), table.name, (clause.condition,) if clause else (),
        group=(column.name,),
        other_selects=tuple((column.name, other) for other in aggregate.others),
    )  # fmt: skip
    rows = f"{table.plural} {clause.english}" if clause else table.plural
    return Draft(
        f"Group the {rows} by {column.noun}. For each {column.noun}, show the {column.noun} and "
        f"{aggregate.english}.",
        query,
    )


def two_conditions(scene: Scene) -> Draft:
    """SELECT columns WHERE a AND b, or a OR b."""
    table = scene.table()
    first = scene.clause(table)
    second = scene.clause(table, without=[first.column])
    columns = scene.shown(table, without=[first.column, second.column])
    both, either = f"({first.sql} AND {second.sql})", f"({first.sql} OR {second.sql})"
    word = scene.draw.choice(("or", "and"))
    where: tuple[Condition, ...] = (Condition(first.sql, slips=(either,)), second.condition)
    if word == "or":
        where = (Condition(either, weaker=(first.sql, second.sql), slips=(both,)),)
    return Draft(
        f"{scene.verb()} {listing(columns)} of every {table.noun} {first.whose} {word} "
        f"{second.whose}.",
        Query(tuple(column.name for column in columns), table.name, where),
    )


def top_k(scene: Scene) -> Draft:
    """SELECT columns WHERE condition ORDER BY measure LIMIT k."""
    table = scene.table(lambda table: table.measures)
    measure = scene.one_of(table.measures)
    clause = scene.clause(table, without=[measure])
    columns = scene.shown(table, without=[clause.column], most=2)
    most, count = scene.draw.chance(0.5), scene.draw.integer(2, 5)
    word = measure.comparison.most if most else measure.comparison.least
    query = Query(
        tuple(column.name for column in columns), table.name, (clause.condition,),
        order=(f"{measure.name} DESC" if most else measure.name,), limit=count,
    )  # fmt: skip
    return Draft(
        f"Among the {table.plural} {clause.english}, {scene.verb().lower()} {listing(columns)} of "
        f"the {count} with the {word} {measure.noun}, the {word} first.",
        query,
    )


def count_via_parent(scene: Scene) -> Draft:
    """SELECT COUNT(*) FROM child JOIN parent WHERE parent's condition."""
    relation = scene.relation()
    clause = scene.clause(relation.parent, qualified=True, role=relation.role)
    question = scene.draw.choice(("How many {} are there {}?", "Count the {} {}."))
    return Draft(
        question.format(relation.child.plural, clause.english),
        Query(("COUNT(*)",), child_first(relation), (clause.condition,)),
    )


def count_children(scene: Scene) -> Draft:
    """SELECT label, COUNT(*) FROM parent JOIN child WHERE child's condition GROUP BY parent."""
    relation = scene.relation()
    parent = relation.parent
    clause = scene.clause(relation.child, qualified=True)
    query = Query(
        (ref(parent, parent.label), "COUNT(*)"), parent_first(relation), (clause.condition,),
        group=identity(parent),
    )  # fmt: skip
    return Draft(
        f"For every {parent.noun} {parent.who} has at least one {relation.column.child} "
        f"{clause.english}, show the {parent.label.noun} and the number of such "
        f"{relation.column.children}.",
        query,
    )


def aggregate_via_parent(scene: Scene) -> Draft:
    """SELECT aggregate of child FROM child JOIN parent WHERE parent's condition."""
    relation = scene.relation(lambda relation: relation.child.measures)
    aggregate = scene.aggregate(relation.child, qualified=True)
    clause = scene.clause(relation.parent, qualified=True, role=relation.role)
    query = Query(
        (aggregate.sql,), child_first(relation), (clause.condition,),
        other_selects=tuple((other,) for other in aggregate.others),
    )  # fmt: skip
    return Draft(
        f"What is {aggregate.english} of the {relation.child.plural} {clause.english}?", query
    )


def frequent_categories(scene: Scene) -> Draft:
    """SELECT category GROUP BY category HAVING COUNT(*) >= k."""
    table = scene.table(lambda table: table.categories)
    column = scene.one_of(table.categories)
    clause = scene.maybe(0.6, lambda: scene.clause(table, without=[column]))
    count = scene.draw.integer(2, 9)
    having = Condition(f"COUNT(*) >= {count}", slips=(f"COUNT(*) > {count}", f"COUNT(*) < {count}"))
    query = Query(
        (column.name,), table.name, (clause.condition,) if clause else (),
        group=(column.name,), having=(having,),
    )  # fmt: skip
    rows = f"{table.plural} {clause.english}" if clause else table.plural
    return Draft(f"Which {column.plural} occur at least {count} times among the {rows}?", query)


def aggregate_per_parent(scene: Scene) -> Draft:
    """SELECT label, aggregate of child FROM parent JOIN child WHERE condition GROUP BY parent."""
    relation = scene.relation(lambda relation: relation.child.measures)
    parent = relation.parent
    aggregate = scene.aggregate(relation.child, qualified=True)
    clause = scene.clause(parent, qualified=True)
    label = ref(parent, parent.label)
    query = Query(
        (label, aggregate.sql), parent_first(relation), (clause.condition,),
        group=identity(parent),
        other_selects=tuple((label, other) for other in aggregate.others),
    )  # fmt: skip
    return Draft(
        f"For every {parent.noun} {clause.whose} and {parent.who} has at least one "
        f"{relation.column.child}, show the {parent.label.noun} and {aggregate.english} of "
        f"{parent.its} {relation.column.children}.",
        query,
    )


def distinct_parents(scene: Scene) -> Draft:
    """SELECT DISTINCT label FROM parent JOIN child WHERE child's condition."""
    relation = scene.relation()
    parent = relation.parent
    clause = scene.clause(relation.child, qualified=True)
    query = Query(
        (ref(parent, parent.label),), parent_first(relation), (clause.condition,), distinct=True
    )
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {parent.who} has at least "
        f"one {relation.column.child} {clause.english}. Name each {parent.noun} once.",
        query,
    )


def sorted_by_two(scene: Scene) -> Draft:
    """SELECT label, category WHERE condition ORDER BY category, measure."""
    table = scene.table(lambda table: table.categories and table.measures)
    column, measure = scene.one_of(table.categories), scene.one_of(table.measures)
    clause = scene.clause(table, without=[column, measure])
    falling = scene.draw.chance(0.5)
    ends = (measure.comparison.most, measure.comparison.least)
    start, end = ends if falling else ends[::-1]
    query = Query(
        (table.label.name, column.name), table.name, (clause.condition,),
        order=(column.name, f"{measure.name} DESC" if falling else measure.name),
    )  # fmt: skip
    return Draft(
        f"{scene.verb()} {listing([table.label, column])} of every {table.noun} {clause.english}, "
        f"sorted by {column.noun} in alphabetical order and, within the same {column.noun}, by "
        f"{measure.noun} from {start} to {end}.",
        query,
    )


def _either_side(scene: Scene, relation: Relation) -> Clause:
    if scene.draw.chance(0.5):
        return scene.clause(relation.child, qualified=True)
    return scene.clause(relation.parent, qualified=True, role=relation.role)


MEDIUM: Final[tuple[Template, ...]] = templates(
    "medium",
    common=[
        child_with_parent, count_by_category, aggregate_by_category, two_conditions, top_k,
        count_via_parent, count_children, aggregate_via_parent,
    ],
    validation=[frequent_categories, aggregate_per_parent],
    test=[distinct_parents, sorted_by_two],
)  # fmt: skip
"""The medium templates."""
