import json

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.agents.policies.openai_endpoint import OpenAIPolicy
from budget_envs.agents.policies.openai_tools import as_text, check_tool_env, native_fields
from budget_envs.envs.tool_use import ToolUseEnv
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.evaluation.policy import Conversation
from budget_envs.tool_calls.formats import by_name
from budget_envs.wrappers import InteractionBudget, ShowBudget

FORMAT = by_name("openai")


class Play:
    """A dialogue in progress, as a rollout plays it."""

    def __init__(self, env, **options):
        self.env = env
        text, _ = env.reset(seed=0, options=options or None)
        self.messages = [{"role": "user", "content": text}]
        self.verdict = None

    @property
    def dialogue(self):
        return self.env.unwrapped.episode.dialogue

    @property
    def conversation(self):
        return Conversation("id", 0, self.env.action_space, self.messages, env=self.env)

    def say(self, text):
        seen, *_, info = self.env.step(text)
        self.verdict = info.get("verdict")
        self.messages += [
            {"role": "assistant", "content": text},
            {"role": "user", "content": seen},
        ]


def env(**keywords):
    inner = ToolUseEnv(levels=[2], categories=["base"], format="openai", **keywords)
    return InteractionBudget(inner, budget=30)


def native(calls):
    return [
        {
            "id": f"chatcmpl-{place}",
            "type": "function",
            "index": place,
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
        }
        for place, call in enumerate(calls)
    ]


@pytest.fixture
def policy(endpoint):
    pytest.importorskip("httpx2", reason='needs pip install "budget-envs[endpoint]"')
    return OpenAIPolicy("tiny", endpoint.url, tool_calls="native")


# A dialogue from end to end.


def test_a_model_that_calls_natively_serves_the_dialogue(endpoint, policy):
    play = Play(env())
    policy.check_env(play.env)
    for turn in play.dialogue.turns:
        for calls in (turn.calls, ()):  # the calls at once, then a word to end the user turn
            message = {"text": None, "tool_calls": native(calls)} if calls else {"text": "Done."}
            endpoint.play = lambda e, message=message: e.answer(**message)
            (action,) = policy.act([play.conversation])
            play.say(action.text)
    assert play.verdict == "pass"
    roles = [message["role"] for message in endpoint.asked[-1].body["messages"]]
    assert roles[0] == "user"
    assert "tool" in roles
    called = [m for m in endpoint.asked[-1].body["messages"] if m.get("tool_calls")]
    assert len(called) == len(play.dialogue.turns)


def test_every_call_is_answered_under_its_own_id(endpoint, policy):
    play = Play(env())
    for calls in ([turn.calls[0]] * 2 for turn in play.dialogue.turns):
        play.say(FORMAT.render_calls(calls, "I look."))
    policy.act([play.conversation])
    messages = endpoint.asked[-1].body["messages"]
    asked = [call["id"] for m in messages for call in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert asked == answered
    assert len(set(asked)) == len(asked) == 2 * len(play.dialogue.turns)
    assert messages[1]["content"] == "I look."


# What is sent.


def test_the_tools_are_sent_and_the_opening_no_longer_describes_them():
    play = Play(env())
    fields = native_fields(play.conversation)
    names = [tool["function"]["name"] for tool in fields["tools"]]
    assert names == [tool.name for tool in play.dialogue.tools_at(0)]
    assert fields["tools"][0]["function"]["parameters"]["type"] == "object"
    assert fields["messages"] == [{"role": "user", "content": play.dialogue.turns[0].message}]


def test_a_late_tool_is_sent_from_the_user_turn_in_which_it_arrives():
    inner = ToolUseEnv(levels=[2], categories=["miss_func"], format="openai")
    play = Play(InteractionBudget(inner, budget=30))
    late = next(t.arrivals[0] for t in play.dialogue.turns if t.arrivals)
    arrival = next(n for n, t in enumerate(play.dialogue.turns) if t.arrivals)
    for turn in range(arrival + 1):
        names = [t["function"]["name"] for t in native_fields(play.conversation)["tools"]]
        assert (late in names) == (turn == arrival)
        play.say("Done.")


def test_what_a_wrapper_adds_to_results_is_said_after_them():
    play = Play(ShowBudget(env()))
    play.say(FORMAT.render_calls(play.dialogue.turns[0].calls[:1]))
    *_, result, line = native_fields(play.conversation)["messages"]
    assert result["role"] == "tool"
    assert line == {"role": "user", "content": "[Budget: 29 of 30 turns left]"}


@pytest.mark.parametrize(
    "said",
    [
        "I am done.",
        '{"tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}',
        '{"tool_calls": []}',
        "{",
        "",
    ],
)
def test_what_is_no_healthy_call_goes_as_the_text_that_it_is(said):
    play = Play(env())
    play.say(said)
    messages = native_fields(play.conversation)["messages"]
    assert messages[1:] == play.messages[1:]


@pytest.mark.parametrize("seen", ["", "####", "{}", '{"content": 1}', "null", "[" * 10_000])
def test_results_that_a_fault_garbled_go_as_the_text_that_they_are(seen):
    play = Play(env())
    play.say(FORMAT.render_calls(play.dialogue.turns[0].calls[:1]))
    play.messages[-1]["content"] = seen
    assert native_fields(play.conversation)["messages"][1:] == play.messages[1:]


def test_an_opening_that_a_fault_changed_goes_as_it_is():
    play = Play(env())
    play.messages[0]["content"] = "####"
    assert native_fields(play.conversation)["messages"][0]["content"] == "####"


# What is played.


def test_calls_are_read_as_the_demonstrations_are():
    calls = Play(env()).dialogue.turns[0].calls
    output = FORMAT.parse(as_text("I look.", native(calls)))
    assert (output.state, output.items, output.text) == ("healthy_call", calls, "I look.")


def test_an_answer_without_calls_is_its_text():
    assert as_text("Done.", ()) == "Done."


@pytest.mark.parametrize("arguments", ["{", "[]", "", None, {"a": 1}])
def test_arguments_that_are_none_are_for_the_environment_to_refuse(arguments):
    call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
    output = FORMAT.parse(as_text("", [call]))
    assert len(output.errors) == 1
    assert output.items


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["function", "name", "arguments", "type"]), inner)
    ),
    max_leaves=6,
)


@given(st.text(), st.lists(st.dictionaries(st.sampled_from(["function", "type", "id"]), _values)))
def test_whatever_calls_come_are_a_message(content, calls):
    text = as_text(content, calls)
    assert isinstance(text, str)
    if calls:
        assert FORMAT.parse(text).items


# What it refuses.


def test_other_formats_are_refused():
    with pytest.raises(UnsupportedError, match="make it with format='openai'"):
        check_tool_env(InteractionBudget(ToolUseEnv(format="hermes"), budget=3))


def test_other_environments_are_refused(endpoint, policy):
    with pytest.raises(UnsupportedError, match="is for tool dialogues"):
        policy.check_env(gym.make("budget_envs/FrozenLake-v0"))


def test_only_native_calls_read_the_environment(endpoint, policy):
    assert policy.needs_env
    assert policy.settings["tool_calls"] == "native"
    assert not OpenAIPolicy("tiny", endpoint.url).needs_env


def test_an_unknown_way_to_call_suggests_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'native'"):
        OpenAIPolicy("tiny", tool_calls="nativ")
