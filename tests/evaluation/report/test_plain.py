import json
import math

from budget_envs.evaluation.report import as_plain, summarize
from budget_envs.evaluation.report.plain import task_table


def test_the_plain_report_is_strict_json(fixed):
    plain = as_plain(fixed[1])
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_undefined_numbers_are_null(fixed):
    plain = as_plain(fixed[1])
    assert plain["comparisons"][-1]["runs"][0]["cells"][0]["rate"] is None


def test_every_run_carries_where_it_comes_from(fixed):
    for comparison in as_plain(fixed[1])["comparisons"]:
        for run in comparison["runs"]:
            assert run["command"].startswith("budget-envs evaluate")
            assert run["protocol"] == comparison["protocol"]
            assert {"run_id", "seed", "versions", "git_commit", "env_spec", "policy"} <= set(run)


def test_the_task_table_agrees_with_the_cells(fixed):
    for comparison in fixed[1].comparisons:
        table = task_table(comparison)
        for report, run in zip(comparison.runs, table["runs"], strict=True):
            for column, budget in enumerate(comparison.budgets):
                pairs = [
                    (c[column], n[column])
                    for c, n in zip(run["successes"], run["judged"], strict=True)
                    if n[column]
                ]
                rate = report.cells[1, budget].rate
                expected = math.fsum(c / n for c, n in pairs) / len(pairs) if pairs else math.nan
                assert math.isclose(rate, expected) or math.isnan(rate) == math.isnan(expected)


def test_tasks_are_joined_by_their_ids(cases, store):
    cases.add(store, cases.make_run("one"), cases.often)
    turned = cases.make_run("two", task_ids=cases.TASKS[::-1])
    cases.add(store, turned, lambda place, budget, r: cases.often(2 - place, budget, r))
    (comparison,) = summarize(store, num_resamples=5).comparisons
    one, two = task_table(comparison)["runs"]
    assert one["successes"] == two["successes"]


def test_a_budget_that_a_run_lacks_is_null(cases, store):
    cases.add(store, cases.make_run("few", budgets=(2,)), cases.often)
    cases.add(store, cases.make_run("more"), cases.often)
    (comparison,) = summarize(store, num_resamples=5).comparisons
    few = task_table(comparison)["runs"][0]
    assert [row[0] for row in few["judged"]] == [None] * 3
    assert [row[1] for row in few["judged"]] == [4] * 3
