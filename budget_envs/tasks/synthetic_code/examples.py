"""Chooses a task's tests: a few ordinary worked examples, and hidden ones that tell apart.

Hidden tests are picked from many candidates for what they make the program do: each one adds
an output not seen yet, or drives some step into a case not seen yet (empty, single, nothing
removed, negative, zero, a value equal to another one).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from budget_envs.tasks.synthetic_code.dsl import Program, Type
from budget_envs.tasks.synthetic_code.inputs import SHAPES, draw_arguments
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

__all__ = ["HIDDEN_COUNT", "PUBLIC_COUNT", "Example", "choose_examples"]

Example = tuple[tuple[Any, ...], Any]
"""Arguments and the expected result."""

PUBLIC_COUNT = 3
"""Number of public tests of a task; they are the statement's worked examples."""
HIDDEN_COUNT = 15
"""Number of hidden tests of a task."""

_ORDINARY = 16  # candidates without a special shape
_READABLE = 120  # characters of an example that is easy to read


def choose_examples(
    program: Program, rng: SplitMix64
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Choose the public and the hidden tests of a program.

    One hidden test has every list and string empty.

    Args:
        program: What the task computes.
        rng: Where the randomness comes from.

    Returns:
        `PUBLIC_COUNT` public and `HIDDEN_COUNT` hidden tests; no arguments occur twice.
    """
    special = program.literals()
    traces: dict[str, list[Any]] = {}
    for shapes in _plan(len(program.arguments), rng):
        arguments = draw_arguments(program.arguments, shapes, special, rng)
        traces.setdefault(repr(arguments), program.trace(arguments))
    candidates = list(traces.values())
    first = next(trace for trace in candidates if not any(map(_filled, _given(program, trace))))
    candidates.remove(first)
    public = _choose_public(program, candidates)
    others = [trace for trace in candidates if trace not in public]
    hidden = [first, *_choose_hidden(program, first, others)]
    return _examples(program, public), _examples(program, hidden)


def _examples(program: Program, traces: list[list[Any]]) -> tuple[Example, ...]:
    return tuple((tuple(_given(program, trace)), trace[-1]) for trace in traces)


def _given(program: Program, trace: list[Any]) -> list[Any]:
    return trace[: len(program.arguments)]


def _filled(value: Any) -> bool:
    return isinstance(value, str | list) and len(value) > 0


def _plan(count: int, rng: SplitMix64) -> Iterator[tuple[str, ...]]:
    """Yield the shapes of the candidates' arguments: ordinary, one special, all special."""
    yield from [("any",) * count] * _ORDINARY
    for number, shape in enumerate(SHAPES[1:]):
        yield tuple(shape if i == number % count else "any" for i in range(count))
        yield tuple(rng.choice(SHAPES) for _ in range(count))
    yield from ((shape,) * count for shape in ("empty", "single", "equal", "long"))


def _choose_public(program: Program, candidates: list[list[Any]]) -> list[list[Any]]:
    """Return readable traces with different results, ordinary ones if they will do."""

    def rank(item: tuple[int, list[Any]]) -> tuple[bool, int, int]:
        number, trace = item
        empty = sum(not value for value in trace)
        return number >= _ORDINARY, empty, max(0, len(repr(_given(program, trace))) - _READABLE)

    ranked = [trace for _, trace in sorted(enumerate(candidates), key=rank)]
    chosen: list[list[Any]] = []
    for wanted in (True, False):  # first different results only, then whatever is left
        for trace in ranked:
            fresh = all(trace[-1] != other[-1] for other in chosen)
            if len(chosen) < PUBLIC_COUNT and trace not in chosen and (fresh or not wanted):
                chosen.append(trace)
    return chosen


def _choose_hidden(
    program: Program, first: list[Any], candidates: list[list[Any]]
) -> list[list[Any]]:
    """Return, after a first trace, those that add most, one after the other."""
    features = [_features(program, trace) for trace in candidates]
    seen = _features(program, first)
    left = list(range(len(candidates)))
    chosen: list[list[Any]] = []
    while len(chosen) < HIDDEN_COUNT - 1:
        best = max(left, key=lambda i: (len(features[i] - seen), len(features[i])))
        left.remove(best)
        seen |= features[best]
        chosen.append(candidates[best])
    return chosen


def _features(program: Program, trace: list[Any]) -> set[Any]:
    """Return what an input makes the program do, as a set of hashable marks.

    A case counts once when a step gets into it, and once more when it also shows: when another
    value there would have changed the output, so that a mistake in that case would be seen.
    """
    marks: set[Any] = {("output", repr(trace[-1]))}
    for variable, value in enumerate(trace):
        case = _case(value)
        marks.add((variable, case))
        if variable >= len(program.arguments) and _shows(program, trace, variable):
            marks.add((variable, case, "shows"))
    return marks


def _case(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str | list):
        return min(len(value), 4), len(set(value)) < len(value)
    return (max(-3, min(3, value)),)


def _shows(program: Program, trace: list[Any], variable: int) -> bool:
    changed = [*trace[:variable], _other(trace[variable], program, variable)]
    for run in program.runs[variable - len(program.arguments) + 1 :]:
        changed.append(run(changed))
    return bool(changed[-1] != trace[-1])


def _other(value: Any, program: Program, variable: int) -> Any:
    """Return a value that differs a little from a given one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if value:
        return value[:-1]
    type_ = program.steps[variable - len(program.arguments)].operation.output
    return {Type.STR: "e", Type.INTS: [1], Type.WORDS: ["e"]}[type_]
