from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.agents.models.chat import CHATML, ChatFormat
from budget_envs.errors import OptionError, UnsupportedError

transformers = pytest.importorskip("transformers")

SYSTEM_FIRST = "{{ '<|im_start|>system\\nBe good.<|im_end|>\\n' }}" + CHATML
TRIMMED_OBSERVATIONS = CHATML.replace(
    "message['content']",
    "(message['content']|trim if message['role'] == 'user' else message['content'])",
)
DROPS_THINKING = CHATML.replace(
    "message['content']",
    "(message['content'].split('</think>')[-1].lstrip() if not loop.last else message['content'])",
)
STRIPS_ANSWERS = CHATML.replace("message['content']", "message['content']|trim")
REWRITES_CALLS = CHATML.replace(
    "message['content']", "message['content'].replace('<tool_call>\n', '<tool_call>')"
)
THINKS_ALOUD = CHATML.replace("'<|im_start|>assistant\n'", "'<|im_start|>assistant\n<think>\n'")
NO_END = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}"
NO_END += "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
TEXTS = st.text(alphabet=st.sampled_from("aB1 \n\t{}'\"<|é世🙂"), max_size=20)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def render(tokenizer: Any, messages: list[Any], template: str | None = None) -> str:
    return tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, chat_template=template
    )


@pytest.mark.parametrize("template", [None, SYSTEM_FIRST, TRIMMED_OBSERVATIONS])
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), TEXTS)
def test_the_parts_are_the_whole(tiny, template, turns, last):
    chat = ChatFormat(tiny.tokenizer, template=template)
    messages = [message for asked, said in turns for message in (user(asked), assistant(said))]
    ids = chat.first(messages[:1])
    for said, asked in zip(
        [said for _, said in turns], [*(asked for asked, _ in turns[1:]), last], strict=True
    ):
        ids += chat.action(said) + chat.append(asked)
    messages.append(user(last))
    whole = render(tiny.tokenizer, messages, template)
    assert tiny.tokenizer.decode(ids) == whole
    assert chat.first(messages) == ids


def test_the_tokens_are_those_of_the_whole_where_no_part_begins_with_space(tiny):
    messages = [user("Go."), assistant("Left"), user("Now?"), assistant("Right"), user("Done.")]
    whole = tiny.tokenizer(render(tiny.tokenizer, messages), add_special_tokens=False)["input_ids"]
    assert tiny.chat.first(messages) == whole


def test_an_answer_that_was_cut_is_closed_by_what_follows(tiny):
    chat = tiny.chat
    closed, cut = chat.append("Next."), chat.append("Next.", is_closed=False)
    assert cut == [chat.end_id, *closed]


@given(TEXTS)
def test_an_action_decodes_to_its_text(tiny, text):
    ids = tiny.chat.action(text)
    assert ids[-1] == tiny.chat.end_id
    assert tiny.chat.decode(ids) == text
    assert tiny.chat.decode(ids[:-1]) == text


@given(st.lists(st.integers(0, 300), max_size=12))
def test_whatever_was_sampled_decodes_to_some_text(tiny, ids):
    ids = [token % len(tiny.tokenizer) for token in ids]
    assert isinstance(tiny.chat.decode(ids), str)


def test_control_tokens_of_an_action_stay_in_its_text(tiny):
    text = "<think>\nhm\n</think>\n<tool_call>\n{}\n</tool_call>"
    assert tiny.chat.decode(tiny.chat.action(text)) == text


def test_actions_and_turns_are_marked(tiny):
    messages = [user("Go."), assistant("Left"), user("Now?"), assistant("Right")]
    encoded = tiny.chat.encode(messages)
    first, second = tiny.chat.action("Left"), tiny.chat.action("Right")
    assert encoded.ids[encoded.is_action].tolist() == first + second
    assert encoded.turns[encoded.is_action].tolist() == [0] * len(first) + [1] * len(second)
    assert (np.diff(encoded.turns) >= 0).all()
    assert encoded.ids.dtype == encoded.turns.dtype == np.int64


@pytest.mark.parametrize(
    "messages", [[], [assistant("a")], [user("a"), user("b")], [user("a"), assistant("b")]]
)
def test_messages_that_are_not_in_turn_are_refused(tiny, messages):
    with pytest.raises(OptionError):
        tiny.chat.first(messages)


@pytest.mark.parametrize(
    ("template", "what"),
    [
        (DROPS_THINKING, "rewrites the thinking of an earlier answer"),
        (STRIPS_ANSWERS, "rewrites the spaces around an answer"),
        (REWRITES_CALLS, "rewrites a tool call"),
        (THINKS_ALOUD, "rewrites an answer"),
        (NO_END, "ends no answer with a token of its own"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ x | no_filter }}", "no_filter"),
        ("{% if %}", "cannot render"),
    ],
)
def test_a_template_that_cannot_be_continued_is_refused_by_name(tiny, template, what):
    with pytest.raises(UnsupportedError, match=what):
        ChatFormat(tiny.tokenizer, template=template)


def test_the_refusal_shows_both_texts_and_a_way_out(tiny):
    with pytest.raises(UnsupportedError) as caught:
        ChatFormat(tiny.tokenizer, template=DROPS_THINKING)
    message = str(caught.value)
    assert "expected '<think>" in message
    assert "got 'Second answer." in message
    assert "chat_template='chatml'" in message


def test_a_tokenizer_without_a_template_needs_one(tiny):
    bare = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tiny.tokenizer.backend_tokenizer, eos_token="<|im_end|>"
    )
    with pytest.raises(UnsupportedError, match="has no chat template"):
        ChatFormat(bare)
    messages = [user("Go."), assistant("Left"), user("Now?")]
    assert ChatFormat(bare, template="chatml").first(messages) == tiny.chat.first(messages)


def test_a_tokenizer_that_cuts_parts_otherwise_is_refused(tiny):
    class Prefixing:
        """Puts a token in front of every text, as sentence-piece tokenizers do with a space."""

        def __getattr__(self, name: str) -> Any:
            return getattr(tiny.tokenizer, name)

        def __call__(self, text: str, **keywords: Any) -> Any:
            ids = tiny.tokenizer(text, **keywords)["input_ids"]
            return {"input_ids": ids if text.startswith("<|") else [5, *ids]}

    with pytest.raises(UnsupportedError, match="makes other tokens of the parts"):
        ChatFormat(Prefixing())
