from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_code.splitmix import SplitMix64


def test_step_function_gives_the_published_sequence_of_state_1234567():
    rng = SplitMix64()
    rng._state = 1234567
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [rng.next() for _ in range(3)] == expected


@given(st.lists(st.integers(), max_size=4))
def test_equal_keys_give_equal_streams(key):
    first, second = SplitMix64(*key), SplitMix64(*key)
    assert [first.next() for _ in range(5)] == [second.next() for _ in range(5)]


@pytest.mark.parametrize(
    ("left", "right"),
    [((1, 2), (2, 1)), ((0,), (0, 0)), ((), (0,)), ((5,), (6,)), ((1, 2, 3), (1, 2, 4))],
)
def test_different_keys_give_different_streams(left, right):
    assert SplitMix64(*left).next() != SplitMix64(*right).next()


@given(st.integers(), st.integers(1, 10**6))
def test_below_stays_in_its_range(seed, n):
    rng = SplitMix64(seed)
    assert all(0 <= rng.below(n) < n for _ in range(20))


@given(st.integers(), st.integers(-100, 100), st.integers(0, 50))
def test_between_includes_both_ends_and_nothing_else(seed, low, width):
    rng = SplitMix64(seed)
    assert all(low <= rng.between(low, low + width) <= low + width for _ in range(20))


def test_between_reaches_both_ends():
    rng = SplitMix64(0)
    assert {rng.between(-1, 1) for _ in range(100)} == {-1, 0, 1}


def test_choice_takes_every_item_about_equally_often():
    rng = SplitMix64(3)
    counts = Counter(rng.choice("abcd") for _ in range(4000))
    assert set(counts) == set("abcd")
    assert all(850 < count < 1150 for count in counts.values())


@pytest.mark.parametrize(("percent", "expected"), [(0, 0), (100, 1000)])
def test_chance_is_exact_at_the_ends(percent, expected):
    rng = SplitMix64(0)
    assert sum(rng.chance(percent) for _ in range(1000)) == expected


@given(st.integers(), st.lists(st.integers()))
def test_shuffled_is_a_permutation_and_leaves_its_input_alone(seed, items):
    before = list(items)
    assert sorted(SplitMix64(seed).shuffled(items)) == sorted(before)
    assert items == before


def test_shuffled_reaches_every_order_of_three_items():
    rng = SplitMix64(1)
    assert len({tuple(rng.shuffled("abc")) for _ in range(200)}) == 6
