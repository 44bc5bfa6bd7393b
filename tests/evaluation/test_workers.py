import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.errors import DependencyNotInstalled, UnsupportedError
from budget_envs.evaluation import workers
from budget_envs.evaluation.evaluate import evaluate
from budget_envs.evaluation.store import Store

LAKE = "budget_envs/FrozenLake-v0"


def run(policy="random", **keywords):
    keywords = {"tasks": 12, "k": 2, "env_kwargs": {"success_rate": 0.8}, **keywords}
    return evaluate(make_policy(policy), LAKE, [3, 8], **keywords)


@pytest.mark.parametrize("policy", ["random", "oracle"])
def test_processes_give_what_one_process_gives(policy):
    assert run(policy, workers=2).episodes == run(policy).episodes


def test_processes_store_what_one_process_stores(tmp_path, same):
    stored = []
    for workers_ in (1, 2):
        path = tmp_path / f"{workers_}.db"
        result = run(workers=workers_, store=path)
        with Store.open(path) as store:
            stored.append(
                (store.run(result.run.run_id), store.episodes(result.run.run_id, with_turns=True))
            )
    assert stored[0][1] == stored[1][1]
    assert same(stored[0][0], stored[1][0])


def test_processes_continue_what_one_process_began(tmp_path):
    path = tmp_path / "results.db"

    def stop(state):
        if state.done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store=path, progress=stop, batch_size=4)
    resumed = run(store=path, workers=2)
    assert 0 < resumed.num_resumed < len(resumed.episodes)
    whole = run(store=tmp_path / "whole.db")
    assert resumed.episodes == whole.episodes


def test_a_policy_that_cannot_be_sent_is_refused():
    policy = make_policy("random")
    policy.callback = lambda: None
    with pytest.raises(UnsupportedError, match=r"'random' cannot be sent to other processes"):
        evaluate(policy, LAKE, [3], tasks=2, k=1, workers=2)


def test_a_worker_that_dies_is_explained_and_what_was_stored_stays(tmp_path):
    (tmp_path / "fatal.py").write_text(
        textwrap.dedent("""
            import os
            from budget_envs.evaluation.policy import Action, Policy

            class Fatal(Policy):
                def __init__(self):
                    self.name, self.settings = "fatal", {}

                def act(self, conversations):
                    if any(c.id.startswith("SFFFFG") for c in conversations):
                        os._exit(3)
                    return [Action("Right") for _ in conversations]
        """)
    )
    (tmp_path / "script.py").write_text(
        textwrap.dedent(f"""
            import budget_envs
            from fatal import Fatal
            from budget_envs.errors import BudgetEnvsError
            from budget_envs.evaluation import Store, evaluate

            if __name__ == "__main__":
                tasks = ["S" + "F" * n + "G" for n in range(5)]
                try:
                    evaluate(Fatal(), {LAKE!r}, [9], tasks=tasks, k=1, workers=2, batch_size=1,
                             store="results.db")
                except BudgetEnvsError as error:
                    assert "a worker process died" in str(error)
                with Store.open("results.db") as store:
                    (run,) = store.runs()
                    assert run.finished is None
                    assert len(store.keys(run.run_id)) >= 1
                print("explained")
        """)
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "explained", done.stderr


@pytest.mark.skipif(os.name != "posix", reason="kills and locks as POSIX does")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_workers_end_with_a_parent_that_is_killed(tmp_path, how):
    import fcntl

    (tmp_path / "sleepy.py").write_text(
        textwrap.dedent("""
            import fcntl, os, time
            from budget_envs.evaluation.policy import Policy

            class Sleepy(Policy):
                def __init__(self):
                    self.name, self.settings = "sleepy", {}

                def act(self, conversations):  # a lock is gone when its process is
                    lock = open(f"{os.getpid()}.making", "w")
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    os.rename(lock.name, f"{os.getpid()}.lock")
                    time.sleep(600)
        """)
    )
    (tmp_path / "script.py").write_text(
        textwrap.dedent(f"""
            import budget_envs
            from sleepy import Sleepy
            from budget_envs.evaluation import evaluate

            if __name__ == "__main__":
                evaluate(Sleepy(), {LAKE!r}, [3], tasks=8, k=1, workers=2, batch_size=1)
        """)
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, env=environment)
    assert wait_until(lambda: len(list(tmp_path.glob("*.lock"))) == 2)
    parent.send_signal(signal.Signals[how])
    parent.wait()

    def is_gone(path):
        try:
            with path.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    assert wait_until(lambda: all(map(is_gone, tmp_path.glob("*.lock"))))


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_a_process_that_is_no_worker_is_not_ended():
    workers._end_with_parent()


def test_a_script_without_main_guard_is_told_what_it_needs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
            import budget_envs
            from budget_envs.agents.policies import make_policy
            from budget_envs.evaluation import evaluate
            evaluate(make_policy("random"), {LAKE!r}, [3], tasks=2, k=1, workers=2)
        """)
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert 'a script needs `if __name__ == "__main__":`' in done.stderr


def test_chunks_cover_everything_once_and_in_order():
    for count in range(40):
        for workers_ in (1, 2, 7):
            chunks = workers._chunks(range(count), workers_, batch_size=3)
            assert [each for chunk in chunks for each in chunk] == list(range(count))
            assert all(1 <= len(chunk) <= 3 for chunk in chunks)


def test_ray_is_named_where_it_is_missing():
    try:
        import ray  # noqa: F401
    except ImportError:
        with pytest.raises(DependencyNotInstalled, match=r'pip install "budget-envs\[ray\]"'):
            run(workers="ray")
    else:
        pytest.skip("Ray is installed")


class FakeRay:
    """The five calls that the Ray backend makes, carried out here, the newest first."""

    def __init__(self):
        self.started = False
        self.most_pending = 0

    def is_initialized(self):
        return self.started

    def init(self):
        self.started = True

    def cluster_resources(self):
        return {"CPU": 2.0, "memory": 1.0}

    def put(self, value):
        return ("shared", value)

    def remote(self, function):
        def submit(shared, requests):
            kind, job = shared
            assert kind == "shared"
            return lambda: function(job, requests)

        return SimpleNamespace(remote=submit)

    def wait(self, pending, num_returns):
        self.most_pending = max(self.most_pending, len(pending))
        return pending[-num_returns:], pending[:-num_returns]

    def get(self, done):
        return [call() for call in done]


@pytest.fixture
def ray(monkeypatch):
    fake = FakeRay()
    monkeypatch.setattr(workers, "require", lambda module, extra: fake)
    return fake


def test_ray_gives_what_one_process_gives(ray):
    assert run(workers="ray").episodes == run().episodes


def test_ray_starts_only_where_it_is_not_running(ray):
    ray.started = True
    ray.init = lambda: pytest.fail("started twice")
    run(workers="ray", tasks=1)


def test_ray_is_given_a_few_chunks_at_a_time(ray):
    run(workers="ray", batch_size=1)
    assert ray.most_pending == 4
