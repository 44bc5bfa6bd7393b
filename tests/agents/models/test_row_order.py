from hypothesis import given
from hypothesis import strategies as st

from budget_envs.agents.models.row_order import reading_order, survivors

NAMES = "abcdefgh"
PROMPTS = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(st.integers(0, 1), min_size=1, max_size=40).map(tuple),
    min_size=1,
)


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_survivors_are_those_at_work_and_as_few_as_possible_move(is_done):
    order = survivors(is_done)
    at_work = [index for index, done in enumerate(is_done) if not done]
    assert sorted(order) == at_work
    moved = sum(place != index for place, index in enumerate(order))
    assert moved == sum(is_done[: len(at_work)])


@given(PROMPTS, st.sets(st.sampled_from(NAMES)), st.integers(1, 100))
def test_every_prompt_is_read_once_in_one_group(new, cached, most_tokens):
    order = reading_order(new, dict.fromkeys(cached, 3), {}, most_tokens)
    assert sorted(order.names) == sorted(new)
    originals = [row for row, source in enumerate(order.sources) if source == row]
    assert originals == list(range(len(originals)))
    assert [row for a, b in order.groups for row in range(a, b)] == originals


@given(PROMPTS, st.sets(st.sampled_from(NAMES)))
def test_only_equal_prompts_of_new_conversations_share_a_reading(new, cached):
    order = reading_order(new, dict.fromkeys(cached, 3), {}, 1000)
    for name, source in zip(order.names, order.sources, strict=True):
        other = order.names[source]
        assert new[name] == new[other]
        assert name == other or not {name, other} & cached
    fresh = [new[name] for name in new if name not in cached]
    shared = sum(source != row for row, source in enumerate(order.sources))
    assert shared == len(fresh) - len(set(fresh))


@given(PROMPTS, st.integers(1, 100))
def test_a_group_is_neither_too_large_nor_mostly_padding(new, most_tokens):
    order = reading_order(new, dict.fromkeys(new, 1), {}, most_tokens)
    for first, end in order.groups:
        sizes = [len(new[name]) for name in order.names[first:end]]
        assert len(sizes) == 1 or len(sizes) * max(sizes) <= most_tokens
        assert 4 * min(sizes) >= max(sizes)


def test_rows_with_about_as_much_to_read_stay_where_they_are():
    new = {"a": (1,) * 9, "b": (1,) * 12, "c": (1,) * 8}
    rows = {"b": 0, "c": 1, "a": 2}
    assert reading_order(new, dict.fromkeys(new, 5), rows, 1000).names == ["b", "c", "a"]
