import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.envs.tool_dialogue import ToolDialogueEnv
from budget_envs.envs.tool_dialogue.episode import MAX_CALLS, MAX_CALLS_IN_MESSAGE, MAX_CHARACTERS
from budget_envs.errors import BudgetError, OptionError
from budget_envs.text_env import TextEnv
from budget_envs.tool_calls.formats import FORMATS
from budget_envs.tool_calls.model import Call
from budget_envs.wrappers import InteractionBudget


def call(name, /, **arguments):
    return Call(name, arguments)


every_format = pytest.mark.parametrize("form", FORMATS)


@every_format
@pytest.mark.parametrize("task_id", ["one", "three", "late", "nothing"])
@pytest.mark.parametrize("batched", [True, False])
def test_the_ground_truth_succeeds(play, form, task_id, batched, tiny):
    player = play(task_id, format=form)
    for turn in tiny.DIALOGUES[task_id].turns:
        for calls in [turn.calls] if batched and turn.calls else [(each,) for each in turn.calls]:
            assert not player.calls(*calls)[2]
        text, reward, terminated, truncated, info = player.says()
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["verdict"], info["is_success"], info["progress"]) == ("pass", True, 1.0)
    assert "every request was served" in text


@pytest.mark.parametrize("task_id", ["one", "three", "late"])
def test_saying_nothing_of_use_fails(play, task_id, tiny):
    player = play(task_id)
    for _ in tiny.DIALOGUES[task_id].turns:
        last = player.says("I cannot help with that.")
    assert last[1:4] == (0.0, True, False)
    assert last[4]["verdict"] == "fail"
    assert "not every request was served" in last[0]


def test_the_first_observation_shows_tools_and_the_users_message_and_no_truth(play, tiny):
    player = play("three")
    for tool in tiny.DIALOGUES["three"].tools:
        assert tool.description in player.first
    assert player.first.endswith("Please raise a by 2.")
    assert player.info["user_turn"] == 0
    assert player.info["turn_verdicts"] == []
    assert (player.info["calls"], player.info["output_state"]) == (0, "")


def test_calls_are_answered_in_order_and_leave_the_user_turn_open(play):
    player = play("three")
    text, _, _, _, info = player.calls(call("bump", by=2), call("read", name="a"), call("oops"))
    assert text.index("2") < text.index("AttributeError")
    assert (info["calls"], info["user_turn"], info["output_state"]) == (3, 0, "healthy_call")
    text, _, _, _, info = player.says("There you are.")
    assert text == "What is b?"
    assert (info["calls"], info["user_turn"], info["output_state"]) == (0, 1, "healthy_text")
    assert info["turn_verdicts"] == ["pass"]
    assert info["progress"] == 1 / 3


def test_verdicts_are_not_visible_in_observations_before_the_end(play):
    right, wrong = play("three"), play("three")
    right.calls(call("bump", by=2))
    assert right.says()[0] == wrong.says()[0]


def test_a_failed_user_turn_is_not_made_good(play, tiny):
    player = play("three")
    player.says()
    player.calls(call("bump", by=2), *tiny.DIALOGUES["three"].turns[1].calls)
    player.says()
    player.calls(*tiny.DIALOGUES["three"].turns[2].calls)
    _, reward, terminated, _, info = player.says()
    assert (reward, terminated) == (0.0, True)
    assert info["turn_verdicts"] == ["fail", "pass", "pass"]
    assert info["progress"] == 2 / 3


def test_a_late_tool_is_shown_when_it_arrives(play):
    player = play("late")
    assert "It does bump." not in player.first
    assert "It does bump." not in player.says()[0]
    text = player.says()[0]
    assert "It does bump." in text
    assert "It does read." not in text
    assert text.endswith("Here is what you need.")


@every_format
def test_a_malformed_call_is_answered_with_what_was_expected(play, form):
    broken = {
        "hermes": '<tool_call>\n{"name": "bump", "arguments": \n</tool_call>',
        "bracket": "[bump(by=1+1)]",
        "openai": '{"tool_calls": [{"function": {"name": 3}}]}',
    }
    player = play("one", format=form)
    text, _, terminated, _, info = player.says(broken[form])
    assert "xpected" in text
    assert not terminated
    assert (info["invalid_action"], info["calls"], info["user_turn"]) == (True, 0, 0)
    assert info["turn_verdicts"] == []


def test_a_malformed_block_has_its_place_among_the_results(play):
    player = play("one")
    good = player.env.format.render_calls([call("bump", by=2)])
    text, _, _, _, info = player.says(f"{good}\n<tool_call>no</tool_call>\n{good}")
    first, second, third = text.split("<tool_response>")[1:]
    assert ("2" in first, "xpected" in second, "4" in third) == (True, True, True)
    assert info["calls"] == 2


@pytest.mark.parametrize("text", ["<tool_call>", "<tool_call><|im_end|>", "tool_call> hm", "..."])
def test_a_text_without_a_closed_block_ends_the_user_turn(play, text):
    player = play("three")
    assert player.says(text)[4]["user_turn"] == 1


def test_an_empty_message_changes_nothing_but_the_turn(play):
    player = play("three")
    key = player.info["state_key"]
    for text in ("", "  \n", "<|im_end|>", "<think>Hm.</think>\n<|im_end|>"):
        said, reward, terminated, _, info = player.says(text)
        assert "empty" in said
        assert (reward, terminated, info["invalid_action"]) == (0.0, False, True)
        assert (info["state_key"], info["output_state"]) == (key, "collapsed")


def test_positional_arguments_get_the_names_of_the_parameters(play):
    player = play("one", format="bracket")
    assert "2" in player.says("[bump(2)]")[0]
    assert player.says()[4]["verdict"] == "pass"


def test_a_call_that_fits_no_signature_is_a_call_that_failed(play):
    player = play("one", format="bracket")
    text, _, _, _, info = player.says("[bump(1, 2, 3)]")
    assert "at most 1" in text
    assert info["calls"] == 0
    assert player.env.episode.called


# Turns in which nothing may be called.


def through_late(player, *, early=(), late=True):
    player.calls(call("read", name="b"))
    player.says()
    if early:
        player.calls(*early)
    player.says()
    if late:
        player.calls(call("bump", by=1))
    return player.says()[4]


def test_a_call_where_nothing_may_be_called_is_not_judged_by_default(play):
    info = through_late(play("late"), early=[call("read", name="a")])
    assert info["turn_verdicts"] == ["pass", "skip", "pass"]
    assert info["is_success"]


def test_a_call_where_nothing_may_be_called_fails_if_strict(play):
    info = through_late(play("late", strict=True), early=[call("read", name="a")])
    assert info["turn_verdicts"] == ["pass", "fail", "pass"]
    assert not info["is_success"]


def test_no_call_where_nothing_may_be_called_passes_if_strict(play):
    info = through_late(play("late", strict=True))
    assert info["turn_verdicts"] == ["pass", "pass", "pass"]
    assert info["progress"] == 1


def test_a_late_tool_can_be_called_early_unless_strict(play):
    lax, strict = play("late"), play("late", strict=True)
    assert "1" in lax.calls(call("bump", by=1))[0]
    text, _, _, _, info = strict.calls(call("bump", by=1))
    assert "no tool of this name" in text
    assert info["calls"] == 0
    assert strict.env.episode.world.counters == {"a": 0, "b": 5}


def test_a_late_tool_that_the_ground_truth_calls_early_can_be_called_then(play):
    player = play("odd", strict=True)
    assert player.calls(call("bump", by=2))[4]["calls"] == 1
    player.says()
    assert player.calls(call("bump", by=1))[4]["calls"] == 1


# Limits.


def test_a_limit_of_n_messages_in_a_user_turn_is_n(play):
    player = play("three", steps_per_user_turn=3)
    for count in range(3):
        player.calls(call("bump", by=0))
        assert player.steps[-1][2] == (count == 2)
    text, reward, _, _, info = player.steps[-1]
    assert (reward, info["verdict"], info["turn_verdicts"]) == (0.0, "fail", ["fail"])
    assert "limit" in text


def test_the_limit_in_the_last_user_turn_judges_it_as_it_stands(play):
    player = play("one", steps_per_user_turn=1)
    _, reward, terminated, _, info = player.calls(call("bump", by=2))
    assert (reward, terminated, info["turn_verdicts"]) == (1.0, True, ["pass"])


def test_every_user_turn_has_the_whole_limit(play, tiny):
    player = play("three", steps_per_user_turn=2)
    for turn in tiny.DIALOGUES["three"].turns:
        player.calls(*turn.calls)
        last = player.says()
    assert last[1] == 1.0


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "3"])
def test_a_limit_is_a_positive_integer(limit, tiny):
    with pytest.raises(BudgetError, match="steps_per_user_turn"):
        ToolDialogueEnv(tiny.Source(), steps_per_user_turn=limit)


def test_an_unknown_format_is_refused(tiny):
    with pytest.raises(OptionError, match="hermes"):
        ToolDialogueEnv(tiny.Source(), format="hermess")


def test_a_budget_of_calls_is_never_overdrawn(play):
    player = play("one")
    env = InteractionBudget(player.env, budget={"calls": 3})
    env.reset(options={"task": "one"})
    text, _, _, truncated, info = env.step(player.env.format.render_calls([call("bump")] * 5))
    assert text.count("no calls left") == 2
    assert info["calls"] == 3
    assert player.env.episode.world.counters["a"] == 3
    assert info["budget"]["calls"] == {"limit": 3, "used": 3, "remaining": 0}
    assert truncated


def test_a_budget_of_turns_alone_does_not_limit_calls(play):
    player = play("one")
    player.env.calls_allowed = 1
    env = InteractionBudget(player.env, budget=5)
    env.reset(options={"task": "one"})
    assert env.step(player.env.format.render_calls([call("bump")] * 5))[4]["calls"] == 5


def test_a_message_has_only_so_many_calls_carried_out(play):
    player = play("one")
    text, *_, info = player.calls(*[call("bump")] * (MAX_CALLS_IN_MESSAGE + 3))
    assert info["calls"] == MAX_CALLS_IN_MESSAGE
    assert "3 more calls were not carried out: too many calls" in text
    assert text.count("too many calls") == 1


@every_format
def test_malformed_calls_do_not_make_the_answer_longer_than_so_many(play, form):
    broken = {
        "hermes": "<tool_call></tool_call>" * 100_000,
        "bracket": f"[{'f(1+1), ' * 12_000}]",
        "openai": f'{{"tool_calls": [{"1, " * 30_000}1]}}',
    }
    player = play("one", format=form)
    text, *_, info = player.says(broken[form])
    answered = player.env.format.parse(broken[form]).items
    assert f"{len(answered) - MAX_CALLS_IN_MESSAGE} more calls were not carried out" in text
    assert len(text) < 400 * MAX_CALLS_IN_MESSAGE
    assert (info["invalid_action"], info["calls"], info["user_turn"]) == (True, 0, 0)


def test_malformed_calls_count_towards_what_a_message_has_carried_out(play):
    player = play("one")
    good = player.env.format.render_calls([call("bump", by=2)])
    message = "<tool_call></tool_call>" * (MAX_CALLS_IN_MESSAGE - 1) + good * 2
    assert player.env.try_out(message).number_of_calls == 1
    assert player.says(message)[4]["calls"] == 1


def test_results_of_one_message_have_only_so_many_characters(play, monkeypatch):
    player = play("one")
    long = "x" * (MAX_CHARACTERS // 2)
    monkeypatch.setattr(type(player.env.episode.world), "do_read", lambda self, name: long)
    message = player.env.format.render_calls([call("read", name="a")] * 9)
    assert player.env.try_out(message).number_of_calls == 3
    text, *_, info = player.says(message)
    assert (info["calls"], text.count("too long already")) == (3, 6)
    assert player.says(message)[4]["calls"] == 3


def test_an_episode_has_only_so_many_calls_carried_out(play):
    player = play("one")
    while player.env.episode.number_of_calls < MAX_CALLS - 1:
        player.calls(*[call("bump")] * min(256, MAX_CALLS - 1 - player.env.episode.number_of_calls))
    text, *_, info = player.calls(*[call("bump")] * 3)
    assert (info["calls"], text.count("too many calls")) == (1, 2)


def test_repeated_calls_are_counted(play):
    player = play("one")
    read = call("read", name="a")
    assert player.calls(read, read, call("bump"), read)[4]["repeated_calls"] == 1
    assert player.calls(read)[4]["repeated_calls"] == 1


# State.

MESSAGES = st.lists(
    st.sampled_from(
        [
            ("bump", {}),
            ("bump", {"by": 2}),
            ("read", {"name": "a"}),
            ("read", {"name": "b"}),
            ("select", {"name": "b"}),
            ("select", {"name": "a"}),
            None,
        ]
    ),
    max_size=7,
)


def after(tiny, task_id, messages, **settings):
    env = ToolDialogueEnv(tiny.Source(), **settings)
    env.reset(options={"task": task_id})
    for message in messages:
        if env.episode.is_over:
            break
        env.step("Done." if message is None else env.format.render_calls([call_of(message)]))
    return env


def call_of(message):
    return call(message[0], **message[1])


def test_the_state_key_forgets_results_that_no_verdict_asks_for(tiny):
    assert after(tiny, "one", []).state_key == after(tiny, "one", []).state_key
    read_a, read_b = ("read", {"name": "a"}), ("read", {"name": "b"})
    assert after(tiny, "three", [read_b]).state_key != after(tiny, "three", [read_a]).state_key
    assert (
        after(tiny, "three", [read_b]).state_key == after(tiny, "three", [read_b, read_b]).state_key
    )
    # Of turn 0 nothing but a result of "2" is asked for, and it matters that something was called.
    one = after(tiny, "one", [read_a])
    assert one.state_key == after(tiny, "one", [read_b]).state_key
    assert one.state_key != after(tiny, "one", []).state_key


def test_the_state_key_sees_what_no_verdict_compares(tiny):
    a, b = ("select", {"name": "a"}), ("select", {"name": "b"})
    assert after(tiny, "one", [a]).state_key != after(tiny, "one", [b]).state_key
    assert after(tiny, "one", [b, a]).state_key == after(tiny, "one", [a]).state_key


@settings(max_examples=150)
@given(first=MESSAGES, second=MESSAGES, rest=MESSAGES, task=st.sampled_from(["three", "late"]))
def test_equal_state_keys_have_equal_futures(first, second, rest, task, tiny):
    one, two = after(tiny, task, first), after(tiny, task, second)
    if one.state_key != two.state_key or one.episode.is_over:
        return
    for message in [*rest, None, None, None]:
        action = "Done." if message is None else one.format.render_calls([call_of(message)])
        seen = [env.step(action) for env in (one, two)]
        infos = [
            {**step[4], "turn": 0, "repeated_calls": 0} for step in seen
        ]  # what was said right before is history, and in no key
        assert seen[0][:4] == seen[1][:4]
        assert infos[0] == infos[1]
        if seen[0][2]:
            break


@settings(max_examples=100)
@given(before=MESSAGES, rest=MESSAGES, form=st.sampled_from(list(FORMATS)))
def test_snapshots_pickles_and_copies_go_on_alike(before, rest, form, tiny):
    env = after(tiny, "three", before, format=form)
    if env.episode.is_over:
        return
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    twins = [
        pickle.loads(pickle.dumps(env)),
        copy.deepcopy(env),
        ToolDialogueEnv(tiny.Source(), format=form),
    ]
    twins[2].restore(saved)
    steps = []
    for each in [env, *twins]:
        seen = []
        for message in [*rest, None]:
            action = "Done." if message is None else each.format.render_calls([call_of(message)])
            seen.append(each.step(action))
            if seen[-1][2]:
                break
        steps.append(seen)
    assert steps[1:] == [steps[0]] * 3


def test_parallel_episodes_of_one_task_are_independent(play):
    players = [play("one") for _ in range(8)]
    for number, player in enumerate(players):
        player.calls(call("bump", by=number))
    assert [player.env.episode.world.counters["a"] for player in players] == list(range(8))
    assert {player.says()[1] for player in players[:2]} == {0.0}
    assert players[2].says()[1] == 1.0


def test_a_reset_forgets_everything(play):
    player = play("one")
    first = player.calls(call("bump", by=2))
    again = player.env.reset(options={"task": "one"})
    assert again[0] == player.first
    assert player.calls(call("bump", by=2)) == first


def test_trying_out_changes_nothing(play):
    player = play("one")
    key = player.env.state_key
    fork = player.env.try_out(player.env.format.render_calls([call("bump", by=2)]))
    assert fork.world.counters["a"] == 2
    assert fork.called
    assert player.env.state_key == key
    assert player.env.try_out("Just text.").progress == player.env.episode.progress


def test_trying_out_respects_a_budget_of_calls(play):
    player = play("one")
    message = player.env.format.render_calls([call("bump")] * 5)
    assert player.env.try_out(message).number_of_calls == 5
    assert player.env.try_out(message, 2).number_of_calls == 2


@pytest.mark.parametrize("strict", [True, False])
def test_calls_by_place_do_not_tell_of_tools_that_are_still_to_come(play, strict):
    """``bump`` arrives in user turn 2; unknown names are for the world to refuse, in its words."""
    player = play("late", format="bracket", strict=strict)
    by_place, by_name = (player.says(each)[0] for each in ("[bumb(1)]", "[bumb(by=1)]"))
    assert by_place == by_name
    assert "bump" not in by_place
    if strict:
        assert player.says("[bump(1, 2, 3)]")[0] == player.says("[bump(by=1)]")[0]
        assert "no tool" in player.steps[-1][0]
    else:
        assert player.says("[bump(3)]")[4]["calls"] == 1


def test_trying_out_respects_what_strict_withholds(play):
    message = play("late").env.format.render_calls([call("bump")])
    assert play("late").env.try_out(message).number_of_calls == 1
    fork = play("late", strict=True).env.try_out(message)
    assert (fork.number_of_calls, fork.called) == (0, True)


def test_it_is_described_for_people(play):
    player = play("three", render_mode="ansi")
    player.calls(call("bump", by=2))
    text = player.env.render()
    assert "User turn 1 of 3: Please raise a by 2." in text
    assert "bump(by=2) -> 2" in text


@every_format
def test_sampled_actions_are_calls_or_a_text(form, tiny):
    env = ToolDialogueEnv(tiny.Source(), format=form, examples=[call("bump", by=2)])
    assert isinstance(env, TextEnv)
    assert [env.format.parse(text).state for text in env.action_space.examples] == [
        "healthy_call",
        "healthy_text",
    ]


HOSTILE = [
    "[__import__('os').system('true')]",
    "[().__class__.__bases__[0].__subclasses__()]",
    "[bump(by=read(name='a'))]",
    "[bump(by=[x for x in range(3)])]",
    "[bump.__globals__()]",
    "[(lambda: bump())()]",
    '<tool_call>\n{"name": "__class__", "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": "state", "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": "bump", "arguments": {"self": 1}}\n</tool_call>',
    "<tool_call>" * 1000,
    "[" * 5000,
    "[bump(" + "9" * 5000 + ")]",
    "\ud800[bump(by=1)]",
]


@every_format
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_answered_as_text_and_change_nothing(play, form, text):
    player = play("three", format=form)
    said = player.says(text)[0]
    said.encode("utf-8")
    assert player.env.episode.world.counters == {"a": 0, "b": 5}


@every_format
@given(text=st.text())
def test_any_text_is_answered(form, text, tiny):
    env = ToolDialogueEnv(tiny.Source(), format=form)
    env.reset(options={"task": "three"})
    said, reward, terminated, truncated, _ = env.step(text)
    assert isinstance(said, str)
    assert (reward, terminated, truncated) == (0.0, False, False)
