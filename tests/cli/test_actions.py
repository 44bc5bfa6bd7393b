import contextlib

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.cli.actions import read_action
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.spaces import TextSpace


@pytest.mark.parametrize(
    ("space", "line", "action"),
    [
        (TextSpace(), "Right", "Right"),
        (gym.spaces.Text(10), "1", "1"),
        (gym.spaces.Discrete(3), "2", 2),
        (gym.spaces.Discrete(3, start=-1), "-1", -1),
        (gym.spaces.MultiBinary(2), "[1, 0]", [1, 0]),
        (gym.spaces.MultiDiscrete([2, 3]), "[1, 2]", [1, 2]),
        (gym.spaces.Box(-1.0, 1.0, (2,)), "[0.5, -1]", [0.5, -1]),
    ],
)
def test_a_line_is_read_as_the_space_has_it(space, line, action):
    found = read_action(space, line)
    assert space.contains(found)
    assert np.array_equal(found, action)


@pytest.mark.parametrize(
    ("space", "line"),
    [
        (gym.spaces.Discrete(3), "3"),
        (gym.spaces.Discrete(3), "1.5"),
        (gym.spaces.Discrete(3), "[1]"),
        (gym.spaces.Discrete(3), ""),
        (gym.spaces.Discrete(3), "true"),
        (gym.spaces.Discrete(3), "1e999"),
        (gym.spaces.Discrete(3), "9" * 30),
        (gym.spaces.Box(-1.0, 1.0, (2,)), "[0.5]"),
        (gym.spaces.Box(-1.0, 1.0, (2,)), "[0.5, 2]"),
        (gym.spaces.MultiBinary(2), "[1, [0]]"),
    ],
)
def test_a_line_that_is_no_action_is_refused(space, line):
    with pytest.raises(OptionError, match="expected an action"):
        read_action(space, line)


@given(st.text(max_size=30))
def test_any_line_is_read_or_refused(line):
    for space in (gym.spaces.Discrete(3), gym.spaces.Box(-1.0, 1.0, (2,))):
        with contextlib.suppress(OptionError):
            assert space.contains(read_action(space, line))


def test_a_space_that_cannot_be_typed_is_refused():
    with pytest.raises(UnsupportedError, match="Dict"):
        read_action(gym.spaces.Dict(a=gym.spaces.Discrete(2)), "1")
