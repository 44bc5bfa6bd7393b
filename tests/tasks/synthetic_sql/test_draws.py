from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.streams import uniform
from budget_envs.tasks.synthetic_sql.draws import Draws

keys = st.integers(0, 2**64 - 1)


@given(keys)
def test_draws_are_those_of_the_stream_in_order(key):
    draw = Draws(key)
    assert [draw.unit() for _ in range(4)] == [uniform(key, counter) for counter in range(4)]


@given(keys, st.integers(-50, 50), st.integers(0, 50))
def test_integers_are_in_range(key, low, width):
    draw = Draws(key)
    assert all(low <= draw.integer(low, low + width) <= low + width for _ in range(20))


@given(keys, st.lists(st.integers(), max_size=12, unique=True), st.integers(0, 15))
def test_a_sample_has_distinct_items_and_the_size_asked_for(key, items, count):
    before = list(items)
    sample = Draws(key).sample(items, count)
    assert len(sample) == min(count, len(items)) == len(set(sample))
    assert set(sample) <= set(items)
    assert items == before


@pytest.mark.parametrize("method", ["choice", "skewed_choice"])
def test_every_item_is_chosen_now_and_then(method):
    draw = Draws(5)
    counts = Counter(getattr(draw, method)("abcd") for _ in range(2000))
    assert set(counts) == set("abcd")
    assert min(counts.values()) > 150


def test_choices_are_even_and_skewed_choices_favour_the_front():
    draw = Draws(6)
    even = Counter(draw.choice("abcd") for _ in range(4000))
    skewed = Counter(draw.skewed_choice("abcd") for _ in range(4000))
    assert max(even.values()) - min(even.values()) < 250
    assert skewed["a"] > skewed["b"] > skewed["d"]


def test_chance_is_about_its_probability():
    draw = Draws(7)
    assert 230 < sum(draw.chance(0.25) for _ in range(1000)) < 270 + 30
    assert not any(draw.chance(0.0) for _ in range(100))
    assert all(draw.chance(1.0) for _ in range(100))
