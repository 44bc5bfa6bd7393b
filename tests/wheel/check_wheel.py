"""Build a wheel, install it alone into a fresh environment, and use it from another folder."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = (
    "budget_envs/py.typed",
    "budget_envs/text_env.py",
    "budget_envs/oracles/frozen_lake.py",
    "budget_envs/agents/policy.py",
    "budget_envs/cli/main.py",
    "budget_envs/tasks/registry.toml",
    "budget_envs/tasks/exclusions/mbpp.json",
    "budget_envs/sandbox/zygote.py",
    "budget_envs/evaluation/report/templates/page.html",
)
PROGRAM = """
import gymnasium as gym, budget_envs, pathlib, sys
assert pathlib.Path(budget_envs.__file__).is_relative_to(sys.prefix), budget_envs.__file__
env = gym.make("budget_envs/FrozenLake-v0", budget=8, show_budget=True, oracle=True)
observation, info = env.reset(seed=0)
print(env.step("Right")[4]["budget"]["turns"])
"""


def main() -> None:
    """Build, look inside, install, run; any failure is an exception."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT))
        wheel = next(Path(folder).glob("*.whl"))
        names = set(zipfile.ZipFile(wheel).namelist())
        missing = [name for name in NEEDED if name not in names]
        stray = [
            n for n in names if n.split("/")[0] not in ("budget_envs",) and ".dist-info" not in n
        ]
        if missing or stray:
            raise SystemExit(f"wheel lacks {missing} and has strays {stray[:5]}")
        home = Path(folder) / "venv"
        venv.create(home, with_pip=True)
        python = str(home / "bin" / "python")
        run(python, "-m", "pip", "install", "--quiet", str(wheel))
        installed = run(python, "-m", "pip", "list", "--format=freeze").split()
        extra = [p for p in installed if p.split("==")[0] in ("scipy", "rich", "torch")]
        if extra:
            raise SystemExit(f"a core install brought {extra}")
        print(run(python, "-c", PROGRAM, cwd=folder).strip())


def run(*command: str, cwd: str | None = None) -> str:
    """Run a command and return what it printed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:4])} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
