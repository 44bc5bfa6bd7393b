import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.agents.policies.openai_replies import (
    MAX_BODY_BYTES,
    Problem,
    Reply,
    read_refusal,
    read_reply,
)

JSON = "application/json"


def body(message=None, usage=None, **choice):
    message = {"role": "assistant", "content": "Right"} if message is None else message
    document = {"choices": [{"message": message, "finish_reason": "stop", **choice}]}
    return json.dumps({**document, **({} if usage is None else {"usage": usage})}).encode()


def read(text, content_type=JSON):
    return read_reply(text, content_type, 0.5)


def refusal(status, error="", now=0.0, **headers):
    text = error.encode() if isinstance(error, str) else json.dumps({"error": error}).encode()
    return read_refusal(status, text, {k.replace("_", "-"): v for k, v in headers.items()}, now)


# Answers.


def test_an_answer_is_read():
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    found = read(body(usage=usage, logprobs={"content": [{"logprob": -0.5}, {"logprob": -1}]}))
    assert found == Reply("Right", (), 2, 7, (-0.5, -1.0), 0.5)


def test_what_an_endpoint_does_not_say_is_not_known():
    assert read(body()) == Reply("Right", seconds=0.5)


@pytest.mark.parametrize("nothing", [None, "absent"])
def test_no_content_is_an_empty_answer(nothing):
    message = {"role": "assistant"} if nothing else {"role": "assistant", "content": None}
    assert read(body(message, finish_reason="length")).text == ""


def test_a_refusal_is_what_the_model_said():
    message = {"content": None, "refusal": "I cannot help with that."}
    assert read(body(message)).text == "I cannot help with that."


def test_an_answer_cut_at_the_token_limit_stands():
    assert read(body({"content": "Rig"}, finish_reason="length")).text == "Rig"


def test_reasoning_is_no_part_of_the_answer():
    message = {"content": "Right", "reasoning_content": "The goal is right of me."}
    assert read(body(message)).text == "Right"


def test_tool_calls_are_handed_on_unread():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert read(body({"content": None, "tool_calls": [call]})).tool_calls == (call,)


def test_the_type_that_an_endpoint_calls_an_answer_does_not_matter():
    assert read(body(), "text/plain").text == "Right"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b'"Right"',
        b"{",
        b"<html>Bad gateway</html>",
        b"\xff\xfe\x00",
        b"{}",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": {}}',
        b'{"choices": [null]}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": []}]}',
        b'{"choices": [{"message": {"content": 1}}]}',
        b'{"choices": [{"message": {"content": ["Right"]}}]}',
        b"[" * 100_000,
        b'{"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{}]}}]}',
        b'{"choices": [{"message": {}, "logprobs": {"content": [{"logprob": NaN}]}}]}',
        b'{"choices": [{"message": {"content": "x", "tool_calls": [1]}}]}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"completion_tokens": -1}}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"completion_tokens": true}}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1e400}}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": [1]}',
        b'{"n": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_answer_is_garbled(text):
    with pytest.raises(Problem) as caught:
        read(text)
    assert caught.value.trouble == "garbled"
    assert len(caught.value.text) < 1000


def test_the_message_says_what_is_missing_and_shows_the_start():
    with pytest.raises(Problem, match=r"an answer without 'choices': '\{\"id\": 1\}'"):
        read(b'{"id": 1}')


def test_a_page_in_place_of_an_answer_is_named_by_its_type():
    with pytest.raises(Problem, match="in JSON, got text/html: '<html>"):
        read(b"<html>hello</html>", "text/html")


def test_a_body_beyond_the_bound_is_no_answer():
    with pytest.raises(Problem, match="more than 16,777,216 bytes"):
        read(b" " * (MAX_BODY_BYTES + 1))


def test_what_a_filter_withheld_is_the_providers():
    with pytest.raises(Problem, match="content filter") as caught:
        read(body({"content": ""}, finish_reason="content_filter"))
    assert caught.value.trouble == "withheld"


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        ({"code": 429, "message": "slow down"}, "busy"),
        ({"code": 401, "message": "who?"}, "unusable"),
        ({"code": "odd"}, "busy"),
        ("overloaded", "busy"),
    ],
)
def test_an_error_in_a_good_status_is_an_error(error, trouble):
    with pytest.raises(Problem) as caught:
        read(json.dumps({"error": error}).encode())
    assert caught.value.trouble == trouble


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "usage", "error", "logprobs", "code"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(_values, st.sampled_from([200, 302, 400, 429, 503]))
def test_whatever_comes_is_an_answer_or_a_problem(value, status):
    text = json.dumps(value).encode()
    assert isinstance(read_refusal(status, text, {}), Problem)
    with contextlib.suppress(Problem):
        assert isinstance(read(text), Reply)


@given(st.binary(max_size=60))
def test_whatever_bytes_come_are_a_problem(text):
    assert isinstance(read_refusal(500, text, {}), Problem)
    with pytest.raises(Problem):
        read(text)


# Refusals.


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (301, "unusable"),
        (308, "unusable"),
        (400, "rejected"),
        (401, "unusable"),
        (402, "unusable"),
        (403, "rejected"),
        (404, "unusable"),
        (408, "busy"),
        (409, "busy"),
        (413, "rejected"),
        (422, "rejected"),
        (425, "busy"),
        (429, "busy"),
        (500, "busy"),
        (503, "busy"),
        (529, "busy"),
    ],
)
def test_what_a_status_means(status, trouble):
    assert refusal(status, {"message": "no"}).trouble == trouble


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "too long", "code": "context_length_exceeded"}),
        (400, {"message": "the request exceeds", "type": "exceed_context_size_error"}),
        (400, {"message": "This model's maximum context length is 4096 tokens. However, ..."}),
        (400, "the request exceeds the available context size. try increasing it"),
        (500, "The decoder prompt (length 9) is longer than the maximum model length of 8."),
        (400, "prompt is too long: 9 tokens > 8 maximum"),
    ],
)
def test_a_conversation_beyond_the_context_is_told_apart(status, error):
    assert refusal(status, error).trouble == "too_long"


@pytest.mark.parametrize("code", ["insufficient_quota", "billing_hard_limit_reached"])
def test_an_account_without_credit_does_not_recover_by_waiting(code):
    assert refusal(429, {"message": "no credit", "code": code}).trouble == "unusable"


def test_a_prompt_that_a_filter_refuses_is_withheld():
    assert refusal(400, {"message": "no", "code": "content_filter"}).trouble == "withheld"


@pytest.mark.parametrize(
    "text",
    [
        '{"error": {"message": "why"}}',
        '{"error": "why"}',
        '{"object": "error", "message": "why"}',
        '{"detail": "why"}',
        '{"error": {"detail": "why"}}',
        "why",
    ],
)
def test_an_endpoints_own_words_are_kept(text):
    assert read_refusal(400, text.encode(), {}).text == "HTTP status 400: why"


def test_long_words_are_shortened():
    assert len(refusal(500, "x" * 10_000).text) < 500


def test_a_redirect_says_where_to():
    found = refusal(307, "", location="https://elsewhere/v1")
    assert found.text == "HTTP status 307: the address redirects to https://elsewhere/v1"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        ("0.25", 0.25),
        ("-3", 0.0),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("Thu, 99 Jan 1970 00:00:10 GMT", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value, seconds):
    assert refusal(429, "", now=40.0, retry_after=value).retry_after_s == seconds


def test_only_what_may_pass_is_worth_another_attempt():
    passing = {t: Problem(t, "").may_pass for t in ("busy", "unreachable")}
    lasting = {t: Problem(t, "").may_pass for t in ("unusable", "rejected", "garbled", "too_long")}
    assert all(passing.values())
    assert not any(lasting.values())
