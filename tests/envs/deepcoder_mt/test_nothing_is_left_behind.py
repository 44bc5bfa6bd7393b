"""Judging leaves no descriptor, process or file behind, also when it is interrupted.

What is counted belongs to a process of its own with a temporary folder of its own.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from budget_envs.sandbox import available

CHECKOUT = Path(__file__).resolve().parents[3]
SOAK = CHECKOUT / "benchmarks" / "soak_deepcoder.py"
PLAY_FOREVER = """\
import sys
from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, write_program
env = DeepCoderMTEnv(sandbox=sys.argv[2])
number = 0
while True:
    env.reset(seed=number)
    if number == 2:
        print("playing", flush=True)
    statement = sys.argv[1] if number >= 2 else "pass"
    env.step(write_program(f"def solve(*a):\\n    {statement}\\n    return {number}"))
    number += 1
"""
VECTOR = """\
import gymnasium as gym
from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, write_program
if __name__ == "__main__":
    makers = [lambda: DeepCoderMTEnv(sandbox="process")] * 2
    envs = gym.vector.AsyncVectorEnv(makers, shared_memory=False, context=CONTEXT)
    envs.reset(seed=0)
    envs.step((write_program("x = 1"), write_program("print(1)")))
    envs.close()
"""

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def own_temporary(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    for parent in (folder, *folder.parents):
        if parent.owner() == folder.owner() and str(parent).startswith("/tmp/"):
            parent.chmod(0o711)  # candidates are other users
    return folder


STARTED = []


@pytest.fixture(autouse=True)
def end_what_was_started():
    """End what a failed test did not wait for: its players would play for ever."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
        process.communicate()


def start(code, *arguments, temporary):
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    STARTED.append(process)
    return process


def with_marker(marker):
    """Return the processes whose environment or command names a folder, by their pids."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                text = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(marker).encode() in text:
                found.append(int(process.name))
    return found


def descendants(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@linux_only
def test_a_hundred_and_fifty_episodes_leave_nothing_behind():
    run = subprocess.run(
        [sys.executable, str(SOAK), "--episodes", "150"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "150 of 150 solved" in run.stdout
    assert "grown: nothing" in run.stdout


@linux_only
@pytest.mark.parametrize("tier", ["process", "bubblewrap"])
@pytest.mark.parametrize("statement", ["pass", "while True: pass", "import time; time.sleep(99)"])
def test_ctrl_c_in_the_middle_leaves_nothing_behind(statement, tier, own_temporary):
    if reason := available()[tier]:
        pytest.skip(f"the tier {tier} does not work here: {reason}")
    player = start(PLAY_FOREVER, statement, tier, temporary=own_temporary)
    assert player.stdout.readline() == "playing\n"
    time.sleep(0.2)  # into the run of a program
    children = descendants(player.pid)
    assert len(children) >= 2
    os.kill(player.pid, signal.SIGINT)
    _, errors = player.communicate(timeout=30)
    assert player.returncode == -signal.SIGINT or "KeyboardInterrupt" in errors
    assert wait_for(lambda: all(map(is_gone, children)))
    assert wait_for(lambda: not list(own_temporary.iterdir()))


@linux_only
def test_a_killed_player_leaves_no_process_behind(own_temporary):
    player = start(PLAY_FOREVER, "pass", "process", temporary=own_temporary)
    assert player.stdout.readline() == "playing\n"
    children = descendants(player.pid)
    assert len(children) >= 2
    player.kill()
    player.communicate()
    assert wait_for(lambda: all(map(is_gone, children)))
    assert wait_for(lambda: not list(own_temporary.iterdir()))


@linux_only
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_an_asynchronous_vector_environment_leaves_nothing_behind(context, own_temporary):
    code = VECTOR.replace("CONTEXT", repr(context))
    script = own_temporary.parent / "script.py"
    script.write_text(code)
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=CHECKOUT,
        env={**os.environ, "TMPDIR": str(own_temporary), "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert wait_for(lambda: not with_marker(own_temporary))
    assert wait_for(lambda: not list(own_temporary.iterdir()))
