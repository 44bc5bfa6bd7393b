import errno
import os
import pickle
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from budget_envs.errors import EnvStateError, OptionError
from budget_envs.sandbox import Call, Limits, SandboxLost, SandboxUnavailable, session
from budget_envs.sandbox.pool import PooledSandbox


def test_many_threads_share_few_workers_and_get_their_own_answers(open_fresh):
    sandbox = open_fresh(workers=2)
    with ThreadPoolExecutor(8) as threads:
        printed = list(
            threads.map(
                lambda i: sandbox.run_program(f"print(input(), {i})", f"{-i}").stdout, range(40)
            )
        )
    assert printed == [f"{-i} {i}\n" for i in range(40)]


def test_threads_call_different_candidates_at_the_same_time(open_fresh):
    sandbox = open_fresh(workers=2)

    def judge(i):
        with sandbox.open_candidate(f"def f(x):\n    return x + {i}") as candidate:
            return [candidate.call("f", (j,)) for j in range(5)]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(judge, range(12))) == [[i + j for j in range(5)] for i in range(12)]


def test_two_workers_run_two_programs_at_once(open_fresh):
    sandbox = open_fresh(workers=2)
    first = sandbox.open_candidate("def f():\n    return 1")
    second = sandbox.open_candidate("def f():\n    return 2")
    assert (second.call("f"), first.call("f")) == (2, 1)
    assert {first.finish().status, second.finish().status} == {"ok"}


def test_a_borrower_waits_for_a_worker_to_come_back(open_fresh):
    sandbox = open_fresh(workers=1)
    candidate = sandbox.open_candidate("def f():\n    return 1")
    printed = []
    waiting = threading.Thread(
        target=lambda: printed.append(sandbox.run_program("print(2)").stdout)
    )
    waiting.start()
    time.sleep(0.05)
    assert printed == []
    candidate.finish()
    waiting.join()
    assert printed == ["2\n"]


def test_one_worker_serves_many_timeouts(open_fresh):
    sandbox = open_fresh()
    for _ in range(5):
        assert (
            sandbox.run_program("while True: pass", limits=Limits(time_s=0.05)).status == "timeout"
        )
    assert sandbox.run_program("print(1)").stdout == "1\n"


def lose_server(sandbox):
    """Cut the connection to the one server behind the sandbox's back."""
    (worker,) = sandbox._pool.workers
    worker.stream.connection.shutdown(socket.SHUT_RDWR)


def test_a_worker_lost_in_the_middle_of_calls_loses_the_calls(open_fresh):
    sandbox = open_fresh()
    candidate = sandbox.open_candidate("def f():\n    return 1")
    assert candidate.call("f") == 1
    lose_server(sandbox)

    def call_until_lost():
        while candidate.call("f") == 1:  # it may answer until its server has noticed
            pass

    with pytest.raises(SandboxLost):
        call_until_lost()
    with pytest.raises(SandboxLost):
        candidate.call("f")
    assert candidate.finish().status == "lost"
    assert sandbox.run_program("print(1)").stdout == "1\n"


def test_a_worker_lost_before_the_calls_is_replaced(open_fresh):
    sandbox = open_fresh()
    lose_server(sandbox)
    run = sandbox.run_calls("def f():\n    return 1", [Call("f")] * 3)
    assert [result.value for result in run.results] == [1] * 3


def test_a_worker_that_the_system_refuses_is_unavailable_isolation():
    def refuse():
        raise FileNotFoundError("no folder for temporary files")

    with pytest.raises(SandboxUnavailable, match=r"no folder for temporary files.*TMPDIR"):
        PooledSandbox("process", refuse, 1, Limits())


def test_a_judge_without_free_descriptors_loses_the_run_alone(monkeypatch, sandbox):
    def refuse(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(session, "_DirectChannel", refuse)
        patch.setattr(session, "_RelayedChannel", refuse)
        run = sandbox.run_calls("def f():\n    return 1", [Call("f")])
    assert (run.execution.status, run.results[0].status) == ("lost", "lost")
    assert "Too many open files" in run.execution.stderr
    assert sandbox.run_program("print(1)").stdout == "1\n"


def test_a_closed_sandbox_says_so(open_fresh):
    sandbox = open_fresh()
    sandbox.close()
    sandbox.close()
    with pytest.raises(EnvStateError, match="closed"):
        sandbox.run_program("print(1)")
    with pytest.raises(EnvStateError, match="closed"):
        sandbox.open_candidate("x = 1")


def test_closing_wakes_those_who_wait_for_a_worker(open_fresh):
    sandbox = open_fresh()
    candidate = sandbox.open_candidate("def f():\n    return 1")
    errors = []

    def wait():
        try:
            sandbox.run_program("print(2)")
        except EnvStateError as error:
            errors.append(error)

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    for thread in waiting:
        thread.start()
    time.sleep(0.05)
    sandbox.close()
    for thread in waiting:
        thread.join(10)
    assert len(errors) == 3
    assert candidate.finish().status == "lost"


def test_the_with_block_closes(open_fresh):
    with open_fresh() as sandbox:
        assert sandbox.run_program("print(1)").stdout == "1\n"
    with pytest.raises(EnvStateError):
        sandbox.run_program("print(1)")


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, "2", None])
def test_the_number_of_workers_is_a_positive_integer(workers):
    with pytest.raises(OptionError, match="workers"):
        PooledSandbox("process", lambda: None, workers, Limits())


def test_a_run_may_not_ask_for_more_memory_or_files_than_the_sandbox_has(sandbox):
    for name in ("memory_bytes", "file_bytes"):
        more = Limits(**{name: getattr(sandbox.limits, name) + 1})
        with pytest.raises(OptionError, match=rf"Limits\({name}="):
            sandbox.run_program("print(1)", limits=more)


def test_a_run_may_ask_for_more_time_and_output_than_usual(sandbox):
    more = Limits(time_s=60, output_bytes=1_000_000)
    run = sandbox.run_program("print('x' * 500_000)", limits=more)
    assert (run.status, len(run.stdout)) == ("ok", 500_001)


def test_limits_of_the_sandbox_hold_for_runs_that_name_none(open_fresh):
    sandbox = open_fresh(limits=Limits(time_s=0.2, output_bytes=10))
    assert sandbox.run_program("while True: pass").status == "timeout"
    assert sandbox.run_program("print('x' * 100)").stdout == "x" * 10


def test_a_fork_of_the_judge_cannot_use_the_sandbox_and_does_not_end_it(open_fresh):
    sandbox = open_fresh()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            sandbox.run_program("print(1)")
        except EnvStateError:
            sandbox.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert sandbox.run_program("print(1)").stdout == "1\n"


def test_a_sandbox_cannot_be_pickled(open_fresh):
    with pytest.raises(TypeError):
        pickle.dumps(open_fresh())


def test_an_interrupt_in_the_middle_of_a_run_ends_that_run_and_no_other(open_fresh):
    sandbox = open_fresh()
    previous = signal.signal(signal.SIGALRM, _interrupt)
    try:
        for delay in (0.001, 0.003, 0.01, 0.05):
            assert sandbox.run_program("print(1)").stdout == "1\n"
            signal.setitimer(signal.ITIMER_REAL, delay)
            with pytest.raises(KeyboardInterrupt):
                sandbox.run_program("while True: pass")
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert sandbox.run_program("print(1)").stdout == "1\n"


def _interrupt(*_):
    raise KeyboardInterrupt
