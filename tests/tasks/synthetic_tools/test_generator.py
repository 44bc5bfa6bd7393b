import dataclasses
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.tasks.synthetic_tools import (
    APIS,
    CATEGORIES,
    DATASET,
    LEVELS,
    SPLITS,
    dialogues,
    fingerprint,
    generate,
    open_world,
    split_of,
    task_from_id,
)
from budget_envs.tasks.synthetic_tools.apis import EASIEST, HELD_OUT, SEEN
from budget_envs.tasks.synthetic_tools.discrimination import is_discriminating, slips
from budget_envs.tasks.synthetic_tools.plan import SHAPES, atom_split
from budget_envs.tasks.synthetic_tools.world import methods
from budget_envs.tool_calls.model import Call, UserTurn

some_level = st.sampled_from([1, 1, 2, 2, 3, 4])
categories, groups, splits = map(st.sampled_from, (CATEGORIES, APIS, SPLITS))
indices = st.integers(0, 10**9)
kinds = st.tuples(some_level, categories, groups, splits, indices)


def gold(dialogue):
    return [turn.calls for turn in dialogue.turns]


def calls_of(dialogue):
    return [call for turn in dialogue.turns for call in turn.calls]


# --- Ground truth --------------------------------------------------------------------------------


def test_ground_truth_serves_every_user_turn(many, replay):
    for dialogue in many:
        assert all(replay(dialogue, gold(dialogue))), dialogue.task_id


def test_every_call_succeeds_every_action_changes_the_state_and_no_query_does(many):
    for dialogue in many:
        world = open_world(dialogue)
        for call in calls_of(dialogue):
            before, result = world.key(), json.loads(world.call(call))
            assert "error" not in result, (dialogue.task_id, call)
            assert (world.key() != before) == methods()[call.name][1].acts


def test_doing_nothing_serves_no_user_turn_that_asks_for_something(many, replay):
    for dialogue in many:
        verdicts = replay(dialogue, [()] * len(dialogue.turns))
        assert verdicts == [not turn.calls for turn in dialogue.turns]


def test_a_call_left_out_spoils_its_user_turn(many, replay):
    for dialogue in many:
        for place, turn in enumerate(dialogue.turns):
            for missing in range(len(turn.calls)):
                played = gold(dialogue)
                played[place] = turn.calls[:missing] + turn.calls[missing + 1 :]
                assert not replay(dialogue, played)[place], (dialogue.task_id, place, missing)


def test_a_harmless_call_in_place_of_the_calls_serves_nothing(many, replay):
    harmless = Call("no_such_tool")
    for dialogue in many:
        for place, turn in enumerate(dialogue.turns):
            if turn.calls:
                played = gold(dialogue)
                played[place] = (harmless,)
                assert not replay(dialogue, played)[place]


def test_one_wrong_argument_spoils_its_user_turn(many, replay):
    tried = 0
    for dialogue in many[::3]:
        world = open_world(dialogue)
        for place, turn in enumerate(dialogue.turns):
            for which, call in enumerate(turn.calls):
                for slip in itertools.islice(slips(call, world), 0, None, 5):
                    played = gold(dialogue)
                    played[place] = (*turn.calls[:which], slip, *turn.calls[which + 1 :])
                    assert not replay(dialogue, played)[place], (dialogue.task_id, slip)
                    tried += 1
            for call in turn.calls:
                world.call(call)
    assert tried > 500


@settings(max_examples=40, deadline=None)
@given(kinds)
def test_any_dialogue_tells_right_from_wrong(replay, kind):
    dialogue = generate(*kind)
    assert all(replay(dialogue, gold(dialogue)))
    assert is_discriminating(dialogue.turns, open_world(dialogue))
    last = max(place for place, turn in enumerate(dialogue.turns) if turn.calls)
    played = gold(dialogue)
    played[last] = played[last][:-1]
    assert not all(replay(dialogue, played))


# --- What the user says --------------------------------------------------------------------------


def spoken(value):
    if isinstance(value, bool):
        return []
    return [str(each) for each in (value if isinstance(value, list) else [value])]


def test_every_argument_was_said_or_told_by_an_earlier_user_turn(many):
    """So all calls of a user turn can be made at once."""
    for dialogue in many:
        world, known = open_world(dialogue), ""
        for turn in dialogue.turns:
            known += f"\n{turn.message}"
            told = []
            for call in turn.calls:
                for value in call.arguments.values():
                    for text in spoken(value):
                        assert re.search(rf"(?<![\w.]){re.escape(text)}(?!\w)", known), (
                            dialogue.task_id, text,
                        )  # fmt: skip
                told.append(world.call(call))
            known += "\n".join(told)


def test_some_arguments_come_from_results_only(many):
    depending = sum(
        any(text not in " ".join(turn.message for turn in dialogue.turns)
            for call in calls_of(dialogue) for v in call.arguments.values() for text in spoken(v))
        for dialogue in many
    )  # fmt: skip
    assert depending > len(many) / 20


def test_messages_are_clean_english(many):
    for dialogue in many:
        for turn in dialogue.turns:
            assert turn.message[0].isupper() or turn.message[0] in '"0123456789'
            assert turn.message[-1] in ".?"
            assert not re.search(r"  |[{}_]|\bNone\b|\b(\w+) \1\b| [,.?]", turn.message)


# --- Shapes --------------------------------------------------------------------------------------


def test_levels_have_their_shapes(many):
    for dialogue in many:
        shape = SHAPES[int(dialogue.task_id.split("/")[1][-1])]
        asked = [turn for turn in dialogue.turns if turn.calls]
        assert shape.turns[0] <= len(asked) <= shape.turns[1]
        assert len(dialogue.turns) - len(asked) == (dialogue.category != "base")
        assert all(len(turn.calls) <= 2 * shape.requests[1] for turn in asked)
        used = {call.name for call in calls_of(dialogue)}
        assert used <= {tool.name for tool in dialogue.tools}
        owners = {methods()[tool.name][0].name for tool in dialogue.tools}
        assert owners == set(dialogue.world["apis"])
        held_out = "/held_out/" in dialogue.task_id
        assert len(owners) == min(shape.apis, 2 if held_out else 3)
        if shape.tools is not None:
            assert len(dialogue.tools) == shape.tools
            assert {len(turn.calls) for turn in asked} == {1}


def test_no_user_turn_asks_twice_for_the_same(many):
    for dialogue in many:
        for turn in dialogue.turns:
            texts = [
                (call.name, repr([v for v in call.arguments.values() if isinstance(v, str | list)]))
                for call in turn.calls
            ]
            assert len(set(texts)) == len(texts)


def test_numbers_of_calls_grow_with_the_level(many):
    def mean(level):
        counts = [len(calls_of(d)) for d in many if f"/level{level}/" in d.task_id]
        return sum(counts) / len(counts)

    means = [mean(level) for level in LEVELS]
    assert means == sorted(means)
    assert means[0] < 2 < 8 < means[-1]


def test_a_missing_tool_arrives_with_the_user_turn_that_needs_it(many):
    for dialogue in many:
        arrivals = [(place, turn.arrivals) for place, turn in enumerate(dialogue.turns)]
        late = [(place, names) for place, names in arrivals if names]
        if dialogue.category != "miss_func":
            assert not late
            continue
        ((place, (name,)),) = late
        assert dialogue.turns[place - 1].calls == ()
        assert {call.name for call in dialogue.turns[place].calls} == {name}
        assert name not in {tool.name for tool in dialogue.tools_at(place - 1)}
        assert name in {tool.name for tool in dialogue.tools_at(place)}
        before = [call.name for turn in dialogue.turns[:place] for call in turn.calls]
        assert name not in before


def test_no_two_calls_of_the_other_tools_do_what_a_missing_tool_does():
    for level, index in itertools.product((1, 2), range(12)):
        dialogue = generate(level, "miss_func", APIS[index % 2], "train", index)
        place = next(i for i, turn in enumerate(dialogue.turns) if turn.arrivals)
        world = open_world(dialogue)
        for turn in dialogue.turns[:place]:
            for call in turn.calls:
                world.call(call)
        calls = dialogue.turns[place].calls
        if not methods()[calls[0].name][1].acts:
            continue
        goal = world.copy()
        for call in calls:
            goal.call(call)
        pool = list(related_calls(dialogue.tools_at(place - 1), calls))
        for first in pool:
            once = world.copy()
            once.call(first)
            assert once.state() != goal.state(), (dialogue.task_id, first)
            for second in pool:
                twice = once.copy()
                twice.call(second)
                assert twice.state() != goal.state(), (dialogue.task_id, first, second)


def related_calls(tools, calls):
    """Yield calls of tools with arguments that some calls have, or that a schema lists."""
    values = [value for call in calls for value in call.arguments.values()]
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}
    for tool in tools:
        properties = tool.parameters["properties"]
        options = [
            schema.get("enum", [True, False] if schema["type"] == "boolean" else [])
            + [v for v in values if isinstance(v, types[schema["type"]])]
            for schema in properties.values()
        ]
        for chosen in itertools.product(*options):
            yield Call(tool.name, dict(zip(properties, chosen, strict=True)))


def test_a_missing_parameter_is_given_one_user_turn_later(many):
    for dialogue in many:
        if dialogue.category != "miss_param":
            continue
        place = next(i for i, turn in enumerate(dialogue.turns) if not turn.calls)
        vague, detail = dialogue.turns[place : place + 2]
        new = [
            text
            for call in detail.calls
            for value in call.arguments.values()
            for text in spoken(value)
            if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", detail.message)
            and not re.search(rf"(?<!\w){re.escape(text)}(?!\w)", vague.message)
        ]
        assert new, dialogue.task_id
        assert {len(detail.calls)} == {1}


def test_every_tool_of_every_api_is_offered_and_called_in_each_split():
    for group, apis in (("seen", SEEN), ("held_out", HELD_OUT)):
        names = {method.tool.name for api in apis for method in api.methods}
        for split in SPLITS:
            offered, called = set(), set()
            for dialogue in dialogues(split, 3, ["base"], group, n=70):
                offered |= {tool.name for tool in dialogue.tools}
                called |= {call.name for call in calls_of(dialogue)}
            assert offered == called == names


def test_held_out_tools_appear_in_no_seen_dialogue_and_the_other_way_round(many):
    held_out = {method.tool.name for api in HELD_OUT for method in api.methods}
    for dialogue in many:
        names = {tool.name for tool in dialogue.tools}
        assert names <= held_out if "/held_out/" in dialogue.task_id else not names & held_out
        assert {call.name for call in calls_of(dialogue)} <= names


@pytest.mark.parametrize("split", SPLITS)
def test_level_1_uses_each_of_its_apis_in_each_split(split):
    for group, apis in (("seen", EASIEST), ("held_out", HELD_OUT)):
        found = dialogues(split, 1, CATEGORIES, group, n=90)
        used = Counter(next(iter(dialogue.world["apis"])) for dialogue in found)
        assert set(used) == {api.name for api in apis}
        assert min(used.values()) > 90 / len(apis) / 4


# --- Splits --------------------------------------------------------------------------------------


def atoms(dialogue):
    """What the calls do and to what, written anew: tools with their texts."""
    return {
        (call.name, repr([v for v in call.arguments.values() if isinstance(v, str | list)]))
        for call in calls_of(dialogue)
    }


@pytest.fixture(scope="module")
def by_split():
    return {
        split: [
            dialogue
            for group in APIS
            for dialogue in itertools.chain(
                dialogues(split, [1, 2], CATEGORIES, group, n=120),
                dialogues(split, [3, 4], CATEGORIES, group, n=12),
            )
        ]
        for split in SPLITS
    }


def test_dialogues_of_validation_and_test_do_something_that_no_other_split_does(by_split):
    done = {split: set().union(*map(atoms, found)) for split, found in by_split.items()}
    for split in ("validation", "test"):
        others = set().union(*(done[other] for other in SPLITS if other != split))
        for dialogue in by_split[split]:
            assert atoms(dialogue) - others, dialogue.task_id


def test_no_words_but_numbers_apart_are_in_two_splits(by_split):
    """Near duplicates are in one split, whatever their category: they would share a text."""
    texts = {
        split: {
            re.sub(r"\d+(\.\d+)?", "#", "\n".join(turn.message for turn in dialogue.turns))
            for dialogue in found
        }
        for split, found in by_split.items()
    }
    for split, other in itertools.combinations(SPLITS, 2):
        assert not texts[split] & texts[other]


def test_no_request_that_is_new_in_a_split_is_said_in_another(by_split):
    own = Counter()
    for split, found in by_split.items():
        for dialogue in found:
            for call in calls_of(dialogue):
                assert atom_split(call) in ("train", split)
                own[atom_split(call) == split, split] += 1
    assert own[True, "test"] > 200
    assert own[True, "validation"] > 200


def test_numbers_and_flags_do_not_decide_the_split():
    for count in range(1, 30):
        assert atom_split(Call("add_item", {"item": "bolts", "count": count})) == atom_split(
            Call("add_item", {"item": "bolts", "count": 1})
        )
    assert atom_split(Call("log_in", {"pin": 1234})) == "train"
    shares = Counter(
        atom_split(Call("tool", {"x": str(number)})) for number in range(5000)
    )  # fmt: skip
    assert 0.7 < shares["train"] / 5000 < 0.82
    assert min(shares["validation"], shares["test"]) / 5000 > 0.09


def test_indices_of_a_kind_give_different_tasks():
    for group, split in (("seen", "train"), ("seen", "test"), ("held_out", "test")):
        found = [fingerprint(generate(1, "base", group, split, index)) for index in range(600)]
        assert len(set(found)) == 600


# --- Words of level 1 ----------------------------------------------------------------------------


def test_level_1_speaks_few_words():
    for group in APIS:
        words = Counter()
        for dialogue in dialogues("train", 1, CATEGORIES, group, n=400):
            world = open_world(dialogue)
            texts = [turn.message for turn in dialogue.turns]
            texts += [world.call(call) for call in calls_of(dialogue)]
            texts += [json.dumps(dict(call.arguments)) for call in calls_of(dialogue)]
            texts += [json.dumps([t.name, t.description, t.parameters]) for t in dialogue.tools]
            words.update(word for text in texts for word in re.findall(r"\w+", text))
        assert len(words) < 260
        assert max(map(len, words)) <= 15


# --- Identity ------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(kinds)
def test_an_id_names_its_dialogue(kind):
    dialogue = generate(*kind)
    level, category, group, split, index = kind
    assert dialogue.task_id == f"{DATASET}/level{level}/{category}/{group}/{split}/{index:06d}"
    assert task_from_id(dialogue.task_id) == dialogue
    assert split_of(dialogue.task_id) == split
    assert dialogue.category == category


def test_dialogues_are_the_same_without_the_memory_of_earlier_ones():
    from budget_envs.tasks.synthetic_tools.generator import _generate

    first = [generate(2, "base", "seen", "test", index) for index in range(5)]
    _generate.cache_clear()
    again = [generate(2, "base", "seen", "test", index) for index in reversed(range(5))]
    assert again[::-1] == first


def test_dialogues_pickle_and_are_plain_data(many):
    for dialogue in many[::10]:
        assert pickle.loads(pickle.dumps(dialogue)) == dialogue
        plain = json.loads(json.dumps(dataclasses.asdict(dialogue)))
        assert plain["world"] == dict(dialogue.world)


def test_dialogues_are_equal_in_processes_with_other_hash_seeds():
    code = (
        "from budget_envs.tasks.synthetic_tools import *\n"
        "for split in SPLITS:\n"
        "    for apis in APIS:\n"
        "        for d in dialogues(split, [1, 2, 4], ['base', 'miss_func'], apis, n=6):\n"
        "            w = open_world(d); print(repr(d), w.key())\n"
        "            print([w.call(c) for t in d.turns for c in t.calls], w.key())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert len(printed.pop()) > 10_000


def test_fingerprints_ignore_words_and_category_and_nothing_else():
    dialogue = generate(1, "base", "seen", "train", 0)
    said = dataclasses.replace(
        dialogue, category="x", turns=tuple(UserTurn("?", turn.calls) for turn in dialogue.turns)
    )
    assert fingerprint(said) == fingerprint(dialogue)
    silent = dataclasses.replace(dialogue, turns=(UserTurn("?"),))
    other = dataclasses.replace(dialogue, world={"apis": {}})
    assert len({fingerprint(each) for each in (dialogue, silent, other)}) == 3
    assert re.fullmatch(r"[0-9a-f]{16}", fingerprint(dialogue))


def test_dialogues_are_listed_by_index_with_every_level_and_category_in_turn():
    listed = [d.task_id for d in dialogues("test", [1, 2], ["base", "miss_func"], n=6)]
    assert [task_id.removeprefix(f"{DATASET}/") for task_id in listed] == [
        "level1/base/seen/test/000000",
        "level1/miss_func/seen/test/000000",
        "level2/base/seen/test/000000",
        "level2/miss_func/seen/test/000000",
        "level1/base/seen/test/000001",
        "level1/miss_func/seen/test/000001",
    ]
    assert len(list(dialogues("train", 1, n=0))) == 0


@pytest.mark.parametrize(
    "bad",
    [
        (0, "base", "seen", "train", 0), (5, "base", "seen", "train", 0),
        (True, "base", "seen", "train", 0), ("1", "base", "seen", "train", 0),
        (1, "bas", "seen", "train", 0), (1, "base", "unseen", "train", 0),
        (1, "base", "seen", "tets", 0), (1, "base", "seen", "train", -1),
        (1, "base", "seen", "train", 10**18),
        (1, "base", "seen", "train", True), (1, "base", "seen", "train", 1.0),
        (1, None, "seen", "train", 0), ([1], "base", "seen", "train", 0),
    ],
)  # fmt: skip
def test_what_names_no_dialogue_is_refused(bad):
    with pytest.raises(OptionError, match="Expected"):
        generate(*bad)


def test_a_near_miss_is_named():
    with pytest.raises(OptionError, match="Did you mean 'miss_func'"):
        generate(1, "mis_func", "seen", "train", 0)


@pytest.mark.parametrize(
    "task_id",
    [
        "", "level1/base/seen/test/000017", f"{DATASET}/level1/base/seen/test/17",
        f"{DATASET}/level9/base/seen/test/000017", f"{DATASET}/level1/base/seen/test/0000017",
        f"{DATASET}/level1/base/seen/test/000017\n", f"{DATASET}/level1/base/test/000017",
        f"{DATASET}/level1/base/seen/test/00001\u0667", 17, None,
    ],
)  # fmt: skip
def test_what_is_no_id_is_refused(task_id):
    with pytest.raises(OptionError, match="Expected"):
        task_from_id(task_id)


@pytest.mark.parametrize("n", [-1, 1.0, True])
def test_a_count_must_be_natural(n):
    with pytest.raises(OptionError, match="n >= 0"):
        dialogues("train", 1, n=n)
    with pytest.raises(OptionError, match="levels"):
        dialogues("train", [], n=1)
