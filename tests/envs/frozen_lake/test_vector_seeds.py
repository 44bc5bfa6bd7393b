import numpy as np
import pytest
from gymnasium.utils import seeding
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake import vector_seeds
from budget_envs.envs.frozen_lake.vector_seeds import EpisodeKeys
from budget_envs.streams import derive_key

NUM_ENVS = 3
COPIES = st.sets(st.integers(0, NUM_ENVS - 1), min_size=1).map(sorted)


def seeded(seed):
    keys = EpisodeKeys(NUM_ENVS)
    keys.adopt(keys.make(seed), np.arange(NUM_ENVS))
    return keys


def generators(seed):
    return [seeding.np_random(seed + copy)[0] for copy in range(NUM_ENVS)]


@pytest.mark.parametrize("ahead", [1, 2, 5])
@given(draws=st.lists(COPIES, max_size=40))
def test_keys_are_what_each_generator_gives_next(ahead, draws):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_seeds, "_AHEAD", ahead)
        keys, expected = seeded(4), generators(4)
        for copies in draws:
            found, _ = keys.draw(np.array(copies))
            assert found.dtype == np.uint64
            assert found.tolist() == [expected[copy].bit_generator.random_raw() for copy in copies]


def test_dynamics_keys_are_those_of_rollout_zero():
    keys, dynamics = seeded(0).draw(np.arange(NUM_ENVS))
    assert dynamics.tolist() == [derive_key(key, 1, 0) for key in keys.tolist()]


@given(draws=st.lists(COPIES, max_size=8), later=st.lists(COPIES, max_size=8))
def test_handed_out_generators_are_where_scalar_ones_would_be(draws, later):
    keys, expected = seeded(7), generators(7)
    for copies in draws:
        keys.draw(np.array(copies))
        for copy in copies:
            expected[copy].bit_generator.random_raw()
    handed_out = keys.generators
    for copies in later:
        found, dynamics = keys.draw(np.array(copies))
        drawn = [expected[copy].bit_generator.random_raw() for copy in copies]
        assert found.tolist() == drawn
        assert dynamics.tolist() == [derive_key(key, 1, 0) for key in drawn]
    for one, other in zip(handed_out, expected, strict=True):
        assert one.bit_generator.state == other.bit_generator.state


def test_a_new_seed_drops_what_was_drawn_in_advance():
    keys = seeded(1)
    keys.draw(np.arange(NUM_ENVS))
    keys.adopt(keys.make([9, None, 9]), np.array([0, 1]))
    first, second, third = generators(1)[1].bit_generator.random_raw(2), seeding.np_random(9)[0], 0
    third = generators(1)[2].bit_generator.random_raw(2)[1]
    found, _ = keys.draw(np.arange(NUM_ENVS))
    assert found.tolist() == [second.bit_generator.random_raw(), first[1], third]


def test_making_generators_changes_nothing():
    keys, twin = seeded(1), seeded(1)
    keys.make(5)
    assert keys.draw(np.arange(3))[0].tolist() == twin.draw(np.arange(3))[0].tolist()


def test_seeds_are_remembered_and_made_up_where_none_was_given():
    keys = EpisodeKeys(3)
    keys.adopt(keys.make([None, 12, None]), np.arange(3))
    assert keys.seeds[1] == 12
    assert len(set(keys.seeds)) == 3
    assert keys.seeds == keys.seeds
