import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import pytest

import budget_envs
from budget_envs.cli.main import main

LAKE = "budget_envs/FrozenLake-v0"


@dataclass
class Outcome:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run a command in this process, with a text as its standard input."""

    def run(*argv, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = main([str(word) for word in argv])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def shell(tmp_path):
    """Run a command in a process of its own, in an empty folder."""

    def run(*argv, stdin=b"", env=None, timeout=120):
        done = subprocess.run(
            [sys.executable, "-m", "budget_envs", *map(str, argv)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            timeout=timeout,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """A results database with a run each of random, shortest_path and oracle."""
    path = tmp_path_factory.mktemp("results") / "results.sqlite"
    words = ["evaluate", LAKE, "--tasks", "6", "--k", "2", "--budgets", "2,4,8"]
    words += ["--database", str(path), "--set", "success_rate=0.8", "--set", "oracle=true"]
    for policy in ("random", "shortest_path", "oracle"):
        words += ["--policy", policy]
    assert main(words) == 0
    return path


@pytest.fixture
def lake_of_others():
    """Register lakes as another package does, and give their ids."""
    made = []

    def register(oracle="budget_envs.oracles.frozen_lake:FrozenLakeOracle"):
        made.append(f"others/Lake{len(made)}-v0")
        env = "budget_envs.envs.frozen_lake.env:FrozenLakeEnv"
        budget_envs.register(made[-1], env, turns=6, oracle=oracle, settings={"desc": ["SFG"]})
        return made[-1]

    yield register
    for env_id in made:
        del gym.registry[env_id]


@pytest.fixture
def slow_policy(tmp_path):
    """A folder with a module that has a policy which waits, after some turns, for a file "go"."""
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\n"
        "from budget_envs.evaluation import Action, Policy\n"
        "class Slow(Policy):\n"
        "    def __init__(self):\n"
        "        self.name, self.settings, self.turns = 'slow', {}, 0\n"
        "    def act(self, conversations):\n"
        "        self.turns += 1\n"
        "        while self.turns > 40 and not pathlib.Path('go').exists():\n"
        "            time.sleep(0.02)\n"
        "        return [Action('Right') for _ in conversations]\n",
        encoding="utf-8",
    )
    return Path(tmp_path)
