import numpy as np
from gymnasium.vector import VectorEnv
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.vector_infos import vector_info


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        if isinstance(values, dict):
            assert_equal(found[key], values)
        else:
            assert found[key].dtype == values.dtype
            assert found[key].tolist() == values.tolist()


ROWS = st.lists(
    st.tuples(st.integers(-5, 5), st.booleans(), st.text(max_size=3), st.floats(0, 1)),
    min_size=1,
    max_size=6,
)


def columns_of(rows):
    numbers, flags, texts, shares = zip(*rows, strict=True)
    return {
        "number": np.array(numbers, dtype=np.int64),
        "flag": np.array(flags),
        "nested": {"share": np.array(shares), "text": np.array(texts, dtype=object)},
    }


def by_gymnasium(rows, mask):
    env = VectorEnv()
    env.num_envs = len(rows)
    infos = {}
    for copy, (number, flag, text, share) in enumerate(rows):
        if mask[copy]:
            info = {"number": number, "flag": flag, "nested": {"share": share, "text": text}}
            infos = env._add_info(infos, info, copy)
    return infos


@given(ROWS, st.data())
def test_infos_have_the_form_that_gymnasium_gives_them(rows, data):
    mask = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    found = vector_info(columns_of(rows), np.array(mask))
    assert_equal(found, by_gymnasium(rows, mask))


@given(ROWS, st.data())
def test_values_may_come_for_the_masked_copies_only(rows, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    chosen = [row for row, taken in zip(rows, mask, strict=True) if taken]
    if chosen:
        assert_equal(vector_info(columns_of(chosen), mask), by_gymnasium(rows, mask))


def test_masks_are_fresh():
    mask = np.array([True, True])
    info = vector_info({"a": np.zeros(2), "b": np.zeros(2)}, mask)
    assert not np.shares_memory(info["_a"], info["_b"])
    assert not np.shares_memory(info["_a"], mask)
