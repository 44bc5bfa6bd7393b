"""Writes a tiny Llama as a GGUF file, in the way that llama.cpp's own converter does."""

from pathlib import Path
from typing import Any

import numpy as np

LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write_gguf(path: Path, model: Any, tokenizer: Any) -> None:
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    config = model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, tokenizer)
    for name, tensor in _tensors(model).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: Any, tokenizer: Any) -> None:
    import gguf

    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda pair: pair[1])
    control = tokenizer.added_tokens_decoder
    kinds = [
        gguf.TokenType.CONTROL if i in control else gguf.TokenType.NORMAL for _, i in vocabulary
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_types(kinds)
    writer.add_token_merges(_merges(tokenizer))
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_bos_token_id(1)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_unk_token_id(0)
    writer.add_chat_template(tokenizer.chat_template)


def _merges(tokenizer: Any) -> list[str]:
    import json

    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    return [" ".join(pair) for pair in merges]


def _tensors(model: Any) -> dict[str, np.ndarray]:
    weights = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    tensors = {
        "token_embd.weight": weights["model.embed_tokens.weight"],
        "output_norm.weight": weights["model.norm.weight"],
    }
    for layer in range(model.config.num_hidden_layers):
        for short, long in LAYER.items():
            weight = weights[f"model.layers.{layer}.{long}.weight"]
            if short == "attn_q":
                weight = _interleaved(weight, model.config.num_attention_heads)
            elif short == "attn_k":
                weight = _interleaved(weight, model.config.num_key_value_heads)
            tensors[f"blk.{layer}.{short}.weight"] = np.ascontiguousarray(weight)
    return tensors


def _interleaved(weight: np.ndarray, num_heads: int) -> np.ndarray:
    """Return rows of each head in the order of adjacent pairs, as llama.cpp rotates them."""
    halves = weight.reshape(num_heads, 2, weight.shape[0] // num_heads // 2, weight.shape[1])
    return halves.swapaxes(1, 2).reshape(weight.shape)
