"""The language that schemas are written in: tables, foreign keys and the words for rows."""

from __future__ import annotations

from dataclasses import dataclass

from budget_envs.tasks.synthetic_sql.columns import Column, Role

__all__ = ["Relation", "Schema", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the words for its rows.

    Args:
        name: In SQL.
        noun: One row, ``"book"``.
        plural: Several.
        columns: The first one is the key.
        rows: Least and greatest number of rows.
        person: Whether a row is a person: ``"who"`` and ``"their"``.
    """

    name: str
    noun: str
    plural: str
    columns: tuple[Column, ...]
    rows: tuple[int, int]
    person: bool = False

    @property
    def key(self) -> Column:
        """The primary key."""
        return self.columns[0]

    @property
    def label(self) -> Column:
        """What names a row: a unique text, or the key where there is none."""
        return next((c for c in self.columns if c.role is Role.LABEL), self.key)

    @property
    def who(self) -> str:
        """The relative pronoun."""
        return "who" if self.person else "that"

    @property
    def its(self) -> str:
        """The possessive pronoun."""
        return "their" if self.person else "its"

    def with_role(self, *roles: Role) -> tuple[Column, ...]:
        """The columns of these roles."""
        return tuple(column for column in self.columns if column.role in roles)

    @property
    def measures(self) -> tuple[Column, ...]:
        """The columns whose values are compared by more and less and are never NULL."""
        return tuple(c for c in self.columns if c.is_measure and not c.nullable)

    @property
    def reals(self) -> tuple[Column, ...]:
        """The measures that have fractions: those to take averages of."""
        return tuple(column for column in self.measures if column.role is Role.REAL)

    @property
    def categories(self) -> tuple[Column, ...]:
        """The columns of repeated texts that are never NULL."""
        return tuple(c for c in self.with_role(Role.CATEGORY) if not c.nullable)


@dataclass(frozen=True, slots=True)
class Relation:
    """A foreign key with its two ends.

    Args:
        child: The table that holds the reference.
        column: The reference.
        parent: The table it refers to.
    """

    child: Table
    column: Column
    parent: Table

    @property
    def role(self) -> str:
        """What the child calls the parent, ``"author"``."""
        return self.column.noun

    @property
    def on(self) -> str:
        """The condition of the join."""
        own, target = self.column.name, self.parent.key.name
        return f"{self.child.name}.{own} = {self.parent.name}.{target}"


@dataclass(frozen=True, slots=True)
class Schema:
    """A database schema; a table comes after those it refers to.

    Args:
        name: First part of the names of its databases.
        tables: Its tables.
    """

    name: str
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """The table of this name."""
        return next(table for table in self.tables if table.name == name)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Its foreign keys, in the order of the tables and columns."""
        return tuple(
            Relation(table, column, self.table(column.target))
            for table in self.tables
            for column in table.with_role(Role.REFERENCE)
        )
