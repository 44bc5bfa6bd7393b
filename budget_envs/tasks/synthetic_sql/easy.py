"""Easy questions: one table and one thing to do with it."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.columns import Role
from budget_envs.tasks.synthetic_sql.database import literal
from budget_envs.tasks.synthetic_sql.query import Condition, Query
from budget_envs.tasks.synthetic_sql.scene import Draft, Scene, listing, text_of
from budget_envs.tasks.synthetic_sql.template import Template, templates

__all__ = ["EASY"]


def list_filtered(scene: Scene) -> Draft:
    """SELECT columns WHERE condition."""
    table = scene.table()
    clause = scene.clause(table)
    columns = scene.shown(table, without=[clause.column])
    query = Query(tuple(c.name for c in columns), table.name, (clause.condition,))
    return Draft(
        f"{scene.verb()} {listing(columns)} of every {table.noun} {clause.english}.", query
    )


def count_filtered(scene: Scene) -> Draft:
    """SELECT COUNT(*) WHERE condition."""
    table = scene.table()
    clause = scene.clause(table)
    question = scene.draw.choice(("How many {} are there {}?", "Count the {} {}."))
    return Draft(
        question.format(table.plural, clause.english),
        Query(("COUNT(*)",), table.name, (clause.condition,)),
    )


def distinct_values(scene: Scene) -> Draft:
    """SELECT DISTINCT category WHERE condition."""
    table = scene.table(lambda table: table.categories)
    column = scene.one_of(table.categories)
    clause = scene.clause(table, without=[column])
    query = Query((column.name,), table.name, (clause.condition,), distinct=True)
    return Draft(
        f"Which different {column.plural} occur among the {table.plural} {clause.english}?", query
    )


def aggregate_filtered(scene: Scene) -> Draft:
    """SELECT aggregate WHERE condition."""
    table = scene.table(lambda table: table.measures)
    aggregate = scene.aggregate(table)
    clause = scene.clause(table, without=[aggregate.column])
    query = Query(
        (aggregate.sql,), table.name, (clause.condition,),
        other_selects=tuple((other,) for other in aggregate.others),
    )  # fmt: skip
    return Draft(f"What is {aggregate.english} of the {table.plural} {clause.english}?", query)


def top_one(scene: Scene) -> Draft:
    """SELECT label ORDER BY measure LIMIT 1."""
    table = scene.table(lambda table: table.measures)
    measure = scene.one_of(table.measures)
    clause = scene.maybe(0.6, lambda: scene.clause(table, without=[measure]))
    most = scene.draw.chance(0.5)
    query = Query(
        (table.label.name,), table.name, (clause.condition,) if clause else (),
        order=(f"{measure.name} DESC" if most else measure.name,), limit=1,
    )  # fmt: skip
    word = measure.comparison.most if most else measure.comparison.least
    among = f" among the {table.plural} {clause.english}" if clause else ""
    return Draft(
        f"{scene.verb()} the {table.label.noun} of the {table.noun} with the {word} "
        f"{measure.noun}{among}.",
        query,
    )


def sorted_list(scene: Scene) -> Draft:
    """SELECT label WHERE condition ORDER BY measure."""
    table = scene.table(lambda table: table.measures)
    measure = scene.one_of(table.measures)
    clause = scene.clause(table, without=[measure])
    falling = scene.draw.chance(0.5)
    ends = (measure.comparison.most, measure.comparison.least)
    start, end = ends if falling else ends[::-1]
    query = Query(
        (table.label.name,), table.name, (clause.condition,),
        order=(f"{measure.name} DESC" if falling else measure.name,),
    )  # fmt: skip
    return Draft(
        f"{scene.verb()} the {table.label.noun} of every {table.noun} {clause.english}, sorted by "
        f"{measure.noun} from {start} to {end}.",
        query,
    )


def between(scene: Scene) -> Draft:
    """SELECT columns WHERE measure BETWEEN a AND b."""
    table = scene.table(lambda table: table.measures)
    measure = scene.one_of(table.measures)
    low, high = scene.inner_range(table, measure)
    name, a, b = measure.name, literal(low), literal(high)
    condition = Condition(
        f"{name} BETWEEN {a} AND {b}",
        weaker=(f"{name} >= {a}", f"{name} <= {b}"),
        slips=(f"{name} > {a} AND {name} < {b}", f"{name} NOT BETWEEN {a} AND {b}"),
    )
    columns = scene.shown(table, without=[measure])
    return Draft(
        f"{scene.verb()} {listing(columns)} of every {table.noun} whose {measure.noun} is between "
        f"{text_of(low)} and {text_of(high)}, both included.",
        Query(tuple(c.name for c in columns), table.name, (condition,)),
    )


def either_value(scene: Scene) -> Draft:
    """SELECT columns WHERE category IN (a, b)."""
    table = scene.table(lambda table: table.categories)
    column = scene.one_of(table.categories)
    pool = sorted(set(scene.base.values(table, column)), key=str)
    values = [literal(value) for value in scene.draw.sample(pool, 2)]
    both = f"({', '.join(values)})"
    condition = Condition(
        f"{column.name} IN {both}",
        weaker=tuple(f"{column.name} = {value}" for value in values),
        slips=(f"{column.name} NOT IN {both}",),
    )
    columns = scene.shown(table, without=[column])
    return Draft(
        f"{scene.verb()} {listing(columns)} of every {table.noun} whose {column.noun} is "
        f"{' or '.join(values)}.",
        Query(tuple(c.name for c in columns), table.name, (condition,)),
    )


def unknown(scene: Scene) -> Draft:
    """SELECT columns WHERE column IS NULL."""
    table = scene.table(lambda table: any(column.nullable for column in table.columns))
    column = scene.one_of(column for column in table.columns if column.nullable)
    columns = scene.shown(table, without=[column])
    condition = Condition(f"{column.name} IS NULL", slips=(f"{column.name} IS NOT NULL",))
    return Draft(
        f"{scene.verb()} {listing(columns)} of every {table.noun} whose {column.noun} is unknown "
        "(NULL).",
        Query(tuple(c.name for c in columns), table.name, (condition,)),
    )


def extremes(scene: Scene) -> Draft:
    """SELECT MIN(measure), MAX(measure) WHERE condition."""
    table = scene.table(lambda table: table.measures)
    measure = scene.one_of(table.measures)
    clause = scene.clause(table, without=[measure])
    low, high, words = f"MIN({measure.name})", f"MAX({measure.name})", measure.comparison
    query = Query((low, high), table.name, (clause.condition,), other_selects=((high, low),))
    return Draft(
        f"What are the {words.least} and the {words.most} {measure.noun} of the {table.plural} "
        f"{clause.english}? Show them in this order.",
        query,
    )


def count_distinct(scene: Scene) -> Draft:
    """SELECT COUNT(DISTINCT category) WHERE condition."""
    table = scene.table(lambda table: table.categories)
    column = scene.one_of(table.categories)
    clause = scene.clause(table, without=[column])
    query = Query(
        (f"COUNT(DISTINCT {column.name})",), table.name, (clause.condition,),
        other_selects=((f"COUNT({column.name})",),),
    )  # fmt: skip
    return Draft(
        f"How many different {column.plural} occur among the {table.plural} {clause.english}?",
        query,
    )


def contains(scene: Scene) -> Draft:
    """SELECT columns WHERE label LIKE pattern."""
    table = scene.table(lambda table: table.with_role(Role.LABEL))
    words = str(scene.one_of(scene.base.values(table, table.label))).split()
    piece = scene.draw.choice(words) if len(words) > 1 else words[0][:2]
    name = table.label.name
    condition = Condition(
        f"{name} LIKE '%{piece}%'",
        slips=(f"{name} NOT LIKE '%{piece}%'", f"{name} = '{piece}'", f"{name} LIKE '{piece}%'"),
    )
    columns = scene.shown(table)
    return Draft(
        f"{scene.verb()} {listing(columns)} of every {table.noun} whose {table.label.noun} "
        f"contains '{piece}'.",
        Query(tuple(c.name for c in columns), table.name, (condition,)),
    )


EASY: Final[tuple[Template, ...]] = templates(
    "easy",
    common=[
        list_filtered, count_filtered, distinct_values, aggregate_filtered, top_one, sorted_list,
        between,
    ],
    validation=[either_value, unknown],
    test=[extremes, count_distinct, contains],
)  # fmt: skip
"""The easy templates."""
