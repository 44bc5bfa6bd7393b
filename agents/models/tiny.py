"""`make_tiny`: small Llama-shaped models with a tokenizer of the environments' own text.

They know nothing until they are trained, but they are complete: saved, they are ordinary Hugging
Face folders, with control tokens and a chat template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from budget_envs.agents.models.chat import CHATML, ChatFormat
from budget_envs.agents.models.loading import LanguageModel
from budget_envs.errors import OptionError, require

__all__ = ["CONTROL_TOKENS", "TinyConfig", "make_tiny"]

CONTROL_TOKENS: Final = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<tools>",
    "</tools>",
    "<think>",
    "</think>",
)
"""Tokens that no text is cut into: each is one token, with the first numbers of the vocabulary."""

_LEAST_VOCABULARY: Final = len(CONTROL_TOKENS) + 256


@dataclass(frozen=True, slots=True)
class TinyConfig:
    """Shape of a tiny model; the defaults make one of about 0.9 million parameters.

    Attributes:
        hidden_size: Width, a multiple of ``num_heads``.
        num_layers: Transformer layers.
        num_heads: Attention heads.
        num_kv_heads: Heads of keys and values; one (multi-query attention) decodes fastest
            (Shazeer, 2019, arXiv:1911.02150).
        mlp_size: Width inside a layer's MLP; ``None`` is three times ``hidden_size``.
        vocab_size: Most tokens of the tokenizer, at least 267: bytes and control tokens. Less if
            the texts have fewer different pieces.
        context_length: Most tokens of a conversation.
    """

    hidden_size: int = 128
    num_layers: int = 4
    num_heads: int = 4
    num_kv_heads: int = 1
    mlp_size: int | None = None
    vocab_size: int = 1024
    context_length: int = 4096

    def __post_init__(self) -> None:
        if self.hidden_size % (2 * self.num_heads) or self.num_heads % self.num_kv_heads:
            raise OptionError(
                f"hidden_size must be a multiple of twice num_heads, and num_heads one of "
                f"num_kv_heads, got {self!r}."
            )
        if self.vocab_size < _LEAST_VOCABULARY:
            raise OptionError(
                f"vocab_size must be at least {_LEAST_VOCABULARY} (all bytes and control tokens), "
                f"got {self.vocab_size}."
            )


def make_tiny(
    texts: Iterable[str], config: TinyConfig | None = None, *, seed: int = 0, name: str = "tiny"
) -> LanguageModel:
    """Make a model with random weights and a byte-level BPE tokenizer trained on ``texts``.

    Every text can be encoded, whether the tokenizer was trained on its like or not. Equal arguments
    give equal weights and tokens; global random state is left as it is.

    Args:
        texts: What the model will read and write, such as observations and gold actions.
        config: The shape; ``None`` is `TinyConfig`'s default.
        seed: Of the weights, in [0, 2**63).
        name: What the model is called in tables.

    Raises:
        DependencyNotInstalled: Without torch, transformers or tokenizers.
    """
    shape = config or TinyConfig()
    tokenizer = _train_tokenizer(texts, shape)
    model = _random_llama(shape, len(tokenizer), seed)
    return LanguageModel(model, tokenizer, ChatFormat(tokenizer), name)


def _train_tokenizer(texts: Iterable[str], shape: TinyConfig) -> Any:
    tokenizers, transformers = require("tokenizers", "agents"), require("transformers", "agents")
    pre = tokenizers.pre_tokenizers
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = pre.Sequence(  # a digit is a token, wherever it stands
        [pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=shape.vocab_size,
        special_tokens=list(CONTROL_TOKENS),
        initial_alphabet=sorted(pre.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(_messages(texts), trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHATML,
        model_max_length=shape.context_length,
        clean_up_tokenization_spaces=False,
    )


def _messages(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts, and with each what a message begins with, so that roles become tokens."""
    for text in texts:
        yield from ("user\n", "assistant\n", text)


def _random_llama(shape: TinyConfig, vocab_size: int, seed: int) -> Any:
    torch, transformers = require("torch", "agents"), require("transformers", "agents")
    config = transformers.LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.mlp_size or 3 * shape.hidden_size,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_kv_heads,
        max_position_embeddings=shape.context_length,
        tie_word_embeddings=True,
        # The usual 0.02 suits a width of thousands. Here it would leave attention flat, and nothing
        # learned for hundreds of steps.
        initializer_range=shape.hidden_size**-0.5,
        bos_token_id=None,
        eos_token_id=CONTROL_TOKENS.index("<|im_end|>"),
        pad_token_id=CONTROL_TOKENS.index("<|endoftext|>"),
    )
    with torch.random.fork_rng(devices=[]):  # its own initialisation draws from the global state
        model = transformers.LlamaForCausalLM(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            if weight.ndim > 1:  # norms start at one
                weight.normal_(0.0, config.initializer_range, generator=generator)
    return model.eval()
