import collections
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.sandbox import NotPlainError, Reference
from budget_envs.sandbox.codec import (
    MAX_DEPTH,
    MAX_ITEMS,
    PLAIN_TYPES,
    MalformedError,
    decode,
    encode,
)

texts = st.text(st.characters(codec=None, categories=None), max_size=20)  # lone surrogates too
hashable_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 300), 1 << 300)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | texts
    | st.binary(max_size=20)
    | st.sampled_from(PLAIN_TYPES)
)
keys = st.recursive(
    hashable_scalars,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
values = st.recursive(
    hashable_scalars,
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.lists(st.integers(), max_size=12)
        | st.lists(st.floats(allow_nan=False), max_size=12)
        | st.lists(inner, max_size=4).map(tuple)
        | st.lists(inner, max_size=4).map(collections.deque)
        | st.sets(keys, max_size=4)
        | st.frozensets(keys, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4).map(collections.OrderedDict)
        | st.dictionaries(keys, inner, max_size=4).map(collections.Counter)
        | st.dictionaries(keys, inner, max_size=4).map(lambda d: collections.defaultdict(None, d))
    ),
    max_leaves=20,
)


def same(one, other):
    """Equal in value and, all the way down, in exact type."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            same(a, b) and same(c, d)
            for (a, c), (b, d) in zip(one.items(), other.items(), strict=True)
        )
    if isinstance(one, list | tuple | collections.deque):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, set | frozenset):
        return one == other and {*map(type, one)} == {*map(type, other)}
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return one is other if isinstance(one, type) else one == other


@given(values)
def test_every_plain_value_comes_back_the_same(value):
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        float("inf"),
        float("-inf"),
        -0.0,
        complex(float("inf"), -0.0),
        7**40000,
        -(7**40000),
        (1 << 63) - 1,
        1 << 63,
        -(1 << 63),
        -(1 << 63) - 1,
        "\ud800 lone \udfff",
        "\0",
        b"",
        list(range(100)),
        [*range(20), 1 << 70],
        [True] * 20,
        [1.5] * 20,
        [1, 1.0] * 10,
        tuple(range(100)),
        set(range(1000)),
        {True: 1, 2.5: [None]},
        {(1, (2, frozenset({3}))): {}},
        [[]] * 20,
        int,
    ],
    ids=lambda value: f"{value!r}"[:30] if not isinstance(value, int) else "int",
)
def test_values_at_the_edges_come_back_the_same(value):
    assert same(decode(encode(value)), value)


def test_not_a_number_comes_back_as_not_a_number():
    assert math.isnan(decode(encode(float("nan"))))
    assert math.isnan(decode(encode([float("nan")] * 20))[3])


def test_true_and_one_stay_apart():
    assert [type(item) for item in decode(encode([True, 1, 1.0]))] == [bool, int, float]


def test_dictionaries_keep_their_order():
    assert list(decode(encode({"b": 1, "a": 2, "c": 3}))) == ["b", "a", "c"]


def test_a_default_factory_does_not_cross():
    back = decode(encode(collections.defaultdict(list, {1: [2]})))
    assert (back, back.default_factory) == ({1: [2]}, None)


class Int(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Str(str):
    __slots__ = ()


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Int(3),
        Str("x"),
        Point(1, 2),
        [Int(3)],
        {Int(3): 1},
        {1: Int(3)},
        (x for x in ()),
        lambda: 0,
        print,
        bytearray(b"x"),
        range(3),
        memoryview(b"x"),
        ValueError("x"),
        NotImplemented,
        ...,
        Int,
        [1] * 20 + [Int(3)],
        [True] * 8 + [Int(1)],
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_exactly_of_a_plain_type_is_refused(value):
    with pytest.raises(NotPlainError, match=r"does not cross by value"):
        encode(value)


def test_a_container_that_holds_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(NotPlainError, match="levels"):
        encode(loop)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_bounded_on_both_sides():
    assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(NotPlainError):
        encode(nested(MAX_DEPTH + 1))
    forged = encode(nested(MAX_DEPTH))[:-9] + b"l\1\0\0\0" + b"N"
    with pytest.raises(MalformedError):
        decode(forged)


def test_the_number_of_items_is_bounded_on_both_sides():
    with pytest.raises(NotPlainError):
        encode([None] * MAX_ITEMS)
    with pytest.raises(MalformedError):
        decode(b"l" + struct.pack("<I", MAX_ITEMS) + b"N" * MAX_ITEMS)


def test_long_lists_of_numbers_are_packed_and_not_counted_item_by_item():
    numbers = list(range(MAX_ITEMS + 10))
    assert len(encode(numbers)) < 8 * len(numbers) + 100
    assert decode(encode(numbers)) == numbers


@given(st.binary(max_size=60))
def test_random_bytes_are_a_plain_value_or_malformed(wire):
    check(wire)


@given(values, st.data())
def test_damaged_bytes_are_a_plain_value_or_malformed(value, data):
    wire = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(wire)))
        kind = data.draw(st.sampled_from(["cut", "change", "insert"]))
        if kind == "cut":
            del wire[at:]
        elif kind == "change" and at < len(wire):
            wire[at] = data.draw(st.integers(0, 255))
        else:
            wire[at:at] = data.draw(st.binary(max_size=5))
    check(bytes(wire))


def check(wire):
    try:
        value = decode(wire)
    except MalformedError:
        return
    for part in parts(value):
        assert type(part) in PLAIN_TYPES or any(part is plain for plain in PLAIN_TYPES)


def parts(value):
    yield value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from parts(key)
            yield from parts(item)
    elif isinstance(value, list | tuple | set | frozenset | collections.deque):
        for item in value:
            yield from parts(item)


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"?",
        b"i\0",
        b"NN",
        b"s\xff\xff\xff\xff",
        b"l\xff\xff\xff\xff",
        b"d\1\0\0\0l\0\0\0\0N",
        b"S\1\0\0\0l\0\0\0\0",
        b"S\2\0\0\0NN",
        b"d\2\0\0\0NTNF",
        b"s\1\0\0\0\xff",
        b"pl?\0\0\0\0",
        b"plq\3\0\0\0abc",
        b"p?q\0\0\0\0",
        b"y\xff",
        b"R" + b"\0" * 8,
        b"C\1\0\0\0l\0\0\0\0N",
        b"l\1\0\0\0" * 100_000,
        b"t\1\0\0\0" * 100_000 + b"N",
    ],
)
def test_what_no_encoder_writes_is_malformed(wire):
    with pytest.raises(MalformedError):
        decode(wire)


@pytest.mark.parametrize("container", [set, frozenset, dict.fromkeys])
def test_keys_made_to_collide_are_malformed_and_do_not_hang_the_judge(container):
    colliding = [k * ((1 << 61) - 1) for k in range(100_000)]
    tag = {set: b"S", frozenset: b"Z"}.get(container, b"d")
    body = b"".join(encode(key) + (b"N" if tag == b"d" else b"") for key in colliding)
    with pytest.raises(MalformedError, match="one hash"):
        decode(tag + struct.pack("<I", len(colliding)) + body)


def test_honest_large_sets_and_dictionaries_do_not_look_like_collisions():
    for value in (
        set(range(10_000)),
        {i << 40 for i in range(10_000)},
        {(i, i) for i in range(10_000)},
        {float(i): str(i) for i in range(10_000)},
    ):
        assert decode(encode(value)) == value


def test_a_reference_is_resolved_only_where_somebody_resolves():
    wire = encode([Reference(7, "Pair"), 1])
    assert decode(wire, {7: "the pair"}.__getitem__) == ["the pair", 1]
    with pytest.raises(MalformedError):
        decode(wire)
    with pytest.raises(MalformedError):
        decode(wire, {}.__getitem__)


def test_a_reference_shows_its_type_and_answers_nothing():
    reference = Reference(7, "Pair")
    assert repr(reference) == "<Pair object inside the sandbox>"
    for question in (
        lambda: reference == reference,
        lambda: hash(reference),
        lambda: len(reference),
        lambda: reference.x,
        lambda: reference(),
        lambda: reference[0],
        lambda: 1 in reference,
        lambda: int(reference),
    ):
        with pytest.raises(TypeError):
            question()
