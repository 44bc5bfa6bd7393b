"""What a code-generation problem is, whichever dataset it comes from: `CodeTask` and `UnitTest`.

Both are frozen, hashable and picklable: every test is held as text, so a judge can hand an input
to a sandbox without first turning it into live objects. The expected outputs, the hidden tests
and the reference solution are kept out of ``repr``, because a printed task tends to end up in a
prompt or a log.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks.assertions import parse_source

__all__ = ["CodeTask", "TestKind", "UnitTest"]

TestKind = Literal["stdin", "functional", "assert"]


@dataclass(frozen=True, slots=True)
class UnitTest:
    """One test of a program.

    ===========  ==============================  ==============================================
    kind         input                           output
    ===========  ==============================  ==============================================
    stdin        text written to standard input  text expected on standard output
    functional   JSON list: the arguments        JSON: the value that the call must return
    assert       Python statements that call     empty: the test passes if nothing is raised
                 the task's function by name
    ===========  ==============================  ==============================================

    Args:
        kind: One of the three kinds above.
        input: See the table.
        output: See the table.

    Raises:
        TaskDataInvalid: If the kind is unknown, the JSON does not parse, or the statements of an
            ``assert`` test are not Python or hold no ``assert``.
    """

    kind: TestKind
    input: str
    output: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(TestKind):
            raise TaskDataInvalid(
                f"A test's kind is one of {get_args(TestKind)}; got {self.kind!r}."
            )
        for name in ("input", "output"):
            if not isinstance(getattr(self, name), str):
                raise TaskDataInvalid(
                    f"A {self.kind} test's {name} is text; got {getattr(self, name)!r}."
                )
        if self.kind == "functional":
            self._check_json()
        elif self.kind == "assert":
            self._check_statements()

    def _check_json(self) -> None:
        try:
            arguments, _ = self.arguments, self.expected
        except ValueError as error:
            raise TaskDataInvalid(
                f"A functional test holds JSON; got input {self.input[:80]!r} and output "
                f"{self.output[:80]!r}: {error}."
            ) from error
        if not isinstance(arguments, list):
            raise TaskDataInvalid(
                f"A functional test's input is the JSON list of arguments; got {self.input[:80]!r}."
            )

    def _check_statements(self) -> None:
        try:
            tree = parse_source(self.input)
        except (SyntaxError, ValueError) as error:
            raise TaskDataInvalid(
                f"An assert test is Python source; got {self.input[:80]!r}: {error}."
            ) from error
        if not any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
            raise TaskDataInvalid(f"An assert test asserts something; got {self.input[:80]!r}.")

    @classmethod
    def functional(cls, arguments: Sequence[Any], expected: Any) -> UnitTest:
        """Make a functional test from plain values.

        Args:
            arguments: Positional arguments; JSON values (numbers, text, lists, dicts, ...).
            expected: The value that the call must return; a JSON value.

        Raises:
            TaskDataInvalid: If a value is not JSON.
        """
        try:
            return cls("functional", json.dumps(list(arguments)), json.dumps(expected))
        except (TypeError, ValueError) as error:
            raise TaskDataInvalid(f"A functional test holds JSON values: {error}.") from error

    @property
    def arguments(self) -> list[Any]:
        """Fresh copies of a functional test's arguments."""
        return self._json(self.input)  # type: ignore[no-any-return]

    @property
    def expected(self) -> Any:
        """A fresh copy of the value that a functional test's call must return."""
        return self._json(self.output)

    def _json(self, text: str) -> Any:
        if self.kind != "functional":
            raise TaskDataInvalid(
                f"Only functional tests have arguments and an expected value; this one is "
                f"{self.kind!r}: use its input and output text."
            )
        return json.loads(text)


@dataclass(frozen=True, slots=True)
class CodeTask:
    """One programming problem with its tests.

    Args:
        task_id: Unique within its dataset, e.g. ``"HumanEval/0"``.
        statement: The problem in words.
        public: Tests whose failures an agent may be shown. May be empty.
        hidden: The tests that decide; at least one. A public test may be among them.
        source: Where it comes from, e.g. ``"humaneval"``, ``"taco"``.
        starter_code: Code the agent is given to complete, or ``""``.
        function_name: The function the tests call; ``None`` for ``stdin`` tests. Where the
            starter code has a ``class Solution``, it is a method of that class.
        time_limit_s: Wall-clock limit of one test, seconds.
        reference_solution: A complete program that is known to be right, if there is one.
        preamble: Code the starter gives away (imports, helper functions): it runs before the
            agent's program, and in the namespace of the ``assert`` tests.
        test_setup: Code that the judge alone runs before each ``assert`` test.
        ignore_case: Standard output is compared without regard to letter case, because the
            statement allows any.

    Raises:
        TaskDataInvalid: If a field is missing or has the wrong type, tests are missing or mixed
            in kind, or calls have no function to call.
    """

    task_id: str
    statement: str
    public: tuple[UnitTest, ...]
    hidden: tuple[UnitTest, ...] = field(repr=False)
    source: str
    starter_code: str = ""
    function_name: str | None = None
    time_limit_s: float = 12.0
    reference_solution: str | None = field(default=None, repr=False)
    preamble: str = ""
    test_setup: str = field(default="", repr=False)
    ignore_case: bool = False

    def __post_init__(self) -> None:
        for name in ("task_id", "statement", "source"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.strip():
                raise TaskDataInvalid(f"A task needs a {name}; {self.task_id!r} has {text!r}.")
        self._check_tests()
        if not (isinstance(self.time_limit_s, int | float) and 0 < self.time_limit_s < math.inf):
            raise TaskDataInvalid(
                f"{self.task_id!r}: time_limit_s is a positive number of seconds; "
                f"got {self.time_limit_s!r}."
            )

    def _check_tests(self) -> None:
        tests = (*self.public, *self.hidden)
        if not all(isinstance(test, UnitTest) for test in tests):
            raise TaskDataInvalid(
                f"{self.task_id!r}: public and hidden hold UnitTest objects only."
            )
        if not self.hidden:
            raise TaskDataInvalid(
                f"{self.task_id!r} has no hidden tests: every program would pass. "
                "Give it tests or leave it out."
            )
        kinds = {test.kind for test in tests}
        if len(kinds) > 1:
            raise TaskDataInvalid(
                f"{self.task_id!r} mixes tests of the kinds {sorted(kinds)}; a task has one kind."
            )
        name = self.function_name
        if self.kind != "stdin" and not (isinstance(name, str) and name.isidentifier()):
            raise TaskDataInvalid(
                f"{self.task_id!r} has {self.kind} tests, so function_name is an identifier; "
                f"got {name!r}."
            )

    @property
    def kind(self) -> TestKind:
        """The kind that all its tests have."""
        return self.hidden[0].kind

    @property
    def held_out(self) -> int:
        """How many hidden tests are not public. At 0 a program that knows the answers passes."""
        return len(set(self.hidden) - set(self.public))
