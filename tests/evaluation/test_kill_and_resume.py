"""A run that is killed continues where it stopped, and ends as if nothing had happened."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import pytest

from budget_envs.evaluation.store import Store

SCRIPT = """
    import sys, time
    import budget_envs
    from budget_envs.agents.policies.random_policy import RandomPolicy
    from budget_envs.evaluation import evaluate

    class SlowPolicy(RandomPolicy):
        def act(self, conversations):
            time.sleep(float(sys.argv[2]))
            with open("asked.txt", "a") as file:
                file.writelines(f"{c.id} {c.turn}\\n" for c in conversations)
            return super().act(conversations)

    if __name__ == "__main__":
        evaluate(
            SlowPolicy(), "budget_envs/FrozenLake-v0", [4, 8], tasks=10, k=2, store=sys.argv[1],
            batch_size=4, env_kwargs={"success_rate": 0.8}, workers=int(sys.argv[3]),
        )
"""


@pytest.fixture
def start(tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    started = []

    def start(path, *, delay_s, workers=1):
        command = [sys.executable, "script.py", str(path), str(delay_s), str(workers)]
        started.append(subprocess.Popen(command, cwd=tmp_path, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def count_stored(path):
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        found = connection.execute("SELECT count(*) FROM episodes").fetchone()[0]
        connection.close()
    except sqlite3.Error:  # not made yet
        return 0
    return found


def kill_midway(process, path, at_least):
    for _ in range(6000):
        if count_stored(path) >= at_least or process.poll() is not None:
            break
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def stored(path):
    with Store.open(path) as store:
        (run,) = store.runs()
        return run, store.episodes(run.run_id, with_turns=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_resumes_and_repeats_nothing(start, tmp_path, same, workers):
    killed, whole = tmp_path / "killed.db", tmp_path / "whole.db"
    kill_midway(start(killed, delay_s=0.02, workers=workers), killed, at_least=15)
    first_run, first = stored(killed)
    assert 15 <= len(first) < first_run.num_requested == 80
    assert first_run.finished is None

    (tmp_path / "asked.txt").unlink()
    assert start(killed, delay_s=0, workers=workers).wait(timeout=120) == 0
    asked = {line.rsplit(" ", 1)[0] for line in (tmp_path / "asked.txt").read_text().splitlines()}
    assert not asked & {f"{e.task_id}#{e.budget}#{e.rollout}" for e in first}

    assert start(whole, delay_s=0).wait(timeout=120) == 0
    (run, episodes), (whole_run, whole_episodes) = stored(killed), stored(whole)
    assert episodes == whole_episodes
    assert same(run, whole_run)
    assert run.finished is not None
    kept = {e.key: e for e in episodes}
    assert all(kept[e.key] == e for e in first)


def test_each_episode_was_asked_for_each_turn_once(start, tmp_path):
    path = tmp_path / "results.db"
    assert start(path, delay_s=0).wait(timeout=120) == 0
    asked = (tmp_path / "asked.txt").read_text().splitlines()
    _, episodes = stored(path)
    assert len(asked) == len(set(asked)) == sum(e.num_turns for e in episodes)
