import math
from collections import Counter

import gymnasium as gym
import pytest

from budget_envs.agents.policies.random_policy import RandomPolicy
from budget_envs.errors import UnsupportedError
from budget_envs.streams import derive_key

LAKE = "budget_envs/FrozenLake-v0"


def test_actions_are_the_environments_examples_all_equally_likely(talk):
    env = gym.make(LAKE)
    conversations = [talk(env, key=derive_key(number)) for number in range(4000)]
    counts = Counter(action.text for action in RandomPolicy().act(conversations))
    assert set(counts) == {"Left", "Down", "Right", "Up"}
    assert all(abs(count - 1000) < 4 * math.sqrt(4000 * 3 / 16) for count in counts.values())


def test_an_action_depends_on_key_and_turn_alone(talk):
    env = gym.make(LAKE)
    conversations = [talk(env, key=key, turn=turn) for key in range(5) for turn in range(5)]
    together = RandomPolicy().act(conversations)
    alone = [RandomPolicy().act([conversation])[0] for conversation in conversations]
    assert together == alone


def test_turns_of_one_conversation_differ(talk):
    env = gym.make(LAKE)
    texts = {RandomPolicy().act([talk(env, turn=turn)])[0].text for turn in range(20)}
    assert len(texts) > 1


def test_the_generator_of_the_action_space_is_left_alone(talk):
    env = gym.make(LAKE)
    env.action_space.seed(0)
    expected = [env.action_space.sample() for _ in range(5)]
    env.action_space.seed(0)
    RandomPolicy().act([talk(env)])
    assert [env.action_space.sample() for _ in range(5)] == expected


def test_the_log_probability_is_that_of_the_draw(talk):
    (action,) = RandomPolicy().act([talk(gym.make(LAKE))])
    assert action.logprobs == (-math.log(4),)


def test_an_action_space_without_examples_is_refused():
    with pytest.raises(UnsupportedError, match="examples of a TextSpace"):
        RandomPolicy().check_env(gym.make("CartPole-v1"))
