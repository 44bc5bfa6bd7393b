import itertools

import gymnasium as gym
import pytest

from budget_envs.wrappers.episode_key import EpisodeKey, rollout_of


@pytest.fixture
def env(corridor):
    return corridor()


def test_keys_depend_on_the_seed_the_visit_the_task_and_the_owner(env):
    keys = set()
    for owner, seed, visit, task in itertools.product((1, 2), (0, 1), (0, 1), ("a", "b")):
        key = EpisodeKey(owner)
        key.begin(env, seed)
        for _ in range(visit):
            key.begin(env, None)
        keys.add(key.of_task(task))
    assert len(keys) == 16


def test_a_seeded_reset_starts_counting_again(env):
    key = EpisodeKey(1)
    key.begin(env, 3)
    first = key.of_task("a")
    key.begin(env, None)
    assert key.of_task("a") != first
    key.begin(env, 3)
    assert key.of_task("a") == first


def test_an_unseeded_start_takes_the_environments_own_seed(env):
    env.reset(seed=11)  # before the wrapper was there
    late, early = EpisodeKey(1), EpisodeKey(1)
    late.begin(env, None)
    early.begin(env, 11)
    early.begin(env, None)
    assert late.of_task("a") == early.of_task("a")


def test_the_state_comes_back(env):
    key, twin = EpisodeKey(1), EpisodeKey(1)
    key.begin(env, 3)
    key.begin(env, None)
    twin.load(key.save())
    assert twin.of_task("a") == key.of_task("a")


def test_extra_parts_give_keys_of_their_own(env):
    key = EpisodeKey(1)
    key.begin(env, 3)
    assert len({key.of_task("a"), key.of_task("a", 0), key.of_task("a", 1)}) == 3


@pytest.mark.parametrize(
    ("options", "rollout"),
    [
        (None, 0),
        ({}, 0),
        ({"rollout": 3}, 3),
        ({"rollout": 3, "common_random_numbers": True}, 0),
        ({"rollout": 3, "common_random_numbers": False}, 3),
    ],
)
def test_rollouts_share_their_luck_only_where_they_are_told_to(options, rollout):
    assert rollout_of(options) == rollout


def test_an_environment_whose_generator_was_set_by_hand_has_keys_too():
    env = gym.make("CartPole-v1").unwrapped
    env.np_random = gym.utils.seeding.np_random(1)[0]
    key = EpisodeKey(1)
    key.begin(env, None)
    assert 0 <= key.of_task("a") < 2**64
