from pathlib import Path

import pytest

from budget_envs.evaluation import Store, success_counts
from budget_envs.evaluation.cell_intervals import pass_kt_difference_intervals, pass_kt_intervals

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "demo.toml"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo with half of its rollouts."""
    from budget_envs.cli.main import main

    path = tmp_path_factory.mktemp("demo") / "results.sqlite"
    words = ["--settings", DEMO, "--rollouts", "8", "--database", path]
    assert main(["evaluate", *map(str, words)]) == 0
    return path


@pytest.fixture(scope="module")
def counts(demo):
    with Store.open(demo) as store:
        return {run.policy: success_counts(run, store.episodes(run.run_id)) for run in store.runs()}


def test_the_demo_is_what_make_demo_runs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in ("demo", "demo_sql", "demo_code"):
        settings = f"--settings examples/{name}.toml"
        assert f"evaluate {settings} --database demo/results.sqlite" in makefile
    assert "report demo/results.sqlite --html demo/report.html" in makefile


def test_the_demo_plays_three_players_under_four_budgets(cli):
    runs = cli("evaluate", "--settings", DEMO, "--dry-run", "--json").document["runs"]
    assert [run["policy"] for run in runs] == ["random", "shortest_path", "oracle"]
    assert all(run["budgets"] == [5, 10, 15, 20] for run in runs)
    assert sum(run["num_episodes"] for run in runs) < 20_000


@pytest.mark.parametrize("name", ["demo_sql", "demo_code"])
def test_the_other_environments_are_in_the_demo_too(cli, name):
    done = cli("evaluate", "--settings", ROOT / "examples" / f"{name}.toml", "--dry-run", "--json")
    runs = done.document["runs"]
    assert len(runs) == 3
    assert all(run["budgets"] == [1, 2, 3, 5] for run in runs)
    assert sum(run["num_episodes"] for run in runs) < 1000


def test_knowing_the_budget_helps_more_the_larger_it_is(counts):
    gain = pass_kt_difference_intervals(counts["oracle"], counts["shortest_path"], [1], seed=0)
    assert gain.estimate[0, -1] > 2 * gain.estimate[0, 0]
    assert gain.low[0, -1] > 0


def test_the_random_player_is_below_both_under_every_budget(counts):
    rates = {name: pass_kt_intervals(side, [1], seed=0) for name, side in counts.items()}
    for name in ("shortest_path", "oracle"):
        assert (rates["random"].high < rates[name].low).all()


def test_the_oracle_is_at_the_structural_bound_under_every_budget(counts, demo):
    from budget_envs.evaluation import upper_bounds

    with Store.open(demo) as store:
        run = next(run for run in store.runs() if run.policy == "oracle")
        bounds = upper_bounds(run, store.episodes(run.run_id))
    found = pass_kt_intervals(counts["oracle"], [1], seed=0)
    for j, budget in enumerate(found.budgets.tolist()):
        assert found.low[0, j] <= bounds[budget].estimate <= found.high[0, j]
