"""Runs ``assert`` tests in this process, with the candidate behind a call-by-value proxy."""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from budget_envs.judging.compare import equal_value
from budget_envs.judging.outcome import TestOutcome, shown
from budget_envs.sandbox import Candidate, CandidateError, NotPlainError, SandboxLost
from budget_envs.tasks.assertions import called_names, comparison
from budget_envs.tasks.code_task import CodeTask, UnitTest

__all__ = ["AssertionRunner", "CandidateEnded"]


class CandidateEnded(Exception):
    """The candidate's process ended during a test, which says nothing about the other tests."""


class AssertionRunner:
    """Runs the tests of one task against one loaded candidate.

    A test of the form ``assert f(...) == value`` is taken apart, so that numbers may differ as
    they may elsewhere, and so that what the candidate gave can be told. Each test gets its own
    namespace, and a ``random`` module that draws the same numbers every time. A name that nothing
    else defines is taken to be the candidate's.

    Args:
        task: The task; its preamble, set-up and tests are the benchmark's code, and trusted.
        candidate: The agent's program, loaded in a sandbox.
    """

    def __init__(self, task: CodeTask, candidate: Candidate) -> None:
        self._name = task.function_name or ""
        self._setup = f"{task.preamble}\n{task.test_setup}"
        self._candidate = candidate
        self._end: CandidateError | SandboxLost | None = None

    def run(self, test: UnitTest) -> TestOutcome:
        """Run one test.

        Raises:
            CandidateEnded: If the candidate's process ended, whatever the test made of that.
            SandboxLost: If the sandbox failed, likewise.
        """
        try:
            outcome = self._outcome(test)
        except CandidateError as error:
            outcome = TestOutcome(False, error=str(error))
        except AssertionError as error:
            outcome = TestOutcome(False, error=f"AssertionError: {error}".rstrip(": "))
        except NotPlainError as error:
            outcome = TestOutcome(False, error=str(error))
        except Exception as error:  # the test met a value, or an end, that it was not written for
            outcome = TestOutcome(False, error=f"{type(error).__name__}: {error}")
        if isinstance(self._end, SandboxLost):
            raise self._end
        if self._end is not None:
            raise CandidateEnded from self._end
        return outcome

    def _outcome(self, test: UnitTest) -> TestOutcome:
        space: dict[str, Any] = {"__builtins__": _builtins()}
        exec(_compiled(self._setup), space)
        for name in called_names(test.input):  # also classes that the program has to define
            if name == self._name or not (name in space or hasattr(builtins, name)):
                space[name] = self._proxy(name)
        sides = comparison(test.input, self._name)
        if sides is None:
            exec(test.input, space)
            return TestOutcome(True)
        got, expected = (eval(side, space) for side in sides)
        return TestOutcome(equal_value(got, expected), shown(got))

    def _proxy(self, name: str) -> Callable[..., Any]:
        """Return a stand-in for a function that remembers an end which the test may swallow."""
        function = self._candidate.function(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except (CandidateError, SandboxLost) as error:
                if isinstance(error, SandboxLost) or error.status != "error":
                    self._end = error
                raise

        return call


@lru_cache(maxsize=64)
def _compiled(source: str) -> CodeType:
    return compile(source, "setup", "exec", dont_inherit=True)


def _builtins() -> dict[str, Any]:
    """Return the builtins of a test: its ``random`` is its own, and starts from the same seed."""
    stand_in = _seeded_random()

    def import_(name: str, *args: Any, **kwargs: Any) -> ModuleType:
        return stand_in if name == "random" else builtins.__import__(name, *args, **kwargs)

    return {**vars(builtins), "__import__": import_}


def _seeded_random() -> ModuleType:
    module = ModuleType("random")
    generator = random.Random(0)
    own = {name: getattr(generator, name) for name in dir(generator) if not name.startswith("_")}
    module.__dict__.update({**vars(random), **own})
    return module
