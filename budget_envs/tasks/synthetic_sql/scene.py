"""What templates draw from: tables, columns, conditions and aggregates, in SQL and in English."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from budget_envs.tasks.synthetic_sql.columns import Column, Role
from budget_envs.tasks.synthetic_sql.database import Database, Value, literal
from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_sql.query import Condition, Statement
from budget_envs.tasks.synthetic_sql.schema import Relation, Table

__all__ = ["Aggregate", "Clause", "DeadEnd", "Draft", "Scene", "listing", "ref"]

T = TypeVar("T")


class DeadEnd(Exception):  # no error: the generator draws again
    """The database has nothing of the kind that a template needs."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question and its query, before it is known whether the query tells anything apart.

    Args:
        question: English.
        query: The gold query.
    """

    question: str
    query: Statement


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition on the rows of a table.

    Args:
        column: The column it compares.
        condition: It in SQL.
        english: It in English, as it stands behind the noun: ``"with more than 300 pages"``.
        whose: The same as a relative clause, which another can follow behind "and".
    """

    column: Column
    condition: Condition
    english: str
    whose: str

    @property
    def sql(self) -> str:
        """The condition as text."""
        return self.condition.sql


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of a measure.

    Args:
        column: The measure.
        sql: ``"AVG(price)"``.
        english: ``"the average price"``.
        others: Other aggregates of the same column, in SQL.
    """

    column: Column
    sql: str
    english: str
    others: tuple[str, ...]


class Scene:
    """A database and a stream of draws.

    Args:
        base: The database.
        draw: Where the randomness comes from.
    """

    def __init__(self, base: Database, draw: Draws) -> None:
        self.base = base
        self.draw = draw

    def one_of(self, items: Iterable[T]) -> T:
        """Draw one item.

        Raises:
            DeadEnd: If there is none.
        """
        pool = list(items)
        if not pool:
            raise DeadEnd
        return self.draw.choice(pool)

    def table(self, suits: Callable[[Table], object] = lambda table: True) -> Table:
        """Draw a table that suits."""
        return self.one_of(table for table in self.base.schema.tables if suits(table))

    def relation(self, suits: Callable[[Relation], object] = lambda relation: True) -> Relation:
        """Draw a foreign key that suits."""
        return self.one_of(each for each in self.base.schema.relations if suits(each))

    def siblings(self) -> tuple[Relation, Relation]:
        """Draw two foreign keys of one table to two others."""
        first = self.relation()
        second = self.relation(
            lambda other: other.child == first.child and other.parent != first.parent
        )
        return first, second

    def lineage(self) -> tuple[Relation, Relation]:
        """Draw a foreign key and one of the table that it refers to."""
        first = self.relation()
        second = self.relation(
            lambda other: other.child == first.parent and other.parent != first.child
        )
        return first, second

    def verb(self) -> str:
        """Draw an imperative."""
        return self.draw.choice(("Find", "Give", "List", "Show"))

    def shown(self, table: Table, without: Sequence[Column] = (), most: int = 3) -> list[Column]:
        """Draw the columns that a question asks for: the label and up to two others."""
        others = [
            column
            for column in table.columns[1:]
            if column.role not in (Role.LABEL, Role.REFERENCE) and column not in without
        ]
        return [table.label, *self.draw.sample(others, self.draw.integer(0, most - 1))]

    def clause(
        self,
        table: Table,
        *,
        qualified: bool = False,
        role: str = "",
        without: Sequence[Column] = (),
    ) -> Clause:
        """Draw a condition that some rows of a table meet and others don't.

        Args:
            table: Whose rows.
            qualified: Whether the SQL names the table.
            role: What the rows are called by those that refer to them: then the English says
                "whose author's birth year is ...".
            without: Columns not to use.
        """
        column = self.one_of(
            column
            for column in table.columns
            if (column.is_measure or column.role is Role.CATEGORY) and column not in without
        )
        name = ref(table, column) if qualified else column.name
        owner = f"{role}'s {column.noun}" if role else column.noun
        if column.role is Role.CATEGORY:
            return self._equality(column, name, owner, self.base.values(table, column))
        return self._comparison(column, name, owner, self.inner_value(table, column), role)

    def _equality(self, column: Column, name: str, owner: str, values: list[Value]) -> Clause:
        value = literal(self.one_of(values))
        condition = Condition(f"{name} = {value}", slips=(f"{name} <> {value}",))
        english = f"whose {owner} is {value}"
        return Clause(column, condition, english, english)

    def _comparison(self, column: Column, name: str, owner: str, value: Value, role: str) -> Clause:
        over = self.draw.chance(0.5)
        sign, opposite = (">", "<") if over else ("<", ">")
        words = column.comparison
        number = text_of(value)
        whose = f"whose {owner} is {words.more if over else words.less} {number}"
        special = column.over if over else column.under
        if role or value == 1:  # "its book with more than 5 pages", "with fewer than 1 renewals"
            special = ""
        slips = (f"{name} {opposite} {literal(value)}", f"{name} {sign}= {literal(value)}")
        condition = Condition(f"{name} {sign} {literal(value)}", slips=slips)
        return Clause(column, condition, special.format(number) if special else whose, whose)

    def inner_value(self, table: Table, column: Column) -> Value:
        """Draw a value of a measure from the middle three fifths of those that occur."""
        values = sorted(self.base.values(table, column), key=_sort_key)
        if not values:
            raise DeadEnd
        return values[int((0.2 + 0.6 * self.draw.unit()) * len(values))]

    def inner_range(self, table: Table, column: Column) -> tuple[Value, Value]:
        """Draw two such values, the smaller one first."""
        ends = self.inner_value(table, column), self.inner_value(table, column)
        low, high = sorted(ends, key=_sort_key)
        return low, high

    def maybe(self, probability: float, draw: Callable[[], T]) -> T | None:
        """Draw something with a probability."""
        return draw() if self.draw.chance(probability) else None

    def aggregate(self, table: Table, *, qualified: bool = False) -> Aggregate:
        """Draw an aggregate of a measure of a table.

        Averages are taken of reals only: MySQL rounds those of integers to four decimals.
        """
        column = self.one_of(table.measures)
        name = ref(table, column) if qualified else column.name
        noun, words = column.noun, column.comparison
        forms = {f"MAX({name})": f"the {words.most} {noun}"}
        forms[f"MIN({name})"] = f"the {words.least} {noun}"
        if column.role is Role.REAL:
            forms[f"AVG({name})"] = f"the average {noun}"
        if column.additive:
            forms[f"SUM({name})"] = f"the total {noun}"
        sql = self.draw.choice(list(forms))
        return Aggregate(column, sql, forms[sql], tuple(form for form in forms if form != sql))


def ref(table: Table, column: Column) -> str:
    """Return a column with the name of its table."""
    return f"{table.name}.{column.name}"


def listing(columns: Iterable[Column], *more: str) -> str:
    """Return ``"the title, the genre and the price"``.

    Args:
        columns: The columns.
        *more: Phrases that follow them.
    """
    *front, last = [*(f"the {column.noun}" for column in columns), *more]
    return f"{', '.join(front)} and {last}" if front else last


def text_of(value: Value) -> str:
    """Return a value as it stands in a question: dates without quotes, 12.0 as 12."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _sort_key(value: Value) -> tuple[bool, str | int | float]:
    return isinstance(value, str), value if value is not None else 0
