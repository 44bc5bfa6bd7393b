from hypothesis import given
from hypothesis import strategies as st

from budget_envs.tool_calls.model import Call, Tool
from budget_envs.tool_calls.mutation import wrong_calls

TOOLS = tuple(Tool(name, "", {"type": "object", "properties": {}}) for name in ("f", "g", "h"))
values = st.one_of(
    st.booleans(),
    st.integers(-99, 99),
    st.floats(-9, 9),
    st.text(max_size=4),
    st.lists(st.integers(), max_size=3),
    st.none(),
)
calls = st.lists(
    st.builds(Call, st.sampled_from("fgh"), st.dictionaries(st.sampled_from("abc"), values)),
    min_size=1,
    max_size=3,
).map(tuple)


def same(left, right):
    return repr(left) == repr(right)  # True and 1 are different arguments


@given(calls, st.integers(0, 2**64 - 1))
def test_every_edit_is_another_message_and_calls_something(origin, key):
    for edited in wrong_calls(origin, TOOLS, key):
        assert edited
        assert not same(edited, origin)
        assert len(origin) - 1 <= len(edited) <= len(origin)


@given(calls, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_key_orders_the_edits_and_chooses_none(origin, key, other):
    one, two = (list(map(repr, wrong_calls(origin, TOOLS, k))) for k in (key, other))
    assert sorted(one) == sorted(two)
    assert one == list(map(repr, wrong_calls(origin, TOOLS, key)))


def test_the_edits_of_two_calls():
    first, second = Call("f", {"n": 3}), Call("g", {"on": True})
    edits = list(wrong_calls((first, second), TOOLS[:2], 0))
    expected = [
        (second,),
        (first,),
        (Call("g", {"n": 3}), second),
        (first, Call("f", {"on": True})),
        (Call("f", {"n": 4}), second),
        (Call("f", {"n": 2}), second),
        (Call("f", {}), second),
        (first, Call("g", {"on": False})),
        (first, Call("g", {})),
    ]
    assert sorted(map(repr, edits)) == sorted(map(repr, expected))


def test_different_keys_put_different_edits_first():
    origin = (Call("f", {"a": 1, "b": "x", "c": [1, 2]}),)
    firsts = {repr(next(wrong_calls(origin, TOOLS, key))) for key in range(30)}
    assert len(firsts) > 3


def test_a_single_call_is_never_left_out_and_a_call_without_arguments_has_other_tools_only():
    assert list(wrong_calls((Call("f"),), TOOLS[:1], 0)) == []
    assert [c[0].name for c in wrong_calls((Call("f"),), TOOLS, 0)] in (["g", "h"], ["h", "g"])
