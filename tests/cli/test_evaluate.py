import json
import shlex
import sqlite3
import tomllib
from importlib.util import find_spec

import pytest

from budget_envs.cli import evaluate as module
from budget_envs.cli.settings import Settings
from budget_envs.evaluation import Store

LAKE = "budget_envs/FrozenLake-v0"
SMALL = ("--tasks", "3", "--k", "2", "--budgets", "2,4")


def evaluate(cli, path, *words):
    return cli("evaluate", LAKE, *SMALL, "--database", path, *words)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.sqlite"


def episodes_of(path):
    """Return all episodes of a database, run by run, with their turns."""
    with Store.open(path) as store:
        return {r.run_id: store.episodes(r.run_id, with_turns=True) for r in store.runs()}


def test_it_ends_with_a_table_and_the_path_of_the_results(cli, path):
    done = evaluate(cli, path, "--policy", "random", "--policy", "oracle")
    assert done.code == 0
    assert "Pass@(1,T)" in done.out
    assert "random" in done.out
    assert "oracle" in done.out
    assert done.out.rstrip().endswith(f"Results: {path}")


def test_each_policy_is_a_run_of_its_own(cli, path):
    evaluate(cli, path, "--policy", "random", "--policy", "oracle")
    with Store.open(path) as store:
        assert [run.policy for run in store.runs()] == ["random", "oracle"]


def test_flags_are_what_is_played_and_stored(cli, path):
    words = ["--split", "train", "--protocol", "truncate", "--seed", "5", "--rollouts", "3"]
    evaluate(cli, path, "--policy", "random", *words, "--set", "success_rate=0.8")
    with Store.open(path) as store:
        (run,) = store.runs()
    assert (run.split, run.protocol, run.seed, run.num_rollouts) == ("train", "truncate", 5, 3)
    assert (run.k, run.budgets, len(run.task_ids)) == (2, (2, 4), 3)
    assert dict(run.env_kwargs) == {"success_rate": 0.8}


def test_shares_are_of_the_budget_of_the_id(cli, path):
    words = ["evaluate", "budget_envs/FrozenLake-8x8-v0", "--policy", "random", "--tasks", "1"]
    cli(*words, "--k", "1", "--budgets", "25%,100%", "--database", path)
    with Store.open(path) as store:
        assert store.runs()[0].budgets == (5, 20)


def test_a_policy_takes_settings_as_json(cli, path):
    evaluate(cli, path, "--policy", 'scripted={"actions": ["Right"]}')
    (episodes,) = episodes_of(path).values()
    assert {turn.action for episode in episodes for turn in episode.turns} == {"Right"}


def test_a_file_of_settings_is_as_good_as_flags(cli, path, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        f'id = "{LAKE}"\npolicy = ["random", {{name = "oracle", ties = "random"}}]\n'
        "tasks = 3\nk = 2\nbudgets = [2, 4]\n[set]\nsuccess_rate = 0.8\n",
        encoding="utf-8",
    )
    assert cli("evaluate", "--settings", file, "--database", path).code == 0
    other = path.with_name("other.sqlite")
    policies = ["--policy", "random", "--policy", 'oracle={"ties": "random"}']
    evaluate(cli, other, *policies, "--set", "success_rate=0.8")
    assert episodes_of(path) == episodes_of(other)


def test_an_unknown_key_of_a_file_names_the_nearest(cli, tmp_path):
    (tmp_path / "s.toml").write_text('env = "x"\nbudget = [2]\n', encoding="utf-8")
    done = cli("evaluate", "--settings", tmp_path / "s.toml")
    assert done.code == 2
    assert "unknown key 'env'" in done.err


def test_the_folder_of_the_results_is_made(cli, tmp_path):
    assert evaluate(cli, tmp_path / "a" / "b.sqlite", "--policy", "random").code == 0
    assert (tmp_path / "a" / "b.sqlite").is_file()


def test_the_same_command_again_plays_nothing(cli, path, monkeypatch):
    evaluate(cli, path, "--policy", "random")
    before = episodes_of(path)

    def fail(self, *args, **keywords):
        raise AssertionError("an episode was played again")

    monkeypatch.setattr("budget_envs.agents.policies.random_policy.RandomPolicy.act", fail)
    assert evaluate(cli, path, "--policy", "random").code == 0
    assert episodes_of(path) == before


def test_an_interrupted_run_continues_to_the_very_result_of_one_that_was_not(
    cli, path, monkeypatch
):
    stopped = {"turns": 0}
    from budget_envs.agents.policies.random_policy import RandomPolicy

    act = RandomPolicy.act

    def interrupt(self, conversations):
        stopped["turns"] += 1
        if stopped["turns"] == 3:
            raise KeyboardInterrupt
        return act(self, conversations)

    with monkeypatch.context() as patch:
        patch.setattr(RandomPolicy, "act", interrupt)
        done = evaluate(cli, path, "--policy", "random")
    assert done.code == 130
    assert f"Finished episodes are saved in {path}; run the same command to continue." in done.err
    (some,) = episodes_of(path).values()
    assert 0 < len(some) < 24

    assert evaluate(cli, path, "--policy", "random").code == 0
    whole = path.with_name("whole.sqlite")
    evaluate(cli, whole, "--policy", "random")
    assert episodes_of(path) == episodes_of(whole)


def test_two_processes_give_the_results_of_one(cli, path):
    evaluate(cli, path, "--policy", "random")
    other = path.with_name("other.sqlite")
    assert evaluate(cli, other, "--policy", "random", "--workers", "2").code == 0
    assert episodes_of(path) == episodes_of(other)


def test_json_is_one_document_with_every_run(cli, path):
    done = evaluate(cli, path, "--policy", "random", "--policy", "oracle", "--json")
    runs = [run for group in done.document["comparisons"] for run in group["runs"]]
    assert [run["label"] for run in runs] == ["random", "oracle"]
    assert {cell["budget"] for cell in runs[0]["cells"]} == {2, 4}


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_workers_that_are_missing_are_told_before_anything_is_written(cli, tmp_path):
    done = evaluate(cli, tmp_path / "a" / "r.sqlite", "--policy", "random", "--workers", "ray")
    assert done.code == 1
    assert 'pip install "budget-envs[ray]"' in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_continues_says_how_much_is_there(cli, path):
    evaluate(cli, path, "--policy", "random", "--seed", "1")
    assert evaluate(cli, path, "--policy", "random").err == "random: 24 episodes\n"
    again = evaluate(cli, path, "--policy", "random")
    assert again.err == "random: 24 episodes, all of them in the database already\n"


def test_the_command_that_is_recorded_can_be_typed(shell, tmp_path):
    words = ["evaluate", LAKE, "--policy", 'scripted={"actions": ["Up"]}', *SMALL]
    assert shell(*words, "--database", "r.sqlite").code == 0
    with Store.open(tmp_path / "r.sqlite") as store:
        (run,) = store.runs()
    assert shlex.split(run.command) == ["budget-envs", *words, "--database", "r.sqlite"]


def test_progress_and_messages_leave_standard_output_alone(cli, path):
    done = evaluate(cli, path, "--policy", "random", "--json")
    assert done.err == "random: 24 episodes\n"


def test_a_dry_run_plays_nothing_and_writes_nothing(cli, tmp_path):
    done = evaluate(cli, tmp_path / "a" / "r.sqlite", "--policy", "random", "--dry-run")
    assert done.code == 0
    assert "3 tasks, budgets 2, 4, 24 episodes (0 are stored), at most 72 turns." in done.out
    assert "Nothing was played" in done.out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_prints_the_settings_in_effect_as_a_file_of_settings(cli, tmp_path):
    words = ["--policy", "random", "--policy", 'scripted={"actions": ["Up"]}', "--set", "size=5"]
    out = evaluate(cli, tmp_path / "r.sqlite", *words, "--dry-run").out
    file = tmp_path / "s.toml"
    file.write_text(out.partition("\nrun ")[0], encoding="utf-8")
    settings = Settings.merge(file, {})
    assert (settings.id, settings.budgets, settings.set) == (LAKE, (2, 4), {"size": 5})
    assert cli("evaluate", "--settings", file, "--dry-run").out == out


def test_a_dry_run_says_what_is_stored_already(cli, path):
    evaluate(cli, path, "--policy", "random")
    words = ["--policy", "random", "--policy", "oracle", "--dry-run", "--json"]
    runs = evaluate(cli, path, *words).document["runs"]
    assert [(run["policy"], run["num_stored"]) for run in runs] == [("random", 24), ("oracle", 0)]


def test_every_policy_is_checked_before_the_first_is_played(cli, path):
    done = evaluate(cli, path, "--policy", "random", "--policy", "oracel")
    assert done.code == 2
    assert not path.exists()


def test_truncate_is_refused_where_the_agent_knows_its_budget(cli, path):
    words = ["--policy", "random", "--protocol", "truncate", "--set", "show_budget=true"]
    done = evaluate(cli, path, *words)
    assert done.code == 2
    assert "Use protocol='rerun'" in done.err


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\x00"])
def test_a_file_that_is_no_database_is_left_as_it_is(cli, path, content):
    path.write_bytes(content)
    done = evaluate(cli, path, "--policy", "random")
    assert done.code == 1
    assert str(path) in done.err
    assert path.read_bytes() == content


def test_a_database_of_another_version_is_left_as_it_is(cli, path):
    evaluate(cli, path, "--policy", "random")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = evaluate(cli, path, "--policy", "oracle")
    assert done.code == 1
    assert "version 99" in done.err


def test_an_environment_whose_module_is_named_is_imported_first(cli, path):
    words = ["--policy", "random", *SMALL, "--database", path]
    assert cli("evaluate", f"budget_envs:{LAKE}", *words).code == 0


def test_the_help_names_every_policy(cli):
    from budget_envs.agents.policies import POLICIES

    text = cli("evaluate", "--help").out
    assert all(name in text for name in POLICIES)


def test_defaults_in_the_help_are_the_defaults(cli):
    text = " ".join(module.evaluate.__doc__.split())
    settings = Settings("x", ())
    assert f"By default {','.join(map(str, settings.budgets))}." in text
    for name in ("k", "tasks", "split", "seed", "database", "workers"):
        entry = text.partition(f" {name}: ")[2]
        assert entry.partition("By default ")[2].startswith(f"{getattr(settings, name)}.")


def test_settings_of_a_dry_run_are_toml(cli, path):
    out = evaluate(cli, path, "--policy", "random", "--dry-run").out
    assert tomllib.loads(out.partition("\nrun ")[0])["policy"] == ["random"]


def test_json_of_a_dry_run_has_the_settings(cli, path):
    done = evaluate(cli, path, "--policy", "random", "--set", "budget=null", "--dry-run", "--json")
    assert json.loads(done.out)["settings"]["set"] == {"budget": None}
