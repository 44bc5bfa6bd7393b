import platform
import re
import sys
from importlib import metadata

import gymnasium as gym
import pytest

from budget_envs.errors import DependencyNotInstalled
from budget_envs.registration import PRESETS
from budget_envs.version import __version__

REQUIRES = [
    "gymnasium<2,>=1.1",
    "numpy>=1.26",
    'rich>=13; extra == "eval"',
    'no-such-package>=1 ; extra == "sql"',
    'budget-envs[eval,sql]; extra == "all"',
]


@pytest.fixture
def requires(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIRES)


def test_versions_are_those_that_are_installed(cli):
    versions = cli("doctor", "--json").document["versions"]
    assert versions["budget-envs"] == __version__
    assert versions["python"] == platform.python_version()
    assert versions["gymnasium"] == gym.__version__


def test_an_extra_that_is_complete_lacks_nothing(cli, requires):
    extras = cli("doctor", "--json").document["extras"]
    assert extras["eval"] == {"missing": [], "install": 'pip install "budget-envs[eval]"'}


def test_an_extra_that_is_incomplete_names_the_packages_and_the_command(cli, requires):
    done = cli("doctor", "--json").document
    assert done["extras"]["sql"]["missing"] == ["no-such-package"]
    assert done["versions"]["no-such-package"] is None
    assert 'pip install "budget-envs[sql]"' in cli("doctor").out


def test_an_extra_of_extras_lacks_what_they_lack(cli, requires):
    assert cli("doctor", "--json").document["extras"]["all"]["missing"] == ["no-such-package"]


def test_every_extra_of_the_installed_package_is_examined(cli):
    lines = metadata.requires("budget-envs")
    named = {match[1] for line in lines if (match := re.search(r"""extra == ['"](\w+)""", line))}
    assert set(cli("doctor", "--json").document["extras"]) == named


def test_without_metadata_it_still_examines_the_environments(cli, monkeypatch):
    def fail(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", fail)
    done = cli("doctor", "--json").document
    assert done["extras"] == {}
    assert set(done["environments"]) == {preset.id for preset in PRESETS}


def test_every_environment_here_is_ready(cli):
    found = cli("doctor", "--json").document["environments"]
    assert found == {preset.id: [] for preset in PRESETS}


def test_an_environment_that_cannot_begin_an_episode_says_why(cli, monkeypatch):
    def fail(self, **keywords):
        raise DependencyNotInstalled('pip install "budget-envs[sandbox]"')

    monkeypatch.setattr("budget_envs.text_env.TextEnv.reset", fail)
    done = cli("doctor")
    assert done.code == 0
    assert done.out.count('pip install "budget-envs[sandbox]"') >= len(PRESETS)


def test_a_cache_that_cannot_be_written_to_is_reported_with_what_to_do(cli, monkeypatch):
    monkeypatch.setenv("BUDGET_ENVS_CACHE", "/proc/nowhere")
    problem = cli("doctor", "--json").document["cache"]["problem"]
    assert problem is not None
    assert "BUDGET_ENVS_CACHE" in problem


def test_a_cache_that_is_not_there_yet_is_not_made(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path / "a" / "b"))
    cache = cli("doctor", "--json").document["cache"]
    assert cache == {"folder": str(tmp_path / "a" / "b"), "problem": None}
    assert list(tmp_path.iterdir()) == []


def test_without_a_sandbox_it_says_so(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "budget_envs.sandbox", None)
    assert cli("doctor", "--json").document["sandbox"] is None
    assert "none in this installation" in cli("doctor").out


def test_every_tier_of_the_sandbox_works_or_says_why_not(cli, monkeypatch):
    found = {"process": None, "docker": "No Docker engine answers."}
    monkeypatch.setattr("budget_envs.sandbox.available", lambda: found)
    sandbox = cli("doctor", "--json").document["sandbox"]
    assert (sandbox["process"], sandbox["docker"]) == ("works", "No Docker engine answers.")


def test_without_the_part_that_keeps_task_files_it_says_so(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "budget_envs.tasks", None)
    cache = cli("doctor", "--json").document["cache"]
    assert cache["folder"] is None
    assert "budget_envs.tasks" in cache["problem"]


ERRORS = [
    ImportError("no module 'fcntl'"),
    ModuleNotFoundError("no module"),
    AttributeError("no such name"),
    OSError("not permitted"),
    RuntimeError("no home folder"),
    TypeError("no such library"),
    DependencyNotInstalled("not installed"),
    KeyError("field"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "place",
    [
        "budget_envs.sandbox.available",
        "budget_envs.sandbox.landlock.abi_version",
        "budget_envs.tasks.cache_folder",
        "budget_envs.text_env.TextEnv.reset",
        "budget_envs.cli.doctor.import_module",
        "budget_envs.cli.ids.load_oracle",
    ],
)
def test_a_part_that_cannot_be_examined_is_a_finding(cli, monkeypatch, place, error):
    def fail(*args, **keywords):
        raise error

    monkeypatch.setattr(place, fail)
    done = cli("doctor", "--json")
    assert (done.code, done.err) == (0, "")
    assert set(done.document) >= {"versions", "extras", "environments", "sandbox", "cache"}
    assert cli("doctor").code == 0


def test_an_environment_that_is_broken_says_with_what(cli, monkeypatch):
    def fail(self, **keywords):
        raise ZeroDivisionError("lost")

    monkeypatch.setattr("budget_envs.text_env.TextEnv.reset", fail)
    found = cli("doctor", "--json").document["environments"]
    assert set(map(tuple, found.values())) == {("ZeroDivisionError: lost",)}
