"""Models small enough to be made for a test, and unsure enough that what they say varies."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
torch.set_num_threads(1)

from budget_envs.agents.models.tiny import TinyConfig, make_tiny  # noqa: E402

TEXTS = [
    "You are on a frozen lake. Reach G.\n_ G _ O\n_ _ P _\n[Budget: 8 of 8 turns left]",
    "Left Down Right Up",
    '<tool_call>\n{"name": "cd", "arguments": {"folder": "temp"}}\n</tool_call>',
    "select count(*) from t where a = 12;",
]
SMALL = TinyConfig(hidden_size=32, num_layers=2, vocab_size=320, context_length=512)
VOCABULARY = 96


@pytest.fixture(scope="session")
def tiny() -> Any:
    """A tiny model with a tokenizer of a few texts, as `make_tiny` makes it."""
    return make_tiny(TEXTS, SMALL, seed=1)


@pytest.fixture(scope="session")
def write_gguf() -> Any:
    """Write a model and its tokenizer as a GGUF file."""
    spec = importlib.util.spec_from_file_location(
        "gguf_files", Path(__file__).with_name("gguf_files.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_gguf


@pytest.fixture(scope="session")
def make_model() -> Callable[[str], Any]:
    """Make a tiny random model of a kind, of which the tokens are far from equally likely."""
    made: dict[str, Any] = {}

    def make(kind: str) -> Any:
        if kind not in made:
            made[kind] = _with_weights(KINDS[kind]())
        return made[kind]

    return make


def _llama(**changes: Any) -> Any:
    config = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
    }
    return config | changes


def _make(kind: str, attention: str = "sdpa", **config: Any) -> Callable[[], Any]:
    def make() -> Any:
        made = transformers.AutoConfig.for_model(kind, **config)
        return transformers.AutoModelForCausalLM.from_config(made, attn_implementation=attention)

    return make


KINDS = {
    "multi-query llama": _make("llama", **_llama()),
    "grouped-query llama": _make("llama", **_llama(num_key_value_heads=2, attention_bias=True)),
    "llama, one head for each query": _make("llama", **_llama(num_key_value_heads=4)),
    "llama, untied": _make("llama", **_llama(tie_word_embeddings=False, head_dim=16)),
    "qwen2": _make("qwen2", **_llama(num_key_value_heads=2)),
    "qwen3": _make("qwen3", **_llama(num_key_value_heads=2, head_dim=8)),
    "qwen2, eager": _make("qwen2", attention="eager", **_llama(num_key_value_heads=2)),
    "gpt2": _make(
        "gpt2",
        vocab_size=VOCABULARY,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=512,
        bos_token_id=0,
        eos_token_id=0,
    ),
    "yarn llama": _make(
        "llama",
        **_llama(
            rope_parameters={
                "rope_type": "yarn",
                "factor": 2.0,
                "original_max_position_embeddings": 256,
                "rope_theta": 10_000.0,
            }
        ),
    ),
}


def _with_weights(model: Any) -> Any:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            if weight.ndim > 1:
                weight.normal_(0.0, 0.3, generator=generator)
            else:
                weight.add_(torch.empty_like(weight).normal_(0.0, 0.1, generator=generator))
    return model.eval()
