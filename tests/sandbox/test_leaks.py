"""Nothing is left of a run: no descriptor, process, zombie, file or container."""

import os
import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from budget_envs.sandbox import Call, Limits

RUNS = 75  # on each of four tiers


def descriptors():
    """Return what this process's open descriptors lead to."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}").partition(":")[0])
        except OSError:  # the descriptor of the listing itself
            continue
    return Counter(links)


def descendants(root=None):
    """Return ``{pid: state}`` of all processes below this one, zombies too."""
    parents, states = {}, {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        states[int(pid)], parents[int(pid)] = fields[0], int(fields[1])
    found = {root or os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: states[pid] for pid in found - {root or os.getpid()} if pid in states}


def settled():
    """Return what this process holds, once the servers' next children are there."""
    counts = None
    while counts != (counts := Counter(descendants().values())):
        time.sleep(0.05)
    assert "Z" not in counts
    return descriptors(), sum(counts.values()), private_folders(), threading.active_count()


def private_folders():
    return {path.name for path in Path(tempfile.gettempdir()).glob("budget-envs-*")}


def use(sandbox, number):
    """Make one run, of every kind in turn."""
    kind = number % 5
    if kind == 0:
        assert sandbox.run_program("open('f', 'w').write('x')\nprint(1)").status == "ok"
    elif kind == 1:
        assert sandbox.run_program("1 / 0").status == "error"
    elif kind == 2:
        run = sandbox.run_calls("def f(x):\n    return x", [Call("f", (1,))] * 3)
        assert [result.value for result in run.results] == [1, 1, 1]
    elif kind == 3:
        limits = Limits(time_s=0.02)
        assert sandbox.run_program("while True: pass", limits=limits).status == "timeout"
    else:
        with sandbox.open_candidate("def f():\n    import os\n    os._exit(0)") as candidate:
            assert candidate.finish().status == "ok"


def test_many_runs_leave_no_descriptor_process_or_file(sandbox):
    for number in range(5):
        use(sandbox, number)
    before = settled()
    for number in range(RUNS):
        use(sandbox, number)
    assert settled() == before


def test_a_closed_sandbox_leaves_nothing(open_fresh):
    open_fresh().close()  # what is loaded only once is loaded now
    before = settled()
    for _ in range(3):
        sandbox = open_fresh(workers=2)
        first, second = (sandbox.open_candidate("def f(): return 1") for _ in range(2))
        assert first.call("f") == second.call("f")
        sandbox.close()
        del first, second, sandbox
    assert settled() == before


def test_a_forgotten_sandbox_is_closed(open_fresh):
    before = settled()
    sandbox = open_fresh()
    assert sandbox.run_program("print(1)").stdout == "1\n"
    open_fresh.opened.clear()
    del sandbox
    assert settled() == before


def test_lost_workers_leave_nothing(open_fresh):
    sandbox = open_fresh()
    assert sandbox.run_program("print(1)").stdout == "1\n"
    before = settled()
    for _ in range(3):
        (worker,) = sandbox._pool.workers
        worker.stream.connection.shutdown(socket.SHUT_RDWR)
        assert sandbox.run_program("print(1)").status == "ok"  # by a new one
        assert sandbox.run_program("print(1)").status == "ok"
    folders = len(before[2])
    descriptors_now, processes, folders_now, threads = settled()
    assert (descriptors_now, processes, threads) == (before[0], before[1], before[3])
    assert len(folders_now) == folders  # another server, another folder
