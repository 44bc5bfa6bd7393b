import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import DataError, OptionError
from budget_envs.evaluation.cell_intervals import pass_kt_intervals
from budget_envs.evaluation.measures import (
    budget_use,
    success_counts,
    turn_quality,
    upper_bounds,
)
from budget_envs.evaluation.pass_kt import estimate
from budget_envs.evaluation.report import as_plain, summarize
from budget_envs.evaluation.report.summary import _pass_bounds, _wilson


def only(store, **settings):
    (report,) = summarize(store, **({"num_resamples": 50} | settings)).runs
    return report


def surprises(store):
    """Return the notes but for the one on intervals, which tasks that agree always bring."""
    return [note for note in only(store).notes if "no width" not in note]


def notes(store):
    return " ".join(only(store).notes)


def test_cells_are_the_estimates_and_intervals_of_the_episodes(cases, store):
    run = cases.make_run()
    episodes = cases.add(store, run, cases.often)
    report = only(store, seed=3)
    counts = success_counts(run, episodes)
    expected = pass_kt_intervals(counts, report.ks, seed=3, num_resamples=50)
    for place, cell in zip(np.ndindex(expected.estimate.shape), report.cells.values(), strict=True):
        assert (cell.rate, cell.low, cell.high) == (
            expected.estimate[place],
            expected.low[place],
            expected.high[place],
        )


def test_cells_say_on_how_many_tasks_and_episodes_they_stand(cases, store):
    run = cases.make_run()
    episodes = cases.add(store, run, cases.sometimes_void)
    report = only(store)
    table = estimate(success_counts(run, episodes), report.ks).conditional
    sizes = [(cell.num_tasks, cell.num_episodes) for cell in report.cells.values()]
    expected = zip(table.num_tasks.ravel(), table.num_episodes.ravel(), strict=True)
    assert sizes == list(expected)
    assert report.cells[4, 4].num_tasks < report.cells[1, 4].num_tasks


def test_budget_use_and_turn_quality_are_those_of_the_measures(cases, store):
    run = cases.make_run()
    cases.add(store, run, cases.often)
    report, episodes = only(store, seed=3), store.episodes(run.run_id)
    settings = {"seed": 3, "num_resamples": 50}
    assert repr(report.use) == repr(tuple(budget_use(run, episodes, **settings)))
    assert repr(report.quality) == repr(tuple(turn_quality(run, episodes, **settings)))


def test_the_bounds_have_the_resamples_of_the_report(cases, store):
    run = cases.make_run()
    episodes = cases.add(store, run, cases.often)
    (comparison,) = summarize(store, seed=3, num_resamples=7).comparisons
    assert dict(comparison.bounds) == upper_bounds(run, episodes, seed=3, num_resamples=7)


@pytest.mark.parametrize(
    ("n", "k", "ks"), [(1, 1, (1,)), (4, 2, (1, 2, 4)), (16, 6, (1, 2, 4, 6, 8, 16))]
)
def test_shown_ks_are_powers_of_two_and_the_runs_own(cases, store, n, k, ks):
    cases.add(store, cases.make_run(num_rollouts=n, k=k), cases.often)
    assert only(store).ks == ks


def test_void_episodes_leave_the_rate_and_lower_the_strict_one(cases, store):
    cases.add(store, cases.make_run(), cases.sometimes_void)
    cell = only(store).cells[1, 4]
    assert cell.strict < cell.rate
    assert (cell.num_tasks, cell.num_episodes) == (2, 6)


def test_without_void_episodes_both_rates_are_equal(cases, store):
    cases.add(store, cases.make_run(), cases.often)
    for cell in only(store).cells.values():
        assert (cell.strict, cell.strict_low, cell.strict_high) == (cell.rate, cell.low, cell.high)


def test_void_episodes_are_counted_and_tasks_with_no_others_are_named(cases, store):
    cases.add(store, cases.make_run(), cases.sometimes_void)
    report = only(store)
    assert report.num_void == report.endings["void: env"] == 14
    assert [report.voids(budget) for budget in (1, 2, 4)] == [4, 4, 6]
    assert "14 of 36 episodes are void" in report.notes[0]
    assert "Tasks without any other: 1." in report.notes[0]
    assert len(report.counts.task_ids) == 3


def test_a_run_without_episodes_has_no_rate_rather_than_a_rate_of_zero(cases, store):
    cases.add(store, cases.make_run(), lambda *_: "missing")
    report = only(store)
    assert all(math.isnan(cell.rate) and cell.num_episodes == 0 for cell in report.cells.values())
    assert report.notes == ("no episode is stored yet, of 36 requested.",)


@pytest.mark.parametrize("protocol", ["truncate", "rerun"])
def test_a_run_without_episodes_can_be_summarized_under_both_protocols(cases, store, protocol):
    cases.add(store, cases.make_run(protocol=protocol), lambda *_: "missing")
    assert set(only(store).cells) == {(k, T) for k in (1, 2, 4) for T in (1, 2, 4)}


def test_missing_episodes_are_failures_and_noted(cases, store):
    cases.add(store, cases.make_run(), cases.half_missing)
    report = only(store)
    assert report.cells[1, 4].rate == pytest.approx(0.5)
    assert "18 of 36 requested episodes are missing" in report.notes[0]


def test_a_finished_run_without_surprises_has_no_notes(cases, store):
    cases.add(store, cases.make_run(), cases.often)
    assert surprises(store) == []


def test_episodes_solved_at_reset_are_noted_and_in_no_rate(cases, store):
    run = cases.make_run()
    cases.add(store, run, lambda place, *_: 0 if place == 0 else None)
    report = only(store)
    assert report.cells[1, 4].rate == 0.0
    assert report.cells[1, 4].num_tasks == 2
    assert "12 episodes were solved at reset" in notes(store)
    assert report.endings["solved at reset"] == 12


def test_a_run_in_which_no_error_was_injected_says_so(cases, store):
    run = cases.make_run(env_kwargs={"error_states": {"rate": 0.1}})
    cases.add(store, run, cases.often)
    assert "none landed" in notes(store)


def test_a_run_in_which_an_error_was_injected_does_not(cases, store):
    run = cases.make_run(env_kwargs={"error_states": {"rate": 0.1}})
    cases.add(store, run, cases.often, num_injected=1)
    assert surprises(store) == []


def test_success_where_the_oracle_says_impossible_is_noted(cases, store):
    bounds = dict.fromkeys(cases.TASKS, (0.0, 1.0, 1.0))
    cases.add(store, cases.make_run(), cases.often, bounds=bounds)
    assert "at T = 1: the oracle or the verifier is wrong" in notes(store)


def test_far_too_many_successes_for_the_bound_are_noted(cases, store):
    bounds = dict.fromkeys(cases.TASKS, (0.1, 0.1, 0.1))
    run = cases.make_run(num_rollouts=32)
    cases.add(store, run, lambda place, budget, _: 1 if budget == 4 else None, bounds=bounds)
    assert "at T = 4:" in notes(store)


def test_a_few_lucky_episodes_are_not(cases, store):
    bounds = dict.fromkeys(cases.TASKS, (0.5, 0.5, 0.5))
    cases.add(store, cases.make_run(num_rollouts=2, k=1), lambda *_: 1, bounds=bounds)
    assert surprises(store) == []


def test_the_bound_of_one_attempt_is_the_structural_bound(fixed):
    for comparison in fixed[1].comparisons:
        for budget, bound in comparison.bounds.items():
            assert comparison.pass_bounds[1, budget] == pytest.approx(bound.estimate, abs=1e-12)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=6),
    st.lists(st.integers(1, 20), min_size=1, unique=True),
)
def test_the_bound_of_k_attempts_is_the_chance_that_not_all_of_them_fail(bounds, ks):
    by_task = {str(place): {3: bound} for place, bound in enumerate(bounds)}
    for (k, _), bound in _pass_bounds(by_task, ks, [3]).items():
        failing = [np.prod([1 - b] * k) for b in bounds]
        assert bound == pytest.approx(1 - np.mean(failing), abs=1e-12)
        assert bound >= np.mean(bounds) - 1e-12


def test_a_bound_of_zero_or_one_stays_so_for_any_number_of_attempts():
    assert _pass_bounds({"a": {2: 0.0}, "b": {2: 1.0}}, [1, 64], [2]) == {(1, 2): 0.5, (64, 2): 0.5}


def test_without_an_oracle_there_are_no_bounds(cases, store):
    cases.add(store, cases.make_run(), cases.often, bounds=None)
    (comparison,) = summarize(store, num_resamples=50).comparisons
    assert (comparison.bounds, comparison.pass_bounds) == ({}, {})


def test_a_run_without_an_oracle_is_held_against_the_bound_of_another(cases, store):
    cases.add(store, cases.make_run("blind", env_kwargs={}), cases.often, bounds=None)
    cases.add(store, cases.make_run("seeing"), cases.often)
    (comparison,) = summarize(store, num_resamples=50).comparisons
    assert sorted(comparison.bounds) == [1, 2, 4]


def test_the_bound_of_more_tasks_is_preferred(cases, store):
    def first_task_only(place, *_):
        return "missing" if place else None

    cases.add(store, cases.make_run("begun"), first_task_only)
    cases.add(store, cases.make_run("done"), cases.often)
    (comparison,) = summarize(store, num_resamples=50).comparisons
    assert comparison.bounds[1].num_tasks == 3


def test_runs_may_differ_in_their_budgets(cases, store):
    cases.add(store, cases.make_run("few", budgets=(2,)), cases.often)
    cases.add(store, cases.make_run("more"), cases.often)
    (comparison,) = summarize(store, num_resamples=50).comparisons
    assert comparison.budgets == (1, 2, 4)
    assert [report.label for report in comparison.runs_at(4)] == ["more"]


def test_endings_count_every_episode_once(fixed):
    for report in fixed[1].runs:
        assert sum(report.endings.values()) == report.num_stored


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({"boundary": None}, "failed"),
        ({"boundary": "budget"}, "out of budget"),
        ({"boundary": "agent", "error": "ValueError: no"}, "agent error"),
        ({"boundary": "provider", "verdict": "void", "episode_return": None}, "void: provider"),
    ],
)
def test_endings_name_what_ended_an_episode(cases, store, changes, ending):
    cases.add(store, cases.make_run(), lambda *_: None, **changes)
    assert only(store).endings == {ending: 36}


def test_runs_are_chosen_by_the_first_digits_of_their_ids(fixed):
    summary = summarize(fixed[0], ["beta-01"], num_resamples=50)
    assert [report.run.policy for report in summary.runs] == ["beta"]


def test_a_run_named_twice_is_shown_once(fixed):
    summary = summarize(fixed[0], ["beta", "beta-0"], num_resamples=50)
    assert len(summary.runs) == 1


def test_an_unknown_run_is_an_error_that_names_the_known_ones(fixed):
    with pytest.raises(DataError, match="no run 'gamma'; it holds alpha"):
        summarize(fixed[0], ["gamma"])


def test_an_empty_database_has_nothing_to_compare(store):
    summary = summarize(store)
    assert (summary.comparisons, summary.runs) == ((), ())


@pytest.mark.parametrize("settings", [{"seed": -1}, {"num_resamples": 0}, {"num_resamples": True}])
def test_settings_of_the_bootstrap_are_checked(fixed, settings):
    with pytest.raises(OptionError):
        summarize(fixed[0], **settings)


def test_the_seed_changes_intervals_and_nothing_else(fixed):
    one, other = (as_plain(summarize(fixed[0], seed=seed, num_resamples=50)) for seed in (0, 1))
    assert one != other
    for left, right in zip(one["comparisons"], other["comparisons"], strict=True):
        for ours, theirs in zip(left["runs"], right["runs"], strict=True):
            rates = [[cell["rate"] for cell in run["cells"]] for run in (ours, theirs)]
            assert rates[0] == rates[1]


def test_the_order_in_which_episodes_finished_changes_nothing(cases):
    def plain(order):
        with cases.Store.in_memory() as shuffled:
            run = cases.make_run()
            episodes = cases.add(shuffled, run, lambda *_: "missing") or [
                cases.make_episode(task, budget, rollout, cases.often(place, budget, rollout))
                for place, task in enumerate(run.task_ids)
                for budget in run.budgets
                for rollout in range(4)
            ]
            shuffled.add_episodes(run.run_id, episodes[::order])
            return as_plain(summarize(shuffled, num_resamples=50))

    assert plain(1) == plain(-1)


def test_a_report_cannot_be_changed(fixed):
    with pytest.raises(dataclasses.FrozenInstanceError):
        fixed[1].seed = 1


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, (1,)), (2, (1, 2)), (10, tuple(range(1, 11)))],
)
def test_up_to_ten_budgets_are_all_in_the_tables(cases, store, count, expected):
    budgets = tuple(range(1, count + 1))
    cases.add(store, cases.make_run(budgets=budgets, num_rollouts=1, k=1), lambda *_: "missing")
    (comparison,) = summarize(store, num_resamples=5).comparisons
    assert comparison.headline_budgets == expected


def test_of_many_budgets_ten_are_in_the_tables_with_both_ends(cases, store):
    run = cases.make_run(budgets=tuple(range(3, 53)), num_rollouts=1, k=1, protocol="truncate")
    cases.add(store, run, lambda *_: "missing")
    (comparison,) = summarize(store, num_resamples=5).comparisons
    chosen = comparison.headline_budgets
    assert (len(chosen), chosen[0], chosen[-1]) == (10, 3, 52)


@pytest.mark.parametrize(
    ("rate", "num_tasks", "expected"),
    [(0.0, 10, (0.0, 0.2775)), (1.0, 10, (0.7225, 1.0)), (0.5, 100, (0.4038, 0.5962))],
)
def test_wilson_intervals_are_those_of_the_tables(rate, num_tasks, expected):
    assert _wilson(rate, num_tasks) == pytest.approx(expected, abs=1e-4)


def test_where_all_tasks_agree_the_missing_width_is_explained(cases, store):
    cases.add(store, cases.make_run(), lambda *_: None)
    (note,) = [note for note in only(store).notes if "no width" in note]
    size = only(store).cells[1, 4].num_tasks
    assert f"[0.0, {100 * _wilson(0.0, size)[1]:.1f}] at (K,T) = (1," in note


def test_where_tasks_differ_nothing_is_said_about_width(cases, store):
    cases.add(store, cases.make_run(), cases.often)
    widths = {cell.high - cell.low for (k, _), cell in only(store).cells.items() if k in (1, 4)}
    assert ("no width" in notes(store)) == (0.0 in widths)
