import gymnasium as gym
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.envs.frozen_lake.lake import ACTIONS
from budget_envs.errors import OptionError
from budget_envs.spaces import TextSpace
from budget_envs.wrappers import (
    DiscreteActions,
    ErrorStates,
    InteractionBudget,
    NumericObservation,
)


class Says(gym.Env):
    """Says a given text, and cannot describe itself in numbers."""

    render_mode = None

    def __init__(self, text):
        self.observation_space = TextSpace()
        self.action_space = TextSpace()
        self.text = text

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.text, {}

    def step(self, action):
        return self.text, 0.0, False, False, {}


# Actions.


def test_each_number_is_the_action_that_gymnasium_numbers_so(corridor):
    env = DiscreteActions(corridor())
    assert env.action_space == gym.spaces.Discrete(4)
    assert env.action_names == ACTIONS
    env.reset(seed=0)
    for number, name in enumerate(ACTIONS):
        env.reset(seed=0)
        assert env.step(number)[-1]["executed_action"] == name


@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.uint32, np.array])
def test_integers_of_python_and_numpy_are_accepted(corridor, kind):
    env = DiscreteActions(corridor())
    env.reset(seed=0)
    assert env.step(kind(2))[-1]["executed_action"] == "Right"


@pytest.mark.parametrize("bad", [4, -1, 1.0, "Right", None, np.float32(1), np.array([2, 1])])
def test_other_actions_are_refused_and_cost_nothing(corridor, bad):
    env = DiscreteActions(InteractionBudget(corridor(), budget=5))
    env.reset(seed=0)
    with pytest.raises(OptionError, match=r"number in 0\.\.3"):
        env.step(bad)
    assert env.ledger.used["turns"] == 0


def test_every_sampled_action_can_be_read(corridor):
    env = DiscreteActions(corridor())
    env.action_space.seed(0)
    for _ in range(20):
        env.reset(seed=0)
        assert env.step(env.action_space.sample())[-1]["invalid_action"] is False


def test_free_text_actions_have_no_numbers(spy_env):
    with pytest.raises(OptionError, match="action_names"):
        DiscreteActions(spy_env())


# Observations of an environment that describes itself.


def test_the_lakes_own_numbers_are_used_and_the_text_kept(corridor):
    lake = corridor()
    env = NumericObservation(lake)
    assert env.observation_space == lake.numeric_space
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info["observation"].startswith("You are on a frozen lake")
    moved, *_, info = env.step("Right")
    assert moved in env.observation_space
    assert not np.array_equal(moved, observation)
    assert info["observation"].startswith("You went Right")
    assert not np.shares_memory(moved, observation)


def test_faults_that_numbers_would_not_show_are_refused():
    inner = ErrorStates(FrozenLakeEnv(), kind=["empty", "stale"])
    with pytest.raises(OptionError, match="empty, stale"):
        NumericObservation(DiscreteActions(inner))


def test_wrong_actions_are_compatible_with_numbers():
    env = gym.make("budget_envs/FrozenLake-v0", numeric=True, error_states=True)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space


# Observations as bytes.


@given(text=st.text(max_size=40), size=st.integers(1, 60))
@example(text="abc", size=2)
@example(text="abc", size=3)
@example(text="abc", size=4)
def test_bytes_hold_the_text_padded_with_zeros_and_say_when_it_was_cut(text, size):
    env = NumericObservation(Says(text), max_bytes=size)
    encoded = text.encode("utf-8", "surrogatepass")
    for observation, *_, info in (env.reset(), env.step("")):
        assert observation in env.observation_space
        assert observation.tobytes() == encoded[:size].ljust(size, b"\0")
        assert info == {"observation": text, "observation_cut": len(encoded) > size}
        assert type(info["observation_cut"]) is bool


def test_lone_surrogates_have_bytes_too():
    observation, _ = NumericObservation(Says("\ud800"), max_bytes=4).reset()
    assert observation.tolist() == [237, 160, 128, 0]


def test_bytes_are_fresh_and_writable():
    env = NumericObservation(Says("same"))
    first, _ = env.reset()
    second, *_ = env.step("")
    assert not np.shares_memory(first, second)
    first[0] = 0
    assert env.step("")[0][0] == ord("s")


def test_faults_of_text_show_in_bytes(spy_env):
    env = NumericObservation(ErrorStates(spy_env(), at=1, kind="empty"), max_bytes=8)
    env.reset()
    observation, *_, info = env.step("wait")
    assert not observation.any()
    assert info["observation"] == ""


def test_numbers_have_no_numbers():
    with pytest.raises(OptionError, match="turns text into numbers"):
        NumericObservation(gym.make("CartPole-v1").unwrapped)


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "8", None])
def test_the_length_is_a_positive_integer(bad):
    with pytest.raises(OptionError, match="max_bytes"):
        NumericObservation(Says(""), max_bytes=bad)


def test_the_inner_infos_are_left_as_they_were(spy_env, play):
    spy = spy_env("t1")
    play(NumericObservation(spy), ["wait"] * 3)
    assert all(repr(info) == before for info, before in spy.infos)
