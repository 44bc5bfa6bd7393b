import datetime
import itertools
import math
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.sql.row_bags import overlap, plain_row, same_row

# steps of 0.8e-6: neighbours are equal, the next but one is not, and 1 and 2 are whole
CHAIN = [1 + step * 0.8e-6 for step in range(-3, 4)]
cells = st.sampled_from([*CHAIN, 1, 2, Decimal("1.0000008"), None, "1", "a", b"a", 0, 1e-13])
rows = st.lists(st.tuples(cells), max_size=6)
wide_rows = st.lists(st.tuples(st.sampled_from(CHAIN), st.sampled_from(CHAIN)), max_size=5)
numbers = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False),
)


def brute_force_overlap(got, expected):
    """The best of all pairings."""
    if len(got) > len(expected):
        got, expected = expected, got
    return max(
        sum(same_row(a, b) for a, b in zip(got, chosen, strict=True))
        for chosen in itertools.permutations(expected, len(got))
    )


# --- Cells -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (1, Decimal("1")),
        (1.5, Decimal("1.50")),
        (True, 1),
        (None, None),
        ("a", "a"),
        (b"a", bytearray(b"a")),
        (0.1 + 0.2, 0.3),
        (0.1 + 0.2 - 0.3, 0),
        (2.3333333, Decimal("2.3333332")),
        (3, 2.9999999),
        (1e300, 1.0000001e300),
        (math.inf, math.inf),
        (math.nan, math.nan),
        (datetime.date(2021, 3, 4), "2021-03-04"),
        (datetime.datetime(2021, 3, 4, 5), "2021-03-04 05:00:00"),
        pytest.param(10**400, 10**400, id="beyond floats"),
        (float(2**60), 2**60 + 1),
    ],
)
def test_these_cells_are_equal(left, right):
    assert same_row((left,), (right,))
    assert same_row((right,), (left,))
    assert overlap([(left,)], [(right,)]) == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, "1"),
        (1.0, "1.0"),
        (0, None),
        ("", None),
        (0, ""),
        ("a", "A"),
        ("a", "a "),
        ("a", b"a"),
        (1, 1.00001),
        (1000000, 1000001),
        (20240101, 20240102),
        (20240101.0, 20240102),
        (Decimal("20240101"), 20240102.0),
        (0, 1e-9),
        (math.inf, -math.inf),
        (math.inf, 1e308),
        (math.nan, None),
        (math.nan, "NaN"),
        pytest.param(10**400, 10**400 + 1, id="beyond floats"),
        pytest.param(10**400, 1.5, id="beyond floats and a fraction"),
        (1, -1),
    ],
)
def test_these_cells_are_different(left, right):
    assert not same_row((left,), (right,))
    assert not same_row((right,), (left,))
    assert overlap([(left,)], [(right,)]) == 0


@given(numbers)
def test_a_number_equals_itself_and_never_its_text(number):
    assert same_row((number,), (number,))
    assert not same_row((number,), (str(number),))


@given(numbers, numbers)
def test_equality_of_numbers_is_symmetric(left, right):
    assert same_row((left,), (right,)) == same_row((right,), (left,))


@given(st.floats(1e-3, 1e12), st.floats(-9e-7, 9e-7))
def test_numbers_within_a_millionth_are_equal_unless_both_are_whole(number, change):
    other = number * (1 + change)
    both_whole = number.is_integer() and other.is_integer()
    assert same_row((number,), (other,)) == (number == other or not both_whole)


@given(st.floats(1e-3, 1e12), st.floats(2e-6, 1))
def test_numbers_further_apart_are_different(number, change):
    assert not same_row((number,), (number * (1 + change),))


@given(st.integers(), st.integers())
def test_integers_are_exact(left, right):
    assert same_row((left,), (right,)) == (left == right)


def test_columns_are_compared_by_position():
    assert not same_row((1, 2), (2, 1))


def test_rows_of_other_width_are_different():
    assert not same_row((1,), (1, None))
    assert overlap([(1,)], [(1, None)]) == 0


def test_lists_and_tuples_are_the_same_row():
    assert same_row([1, "a"], (1, "a"))


def test_plain_row_is_hashable_whatever_the_driver_returns():
    row = [None, 1, 1.5, Decimal("1"), "a", bytearray(b"b"), memoryview(b"c"),
           datetime.date(2020, 1, 2), datetime.timedelta(hours=2), math.nan]  # fmt: skip
    assert hash(plain_row(row)) == hash(plain_row(list(row)))
    assert plain_row(row)[5:] == (b"b", b"c", "2020-01-02", "2:00:00", ("NaN",))


# --- Bags ------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(rows, rows)
def test_overlap_is_the_best_of_all_pairings(got, expected):
    assert overlap(got, expected) == brute_force_overlap(got, expected)


@settings(max_examples=200, deadline=None)
@given(wide_rows, wide_rows)
def test_overlap_in_two_columns_is_the_best_of_all_pairings(got, expected):
    assert overlap(got, expected) == brute_force_overlap(got, expected)


@settings(max_examples=200, deadline=None)
@given(rows, rows)
def test_overlap_is_symmetric_and_at_most_the_smaller_bag(got, expected):
    common = overlap(got, expected)
    assert common == overlap(expected, got)
    assert 0 <= common <= min(len(got), len(expected))


@settings(max_examples=100, deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_a_shuffled_bag_overlaps_whole(got, random):
    assert overlap(random.sample(got, len(got)), got) == len(got)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=12),
       st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=12))  # fmt: skip
def test_without_fractions_overlap_is_the_multiset_intersection(got, expected):
    assert overlap(got, expected) == (Counter(got) & Counter(expected)).total()


def test_pairing_exact_twins_first_would_be_wrong():
    low, middle, high = CHAIN[2], CHAIN[3], CHAIN[4]
    assert not same_row((low,), (high,))
    assert overlap([(low,), (middle,)], [(middle,), (high,)]) == 2


def test_pairing_in_sorted_order_would_be_wrong_for_whole_numbers():
    whole, half, next_whole = 10_000_000, 10_000_000.5, 10_000_001
    got, expected = [(whole,), (half,)], [(next_whole,), (float(next_whole) + 0.25,)]
    assert not same_row(got[0], expected[0])
    assert overlap(got, expected) == 2


def test_duplicates_count():
    assert overlap([(1,), (1,), (2,)], [(1,), (2,)]) == 2
    assert overlap([(1,), (1,), (2,)], [(1,), (1,), (2,)]) == 3


def test_a_chain_of_near_values_needs_an_augmenting_path():
    got = [(CHAIN[i],) for i in (1, 2, 3, 4)]
    expected = [(CHAIN[i],) for i in (0, 1, 2, 5)]
    assert overlap(got, expected) == brute_force_overlap(got, expected) == 4


def test_a_hall_violator_is_found_among_many_copies():
    near, far = (CHAIN[3],), (CHAIN[5],)
    assert overlap([near] * 500 + [far] * 500, [near] * 499 + [(CHAIN[4],)] * 501) == 1000
    assert overlap([near] * 500 + [far] * 500, [near] * 501 + [(CHAIN[6],)] * 499) == 999


def test_large_bags_of_close_numbers_are_matched_without_comparing_all_pairs(monkeypatch):
    from budget_envs.sql import row_bags

    compared = 0
    close = row_bags._close

    def counting(left, right):
        nonlocal compared
        compared += 1
        return close(left, right)

    monkeypatch.setattr(row_bags, "_close", counting)
    got = [(1000 + i * 1e-4, "x") for i in range(3000)]
    expected = [(1000 + i * 1e-4 + 3e-5, "x") for i in range(3000)]
    assert overlap(got, expected) == 3000
    assert compared < 3000 * 100
