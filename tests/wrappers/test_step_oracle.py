import math

import gymnasium as gym
import pytest

from budget_envs.errors import EnvStateError, OptionError, UnsupportedError
from budget_envs.wrappers import ErrorStates, InteractionBudget, StepOracle

VALUES = {"Left": 0.25, "Right": 0.75, "Up": 0.75 - 1e-15}


class ByValue:
    """Cannot list the actions."""

    exact = False

    def __init__(self):
        self.asked = []

    def value(self, env, action):
        self.asked.append((env.unwrapped.turn, action))
        return VALUES.get(action, 0.5)

    def upper_bound(self, task, turns):
        return 1.0


class ByList(ByValue):
    def values(self, env):
        return dict(VALUES)


class InOneGo(ByValue):
    def judge(self, env, action):
        self.asked.append((env.unwrapped.turn, action))
        return VALUES.get(action, 0.5), 0.75, ("Right", "Up")


class Turns(ByValue):
    """The value is the share of turns that remain, as seen from inside the oracle wrapper."""

    def value(self, env, action):
        return env.ledger.remaining("turns") / 10


class WrongLeft(ByList):
    def error_action(self, env, action, key):
        return "Left"


def judged(env, oracle=None, budget=9, **keywords):
    return StepOracle(InteractionBudget(env, budget=budget), oracle=oracle or ByList(), **keywords)


# The report.


@pytest.mark.parametrize("kind", [ByList, InOneGo])
def test_each_action_is_reported_with_the_best_ones_and_its_regret(corridor, kind):
    env = judged(corridor(), kind())
    env.reset(seed=0)
    assert env.step("Left")[-1]["oracle"] == {
        "value": 0.25,
        "best": 0.75,
        "regret": 0.5,
        "best_actions": ["Right", "Up"],
    }
    assert env.step("Right")[-1]["oracle"]["regret"] == 0.0


@pytest.mark.parametrize("kind", [ByList, InOneGo])
def test_on_reset_the_report_is_that_of_the_first_state(corridor, kind):
    _, info = judged(corridor(), kind()).reset(seed=0)
    assert info["oracle"] == {
        "value": 0.75,
        "best": 0.75,
        "regret": 0.0,
        "best_actions": ["Right", "Up"],
    }


def test_an_oracle_that_lists_nothing_compares_with_the_largest_value_there_is(corridor):
    oracle = ByValue()
    env = judged(corridor(), oracle)
    _, info = env.reset(seed=0)
    assert info["oracle"] == {"value": 1.0, "best": 1.0, "regret": 0.0, "best_actions": []}
    assert oracle.asked == []  # a value may be dear: nobody chose an action yet
    report = env.step("Left")[-1]["oracle"]
    assert report == {"value": 0.25, "best": 1.0, "regret": 0.75, "best_actions": []}


class Overshoots(InOneGo):
    def judge(self, env, action):
        return 0.5 + 1e-16 * 2, 0.5, ("Right",)


def test_a_regret_is_never_negative_whatever_floats_do(corridor):
    env = judged(corridor(), Overshoots())
    env.reset(seed=0)
    assert env.step("Right")[-1]["oracle"]["regret"] == 0.0


def test_an_action_that_is_not_listed_is_valued_by_itself(corridor):
    env = judged(corridor())
    env.reset(seed=0)
    report = env.step("<answer>Left</answer>")[-1]["oracle"]
    assert report["value"] == 0.5
    assert report["regret"] == 0.25


def test_the_action_is_judged_once_and_in_the_state_before_the_step(corridor):
    oracle = ByValue()
    env = judged(corridor(), oracle)
    env.reset(seed=0)
    env.step("Left")
    env.step("Right")
    assert oracle.asked == [(0, "Left"), (1, "Right")]


def test_the_oracle_sees_the_turns_that_remain_before_the_step(corridor, play):
    seen = play(judged(corridor(), Turns(), budget=3), ["Left"] * 3)
    assert [r[-1]["oracle"]["value"] for r in seen[1:]] == [0.3, 0.2, 0.1]


def test_the_agents_choice_is_judged_and_not_what_an_injected_error_made_of_it(corridor):
    inner = ErrorStates(InteractionBudget(corridor(), budget=9), at=1, oracle=WrongLeft())
    env = StepOracle(inner, oracle=ByList())
    env.reset(seed=0)
    info = env.step("Right")[-1]
    assert info["executed_action"] == "Left"
    assert info["oracle"]["value"] == 0.75


def test_reports_are_fresh_objects(corridor, play):
    reports = [r[-1]["oracle"] for r in play(judged(corridor(), InOneGo()), ["Left"] * 4)]
    objects = [id(x) for report in reports for x in (report, report["best_actions"])]
    assert len(set(objects)) == len(objects)


def test_changing_a_report_changes_no_later_one(corridor):
    env = judged(corridor())
    _, info = env.reset(seed=0)
    info["oracle"]["best_actions"].append("Down")
    assert env.step("Left")[-1]["oracle"]["best_actions"] == ["Right", "Up"]


def test_the_inner_infos_are_left_as_they_were(spy_env, play):
    spy = spy_env("t1")
    spy.turn = 0
    play(StepOracle(spy, oracle=ByList()), ["wait"] * 3)
    assert all(repr(info) == before for info, before in spy.infos)


def test_nothing_of_the_oracle_reaches_an_observation(corridor, play):
    plain = play(InteractionBudget(corridor(), budget=9), ["Left", "Right"])
    told = play(judged(corridor()), ["Left", "Right"])
    assert [r[0] for r in told] == [r[0] for r in plain]


def test_the_lakes_own_oracle_finds_the_shortest_way(corridor, play):
    env = gym.make(
        "budget_envs/FrozenLake-v0", desc=["SFFG"], budget=4, oracle=True, show_budget=True
    )
    seen = play(env, ["Left", "Left", "Right"])
    assert [r[-1]["oracle"]["value"] for r in seen] == [1.0, 1.0, 0.0, 0.0]
    assert [r[-1]["oracle"]["best"] for r in seen] == [1.0, 1.0, 1.0, 0.0]


# As the reward.


def test_the_value_can_be_the_reward(corridor, play):
    seen = play(judged(corridor(), reward=True), ["Left", "Right", "?"])
    assert [r[1] for r in seen[1:]] == [0.25, 0.75, 0.5]


def test_without_being_asked_the_reward_stays_the_environments(corridor, play):
    assert [r[1] for r in play(judged(corridor()), ["Right"] * 3)[1:]] == [0.0, 0.0, 1.0]


def test_an_action_that_was_not_carried_out_earns_nothing(corridor):
    env = judged(corridor(), budget={"tokens": 3}, reward=True)
    env.reset(seed=0)
    assert env.step("Right")[1] == 0.0


def test_a_void_episode_keeps_its_reward_of_nan(spy_env):
    spy = spy_env("t1")
    spy.turn = 0
    env = StepOracle(spy, oracle=ByValue(), reward=True)
    env.reset()
    assert math.isnan(env.step("void")[1])


# Wrong moments and misuse.


def test_steps_at_the_wrong_moment_raise_and_ask_the_oracle_nothing(corridor, play):
    oracle = ByValue()
    env = judged(corridor(), oracle, budget=1)
    with pytest.raises(EnvStateError, match="before reset"):
        env.step("Right")
    play(env, ["Right"])
    with pytest.raises(EnvStateError, match="after the episode ended"):
        env.step("Right")
    assert len(oracle.asked) == 1


def test_an_action_that_is_no_text_is_refused_by_the_environment(corridor):
    env = judged(corridor())
    env.reset(seed=0)
    with pytest.raises(TypeError, match="numeric=True"):
        env.step(2)


@pytest.mark.parametrize("bad", [None, 3, ByList, object(), "module_without_class", "json:nothing"])
def test_what_is_no_oracle_is_refused(corridor, bad):
    with pytest.raises(OptionError):
        StepOracle(corridor(), oracle=bad)


def test_an_oracle_that_no_spec_could_name_is_refused(corridor):
    class Local(ByValue):
        pass

    with pytest.raises(UnsupportedError, match="local to a function"):
        StepOracle(corridor(), oracle=Local())


@pytest.mark.parametrize("bad", [1, "yes", None])
def test_reward_is_a_boolean(corridor, bad):
    with pytest.raises(OptionError, match="True or False"):
        StepOracle(corridor(), oracle=ByList(), reward=bad)


def test_the_spec_names_the_oracles_class(corridor):
    assert StepOracle(corridor(), oracle=ByList())._saved_kwargs == {
        "oracle": f"{__name__}:ByList",
        "reward": False,
    }
