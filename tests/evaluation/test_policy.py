import math

import gymnasium as gym
import numpy as np
import pytest

from budget_envs.errors import OptionError
from budget_envs.evaluation.policy import (
    Action,
    Conversation,
    Policy,
    boundary_of,
    check_policy,
)
from budget_envs.spaces import TextSpace


class Least(Policy):
    def __init__(self):
        self.name, self.settings = "least", {}

    def act(self, conversations):
        return [Action("go") for _ in conversations]


def test_a_policy_that_only_acts_is_a_policy():
    policy = Least()
    check_policy(policy)
    assert (policy.needs_env, policy.uses_budget) == (False, False)


def test_hooks_do_nothing_by_default():
    policy = Least()
    assert [policy.begin([]), policy.end([]), policy.check_env(gym.Env())] == [None] * 3


def test_an_object_that_offers_the_same_is_a_policy():
    class Duck:
        name, settings, needs_env, uses_budget = "duck", {}, False, False

        def act(self, conversations):
            return []

        begin = end = check_env = act

    check_policy(Duck())


@pytest.mark.parametrize("thing", [object(), "random", len, None])
def test_what_is_no_policy_is_told_what_it_lacks(thing):
    with pytest.raises(OptionError, match=r"it lacks .*act.*make_policy"):
        check_policy(thing)


def test_a_class_is_no_policy():
    with pytest.raises(OptionError, match="it is a class: make an object"):
        check_policy(Least)


@pytest.mark.parametrize("text", [None, 3, b"go", ["go"]])
def test_an_action_is_text(text):
    with pytest.raises(OptionError, match="must be a str"):
        Action(text)


@pytest.mark.parametrize("count", [-1, 1.5, True, "3", 2**63])
def test_a_number_of_tokens_is_whole(count):
    with pytest.raises(OptionError, match="num_tokens must be a whole number"):
        Action("go", num_tokens=count)


@pytest.mark.parametrize("logprobs", [0.5, ["x"], [None], [float("nan")], [float("inf")], "ab"])
def test_log_probabilities_are_numbers(logprobs):
    with pytest.raises(OptionError, match="logprobs must be"):
        Action("go", logprobs=logprobs)


def test_numbers_of_numpy_become_plain_ones():
    action = Action("go", logprobs=np.array([-0.5, -1.0], np.float32), num_tokens=np.int64(2))
    assert action == Action("go", logprobs=(-0.5, -1.0), num_tokens=2)
    assert (type(action.num_tokens), type(action.logprobs[0])) == (int, float)


@pytest.mark.parametrize(
    ("logprobs", "expected"),
    [(None, None), ((), 0.0), ((-0.5, -1.5), -2.0), ((-math.inf,), -math.inf)],
)
def test_the_log_probability_of_an_action_is_the_sum(logprobs, expected):
    assert Action("go", logprobs=logprobs).logprob == expected


def test_an_action_charges_what_it_says():
    action = Action("go", num_tokens=0, seconds=1.5)
    assert action.charges() == {"tokens": 0, "seconds": 1.5}
    assert Action("go", cost=2).charges() == {"cost": 2}
    assert Action("go").charges() == {}


def test_a_conversation_counts_its_turns():
    conversation = Conversation("id", 0, TextSpace())
    turns = []
    for role in ("user", "assistant", "user", "assistant", "user"):
        conversation.messages.append({"role": role, "content": role})
        turns.append(conversation.turn)
    assert turns == [0, 1, 1, 2, 2]


def test_the_observation_is_the_newest_message():
    conversation = Conversation("id", 0, TextSpace(), [{"role": "user", "content": "first"}])
    conversation.messages += [
        {"role": "assistant", "content": "go"},
        {"role": "user", "content": "second"},
    ]
    assert conversation.observation == "second"


def test_an_exception_may_name_its_boundary():
    error = RuntimeError("out of reach")
    assert boundary_of(error, "agent") == "agent"
    error.boundary = "provider"
    assert boundary_of(error, "agent") == "provider"


def test_an_unknown_boundary_is_ignored():
    error = RuntimeError()
    error.boundary = "moon"
    assert boundary_of(error, "env") == "env"
