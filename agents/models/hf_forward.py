"""The general way through a model: its own forward pass, with our cache in the place of its own."""

from __future__ import annotations

import inspect
from typing import Any, Final

import torch
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache, DynamicLayer

from budget_envs.agents.models.slot_cache import Chunk, SlotCache
from budget_envs.errors import UnsupportedError

__all__ = ["HFForward"]

_MASK_AWARE: Final = frozenset({"sdpa", "eager"})  # take a mask of any form


class HFForward:
    """Puts chunks through any causal LM of Hugging Face with plain attention in all layers.

    Args:
        model: The model.

    Raises:
        UnsupportedError: If a layer keeps something else than the keys and values of all tokens
            (a state-space layer, a sliding window), or attention takes no mask.
    """

    def __init__(self, model: Any) -> None:
        _check(model)
        self.model = model
        parameters = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"

    def __call__(self, chunk: Chunk, cache: SlotCache) -> torch.Tensor:
        """Write the chunk's keys and values; return the logits ``(n, V)`` after its last tokens."""
        view = _View(chunk, cache, self.model.config.get_text_config().num_hidden_layers)
        output = self.model(
            input_ids=chunk.ids,
            attention_mask=chunk.bias(self.model.dtype),
            position_ids=chunk.positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: view},
        )
        logits: torch.Tensor = output.logits[:, -1]
        return logits


class _View(Cache):
    """A `SlotCache` as a model sees it during one forward pass."""

    def __init__(self, chunk: Chunk, cache: SlotCache, num_layers: int) -> None:
        cells = chunk.positions
        if chunk.is_token is not None:
            cells = torch.where(chunk.is_token, cells, cache.spare_cell)
        rows = slice(chunk.first_row, chunk.first_row + chunk.num_rows)
        layers: list[Any] = [
            _Layer(cache, index, rows, cells, chunk.visible) for index in range(num_layers)
        ]
        super().__init__(layers=layers)


class _Layer(CacheLayerMixin):  # type: ignore[no-untyped-call]  # its subclass hook
    """One layer of it: what is new is written, everything that may be seen is returned."""

    is_sliding = False

    def __init__(
        self, cache: SlotCache, index: int, rows: slice, cells: torch.Tensor, visible: int
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.cache, self.index, self.rows, self.cells = cache, index, rows, cells
        self.visible = visible
        self.row_index = torch.arange(rows.start, rows.stop, device=cells.device)[:, None]

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.cache.layer(self.index, (key_states, value_states))

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.lazy_initialization(key_states, value_states)
        keys, values = self.cache.keys[self.index], self.cache.values[self.index]
        keys[self.row_index, :, self.cells] = key_states.transpose(1, 2)
        values[self.row_index, :, self.cells] = value_states.transpose(1, 2)
        return keys[self.rows, :, : self.visible], values[self.rows, :, : self.visible]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.visible, 0

    def get_seq_length(self) -> int:
        return self.visible - self.cells.shape[1]

    def get_max_length(self) -> int:
        return -1


def _check(model: Any) -> None:
    config = model.config
    if getattr(config, "is_encoder_decoder", False):
        raise UnsupportedError(f"{type(model).__name__} is no decoder-only model.")
    layers = DynamicCache(config=config.get_text_config()).layers
    kinds = {type(layer).__name__ for layer in layers if type(layer) is not DynamicLayer}
    if kinds:
        raise UnsupportedError(
            f"{type(model).__name__} keeps {', '.join(sorted(kinds))} from token to token; only "
            "models with full attention in all layers can be sampled from here. Serve it behind "
            "an endpoint instead."
        )
    if config._attn_implementation not in _MASK_AWARE:
        raise UnsupportedError(
            f"attention {config._attn_implementation!r} takes no mask of its own: load the model "
            'with attn_implementation="sdpa".'
        )
