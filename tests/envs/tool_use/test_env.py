"""The dialogues of the generator, played in the engine in every format."""

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.envs.tool_dialogue import minimal_generations
from budget_envs.envs.tool_use import ToolUseEnv
from budget_envs.errors import OptionError
from budget_envs.tasks.synthetic_tools import APIS, CATEGORIES, LEVELS, SPLITS, dialogues
from budget_envs.tool_calls.formats import FORMATS
from budget_envs.tool_calls.model import Call

every_format = pytest.mark.parametrize("form", FORMATS)
strictness = pytest.mark.parametrize("strict", [False, True])
SOME = [
    dialogue.task_id
    for split, group in itertools.product(SPLITS, APIS)
    for dialogue in dialogues(split, LEVELS, CATEGORIES, group, n=12)
]


def messages(env, calls_of_turns, *, batched=True):
    """The assistant's messages that make these calls, a text after each user turn."""
    for calls in calls_of_turns:
        groups = [calls] if batched else [[call] for call in calls]
        yield from (env.format.render_calls(group) for group in groups if group)
        yield "Done."


def play(env, task_id, actions):
    steps = [(*env.reset(seed=0, options={"task": task_id}),)]
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2]:
            break
    return steps


def gold(env, task_id):
    env.reset(options={"task": task_id})
    return [turn.calls for turn in env.task.turns]


# --- Verdicts ------------------------------------------------------------------------------------


@every_format
@strictness
def test_ground_truth_succeeds_within_the_least_number_of_turns(form, strict):
    env = ToolUseEnv(format=form, strict=strict)
    for task_id in SOME[:: 1 if form == "hermes" else 5]:
        for batched in (True, False):
            actions = list(messages(env, gold(env, task_id), batched=batched))
            steps = play(env, task_id, actions)
            assert steps[-1][1:4] == (1.0, True, False), task_id
            assert len(steps) - 1 == minimal_generations(env.task, batched=batched)
            assert steps[-1][4]["is_success"]
            assert steps[-1][4]["progress"] == 1.0


@every_format
def test_saying_done_and_nothing_else_fails(form):
    env = ToolUseEnv(format=form)
    for task_id in SOME[::5]:
        steps = play(env, task_id, ["Done."] * 20)
        assert steps[-1][1:3] == (0.0, True)
        assert len(steps) - 1 == len(env.task.turns)


def test_leaving_out_the_last_call_fails():
    env = ToolUseEnv()
    for task_id in SOME:
        calls = gold(env, task_id)
        last = max(place for place, made in enumerate(calls) if made)
        calls[last] = calls[last][:-1]
        steps = play(env, task_id, messages(env, calls))
        assert steps[-1][1:3] == (0.0, True), task_id
        assert steps[-1][4]["turn_verdicts"][last] == "fail"


def test_a_spare_query_does_no_harm_and_a_spare_action_does():
    env = ToolUseEnv(levels=[2], categories=["base"])
    for spare, success in (
        (Call("count_item", {"item": "bolts"}), 1.0),
        (Call("log_out"), 1.0),  # refused: not a tool here
        (Call("add_item", {"item": "{item}", "count": 1}), 0.0),
    ):
        dialogue = next(
            d for d in dialogues("train", 2, ["base"]) if "stock_room" in d.world["apis"]
        )
        item = next(iter(dialogue.world["apis"]["stock_room"]))
        spare = Call(
            spare.name, {k: item if v == "{item}" else v for k, v in spare.arguments.items()}
        )
        calls = [(*turn.calls, spare) for turn in dialogue.turns]
        steps = play(env, dialogue.task_id, messages(env, calls))
        assert steps[-1][1] == success


@pytest.mark.parametrize("category", ["miss_func", "miss_param"])
def test_calling_where_something_is_missing_is_judged_only_if_strict(category):
    task_id = next(d.task_id for d in dialogues("test", 1, [category]))
    for strict, success in ((False, 1.0), (True, 0.0)):
        env = ToolUseEnv(strict=strict)
        calls = gold(env, task_id)
        missing = calls.index(())
        calls[missing] = (Call("no_such_tool"),)
        assert play(env, task_id, messages(env, calls))[-1][1] == success


def test_a_late_tool_is_told_when_it_arrives_and_not_before():
    env = ToolUseEnv(strict=True)
    for dialogue in dialogues("test", 1, ["miss_func"], n=12):
        steps = play(env, dialogue.task_id, messages(env, gold(env, dialogue.task_id)))
        place = next(i for i, turn in enumerate(dialogue.turns) if turn.arrivals)
        (name,) = dialogue.turns[place].arrivals
        texts = [step[0] for step in steps]
        arrival = next(i for i, text in enumerate(texts) if dialogue.turns[place].message in text)
        assert f'"{name}"' in texts[arrival]
        assert all(f'"{name}"' not in text for text in texts[:arrival])


# --- What is observed ----------------------------------------------------------------------------


def test_results_are_json_and_errors_are_results():
    env = ToolUseEnv()
    env.reset(options={"task": "tool_use_synthetic/level1/base/seen/train/000000"})
    said, *_, info = env.step(env.format.render_calls([Call("no_such_tool")]))
    assert '{"error": "There is no tool \'no_such_tool\'."}' in said
    assert (info["calls"], info["output_state"]) == (1, "healthy_call")


def test_success_is_not_said_before_the_end():
    env = ToolUseEnv()
    for task_id in SOME[::4]:
        right = play(env, task_id, messages(env, gold(env, task_id)))
        wrong = play(env, task_id, ["Done."] * 20)
        for step in [*right[:-1], *wrong[:-1]]:
            assert not re.search(
                r"served\b.*dialogue|right|wrong|success", step[0].split("</tools>")[-1]
            )


def test_at_level_1_the_first_observation_is_short():
    for group in APIS:
        env = ToolUseEnv(levels=[1], apis=group)
        for seed in range(300):
            assert len(env.reset(seed=seed)[0].split()) < 250


def test_at_level_1_a_whole_training_set_has_few_words():
    env, words = ToolUseEnv(levels=[1], split="train"), set()
    for seed in range(300):
        env.reset(seed=seed)
        actions = list(messages(env, [turn.calls for turn in env.task.turns]))
        steps = play(env, env.task.task_id, actions)
        for text in [*actions, *(step[0] for step in steps)]:
            words.update(re.findall(r"\w+", text))
    assert 100 < len(words) < 300


# --- Which dialogues -----------------------------------------------------------------------------


def kind_of(task_id):
    return task_id.split("/")[1:5]


def test_settings_narrow_what_is_drawn_and_listed():
    env = ToolUseEnv(levels=[1, 2], categories=["base"], apis="held_out", split="validation")
    kinds = {tuple(kind_of(env.reset(seed=seed)[1]["task_id"])) for seed in range(40)}
    assert kinds == {(f"level{level}", "base", "held_out", "validation") for level in (1, 2)}
    listed = [env.task_at("test", index).task_id for index in range(4)]
    assert [task_id.split("tool_use_synthetic/")[1] for task_id in listed] == [
        "level1/base/held_out/test/000000",
        "level2/base/held_out/test/000000",
        "level1/base/held_out/test/000001",
        "level2/base/held_out/test/000001",
    ]


def test_by_default_all_levels_categories_and_splits_are_drawn_and_no_held_out_tool():
    env = ToolUseEnv()
    kinds = [kind_of(env.reset(seed=seed)[1]["task_id"]) for seed in range(200)]
    seen = [set(values) for values in zip(*kinds, strict=True)]
    assert seen == [{f"level{level}" for level in LEVELS}, set(CATEGORIES), {"seen"}, set(SPLITS)]
    train = sum(kind[3] == "train" for kind in kinds)
    assert 0.7 < train / len(kinds) < 0.9


def test_an_id_names_its_dialogue_whatever_is_drawn():
    env = ToolUseEnv(levels=[1], categories=["base"], split="train")
    task_id = "tool_use_synthetic/level3/miss_func/held_out/test/000017"
    _, info = env.reset(options={"task": task_id})
    assert info["task_id"] == env.name_task(env.task) == task_id


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"levels": [5]}, "levels must be of 1, 2, 3, 4, got 5"),
        ({"levels": []}, "levels must be a list"),
        ({"levels": 1}, "levels must be a list"),
        ({"levels": [True]}, "got True"),
        ({"categories": ["bas"]}, "Did you mean 'base'"),
        ({"categories": "base"}, "categories must be a list"),
        ({"levels": [1, 1]}, "levels must hold each value once"),
        ({"strict": "no"}, "strict must be True or False"),
        ({"format": ["hermes"]}, "Expected a tool-call format"),
        ({"apis": "unseen"}, "Did you mean 'seen'"),
        ({"split": "tets"}, "Did you mean 'test'"),
        ({"split": 3}, "got 3"),
        ({"format": "herms"}, "Did you mean 'hermes'"),
        ({"dataset": "bfcl"}, "unknown dataset 'bfcl'"),
    ],
)
def test_what_is_not_known_is_refused(settings, said):
    with pytest.raises(OptionError, match=re.escape(said)):
        ToolUseEnv(**settings)


# --- Whatever is said ----------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.text() | st.sampled_from(["<tool_call>", "[count_item(item='bolts')]"]), max_size=8)
)
def test_any_messages_are_answered_and_the_episode_can_be_repeated(said):
    env, twin = (ToolUseEnv(levels=[1], format="bracket") for _ in range(2))
    task_id = SOME[0]
    assert play(env, task_id, said) == play(twin, task_id, said)


def test_eight_rollouts_of_one_dialogue_are_independent():
    envs = [ToolUseEnv() for _ in range(8)]
    task_id = next(t for t in SOME if "level4/base" in t)
    acting = [list(messages(env, gold(env, task_id))) for env in envs]
    alone = play(envs[0], task_id, acting[0])
    first = [env.reset(seed=0, options={"task": task_id}) for env in envs]
    assert all(each == first[0] for each in first)
    for number in range(len(acting[0])):
        steps = [env.step(actions[number]) for env, actions in zip(envs, acting, strict=True)]
        assert all(step == alone[number + 1] for step in steps)


def test_a_snapshot_goes_on_alike_after_the_world_has_changed():
    env = ToolUseEnv()
    for task_id in SOME[::9]:
        actions = list(messages(env, gold(env, task_id)))
        expected = play(env, task_id, actions)
        for cut in range(len(actions)):
            play(env, task_id, actions[:cut])
            saved = env.snapshot()
            env.step(env.format.render_calls([Call("burn_letter", {"letter": "red"})]))
            env.restore(saved)
            assert [env.step(action) for action in actions[cut:]] == expected[cut + 1 :]


def test_state_keys_tell_worlds_apart():
    env = ToolUseEnv()
    dialogue = next(d for d in dialogues("train", 2, ["base"]) if "stock_room" in d.world["apis"])
    item = next(iter(dialogue.world["apis"]["stock_room"]))
    env.reset(options={"task": dialogue.task_id})
    add = env.format.render_calls([Call("add_item", {"item": item, "count": 2})])
    take = env.format.render_calls([Call("take_item", {"item": item, "count": 2})])
    first = env.step(add)[4]["state_key"]
    second = env.step(take)[4]["state_key"]
    worlds = [env.episode.world.key()]
    worlds += [env.step(action) and env.episode.world.key() for action in (add, take)]
    assert first != second
    assert worlds[0] == worlds[2] != worlds[1]


def test_what_is_said_of_a_level_holds_and_the_budget_of_the_id_suffices():
    most = dict.fromkeys(LEVELS, 0)
    for level in LEVELS:
        for dialogue in dialogues("train", level, n=40):
            most[level] = max(most[level], minimal_generations(dialogue, batched=True))
    stated = re.search(r"takes up to ([\d, ]+) turns", " ".join(ToolUseEnv.__doc__.split()))[1]
    bounds = dict(zip(LEVELS, map(int, stated.split(", ")), strict=True))
    assert all(most[level] <= bounds[level] <= 30 for level in LEVELS)
    assert most[1] == bounds[1]


def test_results_are_json_objects_in_every_dialogue():
    env = ToolUseEnv()
    for task_id in SOME[::6]:
        play(env, task_id, messages(env, gold(env, task_id)))
        assert all(isinstance(json.loads(text), dict) for _, text in env.episode.history())
