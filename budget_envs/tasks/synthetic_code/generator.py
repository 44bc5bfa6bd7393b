"""The data set ``deepcoder_synthetic``: an endless, self-describing supply of code tasks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.tasks.synthetic_code.dsl import Program
from budget_envs.tasks.synthetic_code.english import function_statement, script_statement
from budget_envs.tasks.synthetic_code.equivalence import (
    fingerprint,
    is_worthwhile,
    single_step_fingerprints,
)
from budget_envs.tasks.synthetic_code.examples import Example, choose_examples
from budget_envs.tasks.synthetic_code.python_source import (
    function_source,
    script_source,
    signature,
)
from budget_envs.tasks.synthetic_code.sampling import LEVELS, sample_program
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64
from budget_envs.tasks.synthetic_code.standard_io import input_text, output_text

__all__ = [
    "DATASET",
    "GENERATOR_VERSION",
    "Kind",
    "Split",
    "SyntheticTask",
    "generate",
    "program_of",
    "split_of",
    "task_from_id",
    "tasks",
]

DATASET = "deepcoder_synthetic"
"""Name of the data set: the first part of every task id."""
GENERATOR_VERSION = 1
"""Raised whenever any ``(level, index)`` can yield another task."""

Kind = Literal["functional", "stdin"]
Split = Literal["train", "validation", "test"]

_SPLIT_ENDS: dict[Split, int] = {"train": 80, "validation": 90, "test": 100}
_ID = re.compile(rf"{DATASET}/L([1-9])/([0-9]{{6}}|[1-9][0-9]{{6,17}})(-stdin)?")
_GIVE_UP = 20_000  # indices in a row without a new task, after which a level counts as exhausted
_PROGRAM_STREAM, _TEST_STREAM = 0, 1


@dataclass(frozen=True)
class SyntheticTask:
    """One generated task. Plain data; the lists inside are fresh and belong to the caller.

    Attributes:
        task_id: ``"deepcoder_synthetic/L3/000123"``; the script form ends in ``"-stdin"``.
        statement: What the solver reads: arguments, steps, notes, the public tests as examples.
        starter_code: First line of the function, such as ``"def solve(xs: list[int]) -> int:"``
            and a newline; empty for the script form.
        function_name: ``"solve"``, or None for the script form.
        kind: ``"functional"`` (a function is called) or ``"stdin"`` (a script is run).
        public_tests: Tests that the solver sees. Functional: ``(arguments, expected)`` with a
            tuple of arguments, compared by type and value; script: ``(stdin, stdout)``.
        hidden_tests: Tests of the same shape that decide; their inputs are not public ones.
        reference_solution: A correct program in readable Python.
        level: Difficulty, 1 to 5.
        fingerprint: 16 hexadecimal digits, equal for tasks that compute the same.
    """

    task_id: str
    statement: str
    starter_code: str
    function_name: str | None
    kind: Kind
    public_tests: tuple[tuple[Any, Any], ...]
    hidden_tests: tuple[tuple[Any, Any], ...]
    reference_solution: str
    level: int
    fingerprint: str

    @property
    def split(self) -> Split:
        """The split the task belongs to: a property of what it computes, not of its id."""
        return split_of(self.fingerprint)


def generate(level: int, index: int, kind: Kind = "functional") -> SyntheticTask:
    """Return the task of a level and index: always the same one, in every process.

    Args:
        level: Difficulty, 1 to 5.
        index: Any integer from 0 up. Different indices can yield the same task (`tasks` yields
            each once).
        kind: ``"functional"`` for a function to call, ``"stdin"`` for a script to run.

    Raises:
        OptionError: If the level, index or kind is not one of these.
    """
    _check(level, index, kind)
    program, print_ = _draw_program(level, index)
    return _build(level, index, kind, program, print_)


def task_from_id(task_id: str) -> SyntheticTask:
    """Return the task with an id such as ``"deepcoder_synthetic/L3/000123-stdin"``.

    Raises:
        OptionError: If the id is not of that form.
    """
    match = _ID.fullmatch(task_id)
    if match is None:
        raise OptionError(
            f"Expected a task id such as '{DATASET}/L3/000123' or '{DATASET}/L3/000123-stdin' "
            f"(the index has at least six digits), got {task_id!r}."
        )
    return generate(int(match[1]), int(match[2]), "stdin" if match[3] else "functional")


def tasks(
    split: Split, levels: int | Iterable[int], n: int | None = None, kind: Kind = "functional"
) -> Iterator[SyntheticTask]:
    """Yield distinct tasks of a split, level by level in turn, in order of index.

    No two tasks compute the same, and no task of another split computes the same as one of
    these. About 80 % of all tasks are ``"train"``, 10 % ``"validation"`` and 10 % ``"test"``.

    Args:
        split: ``"train"``, ``"validation"`` or ``"test"``.
        levels: One level or several.
        n: How many tasks to yield; None goes on for as long as there are new ones.
        kind: ``"functional"`` or ``"stdin"``.

    Raises:
        OptionError: If an argument is not one of these, or the levels have fewer than ``n``
            tasks (level 1 has some thousands; the others have no end in practice).
    """
    chosen = [levels] if isinstance(levels, int) else list(levels)
    if split not in _SPLIT_ENDS:
        known = ", ".join(map(repr, _SPLIT_ENDS))
        raise OptionError(
            f"Expected a split, one of {known}, got {split!r}.{did_you_mean(split, _SPLIT_ENDS)}"
        )
    if not chosen or (n is not None and (type(n) is not int or n < 0)):
        raise OptionError(f"Expected levels and n >= 0 or None, got levels={levels!r}, n={n!r}.")
    for level in chosen:
        _check(level, 0, kind)
    return _enumerate(split, chosen, n, kind)


def _enumerate(
    split: Split, levels: list[int], n: int | None, kind: Kind
) -> Iterator[SyntheticTask]:
    seen: set[str] = set()
    last_new = dict.fromkeys(levels, 0)
    for index in itertools.count():
        for level in levels:
            if n is not None and len(seen) == n:
                return
            program, print_ = _draw_program(level, index)
            if split_of(print_) != split or print_ in seen:
                continue
            seen.add(print_)
            last_new[level] = index
            yield _build(level, index, kind, program, print_)
        levels = [level for level in levels if index - last_new[level] < _GIVE_UP]
        if not levels:
            break
    if n is not None:
        raise OptionError(f"Expected {n} tasks of {split!r}, found {len(seen)}: ask for fewer.")


def split_of(fingerprint: str) -> Split:
    """Return the split of a fingerprint: its value modulo 100, against 80, 90 and 100."""
    percent = int(fingerprint, 16) % 100
    return next(split for split, end in _SPLIT_ENDS.items() if percent < end)


def program_of(level: int, index: int) -> Program:
    """Return the DSL program behind a task; calling it computes the expected results.

    Raises:
        OptionError: If the level or index does not exist.
    """
    _check(level, index, "functional")
    return _draw_program(level, index)[0]


def _check(level: int, index: int, kind: str) -> None:
    if type(level) is not int or level not in LEVELS:
        raise OptionError(f"Expected a level from 1 to {max(LEVELS)}, got {level!r}.")
    if type(index) is not int or index < 0:
        raise OptionError(f"Expected an index, an integer from 0 up, got {index!r}.")
    if kind not in get_args(Kind):
        known = ", ".join(map(repr, get_args(Kind)))
        raise OptionError(
            f"Expected a kind, one of {known}, got {kind!r}.{did_you_mean(kind, get_args(Kind))}"
        )


def _draw_program(level: int, index: int) -> tuple[Program, str]:
    """Return the first program of the stream of ``(level, index)`` that makes a task."""
    rng = SplitMix64(GENERATOR_VERSION, level, index, _PROGRAM_STREAM)
    while True:
        program = sample_program(level, rng)
        if program is None or not is_worthwhile(program):
            continue
        print_ = fingerprint(program)
        if len(program.steps) == 1 or print_ not in single_step_fingerprints(program.arguments):
            return program, print_


def _build(level: int, index: int, kind: Kind, program: Program, print_: str) -> SyntheticTask:
    rng = SplitMix64(GENERATOR_VERSION, level, index, _TEST_STREAM)
    form = _function_form if kind == "functional" else _script_form
    return SyntheticTask(
        task_id=f"{DATASET}/L{level}/{index:06d}" + ("-stdin" if kind == "stdin" else ""),
        kind=kind,
        level=level,
        fingerprint=print_,
        **form(program, *choose_examples(program, rng)),
    )


_Examples = tuple[Example, ...]


def _function_form(program: Program, public: _Examples, hidden: _Examples) -> dict[str, Any]:
    return {
        "statement": function_statement(program, public),
        "starter_code": signature(program) + "\n",
        "function_name": "solve",
        "public_tests": public,
        "hidden_tests": hidden,
        "reference_solution": function_source(program),
    }


def _script_form(program: Program, public: _Examples, hidden: _Examples) -> dict[str, Any]:
    def as_text(tests: _Examples) -> tuple[tuple[str, str], ...]:
        output = program.output
        return tuple((input_text(given), output_text(output, result)) for given, result in tests)

    return {
        "statement": script_statement(program, as_text(public)),
        "starter_code": "",
        "function_name": None,
        "public_tests": as_text(public),
        "hidden_tests": as_text(hidden),
        "reference_solution": script_source(program),
    }
