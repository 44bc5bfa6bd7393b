import asyncio
import math

import gymnasium as gym
import numpy as np
import pytest

from budget_envs.errors import DependencyNotInstalled, OptionError, PolicyUnavailable
from budget_envs.evaluation.policy import (
    Action,
    Conversation,
    Failure,
    Policy,
    boundary_of,
    check_policy,
    stops,
)
from budget_envs.evaluation.trajectory import BOUNDARIES
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


@pytest.mark.parametrize("name", [None, 3, "", b"random"])
def test_a_name_is_text(name):
    policy = Least()
    policy.name = name
    with pytest.raises(OptionError, match="a policy's name must be a text"):
        check_policy(policy)


@pytest.mark.parametrize(
    "policy_settings",
    [None, 5, ["a"], {1: 2}, {"a": {1, 2}}, {"a": math.nan}, {"a": object()}, {(1, 2): 3}],
)
def test_settings_are_json_safe(policy_settings):
    policy = Least()
    policy.settings = policy_settings
    with pytest.raises(OptionError, match="settings of policy 'least' must be JSON-safe"):
        check_policy(policy)


@pytest.mark.parametrize("text", [None, 3, b"go", ["go"]])
def test_an_action_is_text(text):
    with pytest.raises(OptionError, match="must be a str"):
        Action(text)


class Liar(str):
    """Text that says of itself what it is not."""

    def strip(self, *args):
        raise RuntimeError("not me")

    def __len__(self):
        return 0

    def __str__(self):
        return "another text"

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no")


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no")


def test_an_actions_text_is_plain():
    action = Action(Liar("go"))
    assert type(action.text) is str
    assert "".join(action.text) == "go"


def test_what_cannot_be_shown_is_refused_all_the_same():
    with pytest.raises(OptionError, match="got a Unshowable that cannot be shown of type"):
        Action(Unshowable())


@pytest.mark.parametrize("count", [-1, 1.5, True, "3", 2**40, 2**63])
def test_a_number_of_tokens_is_whole(count):
    with pytest.raises(OptionError, match="num_tokens must be a whole number"):
        Action("go", num_tokens=count)


@pytest.mark.parametrize(
    "logprobs",
    [0.5, ["x"], [None], [math.nan], [math.inf], "ab", (-1e308,) * 3, [10**400], [1e308] * 3],
)
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


class Whole:
    def __index__(self):
        return 3


def test_charges_are_plain_numbers():
    action = Action("go", seconds=np.float64(0.5), cost=Whole())
    assert action.charges() == {"seconds": 0.5, "cost": 3}
    assert [type(amount) for amount in action.charges().values()] == [float, int]


@pytest.mark.parametrize("name", ["seconds", "cost"])
@pytest.mark.parametrize("amount", [2**63, 10**400, 1e300])
def test_charges_have_a_bound(name, amount):
    with pytest.raises(OptionError, match=rf"{name} must be below 2\*\*63"):
        Action("go", **{name: amount})


# Failures.


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (Unprintable(), "Unprintable: (its text cannot be shown: RuntimeError)"),
        (Liar("boom"), "boom"),
        (None, "None"),
        (Unshowable(), "a Unshowable that cannot be shown"),
    ],
)
def test_a_failure_says_what_happened_in_plain_text(error, expected):
    failure = Failure(error)
    assert type(failure.error) is str
    assert "".join(failure.error) == expected


@pytest.mark.parametrize("boundary", ["agnet", None, 3, ["provider"], Liar("moon")])
def test_a_boundary_that_there_is_not_excuses_nothing(boundary):
    assert Failure("gave up", boundary).boundary == "agent"


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_known_boundary_stays_and_is_plain(boundary):
    assert Failure("gave up", boundary).boundary == boundary
    assert type(Failure("gave up", Liar(boundary)).boundary) is str


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), True),
        (GeneratorExit(), True),
        (DependencyNotInstalled("torch"), True),
        (PolicyUnavailable("no key"), True),
        (BaseExceptionGroup("several", [ValueError(), KeyboardInterrupt()]), True),
        (BaseExceptionGroup("several", [ValueError(), SystemExit()]), False),
        (SystemExit(1), False),
        (asyncio.CancelledError(), False),
        (MemoryError(), False),
    ],
)
def test_few_exceptions_stop_an_evaluation(error, expected):
    assert stops(error) is expected


# Conversations.


def test_a_conversation_holds_copies_of_its_messages():
    messages = [{"role": "user", "content": "first"}]
    conversation = Conversation("id", 0, TextSpace(), messages)
    conversation.messages[0]["content"] = "FORGED"
    conversation.messages.clear()
    conversation.messages = None
    assert messages == [{"role": "user", "content": "first"}]


def test_a_conversation_counts_its_turns():
    messages = [{"role": role, "content": ""} for role in ("user", "assistant") * 3]
    turns = [Conversation("id", 0, TextSpace(), messages[:count]).turn for count in range(6)]
    assert turns == [0, 0, 1, 1, 2, 2]


def test_the_observation_is_the_newest_message():
    roles = {"first": "user", "go": "assistant", "second": "user"}
    messages = [{"role": role, "content": text} for text, role in roles.items()]
    assert Conversation("id", 0, TextSpace(), messages).observation == "second"


@pytest.mark.parametrize("with_env", [True, False])
def test_a_copy_is_the_conversation_as_it_was_made(with_env):
    messages = [{"role": "user", "content": "first"}]
    env = gym.Env()
    conversation = Conversation("id", 3, TextSpace(), messages, token_limit=7, env=env)
    conversation.messages.clear()
    copy = conversation.copy(with_env=with_env)
    assert copy.env is (env if with_env else None)
    assert (copy.id, copy.key, copy.messages, copy.token_limit) == ("id", 3, messages, 7)
    assert copy.action_space == conversation.action_space


def test_an_exception_may_name_its_boundary():
    error = RuntimeError("out of reach")
    assert boundary_of(error, "agent") == "agent"
    error.boundary = "provider"
    assert boundary_of(error, "agent") == "provider"


def test_a_boundary_that_cannot_be_asked_for_is_none():
    class Evasive(Exception):
        @property
        def boundary(self):
            raise RuntimeError("no")

    assert boundary_of(Evasive(), "agent") == "agent"


def test_an_unknown_boundary_is_ignored():
    error = RuntimeError()
    error.boundary = "moon"
    assert boundary_of(error, "env") == "env"
