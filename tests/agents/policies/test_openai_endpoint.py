import json
import logging
import os
import pickle
import signal
import threading
from functools import partial

import gymnasium as gym
import pytest

from budget_envs.agents.policies.openai_endpoint import OpenAIPolicy
from budget_envs.agents.policies.openai_replies import MAX_BODY_BYTES
from budget_envs.errors import DependencyNotInstalled, OptionError, PolicyUnavailable
from budget_envs.evaluation import Action, Failure
from budget_envs.evaluation.policy import Conversation, check_policy
from budget_envs.spaces import TextSpace

pytest.importorskip("httpx2", reason='needs pip install "budget-envs[endpoint]"')

KEY = "sk-test-0123456789"
WAIT_S = 20


def conversation(*texts, number=0, token_limit=None):
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts or ["Go"])]
    return Conversation(f"c{number}", number, TextSpace(), messages, token_limit)


def batch(count):
    return [conversation(f"task {number}", number=number) for number in range(count)]


@pytest.fixture
def policy(endpoint):
    """Make a policy that asks the fake endpoint."""

    def make(**settings):
        limits = {"timeout_s": 5.0, "deadline_s": WAIT_S, "max_retries": 2, **settings}
        return OpenAIPolicy("tiny", endpoint.url, **limits)

    return make


def act(policy, *conversations):
    return policy.act(conversations or [conversation()])


def only(policy, *conversations):
    (answer,) = act(policy, *conversations)
    return answer


def threads():
    return {thread for thread in threading.enumerate() if "portal" in thread.name}


# What is sent.


def test_the_conversation_is_sent_as_it_stands(endpoint, policy):
    act(policy(), conversation("Go", "Right", "You slipped."))
    (asked,) = endpoint.asked
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["content-type"] == "application/json"
    assert asked.body["model"] == "tiny"
    assert asked.body["messages"] == [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "Right"},
        {"role": "user", "content": "You slipped."},
    ]


def test_only_what_was_chosen_is_sent(endpoint, policy):
    act(policy(temperature=None, top_p=None))
    assert endpoint.asked[0].body.keys() == {"model", "messages", "seed"}


def test_settings_are_sent_under_their_names(endpoint, policy):
    chosen = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 20, "logprobs": True}
    act(policy(**chosen, extra_body={"top_k": 20, "stop": ["\n"]}))
    body = endpoint.asked[0].body
    assert {name: body[name] for name in chosen} == chosen
    assert (body["top_k"], body["stop"]) == (20, ["\n"])


def test_sampling_is_from_the_whole_distribution_by_default(endpoint, policy):
    act(policy())
    body = endpoint.asked[0].body
    assert (body["temperature"], body["top_p"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("own", "left", "sent"),
    [(None, None, None), (20, None, 20), (20, 7, 7), (5, 7, 5), (None, 7, 7)],
)
def test_the_smaller_limit_of_tokens_is_sent(endpoint, policy, own, left, sent):
    act(policy(max_tokens=own), conversation("Go", token_limit=left))
    assert endpoint.asked[0].body.get("max_tokens") == sent


def test_the_limit_has_the_name_that_the_endpoint_wants(endpoint, policy):
    act(policy(max_tokens=9, max_tokens_field="max_completion_tokens"))
    body = endpoint.asked[0].body
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


def test_the_seed_depends_on_conversation_and_turn_alone(endpoint, policy):
    act(policy(), *batch(2))
    act(policy(), batch(2)[1])
    act(policy(), conversation("task 1", "Right", "Go on", number=1))
    seeds = {}
    for asked in endpoint.asked:
        seeds.setdefault(json.dumps(asked.body["messages"]), set()).add(asked.body["seed"])
    assert len(seeds) == 3
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 3
    assert all(0 <= seed < 2**31 for found in seeds.values() for seed in found)


def test_half_of_a_surrogate_pair_is_sent_as_the_character_for_unknown_ones(endpoint, policy):
    act(policy(), conversation("a\ud800b\U0001f600"))
    assert endpoint.asked[0].last == "a\ufffdb\U0001f600"


def test_the_key_is_sent_and_read_when_it_is_needed(endpoint, policy, monkeypatch):
    made = policy()
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    act(made)
    assert endpoint.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_a_key_none_is_sent(endpoint, policy):
    act(policy())
    assert "authorization" not in endpoint.asked[0].headers


def test_the_variable_of_the_key_can_be_named(endpoint, policy, monkeypatch):
    monkeypatch.setenv("OTHER_KEY", KEY)
    act(policy(api_key_env="OTHER_KEY"))
    assert endpoint.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_address_may_come_from_the_environment(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    made = OpenAIPolicy("tiny")
    assert isinstance(only(made), Action)
    assert made.settings["base_url"] == endpoint.url


def test_without_an_address_it_is_openais_own(endpoint):
    assert OpenAIPolicy("tiny").base_url == "https://api.openai.com/v1"


# What comes back.


def test_an_answer_is_an_action_with_what_it_used(endpoint, policy):
    endpoint.play = lambda e: e.answer("Down", usage=(7, 2))
    action = only(policy())
    assert (action.text, action.num_tokens, action.logprobs) == ("Down", 2, None)
    assert action.cost is None
    assert action.seconds > 0


def test_prices_are_of_a_million_tokens(endpoint, policy):
    endpoint.play = lambda e: e.answer(usage=(3_000_000, 500_000))
    assert only(policy(prompt_price=2.0, completion_price=8)).cost == 10.0


def test_what_was_not_counted_costs_what_nobody_knows(endpoint, policy):
    endpoint.play = lambda e: e.answer(usage=None)
    action = only(policy(prompt_price=2.0, completion_price=8.0))
    assert (action.num_tokens, action.cost) == (None, None)


def test_log_probabilities_come_with_the_action(endpoint, policy):
    choice = {"message": {"content": "Up"}, "logprobs": {"content": [{"logprob": -0.25}] * 2}}
    endpoint.play = lambda e: e.send(body={"choices": [choice]})
    assert only(policy(logprobs=True)).logprobs == (-0.25, -0.25)


def test_an_answer_that_was_cut_is_played_as_it_stands(endpoint, policy):
    endpoint.play = lambda e: e.answer("Ri", finish_reason="length")
    assert only(policy()).text == "Ri"


@pytest.mark.parametrize("message", [{"text": None}, {"text": ""}])
def test_an_empty_answer_is_an_empty_action(endpoint, policy, message):
    endpoint.play = lambda e: e.answer(**message, finish_reason="length")
    assert only(policy()).text == ""


def test_a_refusal_is_an_action(endpoint, policy):
    endpoint.play = lambda e: e.answer(None, refusal="I would rather not.")
    assert only(policy()).text == "I would rather not."


def test_each_conversation_gets_its_own_answer_whatever_the_order(endpoint, policy):
    barrier = threading.Barrier(8, timeout=WAIT_S)

    def echo(exchange):
        barrier.wait()  # so that answers come in any order
        exchange.answer(exchange.asked.last)

    endpoint.play = echo
    answers = act(policy(concurrency=8), *batch(8))
    assert [answer.text for answer in answers] == [f"task {number}" for number in range(8)]


def test_nothing_to_answer_asks_nothing(endpoint, policy):
    assert policy().act([]) == []
    assert endpoint.asked == []


# Concurrency and connections.


def test_requests_are_in_flight_together(endpoint, policy):
    barrier = threading.Barrier(4, timeout=WAIT_S)  # breaks, and fails the test, if they are not

    def meet(exchange):
        barrier.wait()
        exchange.answer()

    endpoint.play = meet
    assert all(isinstance(answer, Action) for answer in act(policy(concurrency=4), *batch(8)))
    assert endpoint.most_at_once == 4


def test_one_at_a_time_is_in_the_order_of_the_batch(endpoint, policy):
    act(policy(concurrency=1), *batch(5))
    assert [asked.last for asked in endpoint.asked] == [f"task {number}" for number in range(5)]
    assert endpoint.most_at_once == 1


def test_connections_stay_open_while_conversations_are_in_progress(endpoint, policy):
    before, made = threads(), policy(concurrency=2)
    made.begin(batch(3))
    for _ in range(3):
        act(made, *batch(3))
    assert endpoint.num_connections <= 2
    made.end(batch(2))
    assert threads() - before
    made.end(batch(3)[2:])
    assert threads() == before


def test_outside_conversations_nothing_stays_open(endpoint, policy):
    before, made = threads(), policy()
    act(made)
    assert threads() == before
    act(made)
    assert len(endpoint.asked) == 2


def test_it_answers_inside_a_running_event_loop(endpoint, policy):
    import asyncio

    async def in_a_notebook():
        return only(policy()).text

    assert asyncio.run(in_a_notebook()) == "Right"


# What goes wrong for one conversation.


FAILING = {
    "too many requests": lambda e: e.fail(429, "slow down"),
    "server error": lambda e: e.fail(500, "oops"),
    "page of a gateway": lambda e: e.send(502, b"<html>Bad gateway</html>", "text/html"),
    "dropped": lambda e: e.drop_in_mid_body(),
    "closed": lambda e: setattr(e._handler, "close_connection", True),
    "no HTTP": lambda e: e._handler.wfile.write(b"hello\r\n\r\n"),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_may_pass_is_tried_again(endpoint, policy, name):
    endpoint.script(FAILING[name], FAILING[name], lambda e: e.answer("Up"))
    assert only(policy()).text == "Up"
    assert len(endpoint.asked) == 3
    assert len({json.dumps(asked.body) for asked in endpoint.asked}) == 1


@pytest.mark.parametrize("name", FAILING)
def test_what_does_not_pass_is_the_providers_failure(endpoint, policy, name):
    endpoint.play = FAILING[name]
    failure = only(policy())
    assert (type(failure), failure.boundary) == (Failure, "provider")
    assert failure.error.endswith("(attempt 3)")
    assert len(endpoint.asked) == 3


def test_without_retries_there_is_one_attempt(endpoint, policy):
    endpoint.play = FAILING["server error"]
    assert only(policy(max_retries=0)).error == "HTTP status 500: oops"
    assert len(endpoint.asked) == 1


def test_retry_after_is_respected(endpoint, policy, monkeypatch):
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("anyio.sleep", sleep)
    slow = [
        partial(lambda e, after: e.fail(429, Retry_After=after), after=a) for a in ("7", "9999")
    ]
    endpoint.script(*slow, lambda e: e.answer())
    assert isinstance(only(policy()), Action)
    assert pauses == [7.0, 60.0]  # never longer than a minute


def test_pauses_grow_and_differ_between_conversations(endpoint, policy, monkeypatch):
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("anyio.sleep", sleep)
    monkeypatch.setattr("budget_envs.agents.policies.openai_session._FIRST_PAUSE_S", 0.5)
    endpoint.play = FAILING["server error"]
    made = policy(max_retries=9, concurrency=1)
    act(made, *batch(2))
    first, second = pauses[:9], pauses[9:]
    longest = [min(60, 0.5 * 2**i) for i in range(9)]
    assert all(most / 2 <= pause <= most for pause, most in zip(first, longest, strict=True))
    assert first != second
    act(made, *batch(2))
    assert pauses[18:] == first + second  # from the conversations' keys, not from global chance


def test_an_endpoint_that_hangs_is_given_up(endpoint, policy):
    endpoint.play = lambda e: e.hang()
    failure = only(policy(timeout_s=0.1, max_retries=1))
    assert failure == Failure("no answer within 0.1 s (attempt 2)", "provider")


def test_a_body_that_never_ends_is_given_up_although_bytes_keep_coming(endpoint, policy):
    endpoint.play = lambda e: e.drip()
    failure = only(policy(timeout_s=0.2, max_retries=0))
    assert failure == Failure("no answer within 0.2 s", "provider")


def test_the_deadline_holds_for_all_attempts_together(endpoint, policy):
    endpoint.play = lambda e: e.fail(503, Retry_After="50")
    failure = only(policy(deadline_s=0.2))
    assert failure == Failure("no answer within 0.2 s, further attempts included", "provider")
    assert len(endpoint.asked) == 1


def test_one_that_fails_leaves_the_others_alone(endpoint, policy):
    def play(exchange):
        odd = exchange.asked.last == "task 1"
        exchange.fail(500) if odd else exchange.answer()

    endpoint.play = play
    kinds = [type(answer) for answer in act(policy(), *batch(4))]
    assert kinds == [Action, Failure, Action, Action]


GARBLED = {
    "malformed JSON": lambda e: e.send(200, b'{"choices": ['),
    "a page": lambda e: e.send(200, b"<html>hello</html>", "text/html"),
    "no choices": lambda e: e.send(200, {"choices": []}),
    "a rejected request": lambda e: e.fail(400, "temperature is not supported"),
    "a forbidden request": lambda e: e.fail(403, "flagged"),
    "an answer of another coding": lambda e: e.send(200, b"\x1f\x8bno", Content_Encoding="gzip"),
}


@pytest.mark.parametrize("name", GARBLED)
def test_what_is_no_answer_is_the_providers_failure_once_the_endpoint_has_answered(
    endpoint, policy, name
):
    made = policy(max_retries=0)
    act(made)
    endpoint.play = GARBLED[name]
    assert only(made).boundary == "provider"


def test_a_huge_body_is_read_no_further_than_its_bound(endpoint, policy):
    sent = []

    def flood(exchange):
        handler = exchange._handler
        handler.send_response(200)
        handler.send_header("Content-Length", str(100 * MAX_BODY_BYTES))
        handler.end_headers()
        for _ in range(1600):
            handler.wfile.write(b" " * 2**20)
            sent.append(1)

    made = policy()
    act(made)
    endpoint.play = flood
    failure = only(made)
    assert failure == Failure("the answer has more than 16,777,216 bytes", "provider")
    assert len(sent) < 200  # what fits into buffers on the way


def test_a_small_body_that_unpacks_into_a_huge_one_is_bounded_too(endpoint, policy):
    import gzip

    packed = gzip.compress(b" " * (4 * MAX_BODY_BYTES), 1)
    made = policy()
    act(made)
    endpoint.play = lambda e: e.send(200, packed, Content_Encoding="gzip")
    assert "more than 16,777,216 bytes" in only(made).error


def test_what_a_filter_withheld_is_void_from_the_first_request_on(endpoint, policy):
    endpoint.play = lambda e: e.answer("", finish_reason="content_filter")
    assert only(policy()).boundary == "provider"


def test_a_conversation_beyond_the_context_is_the_agents_failure(endpoint, policy):
    endpoint.play = lambda e: e.fail(400, "longer than the context length", None)
    failure = only(policy())
    assert failure.boundary == "agent"
    assert len(endpoint.asked) == 1


def test_a_limit_of_tokens_without_room_is_taken_back_before_the_agent_fails(endpoint, policy):
    def play(exchange):
        if "max_tokens" in exchange.asked.body and exchange.asked.last != "task 1":
            exchange.fail(400, "This model's maximum context length is 4096 tokens.")
        else:
            exchange.answer(exchange.asked.last)

    endpoint.play = play
    answers = act(policy(max_tokens=4000), *batch(3))
    assert [answer.text for answer in answers] == ["task 0", "task 1", "task 2"]
    again = [asked.last for asked in endpoint.asked if "max_tokens" not in asked.body]
    assert sorted(again) == ["task 0", "task 2"]


# What ends the evaluation.


def test_a_key_that_is_not_accepted_is_named_by_its_variable(endpoint, policy, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    endpoint.play = lambda e: e.fail(401, f"Incorrect API key provided: {KEY}")
    with pytest.raises(PolicyUnavailable) as caught:
        act(policy(), *batch(3))
    assert str(caught.value) == (
        f"{endpoint.url} cannot be played with: HTTP status 401: Incorrect API key provided: "
        "[key]. The environment variable OPENAI_API_KEY does not hold a key that it accepts."
    )


def test_a_missing_key_is_called_missing(endpoint, policy):
    endpoint.play = lambda e: e.fail(401, "who are you?")
    with pytest.raises(PolicyUnavailable, match="variable OPENAI_API_KEY is not set"):
        act(policy())


def test_one_hopeless_answer_calls_the_other_requests_back(endpoint, policy):
    made = policy(concurrency=1)
    endpoint.play = lambda e: e.fail(401)
    with pytest.raises(PolicyUnavailable):
        act(made, *batch(50))
    assert len(endpoint.asked) < 5


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (lambda e: e.fail(402, "no credit"), "402: no credit"),
        (lambda e: e.fail(404, "no such model"), "Check base_url and the model 'tiny'"),
        (lambda e: e.fail(429, "no credit", "insufficient_quota"), "429: no credit"),
        (lambda e: e.send(307, Location="http://127.0.0.1:9/v1"), "redirects to http://127"),
        (lambda e: e.send(301, Location="/v2"), "redirects to /v2"),
    ],
)
def test_nothing_goes_on_where_nothing_can_succeed(endpoint, policy, play, why):
    made = policy()
    act(made)
    endpoint.play = play
    with pytest.raises(PolicyUnavailable, match=why):
        act(made)
    assert len(endpoint.asked) == 2  # a redirect is not followed


@pytest.mark.parametrize("name", GARBLED)
def test_an_endpoint_that_never_answered_is_the_wrong_one(endpoint, policy, name):
    endpoint.play = GARBLED[name]
    with pytest.raises(PolicyUnavailable, match="Check base_url"):
        act(policy(max_retries=0), *batch(2))


def test_it_is_not_the_wrong_one_if_it_answered_another(endpoint, policy):
    def play(exchange):
        odd = exchange.asked.last == "task 1"
        exchange.fail(400, "no") if odd else exchange.answer()

    endpoint.play = play
    answers = act(policy(), *batch(2))
    assert [type(answer) for answer in answers] == [Action, Failure]


def test_an_endpoint_that_is_not_there_is_named(endpoint, policy):
    with pytest.raises(PolicyUnavailable, match=r"http://127.0.0.1:1/v1 cannot .* no connection"):
        OpenAIPolicy("tiny", "http://127.0.0.1:1/v1", max_retries=1).act([conversation()])


def test_an_endpoint_that_goes_away_later_voids_what_it_leaves(endpoint, policy):
    made = policy(max_retries=0)
    act(made)
    made.base_url = "http://127.0.0.1:1/v1"
    failure = only(made)
    assert failure.boundary == "provider"
    assert "no connection" in failure.error


def test_a_proxy_that_cannot_be_used_is_nobodys_failed_episode(endpoint, policy, monkeypatch):
    before = threads()
    monkeypatch.setenv("HTTP_PROXY", "gopher://user:secret@127.0.0.1:9")
    with pytest.raises(PolicyUnavailable, match="check the proxies") as caught:
        act(policy())
    assert "secret" not in str(caught.value)
    assert threads() == before


def test_what_nobody_foresaw_is_not_the_agents_failure(endpoint, policy, monkeypatch):
    made = policy()
    act(made)

    def fail(*args, **keywords):
        raise ZeroDivisionError("odd")

    monkeypatch.setattr("httpx2.AsyncClient.stream", fail)
    assert only(made) == Failure("the request failed (ZeroDivisionError: odd)", "provider")


@pytest.mark.parametrize("key", ["sk-\u00e4", "sk-\x07", "sk\nsk"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(endpoint, policy, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(PolicyUnavailable, match="holds no key") as caught:
        act(policy())
    assert key not in str(caught.value)


def test_ctrl_c_ends_everything_at_once(endpoint, policy):
    before = threads()

    def interrupt(exchange):
        os.kill(os.getpid(), signal.SIGINT)
        exchange.hang()

    endpoint.play = interrupt
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    made = policy()
    made.begin(batch(1))
    try:
        with pytest.raises(KeyboardInterrupt):
            act(made)
    finally:
        signal.signal(signal.SIGINT, handler)
    made.end(batch(1))
    assert threads() == before


# The key stays where it is.


def test_the_key_is_nowhere_but_in_the_request(endpoint, policy, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = policy()
    with caplog.at_level(logging.DEBUG):
        made.begin([conversation()])
        act(made)
        endpoint.play = lambda e: e.fail(500, f"key {KEY} is overloaded")
        failure = only(made)
        held = [repr(made), str(made.settings), failure.error, repr(pickle.dumps(made))]
        held += [repr(made._session), caplog.text]
        made.end([conversation()])
    assert not [text for text in held if KEY in text]
    assert "key [key] is overloaded" in failure.error


# Settings.


def test_it_is_a_policy_that_reads_no_environment(endpoint, policy):
    made = policy()
    check_policy(made)
    assert (made.name, made.needs_env, made.uses_budget) == ("openai", False, False)


def test_what_decides_when_to_give_up_is_no_part_of_a_runs_identity(endpoint, policy):
    patient = {"concurrency": 3, "timeout_s": 9, "deadline_s": 99, "max_retries": 0}
    assert policy(**patient).settings == policy().settings


def test_what_decides_the_answers_is(endpoint, policy):
    changes = {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 3,
        "logprobs": True,
        "extra_body": {"top_k": 1},
    }
    plain = policy().settings
    for name, value in changes.items():
        assert policy(**{name: value}).settings == {**plain, name: value}


def test_a_policy_in_use_can_be_sent_to_another_process(endpoint, policy):
    made = policy()
    made.begin([conversation()])
    act(made)
    twin = pickle.loads(pickle.dumps(made))
    made.end([conversation()])
    assert twin.settings == made.settings
    assert isinstance(only(twin), Action)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "ftp://localhost/v1",
        "http://",
        "http://user:secret@localhost/v1",
        "http://localhost/v1?key=secret",
        "http://localhost/v1#secret",
        "http://localhost:port/v1",
        "http://localhost:99999/v1",
        "http://local host/v1",
        "http://local\nhost/v1",
        "http://[::1/v1",
        "http://höst/v1",
        5,
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(url):
    with pytest.raises(OptionError, match="base_url must be") as caught:
        OpenAIPolicy("tiny", url)
    assert "secret" not in str(caught.value)


def test_an_address_too_far_is_cut_back_by_its_user():
    with pytest.raises(OptionError, match="ends before /chat/completions"):
        OpenAIPolicy("tiny", "http://localhost/v1/chat/completions/")


def test_a_slash_at_the_end_of_an_address_is_no_other_address():
    assert OpenAIPolicy("tiny", "http://localhost/v1/").base_url == "http://localhost/v1"


@pytest.mark.parametrize("name", [KEY, "", "A B", None])
def test_a_key_in_place_of_its_variable_is_refused_unseen(name):
    with pytest.raises(OptionError, match="api_key_env is the name") as caught:
        OpenAIPolicy("tiny", api_key_env=name)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"model": ""}, "model must be"),
        ({"model": None}, "model must be"),
        ({"temperature": -1}, "temperature must be a number of at least 0"),
        ({"temperature": True}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": 10**400}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"top_p": 0}, "top_p must be above 0"),
        ({"top_p": 1.5}, r"top_p must be a number in \[0, 1\]"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens_field": "max_token"}, "Did you mean 'max_tokens'"),
        ({"logprobs": 5}, "logprobs must be True or False"),
        ({"prompt_price": 1.0}, "belong together"),
        ({"prompt_price": -1.0, "completion_price": 0}, "prompt_price must be"),
        ({"prompt_price": 1.0, "completion_price": "2"}, "completion_price must be"),
        ({"extra_body": [1]}, "extra_body must be fields"),
        ({"extra_body": {"stream": True}}, "extra_body cannot set 'stream'"),
        ({"extra_body": {"max_tokens": 5}}, "extra_body cannot set 'max_tokens'"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"timeout_s": 0}, "timeout_s must be"),
        ({"timeout_s": None}, "timeout_s must be"),
        ({"deadline_s": -1}, "deadline_s must be"),
        ({"deadline_s": float("inf")}, "deadline_s must be"),
        ({"max_retries": -1}, "max_retries must be"),
        ({"max_retries": 1.0}, "max_retries must be"),
        ({"max_retries": True}, "max_retries must be"),
    ],
)
def test_settings_that_are_not_valid_say_why(settings, why):
    with pytest.raises(OptionError, match=why):
        OpenAIPolicy(**{"model": "tiny", "base_url": "http://localhost/v1", **settings})


def test_a_missing_library_is_named_before_anything_is_played(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises((DependencyNotInstalled, ImportError), match="httpx2"):
        OpenAIPolicy("tiny").check_env(gym.Env())
