import pytest

from budget_envs.evaluation.report.labels import facts, group_runs, label_runs


def test_a_policy_that_occurs_once_is_called_by_its_name(cases):
    assert label_runs([cases.make_run("alpha"), cases.make_run("beta")]) == ["alpha", "beta"]


def test_equal_policies_are_told_apart_by_the_settings_that_differ(cases):
    settings = [{"temperature": t, "model": "m"} for t in (0.0, 1.0)]
    runs = [cases.make_run(run_id=f"{i}", policy_settings=s) for i, s in enumerate(settings)]
    assert label_runs(runs) == ["alpha (temperature=0.0)", "alpha (temperature=1.0)"]


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"seed": 8}, "alpha (seed 8)"),
        ({"num_rollouts": 16}, "alpha (n = 16)"),
        ({"budgets": (3,)}, "alpha (T = 3)"),
        ({"is_budget_shown": True}, "alpha (budget shown)"),
        ({"versions": {"budget_envs": "9"}}, "alpha (version 9)"),
    ],
)
def test_equal_policies_are_told_apart_by_what_else_differs(cases, changes, label):
    runs = [cases.make_run(run_id="one"), cases.make_run(run_id="two", **changes)]
    assert label_runs(runs)[1] == label


def test_the_way_a_budget_is_shown_is_in_the_label(cases):
    shown = [{"show_budget": when} for when in ("last_turn", "every_turn")]
    runs = [
        cases.make_run(run_id=f"{i}", env_kwargs=kwargs, is_budget_shown=True)
        for i, kwargs in enumerate(shown)
    ]
    assert label_runs(runs)[0] == "alpha (budget shown: last_turn)"


def test_runs_that_differ_in_nothing_shown_are_told_apart_by_their_ids(cases):
    runs = [cases.make_run(run_id=name) for name in ("abcdef012345", "123456789abc")]
    assert label_runs(runs) == ["alpha #abcdef", "alpha #123456"]


def test_a_label_holds_no_control_characters(cases):
    assert label_runs([cases.make_run("a\x1b[31m\u202eb")]) == [r"a\x1b[31m\u202eb"]


def test_a_long_setting_is_shortened(cases):
    runs = [
        cases.make_run(run_id=f"{i}", policy_settings={"prompt": f"{i}" + "x" * 500})
        for i in range(2)
    ]
    assert all(len(label) < 80 for label in label_runs(runs))


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": "truncate"},
        {"env_id": "other/Env-v0"},
        {"task_ids": ("lake-a",)},
        {"env_kwargs": {"oracle": True, "error_states": True}},
    ],
)
def test_runs_that_measure_something_else_are_not_compared(cases, changes):
    runs = [cases.make_run(run_id="one"), cases.make_run(run_id="two", **changes)]
    assert group_runs(runs) == [[runs[0]], [runs[1]]]


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": "beta"},
        {"seed": 8},
        {"budgets": (1, 2)},
        {"env_kwargs": {"oracle": True, "show_budget": "last_turn"}},
        {"env_kwargs": {}},
        {"task_ids": ("lake-c", "lake-a", "lake-b")},
    ],
)
def test_runs_on_the_same_tasks_are_compared(cases, changes):
    runs = [cases.make_run(run_id="one"), cases.make_run(**({"run_id": "two"} | changes))]
    assert group_runs(runs) == [runs]


def test_facts_say_tasks_rollouts_budget_display_and_seed(cases):
    assert facts([cases.make_run()]) == [
        "3 tasks (test split)",
        "4 rollouts of each task and budget",
        "budget hidden",
        "seed 7",
    ]


def test_facts_say_where_runs_differ(cases):
    runs = [cases.make_run(), cases.make_run(seed=8, is_budget_shown=True)]
    assert "budget hidden or budget shown" in facts(runs)
    assert "seed 7 or 8" in facts(runs)


def test_facts_name_what_counts_tokens(cases):
    assert "tokens counted by words" in facts([cases.make_run(token_counter="words")])


def test_facts_name_keywords_that_change_the_tasks(cases):
    run = cases.make_run(env_kwargs={"success_rate": 0.8, "show_budget": True})
    assert "success_rate=0.8" in facts([run])
    assert not any("show_budget" in fact for fact in facts([run]))
