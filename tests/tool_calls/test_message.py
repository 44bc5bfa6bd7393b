from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.tool_calls.message import body_of, escape_tags, without_fence


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (" x \n", "x"),
        ("<think>\n\n</think>\n\nx", "x"),
        ("\n<think>a\nb</think>x<|im_end|>\n", "x"),
        ("x <|im_end|>", "x"),
        ("x<|im_end|><|im_end|>", "x<|im_end|>"),
        ("<|im_end|>x", "<|im_end|>x"),
        ("<think>x", "<think>x"),
        ("x<think>y</think>", "x<think>y</think>"),
        ("<think>a</think><think>b</think>x", "<think>b</think>x"),
        ("<think></think>", ""),
        ("", ""),
    ],
)
def test_what_surrounds_a_message_is_dropped(message: str, body: str) -> None:
    assert body_of(message) == body


@pytest.mark.parametrize(
    ("body", "inside"),
    [
        ("```python\nx\n```", "x"),
        ("```\nx\n```", "x"),
        ("```x```", "x"),
        ("```x y\nz```", "x y\nz"),
        ("``````", ""),
        ("`x`", "x"),
        ("```", ""),
        ("`", ""),
        ("x", "x"),
        ("```x``` y", "```x``` y"),
        ("", ""),
    ],
)
def test_a_fence_around_everything_is_dropped(body: str, inside: str) -> None:
    assert without_fence(body) == inside


@given(st.text() | st.lists(st.sampled_from("<>/|`\\x"), max_size=9).map("".join))
def test_text_without_tags_is_not_changed(text: str) -> None:
    assert escape_tags(text, "?") == text or any(tag in text for tag in ("<|", "<tool_", "<think>"))


def test_only_what_begins_a_tag_is_escaped() -> None:
    text = "a < b <tool_call></tool_call> <|im_end|> <think></think> <b>"
    escaped = "a < b ~tool_call>~/tool_call> ~|im_end|> ~think>~/think> <b>"
    assert escape_tags(text, "~") == escaped
