import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from types import SimpleNamespace

import gymnasium
import pytest

from budget_envs.evaluation import provenance
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


# The command.


@pytest.fixture
def started(monkeypatch):
    """Let this process look as if it had been started in another way."""

    def start(*argv, module=None, orig=()):
        spec = None if module is None else SimpleNamespace(name=module)
        monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))
        monkeypatch.setattr(sys, "argv", list(argv))
        monkeypatch.setattr(sys, "orig_argv", list(orig))
        return command_line()

    return start


def test_the_command_is_quoted_for_a_shell(started):
    assert started("a script.py", "--name=it's") == """python 'a script.py' '--name=it'"'"'s'"""


@pytest.mark.parametrize(
    "program", ["/opt/venv/bin/budget-envs", "bin/budget-envs", r"Scripts/budget-envs.exe"]
)
def test_the_console_script_is_named_as_it_is_typed(started, program):
    found = started(program, "evaluate", "x", "--k", "2")
    assert found == "budget-envs evaluate x --k 2"


def test_the_package_run_as_a_module_is_the_same_command(started):
    program = "/opt/venv/lib/python/site-packages/budget_envs/__main__.py"
    found = started(program, "evaluate", "x", module="budget_envs.__main__")
    assert found == "budget-envs evaluate x"


@pytest.mark.parametrize(
    ("module", "name"), [("study.__main__", "study"), ("study.run", "study.run")]
)
def test_another_module_is_named_without_its_folder(started, module, name):
    assert started("/home/me/study/x.py", "2", module=module) == f"python -m {name} 2"


def test_a_script_is_named_from_the_working_directory(started, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert started(str(tmp_path / "study" / "run.py"), "2") == "python study/run.py 2"
    assert started(os.path.join("study", "..", "run.py")) == "python run.py"


def test_a_script_elsewhere_is_named_without_its_folder(started, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert started(str(tmp_path / "run.py")) == "python run.py"
    assert started("../run.py") == "python run.py"


def test_a_program_that_is_installed_with_this_python_is_named_as_it_is_typed(started):
    program = os.path.join(sysconfig.get_path("scripts"), "study")
    assert started(program, "--all") == "study --all"


def test_code_on_the_command_line_is_part_of_it(started):
    orig = ["/opt/venv/bin/python", "-X", "dev", "-c", "run()", "2"]
    assert started("-c", "2", orig=orig) == "python -X dev -c 'run()' 2"


@pytest.mark.parametrize(
    ("argv", "module"), [([""], None), ([], None), (["/x.py", "-f", "/k"], "ipykernel_launcher")]
)
def test_an_interactive_session_has_no_command(started, argv, module):
    assert started(*argv, module=module) is None


@pytest.mark.parametrize("words", [["-m", "study"], ["study.py"], ["-c", "import study"]])
def test_the_command_of_a_process_starts_it_again(tmp_path, words):
    code = "from budget_envs.evaluation.provenance import command_line; print(command_line())"
    (tmp_path / "study.py").write_text(code, encoding="utf-8")

    def output(command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    found = output([sys.executable, *words, "a b"])
    assert sys.executable not in found
    assert output([sys.executable, *shlex.split(found)[1:]]) == found


def test_times_sort_as_text():
    one, other = now(), now()
    assert one <= other
    assert one.endswith("+00:00")


def test_two_classes_of_one_name_have_different_versions(tmp_path, monkeypatch):
    versions = []
    for body in ("answer = 1", "answer = 2"):
        (tmp_path / "my_agent.py").write_text(f"class Agent:\n    {body}\n", encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "my_agent", raising=False)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        importlib.invalidate_caches()
        versions.append(provenance.class_version(importlib.import_module("my_agent").Agent))
        monkeypatch.delitem(sys.modules, "my_agent")
    assert all(version.startswith("my_agent:Agent source ") for version in versions)
    assert versions[0] != versions[1]


def test_a_class_without_source_has_its_entry_point():
    assert provenance.class_version(int) == "builtins:int"
