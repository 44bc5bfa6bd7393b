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
        ["play", LAKE, "--seed", "-1"],
        ["play", "CartPole-v1", "--seed", "-1"],
        ["list", "extra"],
        ["play", LAKE, "extra"],
        ["tasks", "list", "mbpp", "extra"],
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


def test_a_negative_seed_is_refused_with_what_was_expected(cli):
    assert cli("play", LAKE, "--seed", "-1").err == (
        "budget-envs: --seed must be at least 0, got -1.\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "extra"], "list takes no such argument: 'extra'."),
        (["doctor", "a", "b c"], "doctor takes no such argument: 'a', 'b c'."),
        (["play", LAKE, "extra"], "play takes no such argument: 'extra'."),
    ],
)
def test_an_argument_too_many_is_named_with_where_to_look(cli, words, message):
    command = f"budget-envs {words[0]}"
    assert cli(*words).err == f"budget-envs: {message} See: {command} --help\n"


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


TRAINING = [
    "folder=run", "model=tiny", "num_steps=1", "batch_size=1", f"env.id={LAKE}", "env.set.size=3",
    "env.tasks=2", "demonstrations.episodes=2", "held_out.tasks=1", "tiny.hidden_size=16",
    "tiny.num_layers=1", "tiny.num_heads=2", "tiny.num_kv_heads=2", "tiny.vocab_size=320",
]  # fmt: skip
PRINTING = {
    "": [],
    "--help": [],
    "--version": [],
    "list": [],
    "play": [LAKE],
    "evaluate": [LAKE, "--policy", "random", "--tasks", "1", "--k", "1", "--budgets", "2"],
    "compare": ["DATABASE"],
    "report": ["DATABASE"],
    "tasks": ["list"],
    "bench": [LAKE, "--steps", "10"],
    "doctor": [],
    "train": ["sft", *(word for pair in TRAINING for word in ("--set", pair))],
}


def test_the_output_of_every_command_is_tried_on_a_closed_pipe():
    assert set(COMMANDS) < set(PRINTING)


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way there")
@pytest.mark.parametrize(
    ("name", "flags"), [(name, []) for name in PRINTING] + [(name, ["--json"]) for name in COMMANDS]
)
def test_output_that_nobody_reads_is_no_error(name, flags, database, tmp_path):
    words = [*name.split(), *PRINTING[name], *flags]
    words = [str(database) if word == "DATABASE" else word for word in words]
    process = subprocess.Popen(
        [sys.executable, "-m", "budget_envs", *words],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    with process.stderr as stderr:
        err = stderr.read().decode()
    assert process.wait() == 141
    assert "Traceback" not in err
    assert "Exception" not in err


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way there")
def test_a_message_that_nobody_reads_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        words = [sys.executable, "-m", "budget_envs", "list", "extra"]
        assert subprocess.run(words, stdout=closed, stderr=closed, check=False).returncode == 141


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is another signal there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_with_130_and_the_same_command_continues(shell, slow_policy, number):
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
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Finished episodes are saved in r.sqlite; run the same command to continue." in err
    assert "Traceback" not in err

    (slow_policy / "go").touch()
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


MANY = "9" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ["--policy", "..x:Y"],
        ["--policy", "json:loads"],
        ["--policy", 'scripted={"actions":5}'],
        ["--policy", 'oracle={"oracle":5}'],
        ["--set", "desc=5"],
        ["--set", "map_name=[1]"],
        ["--set", 'error_states={"kind":5}'],
        ["--set", "oracle=..x:Y"],
        ["--set", "id=x"],
        ["--set", "max_episode_steps=0"],
        ["--budgets", MANY],
        ["--budgets", "99999999999999999999"],
        ["--budgets", "1e999999999%"],
        ["--workers", MANY],
        ["--seed", MANY],
        ["--k", MANY],
        ["--k", "10000000"],
        ["--tasks", "1000000"],
    ],
    ids=lambda words: f"{words[1]:.30}",
)
def test_a_setting_that_cannot_be_is_misuse_and_no_traceback(cli, words):
    given = [] if words[0] == "--policy" else ["--policy", "random"]
    done = cli("evaluate", LAKE, *given, "--dry-run", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("budget-envs: ")
    assert len(done.err) < 6000


@pytest.mark.parametrize("name", ["..x:foo", "math:foo"])
@pytest.mark.parametrize("command", ["play", "evaluate"])
def test_an_id_that_leads_nowhere_is_misuse(cli, command, name):
    done = cli(command, name, *(["--policy", "random"] if command == "evaluate" else []))
    assert done.code == 2
    assert name in done.err


@pytest.mark.skipif(os.name != "posix", reason="closes streams as a POSIX shell does")
@pytest.mark.parametrize(
    ("words", "closed"),
    [
        ("list", ">&-"),
        (f"play {LAKE}", "<&-"),
        (f"evaluate {LAKE} --policy random --tasks 1 --k 1 --budgets 2", "2>&-"),
        ("list", "<&- >&- 2>&-"),
    ],
)
def test_closed_streams_are_no_error(tmp_path, words, closed):
    command = f'"{sys.executable}" -m budget_envs {words} {closed}'
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
