import sqlite3

import pytest

from budget_envs.evaluation import Store, success_counts
from budget_envs.evaluation.cell_intervals import pass_kt_difference_intervals


def test_runs_stand_side_by_side_with_their_differences_to_the_first(cli, database):
    done = cli("compare", database, "random", "shortest_path", "oracle")
    assert done.code == 0
    header = done.out.partition("───")[0]
    assert header.count("minus random") == 2
    assert "protocol rerun" in header


def test_without_names_all_runs_are_compared(cli, database):
    document = cli("compare", database, "--json").document
    assert [run["policy"] for run in document["runs"]] == ["random", "shortest_path", "oracle"]


def test_differences_are_paired_by_task(cli, database):
    document = cli("compare", database, "shortest_path", "oracle", "--json").document
    with Store.open(database) as store:
        runs = {run.policy: run for run in store.runs()}
        base, other = (
            success_counts(runs[name], store.episodes(runs[name].run_id))
            for name in ("shortest_path", "oracle")
        )
    expected = pass_kt_difference_intervals(other, base, [1, 2], seed=0)
    (difference,) = document["differences"]
    assert difference["minus"] == runs["shortest_path"].run_id
    cells = {(cell["k"], cell["budget"]): cell for cell in difference["pass_kt"]}
    for i, k in enumerate((1, 2)):
        for j, budget in enumerate((2, 4, 8)):
            cell = cells[k, budget]
            assert cell["estimate"] == expected.estimate[i, j]
            assert (cell["low"], cell["high"]) == (expected.low[i, j], expected.high[i, j])


def test_the_order_of_the_names_decides_what_is_subtracted(cli, database):
    def difference(*names):
        document = cli("compare", database, *names, "--json").document
        cells = document["differences"][0]["pass_kt"]
        return next(c["estimate"] for c in cells if (c["k"], c["budget"]) == (1, 8))

    assert difference("random", "oracle") == -difference("oracle", "random") > 0


def test_a_difference_that_leaves_out_zero_is_marked(cli, database):
    row = next(
        line
        for line in cli("compare", database, "random", "oracle").out.splitlines()
        if line.split()[:2] == ["1", "8"]
    )
    assert row.rstrip().endswith("*")


def test_a_run_is_named_by_the_first_digits_of_its_id(cli, database):
    with Store.open(database) as store:
        first, second, _ = store.runs()
    document = cli("compare", database, second.run_id[:8], first.run_id, "--json").document
    assert [run["run_id"] for run in document["runs"]] == [second.run_id, first.run_id]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["oracel", "random"], "Did you mean 'oracle'"),
        (["oracle"], "two different runs"),
        (["oracle", "oracle"], "two different runs"),
        (["", "random"], "no run matches ''"),
    ],
)
def test_names_that_do_not_lead_to_two_runs_are_misuse(cli, database, names, message):
    done = cli("compare", database, *names)
    assert done.code == 2
    assert message in done.err


def test_a_policy_with_several_runs_needs_an_id(cli, tmp_path):
    path = tmp_path / "r.sqlite"
    for seed in (0, 1):
        words = ["--policy", "random", "--tasks", "2", "--k", "1", "--seed", seed]
        cli("evaluate", "budget_envs/FrozenLake-v0", *words, "--database", path)
    done = cli("compare", path, "random", "random")
    assert done.code == 2
    assert "several runs match 'random'" in done.err
    assert "Give an id." in done.err
    assert cli("compare", path).code == 0


def test_runs_on_different_tasks_are_not_compared(cli, tmp_path):
    path = tmp_path / "r.sqlite"
    for tasks in (2, 3):
        words = ["--policy", "random", "--tasks", tasks, "--k", "1", "--budgets", "2"]
        cli("evaluate", "budget_envs/FrozenLake-v0", *words, "--database", path)
    done = cli("compare", path)
    assert done.code == 2
    assert "same tasks" in done.err


@pytest.mark.parametrize(
    ("changes", "conflict"),
    [
        ({"--tasks": 3}, "2 and 3 tasks, 2 of them the same"),
        ({"--split": "train"}, "2 and 2 tasks, 0 of them the same"),
        ({"--budgets": "2,4"}, "budgets 2 and 2, 4"),
        ({"--protocol": "truncate"}, "protocols rerun and truncate"),
        (
            {"--tasks": 1, "--budgets": 3, "--protocol": "truncate"},
            "2 and 1 tasks, 1 of them the same; budgets 2 and 3; protocols rerun and truncate",
        ),
    ],
)
def test_runs_that_conflict_are_named_with_what_differs(cli, tmp_path, changes, conflict):
    path = tmp_path / "r.sqlite"
    settings = {"--tasks": 2, "--k": 1, "--budgets": 2, "--database": path}
    for policy, changed in (("shortest_path", {}), ("random", {}), ("random", changes)):
        words = [word for pair in (settings | changed).items() for word in pair]
        assert cli("evaluate", "budget_envs/FrozenLake-v0", "--policy", policy, *words).code == 0
    with Store.open(path) as store:
        first, _, third = store.runs()
    done = cli("compare", path)
    assert done.code == 2
    assert f"run {first.run_id} (shortest_path) and run {third.run_id} (random)" in done.err
    assert f"cannot be compared: {conflict}." in done.err


def test_a_database_that_is_not_there_is_an_error_of_data(cli, tmp_path):
    done = cli("compare", tmp_path / "none.sqlite")
    assert done.code == 1
    assert "does not exist" in done.err
    assert list(tmp_path.iterdir()) == []


def played(path, cli, policy, *words, env_id="budget_envs/FrozenLake-v0"):
    size = ("--tasks", "2", "--k", "1", "--budgets", "2", "--database", path)
    assert cli("evaluate", env_id, *size, "--policy", policy, *words).code == 0


def test_keywords_that_differ_are_named_above_the_table(cli, tmp_path):
    path = tmp_path / "r.sqlite"
    played(path, cli, "random")
    played(path, cli, "random", "--set", "success_rate=0.8")
    out = cli("compare", path).out
    assert "environments differ in success_rate: None in random" in out.partition("───")[0]
    document = cli("compare", path, "--json").document
    assert document["differing_keywords"] == {"success_rate": [None, 0.8]}


def test_runs_of_different_environments_are_refused(cli, tmp_path):
    path = tmp_path / "r.sqlite"
    played(path, cli, "random")
    played(path, cli, "oracle", env_id="budget_envs/FrozenLake-8x8-v0")
    done = cli("compare", path)
    assert done.code == 2
    assert "environments budget_envs/FrozenLake-v0 and budget_envs/FrozenLake-8x8-v0" in done.err


def test_episodes_that_are_missing_are_said_to_be(cli, tmp_path):
    path = tmp_path / "r.sqlite"
    played(path, cli, "random")
    played(path, cli, "oracle")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "DELETE FROM episodes WHERE rowid = (SELECT min(rowid) FROM episodes WHERE run_id = "
            "(SELECT run_id FROM runs WHERE policy = 'oracle'))"
        )
    connection.close()
    assert "oracle: 1 of 4 requested episodes are missing" in cli("compare", path).out


def test_a_run_with_nothing_stored_has_dashes_for_rates(cli, tmp_path):
    path = tmp_path / "r.sqlite"
    played(path, cli, "random")
    played(path, cli, "oracle")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "DELETE FROM episodes WHERE run_id = (SELECT run_id FROM runs WHERE policy = 'oracle')"
        )
    connection.close()
    done = cli("compare", path)
    assert done.code == 0
    assert "oracle: no episode is stored yet" in done.out
    row = next(line for line in done.out.splitlines() if line.split()[:2] == ["1", "2"])
    assert row.split()[-2:] == ["–", "–"]
