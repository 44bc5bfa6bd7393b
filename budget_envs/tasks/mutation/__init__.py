"""Small plausible mistakes put into correct Python programs, without ever running them.

A mutant differs from its source by one edit of the kind people make: a comparison flipped, a
bound off by one, a wrong variable, a forgotten statement. It serves as an error state: the
program of the previous turn is replaced by one that fails but is repairable by undoing one
edit. The text around the edit, comments included, stays as it was wherever that is possible.

Operators follow the classes of traditional mutation testing (DeMillo, Lipton and Sayward,
1978, "Hints on test data selection"; Offutt et al., 1996, doi:10.1145/227607.227610).
"""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from budget_envs.errors import OptionError
from budget_envs.tasks.mutation.edits import Edit, edits
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

__all__ = ["Mutant", "failing_mutant", "mutants"]

_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Mutant:
    """A program with one edit.

    Attributes:
        source: The edited program: valid Python whose syntax tree differs from the original's.
        description: What was done, such as ``"line 3: `x > k` became `x >= k`"``. The line is
            that of the original.
    """

    source: str
    description: str


def failing_mutant(
    source: str, judge: Callable[[str], bool], seed: int, max_tries: int = 30
) -> Mutant | None:
    """Return a mutant that fails at least one hidden test, by the word of the judge.

    Args:
        source: A known-good or previous program.
        judge: Returns whether a program passes all hidden tests. It is asked once for every
            mutant tried; what it raises passes through.
        seed: Any integer; equal seeds try the same mutants in the same order.
        max_tries: Greatest number of mutants that the judge is asked about.

    Returns:
        The first failing mutant. None if the source is not valid Python, has no mutants, or if
        none of the mutants tried fails: the caller then keeps the program as it is.

    Raises:
        OptionError: If ``max_tries`` is not a positive integer.
    """
    if type(max_tries) is not int or max_tries < 1:
        raise OptionError(f"Expected max_tries, a positive integer, got {max_tries!r}.")
    candidates = itertools.islice(mutants(source, seed), max_tries)
    return next((mutant for mutant in candidates if not judge(mutant.source)), None)


def mutants(source: str, seed: int) -> Iterator[Mutant]:
    """Yield the mutants of a program, each once, in an order that the seed decides.

    Kinds of edits take turns, so that the first few mutants are of different kinds. Nothing is
    promised about behaviour: a mutant may be equivalent, crash, or never end.

    Args:
        source: A Python program. One that is not valid Python has no mutants.
        seed: Any integer.
    """
    tree = _parse(source)
    if tree is None or _unparse(tree) is None:
        return
    seen = {ast.dump(tree)}
    for edit in _shuffled(edits(tree), SplitMix64(seed)):
        with edit:
            wanted = ast.dump(tree)
            text = None if wanted in seen else _write(source, tree, edit, wanted)
        seen.add(wanted)
        if text is not None:
            yield Mutant(text, edit.description)


def _parse(source: str) -> ast.Module | None:
    """Return the syntax tree of a program that compiles, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a dubious escape is the program's affair
            source.encode()
            tree = ast.parse(source)
            compile(tree, "<program>", "exec", dont_inherit=True)
            return tree
    except _UNPARSABLE:
        return None


def _unparse(tree: ast.Module) -> str | None:
    """Return the tree as text, or None if it is nested too deeply to be written."""
    try:
        return ast.unparse(tree) + "\n"
    except RecursionError:
        return None


def _shuffled(edits: Iterable[Edit], rng: SplitMix64) -> list[Edit]:
    """Return the edits in random order, the kinds taking turns."""
    kinds: dict[str, list[Edit]] = {}
    for edit in edits:
        kinds.setdefault(edit.kind, []).append(edit)
    columns = [rng.shuffled(kinds[kind]) for kind in rng.shuffled(sorted(kinds))]
    rows = itertools.zip_longest(*columns)
    return [edit for row in rows for edit in row if edit is not None]


def _write(source: str, tree: ast.Module, edit: Edit, wanted: str) -> str | None:
    """Return the text of the edited tree: spliced into the source, or else unparsed whole."""
    unparsed = _unparse(tree)
    again = None if unparsed is None else _parse(unparsed)
    if again is None or ast.dump(again) != wanted:
        return None
    for text in _splices(source, edit):
        parsed = _parse(text)
        if parsed is not None and ast.dump(parsed) == wanted:
            return text
    return unparsed


def _splices(source: str, edit: Edit) -> Iterator[str]:
    """Yield ways to put the new node's text in the place of the old one's; some may be wrong."""
    old, new = edit.old, ast.unparse(ast.fix_missing_locations(edit.new))
    if old.end_lineno is None or old.end_col_offset is None:
        return
    lines = source.encode().splitlines(keepends=True)  # columns are counted in bytes
    starts = [0, *itertools.accumulate(map(len, lines))]
    start = starts[old.lineno - 1] + old.col_offset
    end = starts[old.end_lineno - 1] + old.end_col_offset
    before, text, behind = (
        source.encode()[:start],
        source.encode()[start:end],
        source.encode()[end:],
    )
    forms = [new, f"({new})"]
    if edit.after:
        indent = lines[old.lineno - 1][: old.col_offset]
        before, text, forms = before + text + b"\n" + indent, b"", [new]
    for form in forms:
        yield (before + form.encode() + behind).decode(errors="replace")
