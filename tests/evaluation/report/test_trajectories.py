import json
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.evaluation.report import summarize
from budget_envs.evaluation.report.embedded import embedded_json
from budget_envs.evaluation.report.trajectories import MAX_PER_CELL, MAX_TEXT, pick_trajectories
from budget_envs.evaluation.store import Store

PLENTY = 10_000_000
FIELDS = ("observation", "action", "executed", "reward", "invalid", "budget", "oracle", "injected")


def picked(store, max_bytes=PLENTY):
    return pick_trajectories(store, summarize(store, num_resamples=2), max_bytes)


def unpacked(trajectories):
    """Return the episodes with their values in place."""
    content = json.loads(trajectories.json)
    values = content["values"]

    def value(name, entry):
        return entry if name in ("reward", "invalid") or entry is None else values[entry]

    for episode in content["episodes"]:
        episode["final"] = values[episode["final"]]
        episode["error"] = None if episode["error"] is None else values[episode["error"]]
        episode["turns"] = [
            {name: value(name, entry) for name, entry in zip(FIELDS, turn, strict=True)}
            for turn in episode["turns"]
        ]
    return content["episodes"]


def keys(trajectories):
    return [(e["task"], e["budget"], e["rollout"]) for e in unpacked(trajectories)]


@pytest.fixture
def one_turn(cases, store):
    """Store one episode of one turn, and return it as the page has it."""

    def add(**changes):
        run = cases.make_run(task_ids=("lake-a",), budgets=(4,), num_rollouts=1, k=1)
        turn = cases.make_turn(1, 4, **changes)
        cases.add(store, run, lambda *_: 1, turns=(turn,))
        return unpacked(picked(store))[0]["turns"][0]

    return add


def test_episodes_come_back_as_they_were(cases, store):
    run = cases.make_run()
    cases.add(store, run, cases.sometimes_void)
    for shown in unpacked(picked(store)):
        key = run.task_ids[shown["task"]], shown["budget"], shown["rollout"]
        (stored,) = [e for e in store.episodes(run.run_id, with_turns=True) if e.key == key]
        assert shown["verdict"] == stored.verdict
        assert shown["solved"] == stored.success_turn
        assert shown["return"] == stored.episode_return
        assert (shown["boundary"], shown["error"]) == (stored.boundary, stored.error)
        assert shown["final"] == stored.final_observation
        assert [t["observation"] for t in shown["turns"]] == [t.observation for t in stored.turns]
        assert [t["reward"] for t in shown["turns"]] == [t.reward for t in stored.turns]


def test_a_turn_has_action_budget_and_oracle(one_turn):
    assert one_turn(is_invalid=True) == {
        "observation": "P _ _\n_ O G\nturn 1",
        "action": "Right",
        "executed": "Right",
        "reward": 0.0,
        "invalid": 1,
        "budget": [["turns", 4, 1, 3]],
        "oracle": {"value": 0.5, "best": 0.75, "regret": 0.25, "best_actions": ["Down", "Up"]},
        "injected": None,
    }


def test_what_a_turn_lacks_is_null(one_turn):
    turn = one_turn(executed_action=None, reward=None, budget=None, oracle=None)
    assert [turn[name] for name in ("executed", "reward", "budget", "oracle")] == [None] * 4


def test_an_injected_error_shows_its_receipt(one_turn):
    turn = one_turn(injected={"kind": "wrong_action", "intended": "Up", "value_intended": 0.5})
    assert turn["injected"] == [
        ["kind", "wrong_action"],
        ["intended", "Up"],
        ["value_intended", "0.5"],
    ]


@pytest.mark.parametrize(
    "oracle", [{}, {"value": None, "regret": "much"}, {"value": math.inf, "best_actions": "Up"}]
)
def test_an_oracle_that_says_less_is_shown_as_far_as_it_goes(one_turn, oracle):
    shown = {"value": None, "best": None, "regret": None, "best_actions": []}
    assert one_turn(oracle=oracle)["oracle"] == shown


def test_a_long_observation_is_cut_and_says_its_length(one_turn):
    turn = one_turn(observation="x" * 1_000_000)
    assert len(turn["observation"]) < MAX_TEXT + 100
    assert f"[cut here: {MAX_TEXT:,} of 1,000,000 characters shown]" in turn["observation"]


def test_up_to_four_of_each_run_task_and_budget_are_included(cases, store):
    cases.add(store, cases.make_run(num_rollouts=9), cases.often)
    trajectories = picked(store)
    assert (trajectories.num_included, trajectories.num_stored) == (9 * MAX_PER_CELL, 81)
    assert sorted(keys(trajectories)) == [
        (task, budget, rollout) for task in range(3) for budget in (1, 2, 4) for rollout in range(4)
    ]


def test_episodes_that_an_error_ended_come_right_after_the_first(cases, store):
    run = cases.make_run(task_ids=("lake-a",), budgets=(4,), num_rollouts=20)
    cases.add(store, run, lambda _, __, rollout: "void" if rollout in (7, 15) else 1)
    assert [rollout for *_, rollout in keys(picked(store))] == [0, 7, 15, 1]


def test_the_first_rollout_of_all_tasks_comes_before_the_second_of_any(cases, store):
    cases.add(store, cases.make_run(), cases.often)
    rollouts = [rollout for *_, rollout in keys(picked(store))]
    assert rollouts == sorted(rollouts)


@settings(max_examples=15)
@given(max_bytes=st.integers(0, 12_000))
def test_the_json_never_exceeds_the_space(fixed, max_bytes):
    trajectories = pick_trajectories(*fixed, max_bytes)
    assert len(trajectories.json.encode()) <= max(max_bytes, len('{"values":[],"episodes":[]}'))
    assert len(unpacked(trajectories)) == trajectories.num_included


def test_less_space_takes_the_first_of_what_more_space_takes(fixed):
    few, all_of_them = (keys(pick_trajectories(*fixed, size)) for size in (9_000, PLENTY))
    assert 0 < len(few) < len(all_of_them)
    assert few == all_of_them[: len(few)]


def test_a_task_has_as_many_in_every_run_and_budget(fixed):
    shown = [e for e in unpacked(pick_trajectories(*fixed, 9_000)) if e["comparison"] == 0]
    counts = Counter((e["task"], e["run"], e["budget"]) for e in shown)
    for task in range(3):
        assert len({counts[task, run, budget] for run in range(2) for budget in (1, 2, 4)}) == 1


def test_equal_texts_are_stored_once(cases, store):
    turns = tuple(cases.make_turn(number, 4, observation="the same") for number in (1, 2, 3))
    cases.add(store, cases.make_run(num_rollouts=4), lambda *_: 1, turns=turns)
    assert picked(store).json.count("the same") == 1


def test_the_order_of_insertion_changes_nothing(cases):
    def json_of(order):
        with Store.in_memory() as store:
            run = cases.make_run()
            cases.add(store, run, lambda *_: "missing")
            episodes = [
                cases.make_episode(task, budget, rollout, None)
                for task in run.task_ids
                for budget in run.budgets
                for rollout in range(4)
            ]
            store.add_episodes(run.run_id, episodes[::order])
            return picked(store).json

    assert json_of(1) == json_of(-1)


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists))
def test_embedded_json_means_the_same_without_a_character_that_markup_reads(value):
    text = embedded_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


@settings(max_examples=25)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_of_an_agent_leads_to_valid_utf8_json(cases, text):
    with Store.in_memory() as store:
        run = cases.make_run(task_ids=("lake-a",), budgets=(4,), num_rollouts=1, k=1)
        turn = cases.make_turn(1, 4, observation=text, action=text, injected={text: text})
        cases.add(store, run, lambda *_: 1, turns=(turn,), final_observation=text, error=text)
        trajectories = picked(store)
        trajectories.json.encode()
        assert "<" not in trajectories.json
