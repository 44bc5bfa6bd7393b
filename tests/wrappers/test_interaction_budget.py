import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.budget import Budget
from budget_envs.envs.frozen_lake import FrozenLakeEnv
from budget_envs.errors import BudgetError, EnvStateError, OptionError
from budget_envs.wrappers import ErrorStates, InteractionBudget, StepOracle


def cart_pole(**keywords):
    return InteractionBudget(gym.make("CartPole-v1").unwrapped, **keywords)


def balance(env, turns):
    """Step CartPole left and right, which keeps it up for more than ten steps."""
    return [env.step(turn % 2) for turn in range(turns)]


# How many steps.


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_budget_of_t_turns_allows_exactly_t_steps(corridor, play, limit):
    env = InteractionBudget(corridor(), budget=limit)
    seen = play(env, ["Left"] * 20)
    assert [step[2:4] for step in seen[1:]] == [(False, False)] * (limit - 1) + [(False, True)]


@pytest.mark.parametrize("limit", [1, 5, 9])
def test_any_gymnasium_environment_can_have_a_budget(limit):
    env = cart_pole(budget=limit)
    env.reset(seed=0)
    flags = [step[2:4] for step in balance(env, limit)]
    assert flags == [(False, False)] * (limit - 1) + [(False, True)]


def test_remaining_counts_down_from_t_to_zero(corridor, play):
    env = InteractionBudget(corridor(), budget=4)
    reports = [result[-1]["budget"]["turns"] for result in play(env, ["Left"] * 4)]
    assert reports == [{"limit": 4, "used": used, "remaining": 4 - used} for used in range(5)]


def test_no_limit_means_no_end_but_the_account_is_kept(corridor, play):
    env = InteractionBudget(corridor(), budget=None)
    seen = play(env, ["Left"] * 300)
    assert len(seen) == 301
    assert seen[-1][-1]["budget"] == {"binding": None, "exhausted": None}
    assert env.ledger.used["turns"] == 300


@pytest.mark.parametrize("bad", [0, -1, True, False, 1.5, "8", [8], {"turns": 0}, {"turn": 3}])
def test_what_is_no_budget_is_refused(corridor, bad):
    with pytest.raises(BudgetError):
        InteractionBudget(corridor(), budget=bad)


def test_numpy_integers_are_budgets_and_are_recorded_as_integers(corridor):
    env = InteractionBudget(corridor(), budget={"turns": np.int64(4)})
    assert type(env._saved_kwargs["budget"]["turns"]) is int


def test_an_unknown_on_exhausted_is_refused_with_the_nearest(corridor):
    with pytest.raises(OptionError, match="Did you mean 'truncate'"):
        InteractionBudget(corridor(), budget=3, on_exhausted="truncated")


# How it ends.


def test_solving_on_the_last_turn_is_success(corridor, play):
    env = InteractionBudget(corridor(), budget=3)
    _, reward, terminated, truncated, info = play(env, ["Right"] * 3)[-1]
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["is_success"], info["verdict"]) == (True, "pass")
    assert info["budget"]["exhausted"] is None
    assert "truncation_reason" not in info


def test_falling_into_a_hole_on_the_last_turn_is_the_lakes_own_ending(pond, play):
    env = InteractionBudget(pond(), budget=2)
    _, reward, terminated, truncated, info = play(env, ["Right", "Down"])[-1]
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert (info["verdict"], info["budget"]["exhausted"]) == ("fail", None)


def test_one_turn_short_of_solving_is_failure_by_budget(corridor, play):
    env = InteractionBudget(corridor(), budget=2)
    _, reward, terminated, truncated, info = play(env, ["Right"] * 2)[-1]
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["is_success"], info["verdict"]) == (False, "fail")
    assert (info["budget"]["exhausted"], info["truncation_reason"]) == ("turns", "budget")


def test_solving_early_leaves_budget_unused(corridor, play):
    info = play(InteractionBudget(corridor(), budget=9), ["Right"] * 3)[-1][-1]
    assert info["budget"]["turns"] == {"limit": 9, "used": 3, "remaining": 6}
    assert info["is_success"] is True


def test_exhaustion_can_be_a_termination(corridor, play):
    env = InteractionBudget(corridor(), budget=2, on_exhausted="terminate")
    _, _, terminated, truncated, info = play(env, ["Right"] * 2)[-1]
    assert (terminated, truncated) == (True, False)
    assert info["budget"]["exhausted"] == "turns"
    assert info["verdict"] == "fail"
    assert "truncation_reason" not in info


def test_the_reward_of_the_last_paid_step_is_the_environments_own(spy_env, play):
    assert play(InteractionBudget(spy_env(), budget=1), ["wait"])[-1][1] == 0.5


def test_an_environment_without_tasks_gets_no_verdict(spy_env, play):
    info = play(InteractionBudget(spy_env(), budget=1), ["wait"])[-1][-1]
    assert info["truncation_reason"] == "budget"
    assert not {"verdict", "is_success"} & info.keys()


def test_naming_the_task_on_reset_alone_is_having_tasks(spy_env, play):
    spy = spy_env("t1")
    env = InteractionBudget(spy, budget=2)
    env.reset()
    spy.task = {}
    env.step("wait")
    twin = InteractionBudget(spy_env(), budget=2)
    saved = env.save()
    twin.load(saved)
    for each in (env, twin):
        info = each.step("wait")[-1]
        assert (info["verdict"], info["is_success"]) == ("fail", False)


def test_a_foreign_text_environment_with_tasks_gets_a_verdict(spy_env, play):
    info = play(InteractionBudget(spy_env("t1"), budget=1), ["wait"])[-1][-1]
    assert (info["verdict"], info["is_success"]) == ("fail", False)


@pytest.mark.parametrize("limit", [1, 5])
def test_a_void_verdict_stays_void_also_on_the_last_turn(spy_env, play, limit):
    _, reward, terminated, truncated, info = play(
        InteractionBudget(spy_env("t1"), budget=limit), ["void"]
    )[-1]
    assert np.isnan(reward)
    assert (terminated, truncated) == (False, True)
    assert (info["verdict"], info["truncation_reason"]) == ("void", "void")
    assert info["budget"]["exhausted"] is None


@pytest.mark.parametrize("limit", [1, 5])
def test_another_reason_to_truncate_is_kept(spy_env, play, limit):
    info = play(InteractionBudget(spy_env(), budget=limit), ["lost"])[-1][-1]
    assert info["truncation_reason"] == "sandbox_lost"
    assert info["budget"]["exhausted"] is None


def test_a_truncation_before_the_limit_is_not_said_to_be_the_budgets(spy_env, play):
    info = play(InteractionBudget(spy_env(), budget=5), ["cut"])[-1][-1]
    assert "truncation_reason" not in info
    assert info["budget"]["exhausted"] is None


# The wrong moment.


def test_a_step_before_reset_raises(corridor):
    env = InteractionBudget(corridor(), budget=3)
    with pytest.raises(EnvStateError, match="before reset"):
        env.step("Right")


@pytest.mark.parametrize("actions", [["Right"] * 3, ["Left"] * 4])
def test_a_step_after_the_end_raises_and_costs_nothing(corridor, play, actions):
    env = InteractionBudget(corridor(), budget=4)
    play(env, actions)
    used = dict(env.ledger.used)
    for _ in range(2):
        with pytest.raises(EnvStateError, match="after the episode ended"):
            env.step("Right")
    assert env.ledger.used == used


def test_a_step_after_the_end_of_a_foreign_environment_does_not_reach_it(spy_env, play):
    spy = spy_env()
    env = InteractionBudget(spy, budget=2)
    play(env, ["wait", "wait"])
    with pytest.raises(EnvStateError):
        env.step("wait")
    assert spy.actions == ["wait", "wait"]


def test_charging_before_reset_and_after_the_end_raises(corridor, play):
    env = InteractionBudget(corridor(), budget=1)
    with pytest.raises(EnvStateError, match=r"charge\(\) was called before reset"):
        env.charge(tokens=1)
    play(env, ["Left"])
    with pytest.raises(EnvStateError, match=r"charge\(\) was called after the episode"):
        env.charge(tokens=1)


@pytest.mark.parametrize("before", [["Left"], ["Left"] * 3, ["Right"] * 3])
def test_reset_gives_a_full_budget_also_in_the_middle_of_an_episode(corridor, play, before):
    env = InteractionBudget(corridor(), budget=3)
    play(env, before)
    _, info = env.reset()
    assert info["budget"]["turns"] == {"limit": 3, "used": 0, "remaining": 3}
    assert len(play(env, ["Left"] * 9)) == 4


# Options of one reset.


@pytest.mark.parametrize("override", [2, {"turns": 2}, Budget(turns=2)])
def test_a_reset_can_name_the_budget_of_its_episode_only(corridor, play, override):
    env = InteractionBudget(corridor(), budget=5)
    assert len(play(env, ["Left"] * 9, options={"budget": override})) == 3
    assert len(play(env, ["Left"] * 9)) == 6


def test_an_override_keeps_the_limits_it_does_not_name(corridor):
    env = InteractionBudget(corridor(), budget={"turns": 5, "tokens": 100})
    _, info = env.reset(seed=0, options={"budget": {"turns": 2}})
    assert info["budget"]["tokens"]["limit"] == 100
    assert info["budget"]["turns"]["limit"] == 2


def test_an_override_can_lift_a_limit(corridor):
    env = InteractionBudget(corridor(), budget=5)
    _, info = env.reset(seed=0, options={"budget": {"turns": None}})
    assert "turns" not in info["budget"]


def test_the_option_is_taken_out_and_the_callers_options_stay_as_they_were(spy_env):
    spy = spy_env()
    env = InteractionBudget(spy, budget=5)
    options = {"budget": {"turns": 2}, "task": "x"}
    before = copy.deepcopy(options)
    env.reset(options=options)
    env.reset(options={"other": 1})
    env.reset()
    assert options == before
    assert spy.options == [{"task": "x"}, {"other": 1}, None]


@pytest.mark.parametrize("bad", [0, True, 2.5, "3", {"turns": -1}, {"steps": 3}, {"turns": "3"}])
def test_a_bad_override_is_refused_before_anything_is_reset(spy_env, bad):
    spy = spy_env()
    env = InteractionBudget(spy, budget=5)
    env.reset()
    env.step("wait")
    with pytest.raises(BudgetError):
        env.reset(options={"budget": bad})
    assert len(spy.options) == 1
    assert env.step("wait")[-1]["budget"]["turns"]["used"] == 2


# Limits inside.


@pytest.mark.parametrize(("inside", "outside"), [(3, 8), (8, 3), (3, None), (3, 3)])
def test_the_limit_shown_and_kept_is_the_smaller_one_with_a_time_limit_inside(inside, outside):
    env = InteractionBudget(TimeLimit(gym.make("CartPole-v1").unwrapped, inside), budget=outside)
    _, info = env.reset(seed=0)
    assert info["budget"]["turns"]["limit"] == 3
    *_, last = balance(env, 3)
    assert last[2:4] == (False, True)
    assert last[4]["budget"]["exhausted"] == "turns"
    assert last[4]["truncation_reason"] == "budget"


@pytest.mark.parametrize(("inside", "outside"), [(3, 8), (8, 3)])
def test_the_smaller_of_two_budgets_binds(corridor, play, inside, outside):
    env = InteractionBudget(InteractionBudget(corridor(), budget=inside), budget=outside)
    seen = play(env, ["Left"] * 9)
    assert [r[-1]["budget"]["turns"]["remaining"] for r in seen] == [3, 2, 1, 0]
    assert seen[-1][-1]["budget"]["exhausted"] == "turns"
    assert seen[-1][2:4] == (False, True)


def test_an_inner_budget_that_terminates_is_still_seen_as_exhaustion(corridor, play):
    inner = InteractionBudget(corridor(), budget=2, on_exhausted="terminate")
    info = play(InteractionBudget(inner, budget=5), ["Left"] * 5)[-1][-1]
    assert info["budget"]["exhausted"] == "turns"


def test_solving_on_the_last_turn_of_both_budgets_is_success(corridor, play):
    env = InteractionBudget(InteractionBudget(corridor(), budget=3), budget=3)
    last = play(env, ["Right"] * 3)[-1]
    assert last[1:4] == (1.0, True, False)
    assert last[4]["budget"]["exhausted"] is None


def test_a_charge_reaches_the_budget_inside(corridor):
    inner = InteractionBudget(corridor(), budget={"tokens": 10})
    env = InteractionBudget(inner, budget=5)
    _, info = env.reset(seed=0)
    assert info["budget"]["tokens"]["limit"] == 10
    env.charge(tokens=7)
    info = env.step("Left")[-1]
    assert inner.ledger.used["tokens"] == env.ledger.used["tokens"] == 7
    assert info["budget"]["tokens"]["remaining"] == 3


def test_an_action_that_is_counted_beforehand_is_counted_once_in_both_budgets(corridor):
    inner = InteractionBudget(corridor(), budget={"tokens": 90})
    env = InteractionBudget(inner, budget=5)
    env.reset(seed=0)
    env.count_action("the agent's own words")
    env.step("Left")
    assert inner.ledger.used["tokens"] == env.ledger.used["tokens"] == 21


def test_an_outer_termination_is_no_truncation_for_the_inner_reason(corridor, play):
    inner = InteractionBudget(corridor(), budget=2)
    env = InteractionBudget(inner, budget=5, on_exhausted="terminate")
    _, _, terminated, truncated, info = play(env, ["Left"] * 2)[-1]
    assert (terminated, truncated) == (True, False)
    assert "truncation_reason" not in info


def test_two_budgets_that_count_tokens_differently_are_refused(corridor):
    inner = InteractionBudget(corridor(), budget={"tokens": 10}, token_counter="words")
    with pytest.raises(OptionError, match="same token_counter"):
        InteractionBudget(inner, budget={"tokens": 10})


# Tokens.


@pytest.mark.parametrize(
    ("counter", "text", "tokens"),
    [("characters", "go två", 6), ("words", " go  två\n", 2), ("bytes", "två", 4)],
)
def test_a_named_counter_counts_the_actions_tokens(corridor, counter, text, tokens):
    env = InteractionBudget(corridor(), budget={"tokens": 100}, token_counter=counter)
    _, info = env.reset(seed=0)
    assert info["budget"]["tokens"]["counter"] == counter
    report = env.step(text)[-1]["budget"]["tokens"]
    assert report == {"limit": 100, "used": tokens, "remaining": 100 - tokens, "counter": counter}


def test_charged_tokens_take_the_counters_place_for_one_step(corridor):
    env = InteractionBudget(corridor(), budget={"tokens": 100})
    env.reset(seed=0)
    env.charge(tokens=50)
    assert env.step("Left")[-1]["budget"]["tokens"] == {
        "limit": 100,
        "used": 50,
        "remaining": 50,
        "counter": "charged",
    }
    report = env.step("Left")[-1]["budget"]["tokens"]
    assert (report["used"], report["counter"]) == (54, "characters")


def test_tokens_are_counted_where_only_turns_are_limited(corridor):
    env = InteractionBudget(corridor(), budget=5)
    env.reset(seed=0)
    env.step("Left")
    env.charge(tokens=7)
    env.step("Left")
    assert env.ledger.used["tokens"] == 11


def test_charging_zero_tokens_is_charging(corridor):
    env = InteractionBudget(corridor(), budget={"tokens": 100})
    env.reset(seed=0)
    env.charge(tokens=0)
    assert env.step("Left")[-1]["budget"]["tokens"]["used"] == 0


@pytest.mark.parametrize("charged", [True, False])
def test_what_exactly_fits_is_carried_out_and_ends_the_episode(spy_env, charged):
    spy = spy_env()
    env = InteractionBudget(spy, budget={"turns": 9, "tokens": 10})
    env.reset()
    env.step("four")
    if charged:
        env.charge(tokens=6)
    observation, _, terminated, truncated, info = env.step("sixsix")
    assert spy.actions == ["four", "sixsix"]
    assert observation == "saw sixsix"
    assert (terminated, truncated) == (False, True)
    assert info["budget"]["exhausted"] == "tokens"
    assert info["budget"]["tokens"]["remaining"] == 0
    assert "action_executed" not in info


@pytest.mark.parametrize("charged", [True, False])
def test_one_token_over_is_not_carried_out(spy_env, charged):
    spy = spy_env("t1")
    env = InteractionBudget(spy, budget={"turns": 9, "tokens": 10})
    env.reset()
    env.step("four")
    if charged:
        env.charge(tokens=7)
    observation, reward, terminated, truncated, info = env.step("seven__")
    assert spy.actions == ["four"]
    assert "budget of 10 tokens was exceeded (11 used)" in observation
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["action_executed"] is False
    assert info["executed_action"] == ""
    assert info["budget"]["exhausted"] == "tokens"
    assert info["budget"]["tokens"]["remaining"] == 0
    assert info["budget"]["turns"]["used"] == 1
    assert (info["verdict"], info["truncation_reason"]) == ("fail", "budget")


def test_a_refused_step_of_a_text_environment_keeps_its_info(corridor):
    env = InteractionBudget(corridor(), budget={"tokens": 15})
    env.reset(seed=0)
    before = env.step("nonsense")[-1]
    assert before["invalid_action"] is True
    assert env.step("Right, Right")[-1]["invalid_action"] is False
    env.reset(seed=0)
    before = env.step("Right")[-1]
    after = env.step("one word too many")[-1]
    assert (before["executed_action"], after["executed_action"]) == ("Right", "")
    assert {k: after[k] for k in ("task_id", "turn", "state_key")} == {
        k: before[k] for k in ("task_id", "turn", "state_key")
    }


def test_an_overrun_in_a_foreign_environment_repeats_the_last_observation():
    env = cart_pole(budget={"seconds": 10})
    env.reset(seed=0)
    seen, *_ = env.step(1)
    env.charge(seconds=10.5)
    again, reward, terminated, truncated, info = env.step(1)
    assert np.array_equal(again, seen)
    assert not np.shares_memory(again, seen)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["budget"]["exhausted"] == "seconds"


def test_an_overrun_can_be_a_termination(spy_env):
    env = InteractionBudget(spy_env(), budget={"tokens": 3}, on_exhausted="terminate")
    env.reset()
    assert env.step("long action")[2:4] == (True, False)


def test_actions_that_are_not_text_count_no_tokens():
    env = cart_pole(budget={"turns": 9, "tokens": 5})
    env.reset(seed=0)
    balance(env, 3)
    assert env.ledger.used["tokens"] == 0


# Calls.


def test_a_turn_with_many_calls_costs_one_turn(spy_env):
    env = InteractionBudget(spy_env(), budget={"turns": 5, "calls": 20})
    env.reset()
    info = env.step("calls 6")[-1]
    assert info["budget"]["turns"]["used"] == 1
    assert info["budget"]["calls"]["used"] == 6
    info = env.step("wait")[-1]
    assert info["budget"]["calls"]["used"] == 7


@pytest.mark.parametrize("budget", [5, {"turns": 5, "calls": 20}])
def test_no_call_is_a_number_of_calls(spy_env, budget):
    env = InteractionBudget(spy_env(), budget=budget)
    env.reset()
    env.step("calls 0")
    assert env.ledger.used["calls"] == 0


def test_the_environment_is_told_how_many_calls_it_may_make(spy_env):
    spy = spy_env(calls_allowed=None)
    env = InteractionBudget(spy, budget={"calls": 5})
    env.reset()
    env.step("calls 3")
    env.step("calls 2")
    assert spy.allowed == [5, 2]
    assert env.ledger.remaining("calls") == 0


def test_without_a_limit_of_calls_the_environment_is_told_none(spy_env):
    spy = spy_env(calls_allowed=7)
    env = InteractionBudget(spy, budget=5)
    env.reset()
    env.step("wait")
    assert spy.allowed == [None]


def test_an_environment_that_does_not_ask_is_told_nothing(spy_env):
    spy = spy_env()
    env = InteractionBudget(spy, budget={"calls": 5})
    env.reset()
    env.step("wait")
    assert not hasattr(spy, "calls_allowed")


def test_more_calls_than_allowed_end_the_episode_with_nothing_left(spy_env):
    env = InteractionBudget(spy_env(), budget={"calls": 4})
    env.reset()
    info = env.step("calls 9")[-1]
    assert info["budget"]["calls"] == {"limit": 4, "used": 9, "remaining": 0}
    assert info["budget"]["exhausted"] == "calls"


@pytest.mark.parametrize("bad", ["calls -1", "calls True", "calls 1.5", "calls '2'"])
def test_what_is_no_number_of_calls_is_an_error_of_the_environment(spy_env, bad):
    env = InteractionBudget(spy_env(), budget={"calls": 4})
    env.reset()
    with pytest.raises(OptionError, match="number of calls"):
        env.step(bad)


# Seconds, cost, and several at once.


@pytest.mark.parametrize("resource", ["seconds", "cost"])
def test_measured_resources_are_charged_in_fractions_and_always_floats(corridor, resource):
    env = InteractionBudget(corridor(), budget={resource: 3})
    _, info = env.reset(seed=0)
    report = info["budget"][resource]
    assert (type(report["used"]), type(report["remaining"])) == (float, float)
    env.charge(**{resource: 1.25})
    report = env.step("Left")[-1]["budget"][resource]
    assert report == {"limit": 3, "used": 1.25, "remaining": 1.75}


def test_stepping_costs_no_seconds_and_no_money(corridor, play):
    env = InteractionBudget(corridor(), budget={"seconds": 1, "cost": 1})
    assert len(play(env, ["Left"] * 50)) == 51
    assert (env.ledger.used["seconds"], env.ledger.used["cost"]) == (0, 0)


def test_every_limited_resource_is_reported_and_the_scarcest_one_named(corridor):
    env = InteractionBudget(corridor(), budget={"turns": 4, "tokens": 100})
    _, info = env.reset(seed=0)
    assert set(info["budget"]) == {"turns", "tokens", "binding", "exhausted"}
    env.charge(tokens=80)
    assert env.step("Left")[-1]["budget"]["binding"] == "tokens"
    env.charge(tokens=0)
    env.step("Left")
    env.charge(tokens=0)
    info = env.step("Left")[-1]
    assert info["budget"]["binding"] == "tokens"
    assert info["budget"]["turns"]["remaining"] == 1


@pytest.mark.parametrize(
    "amounts", [{"token": 3}, {"tokens": -1}, {"tokens": 1.5}, {"tokens": True}]
)
def test_a_bad_charge_is_refused_and_charges_nothing(corridor, amounts):
    env = InteractionBudget(corridor(), budget={"tokens": 9})
    env.reset(seed=0)
    with pytest.raises(BudgetError):
        env.charge(cost=2, **amounts)
    assert env.ledger.used["cost"] == 0
    assert env.step("Left")[-1]["budget"]["tokens"]["counter"] == "characters"


def test_charged_turns_count_like_steps(corridor):
    env = InteractionBudget(corridor(), budget=4)
    env.reset(seed=0)
    env.charge(turns=2)
    assert env.step("Left")[3] is False
    assert env.step("Left")[3] is True


# Infos.


@pytest.mark.parametrize("budget", [3, {"turns": 3, "tokens": 99}])
def test_the_inner_infos_are_left_as_they_were(spy_env, play, budget):
    spy = spy_env("t1")
    play(InteractionBudget(spy, budget=budget), ["wait"] * 3)
    env = InteractionBudget(spy, budget={"tokens": 4})
    env.reset()
    env.step("too long")
    assert all(repr(info) == before for info, before in spy.infos)


@pytest.mark.parametrize("budget", [4, {"turns": 4, "tokens": 99}])
def test_no_two_reports_share_an_object(corridor, play, budget):
    reports = [
        r[-1]["budget"] for r in play(InteractionBudget(corridor(), budget=budget), ["Up"] * 4)
    ]
    objects = [id(x) for report in reports for x in (report, report["turns"])]
    assert len(set(objects)) == len(objects)


def test_changing_a_report_changes_no_later_one(corridor):
    env = InteractionBudget(corridor(), budget=5)
    _, info = env.reset(seed=0)
    info["budget"]["turns"]["limit"] = 99
    info["budget"].clear()
    assert env.step("Up")[-1]["budget"]["turns"]["limit"] == 5


@given(
    limit=st.integers(1, 9),
    actions=st.lists(st.sampled_from(["Left", "Right", "Up", "x"]), max_size=12),
)
def test_the_short_path_and_the_general_one_agree(corridor_env, limit, actions):
    """A limit on tokens that is never reached changes nothing but the report on tokens."""
    short = InteractionBudget(corridor_env(), budget=limit)
    general = InteractionBudget(corridor_env(), budget={"turns": limit, "tokens": 10**6})
    results = [short.reset(seed=0), general.reset(seed=0)]
    for action in [None, *actions]:
        if action is not None:
            results = [short.step(action), general.step(action)]
        a, b = results
        tokens = b[-1]["budget"].pop("tokens")
        assert a == b
        assert tokens["used"] == short.ledger.used["tokens"]
        if len(a) == 5 and (a[2] or a[3]):
            break
    assert short.ledger.used == general.ledger.used


@given(
    limits=st.fixed_dictionaries(
        {},
        optional={
            "turns": st.integers(1, 6),
            "tokens": st.integers(1, 30),
            "calls": st.integers(1, 9),
        },
    ),
    steps=st.lists(
        st.tuples(st.integers(0, 8), st.one_of(st.none(), st.integers(0, 12))), max_size=15
    ),
)
def test_accounts_never_shrink_never_go_below_zero_and_stop_what_is_over(spy_class, limits, steps):
    spy = spy_class()
    env = InteractionBudget(spy, budget=limits)
    env.reset(seed=0)
    before = dict(env.ledger.used)
    for calls, tokens in steps:
        if tokens is not None:
            env.charge(tokens=tokens)
        over = env.ledger.overrun is not None
        executed = len(spy.actions)
        _, _, terminated, truncated, info = env.step(f"calls {calls}")
        after = dict(env.ledger.used)
        assert all(after[name] >= before[name] for name in after)
        report = {k: v for k, v in info["budget"].items() if k in limits}
        assert report.keys() == limits.keys()
        for name, amounts in report.items():
            assert amounts["remaining"] == max(0, limits[name] - after[name])
        if over:
            assert len(spy.actions) == executed
        spent = any(after[name] >= limit for name, limit in limits.items())
        assert truncated == spent
        assert (info["budget"]["exhausted"] is not None) == spent
        before = after
        if terminated or truncated:
            break
    assert len(spy.actions) <= limits.get("turns", 99)


# Beside Gymnasium's own wrappers.


def test_episode_statistics_outside_the_budget_see_its_end(corridor, play):
    env = RecordEpisodeStatistics(InteractionBudget(corridor(), budget=2))
    info = play(env, ["Right"] * 9)[-1][-1]
    assert (info["episode"]["r"], info["episode"]["l"]) == (0.0, 2)


def test_episode_statistics_inside_the_budget_see_its_end_too(corridor, play):
    recorder = RecordEpisodeStatistics(corridor())
    env = InteractionBudget(recorder, budget=2)
    for _ in range(2):
        info = play(env, ["Right"] * 9)[-1][-1]
        assert (info["episode"]["r"], info["episode"]["l"]) == (0.0, 2)
    assert list(recorder.length_queue) == [2, 2]
    assert recorder.episode_count == 2


def test_episode_statistics_inside_are_written_once_when_the_environment_ended(corridor, play):
    recorder = RecordEpisodeStatistics(corridor())
    info = play(InteractionBudget(recorder, budget=3), ["Right"] * 3)[-1][-1]
    assert (info["episode"]["r"], info["episode"]["l"]) == (1.0, 3)
    assert list(recorder.return_queue) == [1.0]


def test_episode_statistics_inside_are_written_once_when_a_limit_ended_the_episode_too(
    corridor, play
):
    recorder = RecordEpisodeStatistics(TimeLimit(corridor(), 2))
    info = play(InteractionBudget(recorder, budget=2), ["Left"] * 2)[-1][-1]
    assert info["budget"]["exhausted"] == "turns"
    assert info["episode"]["l"] == 2
    assert list(recorder.length_queue) == [2]


def test_a_budget_adds_no_class_level_state(corridor):
    before = copy.deepcopy(type(corridor()).metadata)
    InteractionBudget(corridor(), budget=2).reset(seed=0)
    assert type(corridor()).metadata == before


def test_a_turn_charged_before_the_step_is_not_spent_twice():
    env = InteractionBudget(FrozenLakeEnv(map_name="4x4"), budget=2)
    env.reset(seed=0)
    env.charge(turns=2)
    _, reward, terminated, truncated, info = env.step("Down")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["action_executed"] is False
    assert info["budget"]["turns"] == {"limit": 2, "used": 2, "remaining": 0}
    assert env.unwrapped.position == 0


def test_the_reset_option_none_lifts_every_limit():
    env = InteractionBudget(FrozenLakeEnv(map_name="4x4"), budget=2)
    env.reset(seed=0, options={"budget": None})
    assert [env.step("nothing")[3] for _ in range(5)] == [False] * 5


@pytest.mark.parametrize("layer", [StepOracle, ErrorStates])
def test_a_budget_outside_a_layer_that_reads_it_is_refused(layer):
    inner = layer(FrozenLakeEnv(), oracle="budget_envs.oracles.frozen_lake:FrozenLakeOracle")
    with pytest.raises(OptionError, match=f"put the budget inside {layer.__name__}"):
        InteractionBudget(inner, budget=4)
