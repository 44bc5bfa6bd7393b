"""The sandbox that the environments of a process share."""

import os
import threading

import pytest

from budget_envs.errors import OptionError
from budget_envs.sandbox import SandboxUnavailable, shared


@pytest.fixture
def fresh(monkeypatch):
    """Forget what is open, and close what the test opens."""
    opened = {}
    monkeypatch.setattr(shared, "_open", opened)
    yield shared.shared_sandbox
    for sandbox in opened.values():
        sandbox.close()


def test_one_process_has_one_sandbox_of_a_tier(fresh):
    assert fresh("process") is fresh("process")


def test_threads_that_come_at_once_get_the_same(fresh):
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(fresh("process"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert len(set(map(id, seen))) == 1


def test_workers_start_when_they_are_needed(fresh):
    sandbox = fresh("process")
    for number in range(5):
        assert sandbox.run_program(f"print({number})").stdout == f"{number}\n"
    assert len(sandbox._pool.workers) == 1


def test_a_forked_process_opens_its_own(fresh):
    ours = fresh("process")
    ours.run_program("print(1)")
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            theirs = shared.shared_sandbox("process")
            is_fresh = theirs is not ours and theirs.run_program("print(2)").stdout == "2\n"
            theirs.close()
            os.write(sending, b"fresh" if is_fresh else b"shared")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(receiving, 10) == b"fresh"
    os.close(receiving)
    os.close(sending)
    assert ours.run_program("print(3)").stdout == "3\n"


def test_a_fork_while_another_thread_opens_one_does_not_wait_for_it(fresh):
    shared._lock.acquire()
    try:
        child = os.fork()
        if child == 0:
            free = shared._lock.acquire(blocking=False)
            os._exit(0 if free else 1)
    finally:
        shared._lock.release()
    assert os.waitpid(child, 0)[1] == 0


def test_a_tier_that_is_missing_is_asked_for_again(fresh, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("shutil.which", lambda name: None)
        with pytest.raises(SandboxUnavailable, match="bwrap is not installed"):
            fresh("bubblewrap")
    assert shared._open == {}


def test_a_tier_that_does_not_exist_is_refused(fresh):
    with pytest.raises(OptionError, match="Did you mean 'process'"):
        fresh("proces")
