import collections
import time

import pytest

from budget_envs.errors import UnsupportedError
from budget_envs.sandbox import Call, CallResult, CandidateError, Limits


def test_calls_give_one_result_each_in_order(sandbox):
    run = sandbox.run_calls(
        "def f(x, y=0):\n    return x - y",
        [
            Call("f", (5,)),
            Call("f", (5, 3)),
            Call("f", (5,), {"y": 4}),
            Call("f", (), {"x": 1}),
        ],
    )
    assert run.execution.status == "ok"
    assert run.results == tuple(CallResult("ok", value) for value in (5, 2, 1, 1))


def test_no_calls_give_no_results_but_the_program_is_loaded(sandbox):
    run = sandbox.run_calls("print('loaded')", [])
    assert (run.execution.status, run.execution.stdout, run.results) == ("ok", "loaded\n", ())


def test_no_calls_of_a_program_that_does_not_load_is_an_error(sandbox):
    assert sandbox.run_calls("1 / 0", []).execution.status == "error"


def test_the_program_is_loaded_once_and_keeps_its_state(sandbox):
    source = "count = 0\ndef f():\n    global count\n    count += 1\n    return count"
    assert [r.value for r in sandbox.run_calls(source, [Call("f")] * 3).results] == [1, 2, 3]
    assert [r.value for r in sandbox.run_calls(source, [Call("f")] * 3).results] == [1, 2, 3]


def test_a_main_guard_does_not_run_when_the_program_is_called(sandbox):
    source = "def f():\n    return __name__\nif __name__ == '__main__':\n    input()"
    (result,) = sandbox.run_calls(source, [Call("f")]).results
    assert result.value == "candidate"


def test_a_raising_call_is_an_error_and_the_next_one_runs(sandbox):
    source = "def f(x):\n    return 1 // x"
    run = sandbox.run_calls(source, [Call("f", (0,)), Call("f", (1,))])
    assert run.execution.status == "ok"
    assert run.results == (
        CallResult("error", error="ZeroDivisionError: integer division or modulo by zero (line 2)"),
        CallResult("ok", 1),
    )


def test_an_undefined_function_is_an_error_that_names_it(sandbox):
    (result,) = sandbox.run_calls("def g(): pass", [Call("f")]).results
    assert result == CallResult(
        "error", error="NameError: the program defines no 'f' at its top level"
    )


@pytest.mark.parametrize("name", ["__builtins__", "print", "os", ""])
def test_only_what_the_program_defines_is_called(sandbox, name):
    (result,) = sandbox.run_calls("x = 1", [Call(name, ("x",))]).results
    assert result.status == "error"


def test_a_program_that_does_not_load_fails_every_call_and_shows_why(sandbox):
    run = sandbox.run_calls("def f(): return 1\nraise ValueError('no')", [Call("f")] * 2)
    assert (run.execution.status, run.execution.exit_code) == ("error", 1)
    assert [result.status for result in run.results] == ["error", "error"]
    assert "ValueError: no" in run.results[0].error
    assert 'File "main.py", line 2' in run.execution.stderr


def test_calls_share_one_time_limit_and_those_after_it_time_out_too(sandbox):
    source = "def f(x):\n    while x: pass\n    return 7"
    run = sandbox.run_calls(
        source, [Call("f", (0,)), Call("f", (1,)), Call("f", (0,))], Limits(time_s=0.8)
    )
    assert run.execution.status == "timeout"
    assert [result.status for result in run.results] == ["ok", "timeout", "timeout"]


def test_many_calls_with_large_arguments_and_results_do_not_block_each_other(sandbox):
    source = "def f(x, n):\n    return x * n"
    calls = [Call("f", ("x" * size, times)) for size, times in [(10, 50_000), (300_000, 2)] * 20]
    run = sandbox.run_calls(source, calls)
    assert run.execution.status == "ok"
    assert [len(result.value) for result in run.results] == [500_000, 600_000] * 20


def test_many_small_calls_are_answered_in_order(sandbox):
    run = sandbox.run_calls("def f(x):\n    return x", [Call("f", (x,)) for x in range(1000)])
    assert run.execution.status == "ok"
    assert [result.value for result in run.results] == list(range(1000))


def test_no_call_at_all_still_loads_the_program(sandbox):
    assert sandbox.run_calls("x = 1", []).execution.status == "ok"
    assert sandbox.run_calls("1 / 0", []).execution.status == "error"


def test_answers_given_before_the_end_count(sandbox):
    source = "import os\ndef f(x):\n    return x if x < 50 else os._exit(0)"
    run = sandbox.run_calls(source, [Call("f", (x,)) for x in range(100)])
    assert [result.value for result in run.results[:50]] == list(range(50))
    assert {result.status for result in run.results[50:]} == {"crash"}


def test_loading_counts_against_the_time_limit(sandbox):
    run = sandbox.run_calls("while True: pass", [Call("f")], Limits(time_s=0.3))
    assert (run.execution.status, run.results[0].status) == ("timeout", "timeout")


def test_time_in_the_judge_does_not_count(sandbox):
    with sandbox.open_candidate("def f():\n    return 1", Limits(time_s=1.0)) as candidate:
        candidate.call("f")
        time.sleep(1.1)
        assert candidate.call("f") == 1
        assert candidate.finish().status == "ok"


def test_a_candidate_that_will_not_end_is_a_timeout(sandbox):
    source = "import threading, time\ndef f():\n    return 1\nwhile not time.sleep(60): pass"
    with sandbox.open_candidate(source, Limits(time_s=0.3)) as candidate:
        assert candidate.finish().status == "timeout"


def test_memory_run_out_in_a_call_is_an_error_of_that_call(sandbox):
    source = "def f(n):\n    return len(bytearray(n))"
    run = sandbox.run_calls(source, [Call("f", (1 << 40,)), Call("f", (10,))])
    assert [result.status for result in run.results] == ["error", "ok"]
    assert run.results[0].error.startswith("MemoryError")


VALUES = [
    None,
    True,
    0,
    -(7**3000),
    1.5,
    float("inf"),
    2 + 3j,
    "\ud800\U0001f600",
    b"\0\xff",
    [1, [2, (3,)]],
    {1, 2},
    frozenset({"a"}),
    {"k": [1.5], 2: None, (1, 2): {}},
    collections.Counter("aab"),
    collections.OrderedDict(b=1, a=2),
    collections.deque([1, 2]),
    int,
    list(range(100_000)),
    [0.5] * 100_000,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_plain_values_go_in_and_come_out(sandbox, value):
    (result,) = sandbox.run_calls("def f(x):\n    return x", [Call("f", (value,))]).results
    assert (result.status, type(result.value)) == ("ok", type(value))
    assert result.value == value


def test_arguments_are_passed_by_value(sandbox):
    numbers = [3, 1, 2]
    with sandbox.open_candidate("def f(x):\n    x.sort()\n    return x") as candidate:
        assert candidate.call("f", (numbers,)) == [1, 2, 3]
    assert numbers == [3, 1, 2]


def test_an_argument_that_does_not_cross_is_refused_before_it_is_sent(sandbox):
    with sandbox.open_candidate("def f(x):\n    return x") as candidate:
        with pytest.raises(UnsupportedError, match=r"'f'.*function.*does not cross"):
            candidate.call("f", (lambda: 0,))
        assert candidate.call("f", (1,)) == 1


def test_a_value_that_is_too_large_is_an_error_and_not_the_end(sandbox):
    source = "def f(n):\n    return [[] for _ in range(n)]"
    with sandbox.open_candidate(source) as candidate:
        with pytest.raises(CandidateError, match="items"):
            candidate.call("f", (2_000_000,))
        assert candidate.call("f", (1,)) == [[]]


def test_a_reply_beyond_the_limit_of_bytes_is_an_error_and_not_the_end(sandbox):
    with sandbox.open_candidate("def f(n):\n    return 'x' * n") as candidate:
        with pytest.raises(CandidateError, match="bytes"):
            candidate.call("f", (20_000_000,))
        assert candidate.call("f", (1,)) == "x"


def test_a_function_stands_for_the_candidates_in_test_code(sandbox):
    with sandbox.open_candidate("def add(a, b=1):\n    return a + b") as candidate:
        add = candidate.function("add")
        assert add(1) == 2
        assert add(1, b=5) == 6
        assert add.__name__ == "add"
        assert list(map(add, [1, 2], [3, 4])) == [4, 6]


@pytest.mark.parametrize(
    "error",
    [ValueError, TypeError, KeyError, IndexError, ZeroDivisionError, AssertionError, RuntimeError],
)
def test_test_code_can_expect_the_candidates_builtin_errors(sandbox, error):
    source = f"def f():\n    raise {error.__name__}('why')"
    with sandbox.open_candidate(source) as candidate:
        with pytest.raises(error, match="why") as caught:
            candidate.function("f")()
        assert isinstance(caught.value, CandidateError)
        assert caught.value.type_name == error.__name__
        assert caught.value.status == "error"


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "OSError"])
def test_an_error_that_would_break_the_judge_is_only_a_candidate_error(sandbox, name):
    with sandbox.open_candidate(f"def f():\n    raise {name}") as candidate:
        with pytest.raises(CandidateError) as caught:
            candidate.call("f")
        assert type(caught.value) is CandidateError
        assert caught.value.type_name == name


def test_an_exception_class_of_the_candidate_is_a_candidate_error(sandbox):
    source = "class ValueError2(ValueError): pass\ndef f():\n    raise ValueError2('own')"
    with sandbox.open_candidate(source) as candidate, pytest.raises(CandidateError) as caught:
        candidate.call("f")
    assert str(caught.value) == "ValueError2: own (line 3)"


def test_a_class_of_the_candidate_makes_objects_that_stay_inside(sandbox):
    source = (
        "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
        "def total(pairs):\n    return sum(p.a * p.b for p in pairs)"
    )
    with sandbox.open_candidate(source) as candidate:
        pair = candidate.function("Pair")
        assert candidate.call("total", ([pair(1, 2), pair(3, 4)],)) == 14
        assert repr(pair(1, 2)) == "<Pair object inside the sandbox>"


def test_an_object_of_another_candidate_is_refused(sandbox):
    source = "class Pair: pass\ndef f(p):\n    return type(p).__name__"
    with sandbox.open_candidate(source) as candidate:
        pair = candidate.call("Pair")
    with sandbox.open_candidate(source) as candidate, pytest.raises(CandidateError):
        candidate.call("f", (pair,))


def test_what_the_candidate_printed_is_in_the_execution(sandbox):
    with sandbox.open_candidate("def f():\n    print('called')\n    return 1") as candidate:
        candidate.call("f")
        execution = candidate.finish()
    assert (execution.status, execution.stdout) == ("ok", "called\n")


def test_finishing_twice_gives_the_same(sandbox):
    with sandbox.open_candidate("x = 1") as candidate:
        assert candidate.finish() is candidate.finish()


def test_a_finished_candidate_cannot_be_called(sandbox):
    with sandbox.open_candidate("def f():\n    return 1") as candidate:
        candidate.finish()
        with pytest.raises(CandidateError, match="finished"):
            candidate.call("f")


def test_an_error_in_the_judge_ends_the_candidate_and_frees_its_worker(sandbox):
    def judge():
        with sandbox.open_candidate("def f(): return 1") as candidate:
            candidate.call("f")
            raise LookupError

    with pytest.raises(LookupError):
        judge()
    assert sandbox.run_program("print('next')").stdout == "next\n"


def test_an_interrupt_of_the_judge_frees_the_worker(sandbox):
    def judge():
        with sandbox.open_candidate("while True: pass") as candidate:
            assert candidate is not None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge()
    assert sandbox.run_program("print('next')").stdout == "next\n"


def test_a_forgotten_candidate_frees_its_worker(sandbox):
    candidate = sandbox.open_candidate("def f(): return 1")
    assert candidate.call("f") == 1
    del candidate
    assert sandbox.run_program("print('next')").stdout == "next\n"
