import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from budget_envs.agents.models.generation import (  # noqa: E402
    Request,
    Sampler,
    Sampling,
    forward_of,
)
from budget_envs.agents.models.hf_forward import HFForward  # noqa: E402
from budget_envs.agents.models.llama_forward import LlamaForward  # noqa: E402
from budget_envs.errors import DataError, OptionError  # noqa: E402

LLAMAS = (
    "multi-query llama",
    "grouped-query llama",
    "llama, one head for each query",
    "llama, untied",
    "qwen2",
)
OTHERS = ("qwen3", "qwen2, eager", "gpt2", "yarn llama")
STOP = 2
VOCABULARY = 96


def sampler_of(model: Any, forward: Any = None, **keywords: Any) -> Sampler:
    return Sampler(model, [STOP], forward=forward and forward(model), **keywords)


def fresh_logprobs(model: Any, ids: Sequence[int], temperature: float) -> np.ndarray:
    """Log-probability of every token but the first, by a forward pass that knows no cache."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    scores = (logits / (temperature or 1)).log_softmax(-1)
    return scores[:-1].gather(1, torch.tensor(ids)[1:, None])[:, 0].numpy()


def random_requests(rng: random.Random, names: Sequence[str]) -> list[Request]:
    """Return ragged requests, each with settings of its own."""
    return [
        Request(
            name,
            [rng.randrange(3, VOCABULARY) for _ in range(rng.choice([1, 2, 7, 40]))],
            rng.choice([1, 3, 20]),
            rng.getrandbits(64),
            Sampling(rng.choice([1.0, 0.6, 1.5, 0.0]), rng.choice([1.0, 0.8])),
        )
        for name in names
        if rng.random() < 0.7
    ]


@pytest.mark.parametrize(
    ("kind", "forward"),
    [(k, LlamaForward) for k in LLAMAS] + [(k, HFForward) for k in (*LLAMAS[:2], *OTHERS)],
)
def test_logprobs_are_those_of_a_fresh_forward_pass(make_model, kind, forward):
    model, rng = make_model(kind), random.Random(kind)
    sampler = sampler_of(model, forward)
    num_tokens = 0
    for turn in range(5):
        names = [f"{turn // 3}-{index}" for index in range(9)]
        requests = random_requests(rng, names)
        before = {r.conversation: sampler.ids(r.conversation) for r in requests}
        for request, generated in zip(requests, sampler.extend_and_generate(requests), strict=True):
            start = len(before[request.conversation]) + len(request.new_ids)
            ids = sampler.ids(request.conversation)
            assert ids == [
                *before[request.conversation],
                *request.new_ids,
                *generated.ids,
            ]
            for temperature, given in (
                (request.sampling.temperature, generated.logprobs),
                (1.0, generated.model_logprobs),
            ):
                expected = fresh_logprobs(model, ids, temperature)[start - 1 :]
                assert np.abs(expected - given).max() < 1e-4
            num_tokens += len(generated.ids)
    assert num_tokens > 100


@pytest.mark.parametrize("forward", [LlamaForward, HFForward])
def test_what_is_sampled_does_not_depend_on_the_batch(make_model, forward):
    model, rng = make_model("grouped-query llama"), random.Random(5)
    together, alone = sampler_of(model, forward), sampler_of(model, forward)
    for _ in range(3):
        requests = random_requests(rng, "abcdefgh")
        expected = [alone.extend_and_generate([request])[0].ids for request in requests]
        order = rng.sample(range(len(requests)), len(requests))
        got = together.extend_and_generate([requests[index] for index in order])
        assert [generated.ids for generated in got] == [expected[index] for index in order]


def test_both_ways_through_a_llama_sample_the_same(make_model):
    model = make_model("multi-query llama")
    results = []
    for forward in (LlamaForward, HFForward):
        rng, sampler = random.Random(1), sampler_of(model, forward)
        turns = [sampler.extend_and_generate(random_requests(rng, "abcdef")) for _ in range(3)]
        results.append([[generated.ids for generated in turn] for turn in turns])
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", LLAMAS)
def test_the_lean_way_is_taken_where_it_fits(make_model, kind):
    assert isinstance(forward_of(make_model(kind)), LlamaForward)


@pytest.mark.parametrize("kind", OTHERS[:1] + OTHERS[2:])
def test_the_general_way_is_taken_elsewhere(make_model, kind):
    assert isinstance(forward_of(make_model(kind)), HFForward)


def test_only_new_tokens_are_put_through_the_model(make_model):
    read: list[int] = []
    model = make_model("multi-query llama")
    forward = LlamaForward(model)

    def counting(chunk: Any, cache: Any) -> Any:
        read.append(chunk.ids.numel())
        return forward(chunk, cache)

    sampler = Sampler(model, [], forward=counting)
    sampler.extend_and_generate([Request("a", [5] * 30, 4, key=0)])
    read.clear()
    sampler.extend_and_generate([Request("a", [6, 7], 4, key=1)])
    assert read == [3, 1, 1, 1]  # the newest token was sampled and not read yet


def test_rows_that_are_done_cost_nothing(make_model):
    rows: list[int] = []
    model = make_model("multi-query llama")
    forward = LlamaForward(model)

    def counting(chunk: Any, cache: Any) -> Any:
        rows.append(chunk.num_rows)
        return forward(chunk, cache)

    sampler = Sampler(model, [], forward=counting)
    room = {"a": 3, "b": 1, "c": 2, "d": 5, "e": 1}
    sampler.extend_and_generate(
        [Request(name, [ord(name) - 90], most, key=most) for name, most in room.items()]
    )
    assert rows == [5, 3, 2, 1, 1]


def test_equal_first_prompts_are_read_once(make_model):
    rows: list[int] = []
    model = make_model("multi-query llama")
    forward = LlamaForward(model)

    def counting(chunk: Any, cache: Any) -> Any:
        rows.append(chunk.num_rows)
        return forward(chunk, cache)

    sampler = Sampler(model, [], forward=counting)
    prompts = [[5, 6, 7], [5, 6, 7], [8, 9], [5, 6, 7], [8, 9]]
    requests = [Request(str(n), ids, 1, key=n) for n, ids in enumerate(prompts)]
    shared = sampler.extend_and_generate(requests)
    assert sum(rows) == 2
    expected = [sampler_of(model).extend_and_generate([request])[0].ids for request in requests]
    assert [generated.ids for generated in shared] == expected
    more = [Request(str(n), [10], 3, key=n) for n in range(5)]
    for request, generated in zip(more, sampler.extend_and_generate(more), strict=True):
        ids = sampler.ids(request.conversation)
        fresh = fresh_logprobs(model, ids, 1.0)[-len(generated.ids) :]
        assert np.abs(fresh - generated.logprobs).max() < 1e-4


def test_a_stop_token_ends_a_generation_and_stays_in_it(make_model):
    model = make_model("multi-query llama")
    sampler = sampler_of(model)
    results = sampler.extend_and_generate([Request(str(n), [9], 400, key=n) for n in range(8)])
    stopped = [generated for generated in results if generated.finish == "stop"]
    assert stopped
    assert all(generated.ids.index(STOP) == len(generated.ids) - 1 for generated in stopped)


def test_the_room_that_is_given_is_never_exceeded(make_model):
    sampler = Sampler(make_model("multi-query llama"), [])
    requests = [Request(str(n), [9], n, key=n) for n in range(1, 9)]
    results = sampler.extend_and_generate(requests)
    assert [len(generated.ids) for generated in results] == list(range(1, 9))
    assert {generated.finish for generated in results} == {"length"}


def test_a_stop_string_ends_a_generation(tiny):
    def generate(stop_strings: Sequence[str]) -> tuple[str, str]:
        sampler = Sampler(tiny.model, [], stop_strings=stop_strings, tokenizer=tiny.tokenizer)
        generated = sampler.extend_and_generate([Request("a", [7], 60, key=3)])[0]
        return tiny.tokenizer.decode(generated.ids), generated.finish

    free, finish = generate([])
    assert finish == "length"
    wanted = free[20:23]
    stopped, finish = generate(["never said", wanted])
    assert finish == "stop"
    assert free.startswith(stopped)
    assert wanted in stopped
    assert wanted not in stopped[: -len(wanted) - 8]


def test_new_weights_are_used_at_once_and_old_cache_is_not(make_model):
    import copy

    model = copy.deepcopy(make_model("multi-query llama"))
    sampler = sampler_of(model)
    sampler.extend_and_generate([Request("a", [5, 6, 7, 8], 5, key=0)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    model(torch.tensor([[5, 6, 7]])).logits.square().mean().backward()
    optimizer.step()
    generated = sampler.extend_and_generate([Request("a", [9], 5, key=1)])[0]
    expected = fresh_logprobs(model, sampler.ids("a"), 1.0)[-len(generated.ids) :]
    assert np.abs(expected - generated.logprobs).max() < 1e-4


def test_replaced_weights_are_noticed_too(make_model):
    import copy

    model = copy.deepcopy(make_model("multi-query llama"))
    sampler = sampler_of(model)
    sampler.extend_and_generate([Request("a", [5, 6, 7, 8], 5, key=0)])
    model.load_state_dict({name: 1.1 * value for name, value in model.state_dict().items()})
    generated = sampler.extend_and_generate([Request("a", [9], 5, key=1)])[0]
    expected = fresh_logprobs(model, sampler.ids("a"), 1.0)[-len(generated.ids) :]
    assert np.abs(expected - generated.logprobs).max() < 1e-4


def test_a_layer_that_was_adapted_since_is_noticed(make_model):
    import copy

    class Adapted(torch.nn.Linear):
        def forward(self, x: Any) -> Any:
            return 2 * super().forward(x)

    model = copy.deepcopy(make_model("multi-query llama"))
    sampler = sampler_of(model)
    sampler.extend_and_generate([Request("a", [5, 6, 7, 8], 5, key=0)])
    model.model.layers[0].mlp.up_proj = Adapted(32, 48, bias=False)
    generated = sampler.extend_and_generate([Request("a", [9], 5, key=1)])[0]
    expected = fresh_logprobs(model, sampler.ids("a"), 1.0)[-len(generated.ids) :]
    assert np.abs(expected - generated.logprobs).max() < 1e-4


def test_a_rewound_conversation_goes_on_from_there(make_model):
    model = make_model("multi-query llama")
    sampler = sampler_of(model)
    sampler.extend_and_generate([Request("a", [5, 6, 7, 8], 10, key=0)])
    sampler.rewind("a", 3)
    generated = sampler.extend_and_generate([Request("a", [11, 12], 6, key=1)])[0]
    other = sampler_of(model).extend_and_generate([Request("b", [5, 6, 7, 11, 12], 6, key=1)])[0]
    assert generated.ids == other.ids
    assert sampler.ids("a") == [5, 6, 7, 11, 12, *other.ids]


def test_a_dropped_conversation_is_forgotten_and_its_row_reused(make_model):
    model = make_model("multi-query llama")
    sampler = sampler_of(model)
    for name in "abcdefghijklmnop":
        sampler.extend_and_generate([Request(name, [5, 6], 3, key=0), Request("x", [7], 2, key=1)])
        sampler.drop([name, "unknown"])
        assert sampler.ids(name) == []
    assert sampler.num_cached("x") == len(sampler.ids("x")) - 1
    ids = sampler.ids("x")
    generated = sampler.extend_and_generate([Request("x", [8], 4, key=2)])[0]
    expected = fresh_logprobs(model, [*ids, 8, *generated.ids], 1.0)[-len(generated.ids) :]
    assert np.abs(expected - generated.logprobs).max() < 1e-4


def test_long_conversations_make_the_cache_grow(make_model):
    model = make_model("multi-query llama")
    sampler = Sampler(model, [])
    for turn in range(4):
        requests = [Request(str(n), [turn + 5] * 60, 40, key=n) for n in range(12)]
        results = sampler.extend_and_generate(requests)
    ids = sampler.ids("7")
    assert len(ids) == 400
    expected = fresh_logprobs(model, ids, 1.0)[-40:]
    assert np.abs(expected - results[7].logprobs).max() < 1e-4


def test_weights_that_are_no_numbers_are_an_error_that_changes_nothing(make_model):
    import copy

    model = copy.deepcopy(make_model("multi-query llama"))
    sampler = sampler_of(model)
    sampler.extend_and_generate([Request("a", [5, 6], 3, key=0)])
    ids, weight = sampler.ids("a"), model.model.norm.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight.fill_(float("nan"))
    with pytest.raises(DataError, match="not finite"):
        sampler.extend_and_generate([Request("a", [7], 3, key=1)])
    assert sampler.ids("a") == ids
    with torch.no_grad():
        weight.copy_(kept)
    generated = sampler.extend_and_generate([Request("a", [7], 3, key=1)])[0]
    expected = fresh_logprobs(model, sampler.ids("a"), 1.0)[-len(generated.ids) :]
    assert np.abs(expected - generated.logprobs).max() < 1e-4


def test_an_interrupted_generation_leaves_the_conversation_as_it_was(make_model):
    model = make_model("multi-query llama")
    forward, calls = LlamaForward(model), iter([True, True, False])

    def interrupted(chunk: Any, cache: Any) -> Any:
        if not next(calls, True):
            raise KeyboardInterrupt
        return forward(chunk, cache)

    sampler = Sampler(model, [], forward=interrupted)
    with pytest.raises(KeyboardInterrupt):
        sampler.extend_and_generate([Request("a", [5, 6, 7], 9, key=0)])
    assert sampler.ids("a") == []
    assert sampler.num_cached("a") == 0
    generated = sampler.extend_and_generate([Request("a", [5, 6, 7], 9, key=0)])[0]
    expected = Sampler(model, []).extend_and_generate([Request("a", [5, 6, 7], 9, key=0)])[0]
    assert generated.ids == expected.ids


def test_a_model_in_training_samples_without_dropout_and_stays_in_training():
    config = pytest.importorskip("transformers").GPT2Config(
        vocab_size=40, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.5, embd_pdrop=0.5
    )
    model = pytest.importorskip("transformers").GPT2LMHeadModel(config).train()
    request = Request("a", [5, 6], 6, key=1)
    first, second = (Sampler(model, []).extend_and_generate([request])[0] for _ in range(2))
    assert model.training
    assert first.logprobs == second.logprobs


def test_global_random_state_is_neither_read_nor_changed(make_model):
    model, request = make_model("multi-query llama"), Request("a", [5], 9, key=3)
    torch.manual_seed(0)
    first = Sampler(model, []).extend_and_generate([request])[0].ids
    state = torch.get_rng_state()
    torch.manual_seed(1)
    second = Sampler(model, []).extend_and_generate([request])[0].ids
    torch.manual_seed(0)
    assert first == second
    assert torch.equal(torch.get_rng_state(), state)


def test_no_requests_are_no_work(make_model):
    assert Sampler(make_model("multi-query llama"), []).extend_and_generate([]) == []


@pytest.mark.parametrize(
    "requests",
    [
        [Request("a", [5], 1, key=0), Request("a", [6], 1, key=0)],
        [Request("a", [], 1, key=0)],
        [Request("a", [5], 0, key=0)],
    ],
)
def test_a_request_that_makes_no_sense_is_refused(make_model, requests):
    sampler = Sampler(make_model("multi-query llama"), [])
    with pytest.raises(OptionError):
        sampler.extend_and_generate(requests)
    assert sampler.ids("a") == []


def test_what_was_read_and_sampled_is_counted(make_model):
    sampler = Sampler(make_model("multi-query llama"), [])
    sampler.extend_and_generate([Request("a", [5] * 30, 4, key=0), Request("b", [6], 2, key=0)])
    sampler.extend_and_generate([Request("a", [6, 7], 3, key=1)])
    assert sampler.usage.prefill_tokens == 30 + 1 + 3
    assert sampler.usage.decode_tokens == 4 + 2 + 3
    assert min(sampler.usage.prefill_seconds, sampler.usage.decode_seconds) > 0
