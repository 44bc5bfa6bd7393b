import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools import ToolWorld, generate, open_world
from budget_envs.tasks.synthetic_tools.apis import HELD_OUT, SEEN
from budget_envs.tasks.synthetic_tools.world import methods
from budget_envs.tool_calls.model import Call

ALL = (*SEEN, *HELD_OUT)


def world_of(*names, seed=1):
    return ToolWorld({api.name: api.start(Draws(seed), 2) for api in ALL if api.name in names})


EVERYTHING = ToolWorld({api.name: api.start(Draws(5), 2) for api in ALL})
VALUES = sorted({name for state in EVERYTHING.state().values() for name in state}) + [
    key for state in EVERYTHING.state().values() for v in state.values()
    if isinstance(v, dict) for key in v
]  # fmt: skip


def plausible(schema):
    """Arguments that are mostly right, so that tools are reached."""
    options = {
        "string": st.sampled_from([*schema.get("enum", ()), *VALUES, ""]),
        "integer": st.integers(-5, 120) | st.just(EVERYTHING.state()["house"]["code"]),
        "number": st.integers(0, 40) | st.floats(),
        "boolean": st.booleans(),
        "array": st.lists(st.sampled_from(VALUES), max_size=4),
    }
    return options[schema["type"]]


@st.composite
def calls(draw):
    _, method = methods()[draw(st.sampled_from(sorted(methods())))]
    properties = method.tool.parameters["properties"]
    arguments = {name: draw(plausible(schema)) for name, schema in properties.items()}
    return Call(method.tool.name, arguments)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=3,
)
PARAMETERS = sorted({p for _, m in methods().values() for p in m.tool.parameters["properties"]})
wild = st.builds(
    Call,
    st.text() | st.sampled_from(sorted(methods())),
    st.dictionaries(
        st.text()
        | st.sampled_from(PARAMETERS),
        anything,
        max_size=3,
    ),
)  # fmt: skip


@settings(max_examples=100)
@given(st.lists(calls(), max_size=10))
def test_any_calls_are_answered_by_json_and_what_is_refused_changes_nothing(made):
    world = EVERYTHING.copy()
    for call in made:
        before, result = world.key(), json.loads(world.call(call))
        assert isinstance(result, dict)
        changed = world.key() != before
        if "error" in result:
            assert set(result) == {"error"}
            assert not changed
        assert not changed or methods()[call.name][1].acts
    assert EVERYTHING.key() == ToolWorld({a.name: a.start(Draws(5), 2) for a in ALL}).key()


@settings(max_examples=100)
@given(wild)
def test_any_arguments_are_answered(call):
    world = EVERYTHING.copy()
    said = world.call(call)
    assert isinstance(json.loads(said), dict)
    said.encode()


@settings(max_examples=100)
@given(st.lists(calls(), max_size=10))
def test_repeating_the_calls_gives_the_same_results_and_the_same_state(made):
    first, second = EVERYTHING.copy(), EVERYTHING.copy()
    assert [first.call(call) for call in made] == [second.call(call) for call in made]
    assert first.key() == second.key()
    assert first.state() == second.state()


@settings(max_examples=100)
@given(st.lists(calls(), max_size=8), st.lists(calls(), max_size=8))
def test_worlds_of_the_same_key_answer_alike_however_they_came_about(before, after):
    world = EVERYTHING.copy()
    for call in before:
        world.call(call)
    twin = ToolWorld(json.loads(world.key()))
    assert [twin.call(call) for call in after] == [world.call(call) for call in after]


@settings(max_examples=100)
@given(st.lists(calls(), max_size=10))
def test_keys_are_equal_if_and_only_if_states_are(made):
    world = EVERYTHING.copy()
    for call in made:
        before = copy.deepcopy(world.state())
        key = world.key()
        world.call(call)
        assert (world.key() == key) == (world.state() == before)


@settings(max_examples=100)
@given(st.lists(calls(), max_size=12))
def test_no_result_ever_tells_a_secret(made):
    world = EVERYTHING.copy()
    secrets = world.state()["ledger"]["pin"], world.state()["house"]["code"]
    for call in made:
        given_away = {value for value in call.arguments.values() if value in secrets}
        said = world.call(call)
        assert all(str(secret) not in said for secret in secrets if secret not in given_away)


@settings(max_examples=100)
@given(st.lists(calls(), max_size=6), st.lists(calls(), max_size=6))
def test_copies_go_on_by_themselves(before, after):
    world = EVERYTHING.copy()
    for call in before:
        world.call(call)
    key = world.key()
    twin = world.copy()
    results = [twin.call(call) for call in after]
    assert world.key() == key
    assert [world.call(call) for call in after] == results


def test_two_worlds_of_one_dialogue_share_nothing():
    dialogue = generate(2, "base", "seen", "train", 5)
    saved = copy.deepcopy(dialogue)
    first, second = open_world(dialogue), open_world(dialogue)
    for turn in dialogue.turns:
        for call in turn.calls:
            first.call(call)
    assert second.key() == open_world(dialogue).key()
    assert dialogue == saved


def test_a_tool_that_the_dialogue_does_not_have_does_not_exist():
    world = ToolWorld(world_of("stock_room").state(), ["count_item"])
    item = next(iter(world.state()["stock_room"]))
    assert "error" not in json.loads(world.call(Call("count_item", {"item": item})))
    refused = json.loads(world.call(Call("find_item", {"item": item})))
    assert refused == {"error": "There is no tool 'find_item'."}


@pytest.mark.parametrize(
    "name", ["__import__", "os.system", "count_item()", "_count_item", "", "\ud800", "x" * 10**6]
)
def test_names_that_are_no_tool_are_refused_in_few_words(name):
    said = world_of("stock_room").call(Call(name, {"item": "bolts"}))
    assert json.loads(said)["error"].startswith("There is no tool")
    assert len(said) < 200
    said.encode()


def test_code_in_an_argument_stays_text():
    world = world_of("notebook")
    attack = "__import__('os').system('touch /tmp/x') {title.__class__} %s"
    result = json.loads(world.call(Call("write_note", {"title": attack, "line": attack})))
    assert result == {"title": attack, "lines": [attack], "tags": []}


def test_equal_numbers_lead_to_equal_states():
    worlds = [world_of("garden") for _ in range(3)]
    beds = worlds[0].state()["garden"]
    bed = next(name for name, each in beds.items() if not each["covered"])
    for world, steps in zip(worlds, [(3,), (3.0,), (1.5, 1.5)], strict=True):
        for litres in steps:
            world.call(Call("water", {"bed": bed, "litres": litres}))
    assert len({world.key() for world in worlds}) == 1


def test_worlds_pickle():
    world = world_of("music")
    assert pickle.loads(pickle.dumps(world)).key() == world.key()
