import os
import signal
import subprocess
import sys
import time

import pytest

from budget_envs.cli import app, main
from budget_envs.cli.app import COMMANDS
from budget_envs.errors import BudgetEnvsError, DataError
from budget_envs.version import __version__

LAKE = "budget_envs/FrozenLake-v0"


def test_without_a_command_it_prints_its_help(cli):
    done = cli()
    assert done.code == 0
    assert done.out.startswith("Usage: budget-envs")
    assert all(name in done.out for name in COMMANDS)


def test_the_version_is_that_of_the_package(cli):
    assert cli("--version").out.strip() == __version__


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(cli, name):
    done = cli(name, "--help")
    assert done.code == 0
    assert f"Usage: budget-envs {name}" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json(cli, name):
    assert "--json" in cli(name, "--help").out


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["evalute"], "evaluate"),
        (["evaluate", LAKE, "--polcy", "random"], "--policy"),
        (["evaluate", "budget_envs/FrozenLak-v0", "--policy", "random"], LAKE),
        (["evaluate", LAKE, "--policy", "randm"], "random"),
        (["evaluate", LAKE, "--policy", "random", "--protocol", "rerum"], "rerun"),
        (["evaluate", LAKE, "--policy", "random", "--split", "tests"], "test"),
        (["evaluate", LAKE, "--policy", "random", "--set", "sucess_rate=1"], "success_rate"),
        (["play", "FrozenLake-v0"], LAKE),
        (["play", "CartPol-v1"], "CartPole-v1"),
        (["bench", "budget_envs/FrozenLake-8x-v0"], "budget_envs/FrozenLake-8x8-v0"),
        (["list", "--jsn"], "--json"),
    ],
)
def test_misuse_ends_with_2_and_names_what_was_probably_meant(cli, words, suggestion):
    done = cli(*words)
    assert done.code == 2
    assert "Did you mean" in done.err
    assert suggestion in done.err.partition("Did you mean")[2]
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["play"],
        ["play", LAKE, "--budget", "0"],
        ["play", LAKE, "--budget", "-1"],
        ["play", LAKE, "--budget", "1.5"],
        ["play", LAKE, "--budget", "True"],
        ["play", LAKE, "--budget", ""],
        ["play", LAKE, "--seed", "1e3"],
        ["play", LAKE, "--set", "size"],
        ["play", LAKE, "--set", "size=[4,"],
        ["play", LAKE, "--set", "oracle=True"],
        ["play", LAKE, "--set", "success_rate=NaN"],
        ["play", "CartPole-v1", "--set", "colour=1"],
        ["play", "CartPole-v1", "--oracle"],
        ["play", "no_such_module:Env-v0"],
        ["bench", LAKE, "--steps", "0"],
        ["bench", LAKE, "--steps", "2.0"],
        ["evaluate"],
        ["evaluate", LAKE],
        ["evaluate", LAKE, "--policy", "random", "--budgets", "0"],
        ["evaluate", LAKE, "--policy", "random", "--budgets", "-1"],
        ["evaluate", LAKE, "--policy", "random", "--budgets", "1.5"],
        ["evaluate", LAKE, "--policy", "random", "--budgets", "2,,4"],
        ["evaluate", LAKE, "--policy", "random", "--budgets", "150%"],
        ["evaluate", LAKE, "--policy", "random", "--k", "4", "--rollouts", "3"],
        ["evaluate", LAKE, "--policy", "random", "--tasks", "0"],
        ["evaluate", LAKE, "--policy", "random", "--workers", "none"],
        ["evaluate", LAKE, "--policy", "random", "--seed", "-1"],
        ["evaluate", LAKE, "--policy", "scripted"],
        ["evaluate", LAKE, "--policy", "scripted={"],
        ["evaluate", LAKE, "--policy", "scripted=[1]"],
        ["evaluate", LAKE, "--policy", ""],
        ["evaluate", LAKE, "--policy", "oracle", "--protocol", "truncate"],
        ["evaluate", "CartPole-v1", "--policy", "random", "--budgets", "4"],
    ],
)
def test_misuse_ends_with_2_and_a_message_before_anything_is_written(
    cli, words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = cli(*words)
    assert done.code == 2
    assert done.err.startswith("budget-envs: ")
    assert "Traceback" not in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_budget_is_refused_with_what_was_expected(cli):
    assert "expected an integer, got '1.5'" in cli("play", LAKE, "--budget", "1.5").err


@pytest.mark.parametrize("error", [DataError("it is cut short."), BudgetEnvsError("lost.")])
def test_an_error_of_data_ends_with_1_and_its_message(cli, monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setitem(app.COMMANDS, "list", fail)
    done = cli("list")
    assert (done.code, done.err) == (1, f"budget-envs: {error}\n")


def test_a_file_that_cannot_be_written_ends_with_1(cli, database, tmp_path):
    (tmp_path / "taken").write_text("a file, no folder", encoding="utf-8")
    done = cli("report", database, "--html", tmp_path / "taken" / "report.html")
    assert done.code == 1
    assert "taken" in done.err


def test_a_fault_of_the_program_is_not_hidden(cli, monkeypatch):
    def fail():
        raise ZeroDivisionError

    monkeypatch.setitem(app.COMMANDS, "list", fail)
    with pytest.raises(ZeroDivisionError):
        cli("list")


def test_control_characters_do_not_reach_the_terminal_through_a_message(cli):
    done = cli("play", "\x1b]0;title\x07-v0")
    assert "\x1b" not in done.err
    assert "\x07" not in done.err


def test_a_core_install_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cyclopts", None)
    assert main.main(["list"]) == 1
    assert 'pip install "budget-envs[eval]"' in capsys.readouterr().err


def test_importing_the_entry_point_loads_no_optional_package():
    code = "import sys, budget_envs.cli.main; print('cyclopts' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_python_m_is_the_same_command(shell):
    done = shell("--version")
    assert (done.code, done.out.strip()) == (0, __version__)


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way there")
def test_output_that_nobody_reads_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "budget_envs", "list", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    with process.stderr as err:
        assert err.read() == b""
    assert process.wait() == 141


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is another signal there")
def test_ctrl_c_ends_with_130_and_the_same_command_continues(shell, slow_policy):
    words = ["evaluate", LAKE, "--policy", "slow:Slow", "--tasks", "12", "--database", "r.sqlite"]
    words += ["--set", "success_rate=0.8"]
    environment = {**os.environ, "PYTHONPATH": str(slow_policy)}
    process = subprocess.Popen(
        [sys.executable, "-m", "budget_envs", *words],
        cwd=slow_policy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_for_episodes(slow_policy / "r.sqlite", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Finished episodes are saved in r.sqlite; run the same command to continue." in err
    assert "Traceback" not in err

    described = shell(*words, "--dry-run", "--json", env={"PYTHONPATH": str(slow_policy)}).document
    assert 0 < described["runs"][0]["num_stored"] < described["runs"][0]["num_episodes"]
    assert shell(*words, env={"PYTHONPATH": str(slow_policy)}).code == 0


def _wait_for_episodes(path, process):
    from budget_envs.errors import DataError
    from budget_envs.evaluation import Store

    while process.poll() is None:
        time.sleep(0.05)
        try:
            with Store.open(path) as store:
                if any(store.keys(run.run_id) for run in store.runs()):
                    return
        except DataError:  # not there yet
            continue
