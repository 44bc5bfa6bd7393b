"""When two programs are the same task, and when a program is not worth being one.

Programs are compared by what they compute on a fixed set of probe inputs. Two programs that
agree on every input a task can have agree on the probes, so equal tasks always share their
fingerprint; a rare chance agreement of different programs only merges them.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from budget_envs.tasks.synthetic_code.dsl import Program, Type, accepts
from budget_envs.tasks.synthetic_code.probes import ORDINARY_COUNT, PROBE_COUNT, probes, varied
from budget_envs.tasks.synthetic_code.sampling import single_step_programs

__all__ = ["fingerprint", "is_worthwhile", "single_step_fingerprints"]

_LOOKS = ((ORDINARY_COUNT, 1), (PROBE_COUNT, 3))
"""How many probes are looked at, and on how many of them every part must have an effect."""
_MAX_ABSOLUTE = 10**6
_MAX_ITEMS = 60
_MAX_CHARACTERS = 200
_CONSTANTS: dict[Type, tuple[Any, ...]] = {
    Type.BOOL: (True, False),
    Type.INT: (0,),
    Type.NAT: (0,),
    Type.STR: ("",),
    Type.INTS: ([],),
    Type.WORDS: ([],),
}


def fingerprint(program: Program) -> str:
    """Return 16 hexadecimal digits that are equal for programs that compute the same.

    The order of arguments of one type does not count: ``f(xs, ys)`` and ``g(xs, ys) = f(ys, xs)``
    share their fingerprint.
    """
    digests = []
    for order in _argument_orders(program.arguments):
        outputs = [program(*(probe[i] for i in order)) for probe in probes(program.arguments)]
        signature = [type_.name for type_ in program.arguments], program.output.annotation
        digests.append(hashlib.blake2b(repr((signature, outputs)).encode(), digest_size=8))
    return min(digest.hexdigest() for digest in digests)


def _argument_orders(arguments: tuple[Type, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the permutations of argument positions that leave the types as they are."""
    for order in itertools.permutations(range(len(arguments))):
        if all(arguments[i] is type_ for i, type_ in zip(order, arguments, strict=True)):
            yield order


def is_worthwhile(program: Program) -> bool:
    """Return whether a program makes a task: varied, and every part of it matters.

    Rejected are programs whose result is (nearly) always the same, or mostly equal to one of
    the arguments, or huge; programs whose result hardly depends on one of the arguments; and
    programs of which a step could be left out (replaced by an earlier value or a constant)
    with hardly any effect. Programs of several steps that equal one of a single step are told
    by `fingerprint` and `single_step_fingerprints`.
    """
    traces: list[list[Any]] = []
    for count, effects in _LOOKS:
        inputs = probes(program.arguments)[len(traces) : count]
        traces += [program.trace(probe) for probe in inputs]
        if not (
            _varied(program, traces)
            and all(
                _argument_matters(program, traces, i, effects)
                for i in range(len(program.arguments))
            )
            and all(_step_matters(program, traces, i, effects) for i in range(len(program.steps)))
            and all(map(_small, itertools.chain(*traces)))
        ):
            return False
    return True


def _small(value: Any) -> bool:
    """Return whether a value is short enough to read in an example."""
    if isinstance(value, int):
        return -_MAX_ABSOLUTE <= value <= _MAX_ABSOLUTE
    if isinstance(value, str) or not value:
        return len(value) <= _MAX_CHARACTERS
    if isinstance(value[0], str):
        return sum(map(len, value)) + len(value) <= _MAX_CHARACTERS
    return len(value) <= _MAX_ITEMS and _small(max(value)) and _small(min(value))


def _varied(program: Program, traces: list[list[Any]]) -> bool:
    """Return whether the outputs differ enough from each other and from each argument."""
    columns = list(zip(*traces, strict=True))
    return varied(program.output, columns[-1], columns[: len(program.arguments)])


def _argument_matters(
    program: Program, traces: list[list[Any]], position: int, wanted: int
) -> bool:
    """Return whether changing one argument alone changes the output often enough."""
    effects, count = 0, len(program.arguments)
    for i, trace in enumerate(traces):
        changed = trace[:count]
        changed[position] = traces[i - 1][position]
        effects += program(*changed) != trace[-1]
        if effects >= wanted:
            return True
    return False


def _step_matters(program: Program, traces: list[list[Any]], number: int, wanted: int) -> bool:
    """Return whether no earlier variable and no constant can stand in for a step's result."""
    variable = len(program.arguments) + number
    types = [*program.arguments, *(step.operation.output for step in program.steps)]
    same = [
        v
        for v in range(variable)
        if accepts(types[v], types[variable]) or accepts(types[variable], types[v])
    ]
    stand_ins: list[list[Any]] = [[trace[v] for trace in traces] for v in same]
    stand_ins += [[constant] * len(traces) for constant in _CONSTANTS[types[variable]]]
    return all(_differs(program, traces, variable, values, wanted) for values in stand_ins)


def _differs(
    program: Program, traces: list[list[Any]], variable: int, values: Sequence[Any], wanted: int
) -> bool:
    """Return whether putting the given values in a variable changes the output often enough."""
    effects = 0
    rest = program.runs[variable - len(program.arguments) + 1 :]
    for trace, value in zip(traces, values, strict=True):
        if value == trace[variable]:
            continue
        changed = [*trace[:variable], value]
        for run in rest:
            changed.append(run(changed))
        effects += changed[-1] != trace[-1]
        if effects >= wanted:
            return True
    return False


@functools.cache
def single_step_fingerprints(arguments: tuple[Type, ...]) -> frozenset[str]:
    """Return the fingerprints of all programs of one step that read every argument once."""
    return frozenset(map(fingerprint, single_step_programs(arguments)))
