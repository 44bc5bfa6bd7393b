import json
import random
from dataclasses import replace
from itertools import islice

import pytest

from budget_envs.judging import UnitTestJudge
from budget_envs.sandbox import (
    CallResult,
    Execution,
    Limits,
    SandboxLost,
    SandboxUnavailable,
    open_sandbox,
)
from budget_envs.tasks import CodeTask, UnitTest
from budget_envs.tasks.mutation import mutants
from budget_envs.tasks.synthetic import from_synthetic
from budget_envs.tasks.synthetic_code import generate


@pytest.fixture(scope="module")
def judge():
    with open_sandbox("process") as sandbox:
        yield UnitTestJudge(sandbox, time_limit_s=2.0)


def stdin_task(*tests, **fields):
    made = tuple(UnitTest("stdin", given, wanted) for given, wanted in tests)
    return CodeTask("t/stdin", "Do it.", made[:1], made, "test", **fields)


def call_task(*tests, name="f", **fields):
    made = tuple(UnitTest.functional(args, wanted) for args, wanted in tests)
    return CodeTask("t/call", "Do it.", made[:1], made, "test", function_name=name, **fields)


def assert_task(*tests, name="f", **fields):
    made = tuple(UnitTest("assert", text) for text in tests)
    return CodeTask("t/assert", "Do it.", made[:1], made, "test", function_name=name, **fields)


class Watched:
    """A sandbox that notes what it is asked to run."""

    def __init__(self, sandbox, runs):
        self.sandbox, self.limits, self.runs = sandbox, sandbox.limits, runs

    def run_program(self, source, stdin, limits):
        self.runs.append(stdin)
        return self.sandbox.run_program(source, stdin, limits)

    def open_candidate(self, source, limits):
        self.runs.append(source)
        return self.sandbox.open_candidate(source, limits)


ADD = stdin_task(("1 2\n", "3"), ("10 -4\n", "6"))
DOUBLE = call_task(([2], 4), ([0], 0), ([-3], -6))
CHECKED = assert_task(
    "assert f(2) == 4", "assert abs(f(0.5) - 1) < 1e-6", "assert f([1]) == [1, 1]"
)
HONEST = {
    "stdin": (ADD, "print(sum(map(int, input().split())))"),
    "functional": (DOUBLE, "def f(x):\n    return 2 * x"),
    "assert": (CHECKED, "def f(x):\n    return 2 * x"),
}


@pytest.mark.parametrize("kind", list(HONEST))
def test_a_right_program_passes_every_test(judge, kind):
    task, program = HONEST[kind]
    judgement = judge.judge(task, program)
    assert judgement.is_success
    assert judgement.share == 1.0
    assert all(outcome.passed for outcome in judgement.public)


@pytest.mark.parametrize("kind", list(HONEST))
@pytest.mark.parametrize(
    "program",
    [
        "",
        "def f(x):\n    return None",
        "def f(x) return 2 * x",
        "this is not defined",
        "import sys; sys.exit(0)",
        "import os; os._exit(0)",
        "raise SystemExit(1)",
        "def f(x):\n    raise ValueError('no')",
        "def f(x):\n    import os; os._exit(0)",
        "class Equal:\n    __eq__ = lambda s, o: True\n    __sub__ = lambda s, o: 0\n"
        "def f(x):\n    return Equal()",
        "class Equal(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
        "def f(x):\n    return Equal(7)",
        "print('All tests pass.'); print('3')",
        "import builtins; builtins.abs = lambda x: 0\ndef f(x):\n    return 0",
    ],
)
def test_a_wrong_or_cheating_program_does_not_succeed(judge, kind, program):
    assert not judge.judge(HONEST[kind][0], program).is_success


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_verdicts_are_those_of_plain_execution_in_this_process(judge, level):
    """For programs with a mistake in them, which are wrong on some tests and right on others."""
    seen = set()
    for index in range(4):
        task = from_synthetic(generate(level, index))
        for mutant in islice(mutants(task.reference_solution, seed=index), 4):
            names = {}
            exec(mutant.source, names)
            expected = [plainly_passes(names["solve"], test) for test in task.hidden]
            outcomes = judge.judge(task, mutant.source).hidden
            assert [outcome.passed for outcome in outcomes] == expected
            seen.update(expected)
    assert seen == {True, False}


def plainly_passes(function, test):
    try:
        return json.dumps(function(*test.arguments)) == test.output
    except Exception:
        return False


def test_the_share_counts_hidden_tests(judge):
    assert judge.judge(DOUBLE, "def f(x):\n    return 4 if x == 2 else 0").share == pytest.approx(
        2 / 3
    )


def test_an_honest_cheat_of_one_test_scores_one_test(judge):
    assert judge.judge(ADD, "print(3)").share == 0.5


def test_an_error_in_one_call_leaves_the_other_tests_judged(judge):
    program = "def f(x):\n    return 2 * x if x else 1 / 0"
    outcomes = judge.judge(DOUBLE, program).hidden
    assert [outcome.passed for outcome in outcomes] == [True, False, True]
    assert "ZeroDivisionError" in outcomes[1].error


DEATHS = {
    "exit code 0": "import os; os._exit(0)",
    "exit code 3": "import os; os._exit(3)",
    "exit code 1 after a complaint": "import os; os.write(2, b'no'); os._exit(1)",
    "a signal": "import os; os.kill(os.getpid(), 11)",
}


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS)
@pytest.mark.parametrize("fatal", [0, 1, 2])
@pytest.mark.parametrize("kind", ["functional", "assert"])
def test_a_death_in_one_call_leaves_the_other_tests_judged(judge, kind, fatal, death):
    task = HONEST[kind][0]
    arguments = {"functional": [2, 0, -3], "assert": [2, 0.5, [1]]}[kind]
    program = f"def f(x):\n    if x == {arguments[fatal]}:\n        {death}\n    return 2 * x"
    outcomes = judge.judge(task, program).hidden
    assert [outcome.passed for outcome in outcomes] == [number != fatal for number in range(3)]
    assert "exit code" in outcomes[fatal].error


def test_a_hang_in_one_call_leaves_the_other_tests_judged(judge):
    quick = UnitTestJudge(judge.sandbox, time_limit_s=0.5)
    program = "def f(x):\n    while x == 0: pass\n    return 2 * x"
    outcomes = quick.judge(DOUBLE, program).hidden
    assert [outcome.passed for outcome in outcomes] == [True, False, True]
    assert [outcome.timed_out for outcome in outcomes] == [False, True, False]
    assert outcomes[1].error == "timeout: more than 0.5 seconds"


def test_each_of_many_slow_calls_has_the_time_limit_to_itself(judge):
    quick = UnitTestJudge(judge.sandbox, time_limit_s=0.5)
    program = "import time\ndef f(x):\n    time.sleep(0.3)\n    return 2 * x"
    assert quick.judge(DOUBLE, program).is_success


def test_a_program_that_hangs_while_it_loads_is_stopped_after_two_runs(judge):
    runs = []
    quick = UnitTestJudge(Watched(judge.sandbox, runs), time_limit_s=0.3)
    task = call_task(*[([i], i) for i in range(20)])
    outcomes = quick.judge(task, "while True: pass").hidden
    assert len(runs) == 2
    assert [outcome.timed_out for outcome in outcomes] == [True] * 2 + [False] * 18


def test_what_was_printed_before_a_timeout_is_kept(judge):
    quick = UnitTestJudge(judge.sandbox, time_limit_s=0.3)
    program = "print('so far', flush=True)\nwhile True: pass"
    outcome = quick.judge(stdin_task(("", "x")), program).hidden[0]
    assert (outcome.got, outcome.timed_out) == ("so far", True)


def test_a_program_that_does_not_load_is_run_once(judge):
    runs = []
    watched = UnitTestJudge(Watched(judge.sandbox, runs))
    for task in (DOUBLE, CHECKED):
        runs.clear()
        outcomes = watched.judge(task, "def f(x) return x").hidden
        assert len(runs) == 1
        assert {outcome.error for outcome in outcomes} == {"SyntaxError: expected ':' (line 1)"}


def test_a_hang_in_an_assert_test_leaves_the_other_tests_judged(judge):
    quick = UnitTestJudge(judge.sandbox, time_limit_s=0.5)
    program = "def f(x):\n    while x == 0.5: pass\n    return 2 * x"
    assert [o.passed for o in quick.judge(CHECKED, program).hidden] == [True, False, True]


def test_a_program_that_always_hangs_is_stopped_after_two_tests(judge):
    quick = UnitTestJudge(judge.sandbox, time_limit_s=0.3)
    task = stdin_task(*[(str(i), str(i)) for i in range(30)])
    outcomes = quick.judge(task, "while True: pass").hidden
    assert [outcome.error.split(":")[0] for outcome in outcomes] == ["timeout"] * 2 + [
        "not run"
    ] * 28


def test_a_test_that_is_public_and_hidden_is_run_once(judge):
    runs = []
    assert UnitTestJudge(Watched(judge.sandbox, runs)).judge(ADD, HONEST["stdin"][1]).is_success
    assert runs == ["1 2\n", "10 -4\n"]


LOST = Execution("lost", stderr="the worker died")


class LostCandidate:
    has_ended = True

    def function(self, name):
        def call(*args):
            raise SandboxLost("the worker died")

        return call

    def call_all(self, calls):
        return [CallResult("lost") for _ in calls]

    def finish(self):
        return LOST

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Lost:
    limits = Limits()

    def run_program(self, source, stdin, limits):
        return LOST

    def open_candidate(self, source, limits):
        return LostCandidate()


SWALLOWS = assert_task(
    "try:\n    f(0)\nexcept Exception:\n    pass\nassert True", "assert f(1) == 1"
)


@pytest.mark.parametrize("task", [ADD, DOUBLE, CHECKED, SWALLOWS])
def test_a_lost_sandbox_is_an_error_and_never_a_verdict(task):
    with pytest.raises(SandboxLost, match="the worker died"):
        UnitTestJudge(Lost()).judge(task, "print(3)")


@pytest.mark.parametrize("task", [DOUBLE, CHECKED])
def test_a_worker_that_cannot_be_replaced_is_a_lost_sandbox(task):
    class Unavailable(Lost):
        def open_candidate(self, source, limits):
            raise SandboxUnavailable("no more processes")

    with pytest.raises(SandboxLost, match="no more processes"):
        UnitTestJudge(Unavailable()).judge(task, "")


def test_an_exit_with_an_error_is_wrong_whatever_was_printed(judge):
    task = stdin_task(("", "3"))
    assert not judge.judge(task, "print(3)\nraise ValueError").is_success
    assert not judge.judge(task, "print(3)\nimport sys; sys.exit(1)").is_success
    assert judge.judge(task, "print(3)\nimport sys; sys.exit(0)").is_success


def test_an_empty_expected_output_is_not_passed_by_an_error(judge):
    task = stdin_task(("", ""))
    assert not judge.judge(task, "raise ValueError").is_success
    assert judge.judge(task, "pass").is_success


@pytest.mark.parametrize(
    ("given", "program", "wanted"),
    [
        ("", "import sys; print(repr(sys.stdin.read()))", "''"),
        ("a\nb", "import sys; print(sys.stdin.buffer.read().decode().split())", "['a', 'b']"),
        ("5", "print(int(input()))", "5"),
        (
            "5000",
            "import sys; sys.setrecursionlimit(10**5)\n"
            "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(int(input())))",
            "5000",
        ),
        (
            "9" * 5000,
            "import sys; sys.set_int_max_str_digits(0); print(int(input()) + 1)",
            "1" + "0" * 5000,
        ),
        ("", "import sys; sys.stdout.write('3')", "3"),
        ("3 4", "a, b = map(int, open(0).read().split()); print(a / b)", "0.75"),
        ("", "if __name__ == '__main__':\n    print('main')", "main"),
    ],
)
def test_honest_odd_programs_pass(judge, given, program, wanted):
    assert judge.judge(stdin_task((given, wanted)), program).is_success


def test_a_method_of_a_solution_class_is_called(judge):
    task = call_task(
        ([[1, 2]], 3), name="total", starter_code="class Solution:\n    def total(self, xs):\n"
    )
    program = "class Solution:\n    def total(self, xs):\n        return sum(xs)"
    assert judge.judge(task, program).is_success


def test_a_preamble_runs_before_the_program_and_in_the_judge(judge):
    task = assert_task("assert f(ONE) == TWO", preamble="ONE = 1\nTWO = 2")
    assert judge.judge(task, "def f(x):\n    return x + ONE").is_success


def test_a_set_up_is_known_to_the_judge_alone(judge):
    task = assert_task("assert f(1) == SECRET", test_setup="SECRET = 2")
    assert judge.judge(task, "def f(x):\n    return x + 1").is_success
    assert not judge.judge(task, "def f(x):\n    return SECRET").is_success


def test_an_expected_exception_passes_through_the_proxy(judge):
    task = assert_task("try:\n    f(0)\n    assert False\nexcept ValueError:\n    assert True")
    assert judge.judge(task, "def f(x):\n    raise ValueError('expected')").is_success
    assert not judge.judge(task, "def f(x):\n    raise KeyError('other')").is_success
    assert not judge.judge(task, "def f(x):\n    return 1").is_success


def test_swallowed_errors_of_a_dead_program_do_not_pass(judge):
    task = assert_task("try:\n    f(0)\nexcept Exception:\n    pass\nassert True or f(0)")
    assert not judge.judge(task, "def f(x):\n    import os; os._exit(0)").is_success


def test_a_death_that_one_test_swallows_fails_that_test_and_not_the_next(judge):
    program = "def f(x):\n    if x == 0:\n        import os; os._exit(0)\n    return x"
    assert [o.passed for o in judge.judge(SWALLOWS, program).hidden] == [False, True]


def test_an_error_that_a_test_swallows_is_the_tests_own_affair(judge):
    program = "def f(x):\n    return x // x"
    assert [o.passed for o in judge.judge(SWALLOWS, program).hidden] == [True, True]


def test_classes_that_a_test_needs_are_the_candidates(judge):
    task = assert_task(
        "assert f([Pair(1, 2), Pair(3, 4)]) == 10", "assert f([Pair(a=1, b=1)]) == 2"
    )
    program = (
        "class Pair:\n    def __init__(self, a, b): self.a, self.b = a, b\n"
        "def f(pairs):\n    return sum(p.a + p.b for p in pairs)"
    )
    assert judge.judge(task, program).is_success
    assert not judge.judge(task, "def f(pairs):\n    return 10").is_success


def test_an_object_of_the_candidate_answers_for_nothing_in_the_judge(judge):
    task = assert_task("assert f(1) == Pair(1)", "assert f(1)", "assert len(f(1)) == 1")
    program = (
        "class Pair:\n    def __init__(self, a): pass\n    __eq__ = lambda s, o: True\n"
        "    __bool__ = lambda s: True\n    __len__ = lambda s: 1\nclass f(Pair): pass"
    )
    assert judge.judge(task, program).share == 0.0


def test_random_tests_draw_the_same_numbers_every_time(judge):
    drawn = "[randint(0, 10**9), choice('abc'), random.random()]"
    imports = "import random\nfrom random import choice, randint\n"
    task = assert_task(f"{imports}assert f(0), repr({drawn})")
    errors = {judge.judge(task, "def f(x): return x").hidden[0].error for _ in range(2)}
    numbers = random.Random(0)
    expected = [numbers.randint(0, 10**9), numbers.choice("abc"), numbers.random()]
    assert errors == {f"AssertionError: {expected!r}"}


def test_random_tests_leave_the_process_s_own_generator_alone(judge):
    task = assert_task("import random\nrandom.seed(5)\nassert f(random.random()) < 1")
    before = random.getstate()
    assert judge.judge(task, "def f(x):\n    return x").is_success
    assert random.getstate() == before


def test_tests_do_not_share_variables(judge):
    task = assert_task("x = 5\nassert f(x) == 5", "assert f(1) == 1 and 'x' not in globals()")
    assert judge.judge(task, "def f(x):\n    return x").is_success


def test_a_value_of_the_right_size_but_one_that_cannot_be_shown_is_judged(judge):
    task = assert_task("assert f(5000) == 10**5000", "assert f(5001) == 10**5000")
    outcomes = judge.judge(task, "def f(n):\n    return 10**n").hidden
    assert [outcome.passed for outcome in outcomes] == [True, False]
    assert "integer too long" in judge.judge(DOUBLE, "def f(x): return 10**5000").hidden[0].got


def test_what_does_not_cross_fails_and_says_so(judge):
    for task in (DOUBLE, CHECKED):
        outcome = judge.judge(task, "def f(x):\n    yield x").hidden[0]
        assert "'generator' object does not cross by value" in outcome.error


def test_a_right_output_longer_than_the_sandbox_keeps_is_right(judge):
    wanted = "\n".join(map(str, range(40_000)))
    assert len(wanted) > judge.sandbox.limits.output_bytes
    assert judge.judge(stdin_task(("", wanted)), "print(*range(40_000), sep='\\n')").is_success


def test_an_endless_output_is_stopped(judge):
    outcome = judge.judge(stdin_task(("", "1")), "while True: print(1)").hidden[0]
    assert outcome.error.startswith("output: more than 65536 bytes")


def test_standard_input_arrives_as_it_is(judge):
    given = "  1\t\r\n\n x \n\n"
    program = "import sys; print(repr(sys.stdin.buffer.read().decode()))"
    assert judge.judge(stdin_task((given, repr(given))), program).is_success


@pytest.mark.parametrize("kind", list(HONEST))
def test_future_imports_work_behind_a_preamble(judge, kind):
    task, program = HONEST[kind]
    task = replace(task, preamble="import math")
    assert judge.judge(task, "from __future__ import annotations\n" + program).is_success


@pytest.mark.parametrize("kind", list(HONEST))
def test_errors_name_the_line_that_the_author_wrote(judge, kind):
    task = replace(HONEST[kind][0], preamble="import math\n\nX = 1\n")
    raising = (
        "raise ValueError('here')" if kind == "stdin" else "def f(x):\n    raise ValueError('here')"
    )
    error = judge.judge(task, "\n\n" + raising).hidden[0].error
    assert ("line 3" if kind == "stdin" else "line 4") in error


@pytest.mark.parametrize(
    "program", ["x = '\ud800'", "x = '\x00'", "(" * 10_000, "-" * 10_000 + "1"]
)
def test_texts_that_no_python_reads_are_wrong(judge, program):
    for task, _ in HONEST.values():
        assert judge.judge(task, program).share == 0.0


def test_judging_says_the_same_again(judge):
    for task, program in HONEST.values():
        assert judge.judge(task, program) == judge.judge(task, program)


def test_printed_noise_does_not_disturb_returned_values(judge):
    program = "def f(x):\n    print('noise', x)\n    return 2 * x"
    assert judge.judge(DOUBLE, program).is_success


def test_letter_case_is_ignored_where_the_task_says_so(judge):
    assert judge.judge(stdin_task(("", "YES"), ignore_case=True), "print('yes')").is_success
    assert not judge.judge(stdin_task(("", "YES")), "print('yes')").is_success


def test_a_program_cannot_find_the_expected_output(judge):
    canary = "canary-5f3a9c"
    task = stdin_task(("", canary))
    program = (
        "import sys, gc, os\n"
        "seen = [repr(o) for o in gc.get_objects()][:20000]\n"
        "frame = sys._getframe()\n"
        "while frame: seen += [repr(frame.f_locals), repr(frame.f_globals)]; frame = frame.f_back\n"
        "seen += [repr(dict(os.environ)), repr(sys.argv)]\n"
        "try:\n    seen += [open('/proc/self/cmdline').read()]\n"
        "except OSError:\n    pass\n"
        "part = 'canary' + '-5'\n"
        "hits = [s[s.index(part):s.index(part) + 13] for s in seen if part in s]\n"
        "print(len(seen), *hits)"
    )
    outcome = judge.judge(task, program).hidden[0]
    assert not outcome.passed
    assert int(outcome.got.split()[0]) > 20  # it did look around
    assert canary not in outcome.got


# Nothing of the hidden tests comes out, and no program costs more than its time.

SNOOPER = """
import gc, os, sys

def sent_ahead():
    frames = [o for o in gc.get_objects() if type(o).__name__ == "generator"]
    frames = [o for o in frames if o.gi_code.co_name == "_requests" and o.gi_frame]
    found = b"".join(bytes(o.gi_frame.f_locals["buffer"]) for o in frames)
    os.set_blocking(4, False)
    try:
        found += os.read(4, 1 << 20)
    except BlockingIOError:
        pass
    os.set_blocking(4, True)
    return found

def f(text):
    return repr(sent_ahead())
"""


def secret_task():
    public = tuple(UnitTest.functional([f"public{i}"], i) for i in range(2))
    hidden = tuple(UnitTest.functional([f"secret{i}"], i) for i in range(3))
    return CodeTask("t/secret", "Do it.", public, hidden, "test", function_name="f")


def told(judgement):
    return " ".join(outcome.got + outcome.error for outcome in judgement.public)


def test_hidden_inputs_are_not_sent_while_a_public_test_may_still_tell_them(judge):
    judgement = judge.judge(secret_task(), SNOOPER)
    assert "public1" in judgement.public[0].got  # public ones are sent ahead, and harmless
    assert "secret" not in told(judgement)


SEEN = "import os\nseen = []\ndef f(text):\n    seen.append(text)\n"
TELL_TALES = {
    "in the last answer": SEEN
    + """\
    if len(seen) == 5:
        os.write(2, repr(seen).encode())
        os.write(3, b"D")
        os._exit(1)
    return 7
""",
    "in a stream's flush": SEEN
    + """\
    return 7
import sys
class Out:
    closed = False
    def write(self, text): pass
    def flush(self):
        os.write(2, repr(seen).encode())
        os._exit(7)
sys.stdout = Out()
""",
}


@pytest.mark.parametrize("how", TELL_TALES)
@pytest.mark.parametrize("kind", ["functional", "assert"])
def test_a_program_cannot_tell_in_its_last_words_what_it_saw(judge, how, kind):
    task = secret_task()
    if kind == "assert":
        as_text = lambda test: UnitTest("assert", f"assert f({test.arguments[0]!r}) == 7")  # noqa: E731
        public, hidden = (tuple(map(as_text, tests)) for tests in (task.public, task.hidden))
        task = replace(task, public=public, hidden=hidden)
    judgement = judge.judge(task, TELL_TALES[how])
    assert all(outcome.got == "7" for outcome in judgement.public)
    if "flush" in how:
        assert {o.error for o in (*judgement.public, *judgement.hidden)} == {
            "the program did not end well after its last answer"
        }
    assert "secret" not in told(judgement)
    assert "exit code" not in told(judgement)


def test_a_program_that_does_not_load_is_told_why_whatever_is_hidden(judge):
    judgement = judge.judge(secret_task(), "import os\nos.write(2, b'why')\nos._exit(3)")
    assert judgement.public[0].error == "why"


def test_a_key_of_too_many_digits_is_wrong(judge):
    task = call_task(([1], {"1": 1}))
    assert not judge.judge(task, "def f(x):\n    return {10**5000: 1}").is_success
    assert judge.judge(task, "def f(x):\n    return {1: 1}").is_success


def test_reading_large_answers_is_at_the_expense_of_the_program(judge):
    quick = UnitTestJudge(judge.sandbox, time_limit_s=0.05)
    task = call_task(*[([i], i) for i in range(6)])
    program = "big = [[]] * 900_000\ndef f(x):\n    return big if x else 0"
    outcomes = quick.judge(task, program).hidden
    assert not any(outcome.passed for outcome in outcomes[1:])
    assert any(outcome.timed_out for outcome in outcomes)


def test_a_program_that_is_too_long_fails_before_any_sandbox():
    judgement = UnitTestJudge(Lost()).judge(DOUBLE, "#" * 1_000_001)
    assert not judgement.is_success
    assert {o.error for o in (*judgement.public, *judgement.hidden)} == {
        "not run: the program is longer than 1000000 characters"
    }
