"""Fixtures: an environment on the process tier, a dataset in a file, a sandbox that gets lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv
from budget_envs.sandbox import Limits, SandboxLost

_DATA_VARIABLE = os.environ.get("BUDGET_ENVS_DATA")


@pytest.fixture
def make_env():
    """Make an environment, reset to a task."""

    def make(seed=0, options=None, **settings):
        env = DeepCoderMTEnv(**{"sandbox": "process", **settings})
        env.reset(seed=seed, options=options)
        return env

    return make


@pytest.fixture
def benchmark_data(monkeypatch):
    """Name the folder of real benchmark files in ``BUDGET_ENVS_DATA``, or skip."""
    sibling = Path(__file__).resolve().parents[4] / "shared" / "data"
    folder = Path(_DATA_VARIABLE).expanduser() if _DATA_VARIABLE else sibling
    if not folder.is_dir():
        pytest.skip("no benchmark files: set BUDGET_ENVS_DATA to a folder that has them")
    monkeypatch.setenv("BUDGET_ENVS_DATA", str(folder))
    return folder


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Hide every source of benchmark files."""
    monkeypatch.delenv("BUDGET_ENVS_DATA", raising=False)
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BUDGET_ENVS_OFFLINE", "1")


@pytest.fixture
def rows_file(tmp_path):
    """Write six problems, with and without a solution, as a file of the user's own."""
    rows = [
        {
            "task_id": f"own/{number}",
            "problem": f"Print the sum of the two numbers, plus {number}.",
            "split": "test" if number < 4 else "train",
            "tests": [{"input": f"{a} {a}\n", "output": f"{2 * a + number}\n"} for a in range(4)],
            **(
                {"solution": f"print(sum(map(int, input().split())) + {number})"}
                if number % 2
                else {}
            ),
        }
        for number in range(6)
    ]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    return path


@pytest.fixture
def lose_sandbox(monkeypatch):
    """Replace the shared sandbox by one that is lost, and back."""

    class Lost:
        limits = Limits()
        runs = 0

        def open_candidate(self, source, limits):
            Lost.runs += 1
            raise SandboxLost("the worker died")

    def lose():
        monkeypatch.setattr("budget_envs.envs.deepcoder_mt.env.shared_sandbox", lambda tier: Lost())
        return Lost

    lose.undo = monkeypatch.undo
    return lose
