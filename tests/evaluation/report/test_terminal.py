import io
import re

import pytest
from rich.console import Console

from budget_envs.evaluation.report import print_report, summarize
from budget_envs.evaluation.report.text import BOUND_NOTE


def shown(cases, store, width=80, **settings):
    summary = summarize(store, num_resamples=5)
    return cases.terminal_text(store, summary, width)


def test_tables_fit_into_80_columns(cases, fixed):
    text = cases.terminal_text(*fixed)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_tables_with_the_widest_numbers_fit_into_80_columns(cases, store):
    run = cases.make_run("a_policy_with_a_long_name", budgets=(100, 200), num_rollouts=64, k=64)
    cases.add(store, run, lambda *_: 1, bounds=None)
    text = shown(cases, store)
    assert max(map(len, text.splitlines())) <= 80
    assert "100.0 [100.0, 100.0]  100.0 [100.0, 100.0]" in text


def test_where_there_is_no_room_the_label_gives_way_and_no_digit_is_lost(cases, store):
    tasks = tuple(f"task-{number}" for number in range(200))
    run = cases.make_run(
        "a_policy_with_a_long_name",
        budgets=(1000, 2000),
        num_rollouts=64,
        k=64,
        task_ids=tasks,
    )
    cases.add(store, run, lambda *_: 1, bounds=None)
    lines = shown(cases, store).splitlines()
    row = next(line for line in lines if line.startswith(" 2000"))
    assert row.split()[-2:] == ["200", "12800"]
    assert "100.0 [100.0, 100.0]  100.0 [100.0, 100.0]" in row
    assert max(map(len, lines)) <= 80


def test_every_interval_holds_its_estimate(cases, fixed):
    cells = re.findall(r"([\d.]+) +\[([\d.]+), ([\d.]+)\]", cases.terminal_text(*fixed))
    assert len(cells) > 20
    assert all(float(low) <= float(rate) <= float(high) for rate, low, high in cells)


def test_a_bound_comes_with_a_note_that_an_estimate_may_exceed_it(cases, store):
    cases.add(store, cases.make_run(), cases.often)
    assert BOUND_NOTE in " ".join(shown(cases, store).split())


def test_without_a_bound_there_is_no_note_about_it(cases, store):
    cases.add(store, cases.make_run(), cases.often, bounds=None)
    assert BOUND_NOTE not in " ".join(shown(cases, store).split())


def test_every_table_names_the_protocol(cases, fixed):
    titles = [line for line in cases.terminal_text(*fixed).splitlines() if "protocol" in line]
    assert len(titles) == 7
    assert sum("protocol truncate" in title for title in titles) == 2


def test_piped_output_has_no_escape_sequences(cases, fixed):
    assert "\x1b" not in cases.terminal_text(*fixed)


def test_text_of_agents_is_neither_markup_nor_control(cases, store):
    run = cases.make_run(
        "[bold]x[/bold]\x1b[31m", command="run \x1b]0;title\x07 [red]", versions={}
    )
    cases.add(store, run, cases.often)
    text = shown(cases, store, width=200)
    assert "[red]" in text
    assert r"run \x1b]0;title\x07" in text
    assert "\x1b" not in text
    assert "[bold]x[/" in text


def test_what_has_no_value_is_a_dash_beside_its_zero_episodes(cases, store):
    cases.add(store, cases.make_run(), lambda *_: "missing")
    rows = [line.split() for line in shown(cases, store).splitlines() if "alpha  " in line]
    assert rows[0] == ["1", "alpha", "–", "–", "0", "0"]


def test_an_empty_database_says_so(cases, store):
    assert shown(cases, store) == "No runs are stored in :memory:.\n"


def test_void_episodes_are_counted_beside_the_strict_rates(cases, store):
    cases.add(store, cases.make_run(), cases.sometimes_void)
    strict = shown(cases, store).partition("Strict")[2].partition("Use of")[0]
    rows = [line.split() for line in strict.splitlines() if "alpha" in line]
    assert [row[-1] for row in rows] == ["4", "4", "6"]


def test_strict_rates_are_shown_only_where_there_are_void_episodes(cases, store):
    cases.add(store, cases.make_run(), cases.often)
    assert "Strict" not in shown(cases, store)


def test_of_many_budgets_some_are_shown_and_it_says_so(cases, store):
    run = cases.make_run(budgets=tuple(range(1, 51)), protocol="truncate")
    cases.add(store, run, cases.often, bounds=None)
    assert "10 of 50 budgets are shown." in shown(cases, store)


def test_runs_of_one_command_share_its_line(cases, store):
    for policy in ("alpha", "beta"):
        cases.add(store, cases.make_run(policy, command="run both"), cases.often)
    assert shown(cases, store).count("run both") == 1


def test_a_command_that_was_not_recorded_is_named_as_missing(cases, store):
    cases.add(store, cases.make_run(command=None, versions=None, git_commit=None), cases.often)
    text = shown(cases, store)
    assert "command not recorded" in text
    assert "no versions" in text


def test_it_prints_to_standard_output_by_default(cases, store, capsys):
    cases.add(store, cases.make_run(), cases.often)
    print_report(store)
    assert "Pass@(2,T)" in capsys.readouterr().out


def test_only_the_runs_asked_for_are_printed(fixed):
    console = Console(file=io.StringIO(), width=80)
    print_report(fixed[0], ["none"], console)
    assert "other/Env-v0" in console.file.getvalue()
    assert "FrozenLake" not in console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 200])
def test_no_width_breaks_it(cases, fixed, width):
    assert "Pass@" in cases.terminal_text(*fixed, width=width)
