import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_code.dsl import Type
from budget_envs.tasks.synthetic_code.inputs import (
    DOMAIN_TEXT,
    MAX_INTEGER,
    MAX_LENGTH,
    MAX_NUMBER,
    SHAPES,
    draw_arguments,
    in_domain,
)
from budget_envs.tasks.synthetic_code.probes import ORDINARY_COUNT, PROBE_COUNT, probes, varied
from budget_envs.tasks.synthetic_code.sampling import LEVELS
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

SIGNATURES = sorted(
    {signature for level in LEVELS.values() for signature in level.signatures},
    key=lambda signature: [type_.value for type_ in signature],
)
signatures = st.sampled_from(SIGNATURES)


@settings(max_examples=300, deadline=None)
@given(signatures, st.data(), st.integers(0, 2**64), st.lists(st.integers(0, 200), max_size=3))
def test_drawn_arguments_keep_the_promise_of_the_statement(types, data, seed, special):
    shapes = tuple(data.draw(st.sampled_from(SHAPES)) for _ in types)
    values = draw_arguments(types, shapes, special, SplitMix64(seed))
    assert all(map(in_domain, types, values))


@pytest.mark.parametrize("types", SIGNATURES, ids=str)
def test_probes_keep_the_promise_of_the_statement(types):
    assert len(probes(types)) == PROBE_COUNT
    assert all(all(map(in_domain, types, probe)) for probe in probes(types))


@pytest.mark.parametrize("types", SIGNATURES, ids=str)
def test_probes_of_a_signature_differ(types):
    assert len({repr(probe) for probe in probes(types)}) > PROBE_COUNT * 3 // 4


@pytest.mark.parametrize("types", [s for s in SIGNATURES if s[0] is not Type.NAT], ids=str)
def test_probes_include_the_empty_first_argument_and_the_ordinary_ones_do_not(types):
    lengths = [len(probe[0]) for probe in probes(types)]
    assert 0 in lengths
    assert 0 not in lengths[:ORDINARY_COUNT]


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (Type.NAT, 0, True),
        (Type.NAT, MAX_NUMBER, True),
        (Type.NAT, MAX_NUMBER + 1, False),
        (Type.NAT, -1, False),
        (Type.NAT, True, False),
        (Type.INTS, [], True),
        (Type.INTS, [-MAX_INTEGER, MAX_INTEGER], True),
        (Type.INTS, [MAX_INTEGER + 1], False),
        (Type.INTS, [0] * (MAX_LENGTH + 1), False),
        (Type.INTS, [True], False),
        (Type.STR, "", True),
        (Type.STR, "a Bc", True),
        (Type.STR, "a  b", False),
        (Type.STR, " a", False),
        (Type.STR, "a ", False),
        (Type.STR, "a1", False),
        (Type.STR, "é", False),
        (Type.STR, "a b c d e f g", False),
        (Type.WORDS, [], True),
        (Type.WORDS, ["Abc"], True),
        (Type.WORDS, [""], False),
        (Type.WORDS, ["a b"], False),
        (Type.WORDS, ["abcdefghi"], False),
    ],
)
def test_in_domain_knows_the_limits(type_, value, expected):
    assert in_domain(type_, value) is expected


@pytest.mark.parametrize(
    ("shape", "holds"),
    [
        ("empty", lambda v: v == []),
        ("single", lambda v: len(v) == 1),
        ("equal", lambda v: len(set(v)) == 1),
        ("ascending", lambda v: v == sorted(v)),
        ("descending", lambda v: v == sorted(v, reverse=True)),
        ("low", lambda v: max(v) < 0),
        ("high", lambda v: min(v) > 0),
        ("few", lambda v: len(set(v)) <= 4),
        ("long", lambda v: len(v) == MAX_LENGTH),
    ],
)
def test_list_has_the_shape_asked_for(shape, holds):
    for seed in range(50):
        (value,) = draw_arguments((Type.INTS,), (shape,), [], SplitMix64(seed))
        assert holds(value), value


def test_values_hit_the_special_numbers_and_their_neighbours():
    drawn = set()
    for seed in range(200):
        drawn.update(draw_arguments((Type.INTS,), ("any",), [29], SplitMix64(seed))[0])
    assert {28, 29, 30, -28, -29, -30} <= drawn


def test_a_second_list_shares_elements_with_the_first():
    shared = 0
    for seed in range(100):
        first, second = draw_arguments((Type.INTS, Type.INTS), ("any", "any"), [], SplitMix64(seed))
        shared += bool(set(first) & set(second))
    assert shared > 70


def test_every_argument_type_is_described():
    used = {type_ for signature in SIGNATURES for type_ in signature}
    assert set(DOMAIN_TEXT) == used


@pytest.mark.parametrize(
    ("type_", "column", "others", "expected"),
    [
        (Type.INT, [1, 2, 3, 4], [], True),
        (Type.INT, [1, 1, 1, 4], [], False),
        (Type.INT, [1, 1, 3, 4], [], True),
        (Type.INT, [1, 2, 3, 4], [[1, 2, 3, 9]], False),
        (Type.INTS, [[], [], [], [1, 2]], [], False),
        (Type.INTS, [[1], [2], [3], [4, 5]], [], False),
        (Type.INTS, [[1], [2], [3, 4], [4, 5]], [], True),
        (Type.BOOL, [True, False, False, False], [], True),
        (Type.BOOL, [False] * 4, [], False),
        (Type.BOOL, [True] * 4, [], False),
    ],
)
def test_varied_rejects_columns_that_are_nearly_constant_or_copies(type_, column, others, expected):
    assert varied(type_, column, others) is expected
