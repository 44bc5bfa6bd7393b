"""Extra hard questions: several of the hard things at once."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.joins import chain, identity, membership, parent_first
from budget_envs.tasks.synthetic_sql.query import Condition, Query, SetOperation
from budget_envs.tasks.synthetic_sql.scene import Draft, Scene, ref
from budget_envs.tasks.synthetic_sql.template import Template, templates

__all__ = ["EXTRA"]


def extreme_of_each_group(scene: Scene) -> Draft:
    """SELECT ... WHERE measure = (SELECT MAX(measure) of the same category)."""
    table = scene.table(lambda table: table.categories and table.measures)
    column, measure = scene.one_of(table.categories), scene.one_of(table.measures)
    most = scene.draw.chance(0.5)
    limit, other = ("MAX", "MIN") if most else ("MIN", "MAX")
    name, group = ref(table, measure), ref(table, column)
    inner = f"FROM {table.name} AS peer"
    same = f"WHERE peer.{column.name} = {group}"
    condition = Condition(
        f"{name} = (SELECT {limit}(peer.{measure.name}) {inner} {same})",
        weaker=(f"{name} = (SELECT {limit}(peer.{measure.name}) {inner})",),
        slips=(f"{name} = (SELECT {other}(peer.{measure.name}) {inner} {same})",),
    )
    word = measure.comparison.most if most else measure.comparison.least
    return Draft(
        f"For each {column.noun} of the {table.plural}, show the {column.noun}, and the "
        f"{table.label.noun} and {measure.noun} of the {table.noun} with the {word} "
        f"{measure.noun} among the {table.plural} of that {column.noun}. Where several are tied, "
        "show all of them.",
        Query((group, ref(table, table.label), name), table.name, (condition,)),
    )


def ranked_parents(scene: Scene) -> Draft:
    """SELECT label, SUM(...) ... WHERE ... GROUP BY parent ORDER BY SUM(...) DESC LIMIT k."""
    relation = scene.relation(lambda relation: any(c.additive for c in relation.child.measures))
    child, parent = relation.child, relation.parent
    measure = scene.one_of(column for column in child.measures if column.additive)
    clause = scene.clause(child, qualified=True, without=[measure])
    count, most = scene.draw.integer(2, 4), scene.draw.chance(0.7)
    total, label = f"SUM({ref(child, measure)})", ref(parent, parent.label)
    query = Query(
        (label, total), parent_first(relation), (clause.condition,), group=identity(parent),
        order=(f"{total} DESC" if most else total,), limit=count,
        other_selects=((label, "COUNT(*)"),),
    )  # fmt: skip
    word = "largest" if most else "smallest"
    return Draft(
        f"Add up the {measure.noun} of the {relation.column.children} {clause.english} for every "
        f"{parent.noun} {parent.who} has any. Show the {parent.label.noun} and the total of "
        f"the {count} {parent.plural} with the {word} totals, the {word} first.",
        query,
    )


def more_than_average_children(scene: Scene) -> Draft:
    """SELECT ... HAVING COUNT(*) > (SELECT AVG(n) FROM (SELECT COUNT(*) AS n ...))."""
    relation = scene.relation()
    child, parent = relation.child, relation.parent
    clause = scene.maybe(0.6, lambda: scene.clause(child, qualified=True))
    where = f" WHERE {clause.sql}" if clause else ""
    counts = f"SELECT COUNT(*) AS n FROM {child.name}{where} GROUP BY {relation.column.name}"
    average = f"(SELECT AVG(n) FROM ({counts}) AS counts)"
    having = Condition(
        f"COUNT(*) > {average}",
        slips=(f"COUNT(*) < {average}", "COUNT(*) > 1", f"COUNT(*) >= {average} + 1"),
    )
    query = Query(
        (ref(parent, parent.label), "COUNT(*)"), parent_first(relation),
        (clause.condition,) if clause else (), group=identity(parent), having=(having,),
    )  # fmt: skip
    children = relation.column.children + (f" {clause.english}" if clause else "")
    return Draft(
        f"Count the {children} of every {parent.noun} {parent.who} has at least one of them. Show "
        f"the {parent.label.noun} and the count for each {parent.noun} whose count is greater than "
        "the average of these counts.",
        query,
    )


def one_kind_but_not_the_other(scene: Scene) -> Draft:
    """SELECT label FROM parent WHERE key IN (...) AND key NOT IN (...)."""
    relation = scene.relation()
    child, parent = relation.child, relation.parent
    first = scene.clause(child)
    second = scene.clause(child, without=[first.column])
    query = Query(
        (parent.label.name,), parent.name,
        (membership(relation, first), membership(relation, second, negated=True)),
    )  # fmt: skip
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {parent.who} has at least "
        f"one {relation.column.child} {first.english} but no {relation.column.child} "
        f"{second.english}.",
        query,
    )


def counts_with_zeros(scene: Scene) -> Draft:
    """SELECT label, COUNT(child) FROM parent LEFT JOIN child ON ... AND condition GROUP BY."""
    relation = scene.relation()
    child, parent = relation.child, relation.parent
    clause = scene.clause(child, qualified=True)
    label, count = ref(parent, parent.label), f"COUNT({ref(child, child.key)})"
    outer = f"{parent.name} LEFT JOIN {child.name} ON {relation.on}"
    query = Query(
        (label, count), f"{outer} AND {clause.sql}", group=identity(parent),
        other_selects=((label, "COUNT(*)"),),
        weaker_sources=(outer, f"{parent_first(relation)} AND {clause.sql}"),
    )  # fmt: skip
    return Draft(
        f"For every {parent.noun}, show the {parent.label.noun} and the number of {parent.its} "
        f"{relation.column.children} {clause.english}. Include the {parent.plural} {parent.who} "
        "have none, with 0.",
        query,
    )


def distinct_across_three(scene: Scene) -> Draft:
    """SELECT DISTINCT label FROM parent JOIN child JOIN other WHERE other's condition."""
    first, second = scene.siblings()
    child, parent, other = first.child, first.parent, second.parent
    clause = scene.clause(other, qualified=True, role=second.role)
    extra = scene.maybe(0.5, lambda: scene.clause(child, qualified=True))
    conditions = (clause.condition, extra.condition) if extra else (clause.condition,)
    query = Query(
        (ref(parent, parent.label),), chain(parent, first, second), conditions, distinct=True
    )
    more = f" and {extra.whose}" if extra else ""
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {parent.who} has at least "
        f"one {first.column.child} {clause.whose}{more}. Name each {parent.noun} once.",
        query,
    )


def best_group(scene: Scene) -> Draft:
    """SELECT category, AVG(...) ... HAVING COUNT(*) >= k ORDER BY AVG(...) LIMIT 1."""
    table = scene.table(lambda table: table.categories and table.reals)
    column, measure = scene.one_of(table.categories), scene.one_of(table.reals)
    count, most = scene.draw.integer(3, 8), scene.draw.chance(0.5)
    average = f"AVG({measure.name})"
    having = Condition(f"COUNT(*) >= {count}", slips=(f"COUNT(*) <= {count}",))
    query = Query(
        (column.name, average), table.name, group=(column.name,), having=(having,),
        order=(f"{average} DESC" if most else average,), limit=1,
        other_selects=((column.name, f"MAX({measure.name})"),),
    )  # fmt: skip
    word = measure.comparison.most if most else measure.comparison.least
    return Draft(
        f"Among the {column.plural} that occur for at least {count} {table.plural}, which one has "
        f"the {word} average {measure.noun}? Show the {column.noun} and that average.",
        query,
    )


def above_group_average(scene: Scene) -> Draft:
    """SELECT ... WHERE measure > (SELECT AVG(measure) of the same category)."""
    table = scene.table(lambda table: table.categories and table.reals)
    column, measure = scene.one_of(table.categories), scene.one_of(table.reals)
    clause = scene.clause(table, qualified=True, without=[column, measure])
    over = scene.draw.chance(0.5)
    sign, opposite = (">", "<") if over else ("<", ">")
    name, words = ref(table, measure), measure.comparison
    average = f"SELECT AVG(peer.{measure.name}) FROM {table.name} AS peer"
    same = f"WHERE peer.{column.name} = {ref(table, column)}"
    condition = Condition(
        f"{name} {sign} ({average} {same})",
        weaker=(f"{name} {sign} ({average})",),
        slips=(f"{name} {opposite} ({average} {same})",),
    )
    return Draft(
        f"{scene.verb()} the {table.label.noun} of every {table.noun} {clause.whose} and whose "
        f"{measure.noun} is {words.more if over else words.less} the average {measure.noun} of all "
        f"{table.plural} with the same {column.noun}.",
        Query((ref(table, table.label),), table.name, (clause.condition, condition)),
    )


def all_but(scene: Scene) -> Draft:
    """SELECT label ... WHERE a EXCEPT SELECT label ... JOIN other WHERE b."""
    first, second = scene.siblings()
    child, parent = first.child, first.parent
    one = scene.clause(child, qualified=True)
    other = scene.clause(second.parent, qualified=True, role=second.role)
    label = (ref(parent, parent.label),)
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {parent.who} has at least "
        f"one {first.column.child} {one.english}, except those {parent.who} have any "
        f"{first.column.child} {other.english}. Name each {parent.noun} once.",
        SetOperation(
            "EXCEPT",
            Query(label, parent_first(first), (one.condition,)),
            Query(label, chain(parent, first, second), (other.condition,)),
        ),
    )


def both_kinds(scene: Scene) -> Draft:
    """SELECT label ... WHERE a INTERSECT SELECT label ... JOIN other WHERE b."""
    first, second = scene.siblings()
    child, parent = first.child, first.parent
    one = scene.clause(child, qualified=True)
    other = scene.clause(second.parent, qualified=True, role=second.role)
    label = (ref(parent, parent.label),)
    return Draft(
        f"{scene.verb()} the {parent.label.noun} of every {parent.noun} {parent.who} has at least "
        f"one {first.column.child} {one.english} and also at least one {first.column.child} "
        f"{other.english}. Name each {parent.noun} once.",
        SetOperation(
            "INTERSECT",
            Query(label, parent_first(first), (one.condition,)),
            Query(label, chain(parent, first, second), (other.condition,)),
        ),
    )


def most_across_three(scene: Scene) -> Draft:
    """SELECT label, COUNT(*) ... JOIN other WHERE ... GROUP BY parent ORDER BY COUNT(*) LIMIT 1."""
    first, second = scene.siblings()
    parent = first.parent
    clause = scene.clause(second.parent, qualified=True, role=second.role)
    query = Query(
        (ref(parent, parent.label), "COUNT(*)"), chain(parent, first, second),
        (clause.condition,), group=identity(parent), order=("COUNT(*) DESC",), limit=1,
    )  # fmt: skip
    return Draft(
        f"Which {parent.noun} has the most {first.column.children} {clause.english}? Show the "
        f"{parent.label.noun} and the number of those {first.column.children}.",
        query,
    )


def grandchildren(scene: Scene) -> Draft:
    """SELECT label, COUNT(*) FROM grandparent JOIN parent JOIN child WHERE ... HAVING ...."""
    first, second = scene.lineage()
    child, parent, grandparent = first.child, first.parent, second.parent
    clause = scene.clause(child, qualified=True)
    count = scene.draw.integer(2, 4)
    having = Condition(f"COUNT(*) >= {count}", slips=(f"COUNT(*) > {count}", f"COUNT(*) < {count}"))
    query = Query(
        (ref(grandparent, grandparent.label), "COUNT(*)"),
        f"{parent_first(second)} JOIN {child.name} ON {first.on}",
        (clause.condition,), group=identity(grandparent), having=(having,),
        other_selects=(
            (ref(grandparent, grandparent.label), f"COUNT(DISTINCT {ref(parent, parent.key)})"),
        ),
    )  # fmt: skip
    return Draft(
        f"For every {grandparent.noun}, count the {first.column.children} {clause.english} over "
        f"all {grandparent.its} {second.column.children} together. Show the "
        f"{grandparent.label.noun} and the count where the count is at least {count}.",
        query,
    )


EXTRA: Final[tuple[Template, ...]] = templates(
    "extra",
    common=[
        extreme_of_each_group, ranked_parents, more_than_average_children,
        one_kind_but_not_the_other, counts_with_zeros, distinct_across_three, best_group,
    ],
    validation=[above_group_average, all_but],
    test=[both_kinds, most_across_three, grandchildren],
)  # fmt: skip
"""The extra hard templates."""
