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


def test_a_database_that_is_not_there_is_an_error_of_data(cli, tmp_path):
    done = cli("compare", tmp_path / "none.sqlite")
    assert done.code == 1
    assert "does not exist" in done.err
    assert list(tmp_path.iterdir()) == []
