import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.streams import derive_key, derive_keys, text_key, uniform, uniforms

keys = st.integers(min_value=0, max_value=2**64 - 1)


def test_the_stream_is_splitmix64():
    # First outputs of SplitMix64 seeded with 1234567, as published with the algorithm.
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [uniform(1234567, i) for i in range(3)] == [(x >> 11) / 2**53 for x in published]


@given(keys, st.integers(0, 2**32))
def test_draws_are_in_the_unit_interval(key, counter):
    assert 0 <= uniform(key, counter) < 1


@given(st.lists(keys, min_size=1, max_size=5), st.integers(0, 2**20), st.integers(1, 8))
def test_array_draws_equal_scalar_draws(some_keys, first, count):
    drawn = uniforms(
        np.array(some_keys, dtype=np.uint64)[:, None],
        np.arange(first, first + count, dtype=np.uint64),
    )
    assert drawn.dtype == np.float64
    assert drawn.tolist() == [
        [uniform(key, counter) for counter in range(first, first + count)] for key in some_keys
    ]


@given(st.lists(keys, min_size=1, max_size=5), st.lists(st.integers(0, 2**40), max_size=3))
def test_array_keys_equal_scalar_keys(some_keys, path):
    derived = derive_keys(np.array(some_keys, dtype=np.uint64), *path)
    assert derived.tolist() == [derive_key(key, *path) for key in some_keys]


def test_arrays_passed_in_are_not_changed():
    some_keys = np.array([1, 2], dtype=np.uint64)
    derive_keys(some_keys, 1)
    uniforms(some_keys, np.array([0, 1], dtype=np.uint64))
    assert some_keys.tolist() == [1, 2]


@given(keys, st.integers(0, 1000), st.integers(0, 1000))
def test_different_paths_give_different_keys(key, a, b):
    if a != b:
        assert derive_key(key, a) != derive_key(key, b)
        assert derive_key(key, a, b) != derive_key(key, b, a)
    assert derive_key(key, a) != derive_key(key, a, 0)


def test_draws_look_uniform_and_independent_over_keys_and_counters():
    some_keys = np.array([derive_key(0, i) for i in range(400)], dtype=np.uint64)
    drawn = uniforms(some_keys[:, None], np.arange(400, dtype=np.uint64))
    counts = np.histogram(drawn, bins=100, range=(0, 1))[0]
    expected = drawn.size / 100
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 99 + 5 * (2 * 99) ** 0.5
    across_keys = np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]
    across_counters = np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1]
    assert abs(across_keys) < 0.0125
    assert abs(across_counters) < 0.0125


def test_text_keys_are_equal_in_processes_with_other_hash_seeds():
    code = "from budget_envs.streams import text_key; print(text_key('frozen \\ud800 lake'))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert printed == {str(text_key("frozen \ud800 lake"))}
