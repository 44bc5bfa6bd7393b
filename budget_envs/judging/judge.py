"""`UnitTestJudge`: which tests of a task a program passes.

Only inputs enter the sandbox. Expected outputs stay in this process, where what the program gave
is compared as plain data, so a program that forges a verdict forges nothing but a wrong value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from budget_envs.errors import UnsupportedError
from budget_envs.judging.assertions import AssertionRunner, CandidateEnded
from budget_envs.judging.compare import same_output, same_value
from budget_envs.judging.outcome import Judgement, TestOutcome, shown
from budget_envs.judging.source import Source, source_of
from budget_envs.sandbox import (
    Call,
    Execution,
    Limits,
    Sandbox,
    SandboxLost,
    SandboxUnavailable,
)
from budget_envs.tasks.code_task import CodeTask, UnitTest

__all__ = ["UnitTestJudge"]

_MAX_TIMEOUTS: Final = 2
_STOPPED: Final = "not run: the program ran out of time on two tests before this one"
_ENDED_BADLY: Final = "the program did not end well after its last answer"
_LONGEST_PROGRAM: Final = 1_000_000  # characters
_TOO_LONG: Final = f"not run: the program is longer than {_LONGEST_PROGRAM} characters"


class UnitTestJudge:
    """Judges programs in a sandbox.

    Each test has the time limit to itself. Where several tests share a process they share its
    time too, and the one at which it ended is run again in a process of its own, as are those
    after it. A program that runs out of time on two tests fails the rest unrun, so that one that
    hangs takes two time limits, and one that is merely slow one for each test, at worst.

    Args:
        sandbox: Where programs run.
        time_limit_s: Seconds for one test; ``None`` takes each task's own.
    """

    def __init__(self, sandbox: Sandbox, time_limit_s: float | None = None) -> None:
        self.sandbox = sandbox
        self.time_limit_s = time_limit_s

    def judge(self, task: CodeTask, program: str) -> Judgement:
        """Run a program on every test of its task, each distinct test once.

        Args:
            task: The task.
            program: Any text; one that is not Python, or over a million characters, fails.

        Raises:
            SandboxLost: If the sandbox failed, so that nothing can be said.
        """
        if len(program) > _LONGEST_PROGRAM:
            failure = TestOutcome(False, error=_TOO_LONG)
            return Judgement((failure,) * len(task.public), (failure,) * len(task.hidden))
        tests = list(dict.fromkeys((*task.public, *task.hidden)))
        trial = _Trial(self.sandbox, task, source_of(task, program), self._limits(task, tests))
        try:
            outcomes = dict(zip(tests, trial.outcomes(tests), strict=True))
        except (SandboxUnavailable, UnsupportedError) as error:  # it worked when it was opened
            raise SandboxLost(f"The sandbox could not run the program: {error}") from error
        return Judgement(
            public=tuple(outcomes[test] for test in task.public),
            hidden=tuple(outcomes[test] for test in task.hidden),
        )

    def _limits(self, task: CodeTask, tests: Sequence[UnitTest]) -> Limits:
        limits = replace(self.sandbox.limits, time_s=self.time_limit_s or task.time_limit_s)
        longest = max(len(test.output.encode("utf-8", "surrogatepass")) for test in tests)
        needed = 1 << (2 * longest).bit_length()  # a power of two tells the program little
        return replace(limits, output_bytes=max(limits.output_bytes, needed))


class _Trial:
    """One program on the tests of one task."""

    def __init__(self, sandbox: Sandbox, task: CodeTask, source: Source, limits: Limits) -> None:
        self.sandbox = sandbox
        self.task = task
        self.public = frozenset(task.public)
        self.source = source
        self.limits = limits

    def outcomes(self, tests: Sequence[UnitTest]) -> list[TestOutcome]:
        """Run all tests, in as many processes as it takes."""
        kinds = {"stdin": self._run_whole, "functional": self._call, "assert": self._assert}
        run_first = kinds[self.task.kind]
        outcomes: list[TestOutcome] = []
        timeouts = 0
        while len(outcomes) < len(tests) and timeouts < _MAX_TIMEOUTS:
            newest = run_first(tests[len(outcomes) :])
            timeouts += newest[-1].timed_out
            outcomes += newest
        return outcomes + [TestOutcome(False, error=_STOPPED)] * (len(tests) - len(outcomes))

    # Each of these runs the first tests of a list, at least one, in one process.

    def _run_whole(self, tests: Sequence[UnitTest]) -> list[TestOutcome]:
        test, task = tests[0], self.task
        run = self.sandbox.run_program(self.source.text, test.input, self.limits)
        if _kept(run).status != "ok":
            return [self._failure(run)]
        passed = same_output(run.stdout, test.output, ignore_case=task.ignore_case)
        return [TestOutcome(passed, run.stdout.rstrip())]

    def _call(self, tests: Sequence[UnitTest]) -> list[TestOutcome]:
        # A program can read what was sent ahead: while what it gives may still be shown to the
        # agent, no hidden input must have been sent.
        public = [test for test in tests if test in self.public]
        hidden = [test for test in tests if test not in self.public]
        with self.sandbox.open_candidate(self.source.text, self.limits) as candidate:
            results = candidate.call_all(self._calls(public))
            has_seen_hidden = bool(hidden) and not candidate.has_ended
            results += candidate.call_all(self._calls(hidden))
            ended = _kept(candidate.finish())
        outcomes = []
        for test, result in zip((*public, *hidden), results, strict=True):
            if result.status == "ok":
                passed = same_value(result.value, test.expected)
                outcomes.append(TestOutcome(passed, shown(result.value)))
            elif result.status == "error":
                error = self.source.in_own_lines(result.error)
                outcomes.append(TestOutcome(False, error=error))
            else:
                return outcomes or [self._failure(ended)]
        return self._if_ended_well(ended, outcomes, has_seen_hidden)

    def _calls(self, tests: Sequence[UnitTest]) -> list[Call]:
        return [Call(self.source.entry, test.arguments) for test in tests]

    def _assert(self, tests: Sequence[UnitTest]) -> list[TestOutcome]:
        outcomes: list[TestOutcome] = []
        with self.sandbox.open_candidate(self.source.text, self.limits) as candidate:
            runner = AssertionRunner(self.task, candidate)
            has_seen_hidden = False
            for test in tests:
                has_seen_hidden |= test not in self.public and not candidate.has_ended
                try:
                    outcome = runner.run(test)
                except CandidateEnded:
                    return outcomes or [self._failure(_kept(candidate.finish()))]
                error = self.source.in_own_lines(outcome.error)
                outcomes.append(replace(outcome, error=error))
            return self._if_ended_well(_kept(candidate.finish()), outcomes, has_seen_hidden)

    def _if_ended_well(
        self, run: Execution, outcomes: list[TestOutcome], has_seen_hidden: bool
    ) -> list[TestOutcome]:
        """Return outcomes, all failed if the process they come from did not end well."""
        if run.status == "ok":
            return outcomes
        failure = self._failure(run)
        if has_seen_hidden:  # what it said at its end could tell the agent what it saw
            failure = replace(failure, error=_ENDED_BADLY)
        return [replace(failure, got=outcome.got) for outcome in outcomes]

    def _failure(self, run: Execution) -> TestOutcome:
        """Return the outcome of a test that the program gave no answer to."""
        limits = self.limits
        reasons = {
            "timeout": f"timeout: more than {limits.time_s:g} seconds",
            "memory": f"memory: more than {limits.memory_bytes >> 20} MiB",
            "output": f"output: more than {limits.output_bytes} bytes, or too much in files",
            "crash": f"the program ended before it answered, with exit code {run.exit_code}",
        }
        complaint = self.source.complaint(run.stderr)
        error = reasons.get(run.status) or complaint or f"exit code {run.exit_code}"
        printed = run.stdout.rstrip() if self.task.kind == "stdin" else ""  # else it is but noise
        return TestOutcome(False, printed, error, timed_out=run.status == "timeout")


def _kept(run: Execution) -> Execution:
    if run.status == "lost":
        raise SandboxLost(f"The sandbox failed while a program ran: {run.stderr or 'no details'}")
    return run
