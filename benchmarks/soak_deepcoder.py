"""Does judging leave anything behind? Plays episodes and counts what this process owns.

Run: ``python benchmarks/soak_deepcoder.py [--episodes 1000] [--sandbox process]``

Every episode has three turns, of programs that are wrong, right or hostile in turn: they crash,
exit, flood their output, write files, start threads. Descriptors, descendant processes and
entries of the temporary folder must not grow after the first ten episodes. Memory is printed and
not judged.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, write_program
from budget_envs.streams import derive_key

HOSTILE = (
    "import os; os._exit(0)",
    "def solve(*a):\n    import os; os._exit(3)",
    "def solve(*a):\n    import os; os.kill(os.getpid(), 11)",
    "print('x' * 10**6)",
    "open('left_behind', 'w').write('x' * 10**5)\ndef solve(*a):\n    return open('more', 'a')",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
    "def solve(*a):\n    return [0] * 10**6",
    "import os; os.fork()",
    "raise MemoryError",
    "this is no program",
)
WARM_UP = 10


def descendants(pid: int) -> list[int]:
    """Return the pids of all living descendants; zombies count."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found


def owned() -> dict[str, int]:
    """Count what this process has open, running and lying about."""
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": len(descendants(os.getpid())),
        "temporary": len(os.listdir(tempfile.gettempdir())),
        "resident_mib": resident_pages * os.sysconf("SC_PAGE_SIZE") >> 20,
    }


def play(env: DeepCoderMTEnv, number: int) -> bool:
    """Play one episode; return whether it was solved."""
    env.reset(seed=number)
    solution = env.task.reference_solution
    programs = [HOSTILE[number % len(HOSTILE)], f"def solve(*a):\n    return {number}", solution]
    for program in programs:
        *_, terminated, truncated, info = env.step(write_program(program))
        if terminated or truncated:
            break
    return info.get("verdict") == "pass"


def main() -> int:
    """Read the command line and soak."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--episodes", type=int, default=1000)
    options.add_argument("--sandbox", default="process")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)  # candidates are other users
        tempfile.tempdir = folder
        return soak(chosen.episodes, chosen.sandbox)


def soak(episodes: int, sandbox: str) -> int:
    """Play, print, and return the exit code."""
    env = DeepCoderMTEnv(sandbox=sandbox, time_limit_s=2.0)
    started, solved, baseline = time.perf_counter(), 0, owned()
    for number in range(episodes):
        solved += play(env, derive_key(number) >> 32)
        if number + 1 == WARM_UP:
            baseline = owned()
        if number + 1 == WARM_UP or (number + 1) % max(1, episodes // 5) == 0:
            print(f"{number + 1:5d} episodes: {owned()}")
    seconds = time.perf_counter() - started
    print(f"{solved} of {episodes} solved, {episodes / seconds:.1f} episodes/s")
    end = owned()
    grown = {key: end[key] for key in end if end[key] > baseline[key] and key != "resident_mib"}
    print("grown:", grown or "nothing")
    return 1 if grown or solved != episodes else 0


if __name__ == "__main__":
    sys.exit(main())
