"""The row shapes of DeepCoder-Preview and its relatives, turned into one list of tests.

==============  ==================================================================================
part            ``tests``: JSON text, or the same as objects
==============  ==================================================================================
codeforces      list of ``{input, output}``
primeintellect  list of ``{type, input, output, fn_name}``
lcbv5           list of ``{input, output, testtype}``; the function's name is in ``metadata``
taco            ``{inputs: [...], outputs: [...], fn_name}``; CodeContests the same without a name
==============  ==================================================================================

LiveCodeBench's own rows are read as well: ``public_test_cases`` and ``private_test_cases``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks.code_task import UnitTest
from budget_envs.tasks.private_tests import decode_tests

__all__ = ["decoded", "function_name", "unit_tests"]

Row = Mapping[str, Any]
_TEST_FIELDS = ("tests", "public_test_cases", "private_test_cases")


def decoded(row: Row) -> dict[str, Any]:
    """The row with its tests unpacked: lists and dicts instead of text.

    Raises:
        TaskDataInvalid: If the text cannot be decoded.
    """
    packed = {key: row[key] for key in _TEST_FIELDS if isinstance(row.get(key), str)}
    return {**row, **{key: decode_tests(text) for key, text in packed.items() if text.strip()}}


def unit_tests(tests: Any, name: str | None) -> tuple[UnitTest, ...]:
    """Read the tests of one row; equal tests once.

    Args:
        tests: One of the shapes above, decoded.
        name: The function that the row names, if any.

    Returns:
        The tests, all of one kind, in the order of the row: calls (``functional``) if a test
        says so, or if none says what it is and there is a function to call; else standard input
        and output.

    Raises:
        TaskDataInvalid: If the shape is none of those, or the parts do not fit together.
    """
    cases = _cases(tests)
    kinds = {str(kind) for case in cases if (kind := case.get("testtype") or case.get("type"))}
    if any("func" in kind for kind in kinds) or (name is not None and not kinds):
        if name is None:
            raise TaskDataInvalid("Functional tests need a function name; the row has none.")
        found: Iterable[UnitTest] = _functional(cases)
    else:
        found = (UnitTest("stdin", _text(c["input"]), _text(c["output"])) for c in cases)
    return tuple(dict.fromkeys(found))


def function_name(row: Row) -> str | None:
    """The function that a row's tests call, wherever the row says it; ``None`` if nowhere.

    Args:
        row: A decoded row.

    Raises:
        TaskDataInvalid: If the metadata is JSON text that does not parse.
    """
    places = [_object(row.get("metadata")), row]
    tests = row.get("tests")
    if isinstance(tests, list):
        tests = tests[0] if tests else None
    if isinstance(tests, dict):
        places += [tests, _object(tests.get("metadata"))]
    for place in places:
        for key in ("func_name", "fn_name"):
            if place.get(key):
                return str(place[key])
    return None


def _object(value: Any) -> Row:
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError as error:
            raise TaskDataInvalid(f"Metadata is a JSON object; got {value[:80]!r}.") from error
    return value if isinstance(value, dict) else {}


def _cases(tests: Any) -> list[dict[str, Any]]:
    """One dict per test, with at least ``input`` and ``output``."""
    if isinstance(tests, dict) and "inputs" in tests:
        return _zipped(tests)
    if isinstance(tests, dict):
        tests = [tests]
    if not isinstance(tests, list):
        raise TaskDataInvalid(f"Tests are a list or a dict of lists; got {repr(tests)[:80]}.")
    for case in tests:
        if not isinstance(case, dict) or not {"input", "output"} <= case.keys():
            raise TaskDataInvalid(f"A test has an input and an output; got {repr(case)[:80]}.")
    return tests


def _zipped(tests: Mapping[str, Any]) -> list[dict[str, Any]]:
    inputs, outputs = tests["inputs"], tests.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list):
        raise TaskDataInvalid("Tests hold a list of inputs and a list of outputs.")
    if len(inputs) != len(outputs):
        raise TaskDataInvalid(f"There are {len(inputs)} inputs and {len(outputs)} outputs.")
    shared = {key: tests[key] for key in ("fn_name", "testtype", "type") if key in tests}
    return [{**shared, "input": i, "output": o} for i, o in zip(inputs, outputs, strict=True)]


def _text(value: Any) -> str:
    """Standard input or output as text; some rows hold it as a list of lines, or not at all."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(_text(item) for item in value)
    return value if isinstance(value, str) else str(value)


def _functional(cases: Sequence[Row]) -> list[UnitTest]:
    expected = [_value(case["output"]) for case in cases]
    # APPS and TACO wrap each returned value in a list of one; LiveCodeBench does not. A row whose
    # every output is such a list, and where outputs were not JSON text, is of the first sort.
    wrapped = all(
        isinstance(value, list) and len(value) == 1 and not isinstance(case["output"], str)
        for case, value in zip(cases, expected, strict=True)
    )
    if wrapped:
        expected = [value[0] for value in expected]
    return [
        UnitTest.functional(_arguments(case["input"]), value)
        for case, value in zip(cases, expected, strict=True)
    ]


def _value(output: Any) -> Any:
    return _parsed(output) if isinstance(output, str) else output


def _arguments(value: Any) -> list[Any]:
    """The arguments of a call: a list of them, or text with one JSON value per line."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return [_parsed(line) for line in value.split("\n") if line.strip()]
    return [value]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # a bare word stands for itself
