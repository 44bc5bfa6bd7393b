import functools
import json
import math
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import DataError
from budget_envs.evaluation.records import COLUMNS, from_row, to_json, to_row, to_sql, to_text
from budget_envs.evaluation.trajectory import BOUNDARIES, Episode, Run, Turn

TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
INTS = st.integers(-(2**63), 2**63 - 1)
JSON = st.dictionaries(
    TEXT,
    st.recursive(st.none() | st.booleans() | INTS | FLOATS | TEXT, st.lists, max_leaves=5),
    max_size=3,
)
BOUNDS = st.dictionaries(st.integers(1, 100), FLOATS, max_size=3)
TURNS = st.builds(
    Turn,
    turn=st.integers(1, 99),
    observation=TEXT,
    action=TEXT,
    executed_action=st.none() | TEXT,
    reward=st.none() | FLOATS,
    is_invalid=st.booleans(),
    state_key=TEXT,
    budget=st.none() | JSON,
    oracle=st.none() | JSON,
    injected=st.none() | JSON,
    num_tokens=st.none() | INTS,
    logprob=st.none() | FLOATS,
)
EPISODES = st.builds(
    Episode,
    task_id=TEXT,
    budget=st.integers(1, 99),
    rollout=st.integers(0, 99),
    seed=st.integers(0, 2**63 - 1),
    verdict=st.sampled_from(["pass", "fail", "void"]),
    success_turn=st.none() | st.integers(0, 99),
    num_turns=st.integers(0, 99),
    episode_return=st.none() | FLOATS,
    boundary=st.none() | st.sampled_from(BOUNDARIES),
    error=st.none() | TEXT,
    final_observation=TEXT,
    budget_report=st.none() | JSON,
    num_tokens=st.none() | INTS,
    num_invalid=st.integers(0, 99),
    num_injected=st.integers(0, 99),
    mean_regret=st.none() | FLOATS,
    upper_bounds=st.none() | BOUNDS,
)
RUNS = st.builds(
    Run,
    run_id=TEXT,
    env_id=TEXT,
    env_kwargs=JSON,
    policy=TEXT,
    policy_settings=JSON,
    protocol=st.sampled_from(["truncate", "rerun"]),
    budgets=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    k=st.integers(1, 99),
    num_rollouts=st.integers(1, 99),
    task_ids=st.lists(TEXT, max_size=3).map(tuple),
    split=st.none() | TEXT,
    seed=st.integers(0, 2**63 - 1),
    is_budget_shown=st.booleans(),
    versions=st.none() | st.dictionaries(TEXT, TEXT, max_size=2),
    upper_bounds=st.none() | BOUNDS,
)


@settings(max_examples=60)
@given(TURNS | EPISODES | RUNS)
def test_a_record_comes_back_from_its_row_as_it_was(record):
    row = to_row(record)
    assert len(row) == len(COLUMNS[type(record)])
    assert from_row(type(record), row) == record


@settings(max_examples=60)
@given(TURNS | EPISODES | RUNS)
def test_a_row_holds_only_what_sqlite_takes(record):
    for value in to_row(record):
        assert value is None or isinstance(value, int | float | str | bytes)
        if isinstance(value, str):
            value.encode()  # no lone surrogate is left in it


@given(TEXT)
def test_text_survives_whether_or_not_it_has_a_utf8_form(text):
    assert to_text(to_sql(text)) == text


def test_text_with_a_utf8_form_is_stored_as_text():
    assert to_sql("größer 🧊 \x00") == "größer 🧊 \x00"


def test_numbers_that_json_lacks_become_null():
    value = {"value": math.nan, "more": [math.inf, 1.5, {"deep": -math.inf}]}
    assert json.loads(to_json(value)) == {"value": None, "more": [None, 1.5, {"deep": None}]}


def test_numpy_values_become_plain_ones():
    value = {"a": np.float32(0.5), "b": np.int64(3), "c": np.array([1, 2]), "d": np.bool_(True)}
    assert json.loads(to_json(value)) == {"a": 0.5, "b": 3, "c": [1, 2], "d": True}


def test_mappings_of_other_kinds_become_objects():
    assert json.loads(to_json({"a": MappingProxyType({"b": 1})})) == {"a": {"b": 1}}


@pytest.mark.parametrize("value", [{"a": {1, 2}}, {"a": math.nan, "b": {1, 2}}])
def test_what_json_lacks_is_written_as_its_repr(value):
    assert "{1, 2}" in json.loads(to_json(value)).values()


def test_nothing_stays_nothing():
    assert to_json(None) is None


class Unshowable:
    def __repr__(self):
        raise ValueError("no")


HOLDS_ITSELF = {"a": 1}
HOLDS_ITSELF["self"] = [HOLDS_ITSELF]


@pytest.mark.parametrize(
    "value",
    [
        HOLDS_ITSELF,
        {"deep": functools.reduce(lambda inner, _: [inner], range(10_000), 0)},
        {(1, 2): "a tuple as key", math.nan: 1, 2: 3},
        {"huge": 1 << 100_000},
        {"what": Unshowable(), "nan": math.nan},
        {"array": np.array([1.0, math.inf, None], dtype=object)},
    ],
)
def test_anything_becomes_strict_json(value):
    text = to_json(value)
    assert isinstance(json.loads(text, parse_constant=lambda name: pytest.fail(name)), dict)


def test_keys_that_json_lacks_become_their_repr():
    assert json.loads(to_json({(1, 2): 0.5, 3: 1})) == {"(1, 2)": 0.5, "3": 1}


@given(TURNS | EPISODES | RUNS, st.data())
def test_a_column_of_the_wrong_kind_is_named(record, data):
    row = to_row(record)
    place = data.draw(st.integers(0, len(row) - 1))
    row[place] = b"\xff"  # no text, no number, and no JSON
    with pytest.raises(DataError, match=f"column '{COLUMNS[type(record)][place]}' holds"):
        from_row(type(record), row)
