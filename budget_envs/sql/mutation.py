"""Small plausible mistakes put into SQL queries.

A mutant differs from its source by one edit of the kind people make: a condition dropped, a
comparison or a sort direction flipped, another aggregate, a wrong column of the same type. It
serves as an error state: the agent's query is replaced by one that runs and answers wrongly.

After Tuya, Suarez-Cabal and de la Riva, 2007, "Mutating database queries".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, zip_longest

from budget_envs.errors import OptionError
from budget_envs.sql.gold_shape import Dialect, Node, parse_query
from budget_envs.sql.query_edits import Columns, Edit, edits
from budget_envs.streams import derive_key, text_key

__all__ = ["Mutant", "failing_query", "mutants"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A query with one edit.

    Args:
        sql: The edited query.
        kind: What was done, such as ``"condition dropped"``.
    """

    sql: str
    kind: str


def failing_query(
    sql: str,
    judge: Callable[[str], bool | None],
    key: int,
    max_tries: int = 20,
    *,
    columns: Columns | None = None,
    dialect: Dialect = "sqlite",
) -> Mutant | None:
    """Return a mutant that runs and is wrong, by the word of the judge.

    Args:
        sql: A query, right or wrong.
        judge: Returns whether a query's result is right, or ``None`` if the query does not run.
            It is asked once for every mutant tried; what it raises passes through.
        key: Key of a stream; the same key tries the same mutants in the same order.
        max_tries: Greatest number of mutants that the judge is asked about.
        columns: As for `mutants`.
        dialect: As for `mutants`.

    Returns:
        The first mutant for which the judge returns ``False``. ``None`` if the text is not a
        query, or if none of the mutants tried is wrong: the caller then keeps the query.

    Raises:
        OptionError: If ``max_tries`` is not a positive integer.
        DependencyNotInstalled: If sqlglot is missing.
    """
    if type(max_tries) is not int or max_tries < 1:
        raise OptionError(f"Expected max_tries, a positive integer, got {max_tries!r}.")
    candidates = islice(mutants(sql, key, columns=columns, dialect=dialect), max_tries)
    return next((mutant for mutant in candidates if judge(mutant.sql) is False), None)


def mutants(
    sql: str, key: int, *, columns: Columns | None = None, dialect: Dialect = "sqlite"
) -> Iterator[Mutant]:
    """Yield the mutants of a query, each once, in an order that the key decides.

    Kinds of edits take turns, so that the first few mutants are of different kinds. A mutant may
    give the same result, and may not run; it is never a product of tables that the query joins.

    Args:
        sql: One query; text that is not one has no mutants.
        key: Key of a stream, see `budget_envs.streams`.
        columns: Table -> column -> SQL type; without it no column is replaced by another.
        dialect: Of the query and of the mutants.

    Raises:
        DependencyNotInstalled: If sqlglot is missing.
    """
    tree = parse_query(sql, dialect)
    if tree is None:
        return
    seen = {_text(tree, dialect)}
    for place, edit in _shuffled(_all_edits(tree, _lower_case(columns or {})), key):
        text = _text(_edited(tree, place, edit), dialect)
        if text not in seen and parse_query(text, dialect) is not None:
            seen.add(text)
            yield Mutant(text, edit.kind)


def _all_edits(tree: Node, columns: Columns) -> list[tuple[int, Edit]]:
    return [
        (place, edit) for place, node in enumerate(tree.walk()) for edit in edits(node, columns)
    ]


def _edited(tree: Node, place: int, edit: Edit) -> Node:
    """Return a copy of the tree in which one edit is made to the node at a place of its walk."""
    copy = tree.copy()
    node = next(islice(copy.walk(), place, None))
    is_root = node is copy
    new = edit.apply(node)
    if new is not node:
        if is_root:
            return new
        node.replace(new)
    return copy


def _shuffled(candidates: list[tuple[int, Edit]], key: int) -> Iterator[tuple[int, Edit]]:
    """Yield the edits in random order, the kinds taking turns."""
    ranks = [derive_key(key, number) for number in range(len(candidates))]
    kinds: dict[str, list[tuple[int, Edit]]] = {}
    for number in sorted(range(len(candidates)), key=ranks.__getitem__):
        kinds.setdefault(candidates[number][1].kind, []).append(candidates[number])
    order = sorted(kinds, key=lambda kind: derive_key(key, text_key(kind)))
    for row in zip_longest(*(kinds[kind] for kind in order)):
        yield from (candidate for candidate in row if candidate is not None)


def _text(tree: Node, dialect: Dialect) -> str:
    return str(tree.sql(dialect=dialect))


def _lower_case(columns: Columns) -> Mapping[str, Mapping[str, str]]:
    return {
        table.lower(): {name.lower(): sql_type for name, sql_type in members.items()}
        for table, members in columns.items()
    }
