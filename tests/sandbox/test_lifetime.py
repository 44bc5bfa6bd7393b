"""When the judge ends, by whatever death, so does everything that it started."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest

from budget_envs.sandbox import docker as docker_tier

JUDGE = """
import threading
from budget_envs.sandbox import Limits, open_sandbox
TIER, IMAGE = {tier!r}, {image!r}
sandbox = open_sandbox(TIER, workers=2, image=IMAGE)
for candidate in [sandbox.open_candidate("x = 1") for _ in range(2)]:
    candidate.finish()  # both workers are there
{body}
"""
BUSY = """
forever = "open('planted', 'w').write('x')\\nwhile True: pass"
def run(): sandbox.run_program(forever, limits=Limits(time_s=600))
threading.Thread(target=run, daemon=True).start()
print("ready", flush=True)
run()
"""
IDLE = """
print("ready", flush=True)
import time
time.sleep(600)
"""


@pytest.fixture
def start(open_fresh):
    """A function that starts a judge in a process of its own, in a known temporary folder."""
    started = []
    with tempfile.TemporaryDirectory(prefix="budget-envs-lifetime-", dir="/tmp") as home:
        os.chmod(home, 0o777)

        def start_one(body):
            source = JUDGE.format(
                tier=open_fresh.tier, image=open_fresh.image, body=textwrap.dedent(body)
            )
            environment = {**os.environ, "TMPDIR": home, "PYTHONDONTWRITEBYTECODE": "1"}
            judge = subprocess.Popen(
                [sys.executable, "-c", source],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
                text=True,
            )
            started.append(judge)
            assert judge.stdout.readline() == "ready\n", judge.stderr.read()
            time.sleep(0.1)  # let what it started run
            return judge, home

        start_one.tier = open_fresh.tier
        yield start_one
        for judge in started:
            with suppress(ProcessLookupError):
                os.killpg(judge.pid, signal.SIGKILL)  # its forks too
            judge.wait()
            judge.stdout.close()
            judge.stderr.close()


def below(roots):
    """Return ``{(pid, start time)}`` of these processes' descendants, in containers too.

    Without zombies: those of a dead judge are the init process's to reap.
    """
    parents, starts = {}, {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[0] == "Z":
                continue
            parents[int(pid)], starts[int(pid)] = int(fields[1]), fields[19]
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {(pid, starts[pid]) for pid in found if pid in starts}


def containers_of(judge):
    engine = docker_tier.connect()
    try:
        return [
            container["Id"]
            for container in engine.containers(all=True, filters={"label": docker_tier.LABEL})
            if f"/{judge.pid}/" in container["Labels"][docker_tier.LABEL]
        ]
    finally:
        engine.close()


def started_by(judge, tier):
    """Return the servers, and their forks, that a judge started."""
    roots = {judge.pid}
    if tier == "docker":
        engine = docker_tier.connect()
        for container in containers_of(judge):
            pid = engine.inspect_container(container)["State"]["Pid"]
            roots |= {pid} if pid else set()  # 0 before its start, and everybody's ancestor
        engine.close()
    return {(pid, start) for pid, start in below(roots) if is_server(pid)}


def is_server(pid):
    with suppress(OSError):
        return b'"budget_envs.sandbox."' in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def alive(processes):
    return processes & below({pid for pid, _ in processes})


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def end_and_check(start, body, end):
    judge, home = start(body)
    started = started_by(judge, start.tier)
    assert len(started) >= 4  # two servers, each with the process that forks for it
    end(judge, started)
    judge.wait(20)
    assert wait_until(lambda: not alive(started))
    assert wait_until(lambda: os.listdir(home) == [])
    if start.tier == "docker":
        assert wait_until(lambda: containers_of(judge) == [])
    return judge


def do_nothing(judge, started):
    """Let the judge end by itself."""


each_tier = pytest.mark.parametrize(
    "open_fresh", ["process", "bubblewrap", "docker"], indirect=True
)
one_tier = pytest.mark.parametrize("open_fresh", ["process"], indirect=True)


@each_tier
def test_ctrl_c_in_the_middle_of_runs_leaves_nothing(start):
    judge = end_and_check(start, BUSY, lambda judge, _: os.killpg(judge.pid, signal.SIGINT))
    assert "KeyboardInterrupt" in judge.stderr.read()


@each_tier
def test_a_killed_judge_leaves_nothing(start):
    end_and_check(start, BUSY, lambda judge, _: judge.send_signal(signal.SIGKILL))


@one_tier
def test_ctrl_c_between_runs_leaves_nothing(start):
    judge = end_and_check(start, IDLE, lambda judge, _: os.killpg(judge.pid, signal.SIGINT))
    assert "KeyboardInterrupt" in judge.stderr.read()


@one_tier
def test_a_terminated_judge_leaves_nothing(start):
    end_and_check(start, BUSY, lambda judge, _: judge.send_signal(signal.SIGTERM))


@one_tier
def test_a_judge_that_ends_without_closing_leaves_nothing(start):
    body = "print('ready', flush=True)\nimport time\ntime.sleep(0.3)"
    assert end_and_check(start, body, do_nothing).returncode == 0


@one_tier
def test_a_judge_that_leaves_by_os_exit_leaves_nothing(start):
    body = "print('ready', flush=True)\nimport os, time\ntime.sleep(0.3)\nos._exit(3)"
    assert end_and_check(start, body, do_nothing).returncode == 3


@one_tier
def test_a_judge_that_dies_of_an_error_in_a_run_leaves_nothing(start):
    body = """
        candidate = sandbox.open_candidate("def f():\\n    return 1")
        candidate.call("f")
        print("ready", flush=True)
        import time
        time.sleep(0.3)
        1 / 0
        """
    assert end_and_check(start, body, do_nothing).returncode == 1


@one_tier
def test_a_fork_that_outlives_the_judge_keeps_nothing_alive(start):
    body = """
        import os, time
        if os.fork() == 0:
            time.sleep(600)
        print("ready", flush=True)
        time.sleep(600)
        """
    end_and_check(start, body, lambda judge, _: judge.send_signal(signal.SIGKILL))


@each_tier
def test_killed_servers_are_lost_runs_and_leave_nothing(start):
    """The servers alone die: their candidates die with them, and the judge cleans up."""
    body = """
        def wait_for_loss():
            lost.append(sandbox.run_program("while True: pass", limits=Limits(time_s=600)).status)
        lost = []
        runs = [threading.Thread(target=wait_for_loss) for _ in range(2)]
        for run in runs: run.start()
        print("ready", flush=True)
        for run in runs: run.join()
        print(lost, sandbox.run_program("print('again')").stdout, flush=True)
        """

    def kill_servers(judge, started):
        for pid, _ in started:
            with suppress(ProcessLookupError):  # it went with the one before it
                os.kill(pid, signal.SIGKILL)

    judge = end_and_check(start, body, kill_servers)
    # A candidate that was killed before its server is a crash; nobody waits for either any more.
    ended = judge.stdout.read()
    assert re.fullmatch(r"\['(lost|crash)', '(lost|crash)'\] again\n\n", ended), ended


@one_tier
def test_a_sandbox_opened_in_a_thread_outlives_the_thread(start):
    """A server that died with the *thread* that started it would be lost here."""
    body = """
        thread_results = []
        def work():
            thread_results.append(open_sandbox(TIER))
            thread_results[0].run_program("print(1)")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        import time
        time.sleep(0.2)
        assert thread_results[0].run_program("print(2)").stdout == "2\\n"
        print("ready", flush=True)
        time.sleep(0.3)
        """
    judge = end_and_check(start, body, do_nothing)
    assert judge.returncode == 0
