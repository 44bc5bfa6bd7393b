"""Columns as the schemas write them: a role, a source of values, and the words for both."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = [
    "HEIGHT",
    "LENGTH",
    "SIZE",
    "TIME",
    "Column",
    "Comparison",
    "Role",
    "category",
    "date",
    "key",
    "label",
    "real",
    "reference",
    "whole",
]


class Role(Enum):
    """What a column is for."""

    KEY = "key"
    REFERENCE = "reference"
    LABEL = "label"
    CATEGORY = "category"
    WHOLE = "whole"
    REAL = "real"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The English words that compare values of a column.

    Args:
        more: ``"greater than"``.
        less: ``"less than"``.
        most: ``"largest"``.
        least: ``"smallest"``.
    """

    more: str
    less: str
    most: str
    least: str


SIZE: Final = Comparison("greater than", "less than", "largest", "smallest")
HEIGHT: Final = Comparison("higher than", "lower than", "highest", "lowest")
LENGTH: Final = Comparison("longer than", "shorter than", "longest", "shortest")
TIME: Final = Comparison("later than", "earlier than", "latest", "earliest")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its SQL type, where its values come from and what it is called.

    Args:
        name: In SQL.
        role: What it is for.
        noun: In English, ``"number of pages"``.
        plural: Of a category, ``"genres"``.
        parts: Texts are one of each part, joined by ``joiner``.
        joiner: Between the parts.
        low: Least number, or days after 2015-01-01 of the earliest date.
        high: Greatest number, or days of the latest date.
        step: Numbers are ``low`` and a multiple of this; a sum of reals is exact in binary.
        comparison: The words that compare it.
        over: A condition in English, ``"with more than {} pages"``; empty for the general form.
        under: Its opposite.
        additive: Whether a total of it means something.
        nullable: Share of NULLs.
        target: Of a reference, the table it refers to.
        child: Of a reference, what the parent calls a row that refers to it, ``"book"``.
        children: Its plural.
    """

    name: str
    role: Role
    noun: str
    plural: str = ""
    parts: tuple[tuple[str, ...], ...] = ()
    joiner: str = " "
    low: float = 0
    high: float = 0
    step: float = 1
    comparison: Comparison = SIZE
    over: str = ""
    under: str = ""
    additive: bool = False
    nullable: float = 0.0
    target: str = ""
    child: str = ""
    children: str = ""

    @property
    def sql_type(self) -> str:
        """The type in ``CREATE TABLE``, the same for SQLite, MySQL and MariaDB."""
        if self.role in (Role.LABEL, Role.CATEGORY):
            return "VARCHAR(60)"
        return {Role.REAL: "DOUBLE", Role.DATE: "VARCHAR(10)"}.get(self.role, "INTEGER")

    @property
    def is_measure(self) -> bool:
        """Whether values are compared by more and less."""
        return self.role in (Role.WHOLE, Role.REAL, Role.DATE)

    @property
    def is_text(self) -> bool:
        """Whether values are written in quotes."""
        return self.role in (Role.LABEL, Role.CATEGORY, Role.DATE)


def key(name: str, noun: str) -> Column:
    """A primary key."""
    return Column(name, Role.KEY, noun)


def reference(name: str, target: str, role: str, child: str, children: str) -> Column:
    """A foreign key: the child calls the parent ``role``, the parent has ``children``."""
    return Column(name, Role.REFERENCE, role, target=target, child=child, children=children)


def label(name: str, noun: str, *parts: tuple[str, ...], joiner: str = " ") -> Column:
    """A unique text."""
    return Column(name, Role.LABEL, noun, parts=parts, joiner=joiner)


def category(
    name: str, noun: str, plural: str, values: tuple[str, ...], nullable: float = 0.0
) -> Column:
    """A text that many rows share."""
    return Column(name, Role.CATEGORY, noun, plural, parts=(values,), nullable=nullable)


def whole(
    name: str,
    noun: str,
    low: int,
    high: int,
    step: int = 1,
    *,
    comparison: Comparison = SIZE,
    over: str = "",
    under: str = "",
    additive: bool = False,
    nullable: float = 0.0,
) -> Column:
    """A whole number."""
    return Column(
        name, Role.WHOLE, noun, low=low, high=high, step=step, comparison=comparison,
        over=over, under=under, additive=additive, nullable=nullable,
    )  # fmt: skip


def real(
    name: str,
    noun: str,
    low: float,
    high: float,
    step: float = 0.25,
    *,
    comparison: Comparison = HEIGHT,
    over: str = "",
    under: str = "",
    additive: bool = False,
    nullable: float = 0.0,
) -> Column:
    """A number with a fraction; ``step`` is a power of two, so that sums are exact."""
    return Column(
        name, Role.REAL, noun, low=low, high=high, step=step, comparison=comparison,
        over=over, under=under, additive=additive, nullable=nullable,
    )  # fmt: skip


def date(
    name: str, noun: str, low: int, high: int, *, over: str = "", under: str = "",
    nullable: float = 0.0,
) -> Column:  # fmt: skip
    """A date as text, ``YYYY-MM-DD``, between two numbers of days after 2015-01-01."""
    return Column(
        name, Role.DATE, noun, low=low, high=high, comparison=TIME, over=over, under=under,
        nullable=nullable,
    )  # fmt: skip
