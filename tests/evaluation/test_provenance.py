import re
import shutil
import subprocess
import sys

import gymnasium
import pytest

from budget_envs.evaluation.provenance import command_line, git_commit, now, package_versions
from budget_envs.version import __version__


def test_versions_are_those_in_use():
    found = package_versions()
    assert found["budget_envs"] == __version__
    assert found["gymnasium"] == gymnasium.__version__
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))


def test_asking_for_versions_loads_nothing():
    code = (
        "import sys; from budget_envs.evaluation.provenance import package_versions; "
        "found = package_versions(); assert 'torch' not in found and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_outside_a_repository_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_commit() is None


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert git_commit() is None


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_in_a_repository_it_is_the_head(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert git_commit() is None  # a repository without a commit
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    assert re.fullmatch(r"[0-9a-f]{40,64}", git_commit())


def test_the_command_is_quoted_for_a_shell(monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python", "a script.py", "--name=it's"])
    assert command_line() == """python 'a script.py' '--name=it'"'"'s'"""


def test_times_sort_as_text():
    one, other = now(), now()
    assert one <= other
    assert one.endswith("+00:00")
