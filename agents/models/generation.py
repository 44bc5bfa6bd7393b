"""`Sampler`: batched sampling from a causal LM, with a key-value cache that outlives the turns."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import torch

from budget_envs.agents.models.drawing import Drawn, RowSampling, draw
from budget_envs.agents.models.hf_forward import HFForward
from budget_envs.agents.models.llama_forward import LlamaForward, is_llama_shaped
from budget_envs.agents.models.requests import Generated, Request, Usage
from budget_envs.agents.models.row_order import reading_order, survivors
from budget_envs.agents.models.sampling import Sampling
from budget_envs.agents.models.slot_cache import Chunk, SlotCache
from budget_envs.agents.models.stop_strings import StopStrings
from budget_envs.agents.models.tokens import Finish
from budget_envs.errors import OptionError
from budget_envs.streams import uniforms

__all__ = ["Forward", "Generated", "Request", "Sampler", "Sampling", "Usage", "forward_of"]

_TOKENS_PER_FORWARD: Final = 8192  # of a prefill, padding included: bounds the memory it needs


class Forward(Protocol):
    """Puts new tokens through a model."""

    def __call__(self, chunk: Chunk, cache: SlotCache) -> torch.Tensor:
        """Write the chunk's keys and values; return the logits ``(n, V)`` after its last tokens."""
        ...


@dataclass(slots=True, eq=False)
class _Row:
    """A generation in progress."""

    request: Request
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    model_logprobs: list[float] = field(default_factory=list)
    finish: Finish | None = None
    seconds: float = 0.0

    def generated(self) -> Generated:
        assert self.finish is not None
        logprobs, own = tuple(self.logprobs), tuple(self.model_logprobs)
        return Generated(tuple(self.ids), logprobs, own, self.finish, self.seconds)


class Sampler:
    """Samples from a Hugging Face causal LM, many conversations at once.

    Rows of a batch may be of any length and age. The new tokens of all rows are put through the
    model together, equal first prompts once; then a token at a time is drawn for each row, and a
    row that is done costs nothing any more. What a conversation's tokens left in the cache stays
    for its next turn.

    Reads the model's parameters where they are: after an optimiser's step the next call uses the
    new ones, and conversations in progress are encoded again.

    A row's tokens depend on its own request and history, not on the batch, up to the rounding of
    the matrix products (about 1e-6 in a probability), which differs between batch shapes.

    Args:
        model: A Hugging Face causal LM with full attention in all layers.
        stop_ids: Tokens that end a generation.
        stop_strings: Texts that end a generation (and stay in it).
        tokenizer: Needed for ``stop_strings`` only.
        forward: How chunks are put through the model; ``None`` takes the fastest that fits.

    Attributes:
        usage: What was done so far, in tokens and seconds.

    Raises:
        UnsupportedError: If the model cannot be sampled from with this cache.
    """

    def __init__(
        self,
        model: Any,
        stop_ids: Iterable[int],
        *,
        stop_strings: Sequence[str] = (),
        tokenizer: Any = None,
        forward: Forward | None = None,
    ) -> None:
        self.model = model
        self.stop_ids = frozenset(stop_ids)
        self.usage = Usage()
        self._stop_strings = StopStrings(stop_strings, tokenizer)
        self._given_forward = forward
        self._forward = forward or forward_of(model)
        self._cache = SlotCache()
        self._ids: dict[str, list[int]] = {}
        self._version: tuple[tuple[int, int], ...] = ()

    def extend_and_generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Append tokens to conversations and generate in each.

        Args:
            requests: Of distinct conversations.

        Returns:
            What was generated, in the order of the requests.

        Raises:
            OptionError: If a request is not valid. Nothing has changed then.
            DataError: If the model's output is not finite. Nothing has changed then.
        """
        if not requests:
            return []
        _check(requests)
        started = time.perf_counter()
        rows = {request.conversation: _Row(request) for request in requests}
        names = tuple(rows)
        with self._running(names):
            self._generate(list(rows.values()), started)
        for name, row in rows.items():
            self._ids.setdefault(name, []).extend((*row.request.new_ids, *row.ids))
        return [row.generated() for row in rows.values()]

    def ids(self, conversation: str) -> list[int]:
        """Return all tokens of a conversation, none if it is unknown."""
        return list(self._ids.get(conversation, ()))

    def rewind(self, conversation: str, length: int) -> None:
        """Forget the tokens of a conversation after the first ``length``."""
        if conversation in self._ids:
            del self._ids[conversation][length:]
            self._shorten(conversation)

    def drop(self, conversations: Iterable[str]) -> None:
        """Forget conversations; those that are unknown already are."""
        with torch.inference_mode():
            for name in conversations:
                self._ids.pop(name, None)
                self._cache.drop(name)

    def num_cached(self, conversation: str) -> int:
        """Return how many tokens of a conversation need not be encoded again."""
        return self._cache.lengths.get(conversation, 0)

    @contextmanager
    def _running(self, names: Sequence[str]) -> Iterator[None]:
        """Prepare the model for sampling; where that fails, forget what half of it has left."""
        was_training = bool(self.model.training)
        if was_training:
            self.model.eval()  # dropout would sample from another distribution
        try:
            with torch.inference_mode():
                self._notice_changes()
                yield
        except BaseException:
            for name in names:
                self._shorten(name)
            raise
        finally:
            if was_training:
                self.model.train()

    def _shorten(self, name: str) -> None:
        """Let the cache hold no more of a conversation than it consists of."""
        if name in self._cache.lengths:
            known = len(self._ids.get(name, ()))
            self._cache.lengths[name] = min(self._cache.lengths[name], known)

    def _notice_changes(self) -> None:
        """Invalidate what other weights, or other layers, have left in the cache."""
        version = tuple((p.data_ptr(), p._version) for p in self.model.parameters())
        if version != self._version:
            self._cache.invalidate()
            self._version = version
            self._forward = self._given_forward or forward_of(self.model)

    def _generate(self, rows: list[_Row], started: float) -> None:
        """Draw a token for every row at work until none is left."""
        rows, logits = self._prefill(rows)
        read = time.perf_counter()
        self.usage.prefill_seconds += read - started
        sampling = RowSampling([row.request.sampling for row in rows], logits.device)
        keys = np.array([row.request.key for row in rows], np.uint64)
        for step in itertools.count():
            drawn = draw(logits, sampling, uniforms(keys, np.full(len(rows), step, np.uint64)))
            tokens = drawn.tokens
            if self._note(rows, drawn, started):
                kept = self._compact(rows)
                if not kept:
                    break
                rows = [rows[index] for index in kept]
                chosen = torch.tensor(kept, device=tokens.device)
                tokens, sampling, keys = tokens[chosen], sampling.select(chosen), keys[kept]
            logits = self._advance(rows, tokens)
        self.usage.decode_seconds += time.perf_counter() - read

    def _note(self, rows: Sequence[_Row], drawn: Drawn, started: float) -> bool:
        """Add a token to every row; return whether that was the last one of some row."""
        self.usage.decode_tokens += len(rows)
        numbers = zip(*(column.tolist() for column in drawn), strict=True)
        for row, (token, logprob, model_logprob) in zip(rows, numbers, strict=True):
            row.ids.append(token)
            row.logprobs.append(logprob)
            row.model_logprobs.append(model_logprob)
            row.finish = self._finish(row)
            if row.finish is not None:
                row.seconds = time.perf_counter() - started
        return any(row.finish is not None for row in rows)

    def _finish(self, row: _Row) -> Finish | None:
        if row.ids[-1] in self.stop_ids or self._stop_strings.found(row.ids):
            return "stop"
        return "length" if len(row.ids) == row.request.max_new_tokens else None

    def _compact(self, rows: Sequence[_Row]) -> list[int]:
        """Let rows at work take the places of rows that are done; return who is where now."""
        order = survivors([row.finish is not None for row in rows])
        for place, index in enumerate(order):
            self._cache.swap(place, index)
        return order

    def _advance(self, rows: list[_Row], tokens: torch.Tensor) -> torch.Tensor:
        """Put one more token of each row through the model; return the logits ``(n, V)``."""
        names = [row.request.conversation for row in rows]
        lengths = [self._cache.lengths[name] for name in names]
        self._cache.reserve(max(lengths) + 1)
        logits = self._forward(Chunk.single(tokens, lengths), self._cache)
        for name in names:
            self._cache.lengths[name] += 1
        return logits

    def _prefill(self, rows: list[_Row]) -> tuple[list[_Row], torch.Tensor]:
        """Put all that is new through the model; return the rows as the cache has them."""
        cache = self._cache
        of_name = {row.request.conversation: row for row in rows}
        new = {name: self._unread(row.request) for name, row in of_name.items()}
        order = reading_order(new, cache.lengths, cache.rows, _TOKENS_PER_FORWARD)
        cache.arrange(order.names)
        logits = torch.cat([self._read(order.names[a:b], new, a) for a, b in order.groups])
        for row, source in enumerate(order.sources):
            if row != source:
                cache.copy(source, row)
        return [of_name[name] for name in order.names], logits[order.sources]

    def _unread(self, request: Request) -> tuple[int, ...]:
        """Return all tokens of a conversation that are not in the cache."""
        known = self._ids.get(request.conversation, [])
        return (*known[self.num_cached(request.conversation) :], *request.new_ids)

    def _read(
        self, names: Sequence[str], new: Mapping[str, tuple[int, ...]], first_row: int
    ) -> torch.Tensor:
        """Put new tokens of consecutive rows through the model; return logits ``(n, V)``."""
        starts = [self._cache.lengths[name] for name in names]
        chunk = Chunk.of([new[name] for name in names], starts, first_row, self.model.device)
        self._cache.reserve(chunk.visible)
        logits = self._forward(chunk, self._cache)
        for name in names:
            self._cache.lengths[name] += len(new[name])
            self.usage.prefill_tokens += len(new[name])
        return logits


def forward_of(model: Any) -> Forward:
    """Return the fastest way through a model.

    Raises:
        UnsupportedError: If there is none.
    """
    return LlamaForward(model) if is_llama_shaped(model) else HFForward(model)


def _check(requests: Sequence[Request]) -> None:
    names = [request.conversation for request in requests]
    if len(set(names)) < len(names):
        raise OptionError(f"each conversation can be asked once at a time, got {names!r}.")
    for request in requests:
        if not request.new_ids or request.max_new_tokens < 1:
            raise OptionError(
                f"a request needs a new token and room for one, got {len(request.new_ids)} new "
                f"and room for {request.max_new_tokens} in {request.conversation!r}."
            )
