from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.tool_dialogue import minimal_generations, progress, served, truths_of
from budget_envs.tool_calls.model import Call, UserTurn


def call(name, /, **arguments):
    return Call(name, arguments)


CALLS = st.sampled_from(
    [
        call("bump"),
        call("bump", by=2),
        call("bump", by=-1),
        call("read", name="a"),
        call("read", name="b"),
        call("read", name="c"),
        call("select", name="a"),
        call("select", name="b"),
        call("no_such_tool"),
    ]
)
TURNS = st.lists(st.lists(CALLS, max_size=4), min_size=1, max_size=4)


BUMP_A = UserTurn("Raise a.", (call("bump", by=2),))
READ_B = UserTurn("What is b?", (call("read", name="b"),))
RAISE_B = UserTurn("Raise b.", (call("select", name="b"), call("bump"), call("bump")))
NO_TOOL = UserTurn("Raise it.")


@pytest.fixture(scope="session")
def fresh(tiny):
    return lambda: tiny.CounterWorld({"a": 0, "b": 5})


@pytest.fixture(scope="session")
def truths(tiny, fresh):
    return lambda *turns: truths_of(tiny.dialogue("x", *turns), fresh())


def test_the_truth_holds_state_results_and_what_changed(truths):
    first, second, third = truths(BUMP_A, READ_B, RAISE_B)
    assert first.state == {"a": 2, "b": 5}
    assert (first.changed, second.changed, third.changed) == ({"a"}, frozenset(), {"b"})
    assert second.results == {"5": 1}
    assert third.results == {"selected b": 1, "6": 1, "7": 1}
    assert third.state == {"a": 2, "b": 7}
    assert (first.calls, second.calls, third.calls) == (1, 1, 3)


def test_the_truth_is_detached_from_the_world_that_it_was_played_in(tiny, fresh):
    world = fresh()
    first, _ = truths_of(tiny.dialogue("x", BUMP_A, RAISE_B), world)
    world.call(call("bump", by=100))
    assert first.state == {"a": 2, "b": 5}


def test_later_counts_the_most_that_any_turn_still_asks_for(truths):
    twice = UserTurn("b twice", READ_B.calls * 2)
    later = [truth.later for truth in truths(READ_B, twice, READ_B)]
    assert later == [{"5": 2}, {"5": 2}, {"5": 1}]


def test_results_of_earlier_turns_count(fresh, truths):
    (truth,) = truths(READ_B)
    assert served(truth, fresh(), {"5": 1}, called=True)


@pytest.mark.parametrize(("results", "called"), [({}, True), ({"6": 4}, True), ({"5": 1}, False)])
def test_a_missing_result_or_no_call_at_all_is_not_served(results, called, fresh, truths):
    (truth,) = truths(READ_B)
    assert not served(truth, fresh(), results, called=called)


def test_a_result_is_needed_as_often_as_the_truth_gets_it(fresh, truths):
    (truth,) = truths(UserTurn("b twice", READ_B.calls * 2))
    assert [served(truth, fresh(), {"5": n}, called=True) for n in (1, 2, 3)] == [False, True, True]


def test_another_state_is_not_served(fresh, truths):
    (truth,) = truths(READ_B)
    world = fresh()
    world.call(call("bump"))
    assert not served(truth, world, {"5": 1}, called=True)


def test_progress_counts_changes_results_and_what_was_spoiled(fresh, truths):
    (truth,) = truths(RAISE_B)  # one part changes, three results come
    world, results = fresh(), Counter()
    seen = [progress(truth, world, results)]
    for each in RAISE_B.calls:
        results[world.call(each)] += 1
        seen.append(progress(truth, world, results))
    assert seen == [0, 1 / 4, 2 / 4, 1]
    world.call(call("select", name="a"))
    world.call(call("bump"))
    assert progress(truth, world, results) == 4 / 5


def test_progress_of_a_turn_that_asks_for_nothing_is_whole_until_something_is_spoiled(
    fresh, truths
):
    (truth,) = truths(NO_TOOL)
    world = fresh()
    assert progress(truth, world, {}) == 1
    world.call(call("bump"))
    assert progress(truth, world, {}) == 0


def by_definition(fresh, turns, made):
    """The verdicts, spelled out: replay both sides and compare, turn by turn."""
    ours, theirs = fresh(), fresh()
    so_far, verdicts = [], []
    for truth, calls in zip(turns, made, strict=True):
        wanted = [theirs.call(each) for each in truth]
        so_far += [ours.call(each) for each in calls]
        missing = Counter(wanted) - Counter(so_far)
        same = ours.counters == theirs.counters
        verdicts.append((bool(calls) and same and not missing) if truth else None)
    return verdicts


@given(turns=TURNS, data=st.data())
def test_verdicts_are_those_of_the_definition(turns, data, tiny, fresh):
    made = [data.draw(st.one_of(st.just(calls), st.lists(CALLS, max_size=5))) for calls in turns]
    task = tiny.dialogue("x", *(UserTurn("hm", tuple(calls)) for calls in turns))
    world, results, found = fresh(), Counter(), []
    for truth, calls in zip(truths_of(task, fresh()), made, strict=True):
        results.update([world.call(each) for each in calls])
        right = served(truth, world, results, called=bool(calls))
        assert not right or progress(truth, world, results) == 1
        found.append(right if truth.calls else None)
    assert found == by_definition(fresh, turns, made)


@given(turns=TURNS)
def test_the_fewest_generations_are_counted(turns, tiny):
    task = tiny.dialogue("x", *(UserTurn("hm", tuple(calls)) for calls in turns))
    assert minimal_generations(task, batched=True) == sum(1 + bool(calls) for calls in turns)
    assert minimal_generations(task, batched=False) == sum(1 + len(calls) for calls in turns)


def test_the_fewest_generations_of_the_examples(tiny):
    fewest = {
        name: [minimal_generations(each, batched=batched) for batched in (True, False)]
        for name, each in tiny.DIALOGUES.items()
    }
    assert fewest == {
        "one": [2, 2],
        "three": [6, 8],
        "late": [5, 5],
        "nothing": [1, 1],
        "odd": [6, 6],
    }
