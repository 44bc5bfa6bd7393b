"""`SlotCache`: keys and values of many conversations, a row each, kept from turn to turn.

The rows that a batch works on are always the first ones, so that a batch reads its keys and values
as a view and copies nothing. Rows are moved for that: when one of a batch is done, it trades
places with the last one still at work. A row is as long as its conversation, whatever the others
are; what lies beyond its length is never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch

__all__ = ["Chunk", "SlotCache"]

_LEAST_ROWS: Final = 8
_LEAST_CELLS: Final = 256
_GROWTH: Final = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """New tokens of consecutive rows, to be put through the model in one forward pass.

    Attributes:
        ids: ``(n, q) int64``, the new tokens of each row at its right end, padding at its left.
        positions: ``(n, q) int64``, position of each token in its conversation; 0 for padding.
        is_token: ``(n, q) bool``; ``None`` where there is no padding.
        is_fresh: Whether nothing came before in any row.
        first_row: The row of the cache that the first row of the chunk is.
        visible: Cells of the cache that have to be looked at: the longest conversation's length.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    is_token: torch.Tensor | None
    is_fresh: bool
    first_row: int
    visible: int

    @classmethod
    def of(
        cls,
        new: Sequence[Sequence[int]],
        starts: Sequence[int],
        first_row: int,
        device: torch.device,
    ) -> Chunk:
        """Make a chunk of ragged rows, ``new[i]`` coming after ``starts[i]`` tokens."""
        width = max(len(ids) for ids in new)
        padded = [[0] * (width - len(ids)) + list(ids) for ids in new]
        counts = torch.tensor([len(ids) for ids in new], device=device)
        offsets = torch.arange(width, device=device) - (width - counts)[:, None]
        is_token = offsets >= 0
        positions = (torch.tensor(starts, device=device)[:, None] + offsets) * is_token
        is_ragged = any(len(ids) != width for ids in new)
        return cls(
            ids=torch.tensor(padded, device=device),
            positions=positions,
            is_token=is_token if is_ragged else None,
            is_fresh=not any(starts),
            first_row=first_row,
            visible=max(start + len(ids) for start, ids in zip(starts, new, strict=True)),
        )

    @classmethod
    def single(cls, tokens: torch.Tensor, starts: Sequence[int]) -> Chunk:
        """Make a chunk of one token for each of the first rows. ``tokens``: ``(n,) int64``."""
        positions = torch.tensor(starts, device=tokens.device)[:, None]
        return cls(tokens[:, None], positions, None, False, 0, max(starts) + 1)

    @property
    def num_rows(self) -> int:
        """Number of rows n."""
        return self.ids.shape[0]

    def bias(self, dtype: torch.dtype) -> torch.Tensor:
        """Return ``(n, 1, q, visible)``, to be added to attention scores.

        0 for the cells that a token attends to, the lowest number there is for all others.
        """
        cells = torch.arange(self.visible, device=self.ids.device)
        is_hidden = cells > self.positions[:, None, :, None]
        bias = torch.zeros(is_hidden.shape, dtype=dtype, device=self.ids.device)
        return bias.masked_fill_(is_hidden, torch.finfo(dtype).min)


class SlotCache:
    """A table of rows and cells for each layer of a model, of any head count and size.

    Attributes:
        keys: For each layer ``(rows, heads, cells, head_dim)``. The last cell holds no token ever:
            what padding writes goes there.
        values: Likewise.
        lengths: Conversation to the number of its tokens that are in the cache.
        rows: Conversation to its row.
    """

    def __init__(self) -> None:
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []
        self.lengths: dict[str, int] = {}
        self.rows: dict[str, int] = {}
        self._owners: list[str] = []  # by row; rows beyond are free
        self._num_rows = _LEAST_ROWS
        self._num_cells = _LEAST_CELLS

    @property
    def spare_cell(self) -> int:
        """The cell that padding may write to."""
        return self._num_cells - 1

    def arrange(self, conversations: Sequence[str]) -> None:
        """Give the conversations the first rows, in order; those that have none get one."""
        for name in conversations:
            if name not in self.rows:
                self.rows[name] = len(self._owners)
                self._owners.append(name)
                self.lengths[name] = 0
        self._reserve_rows(len(self._owners))
        for row, name in enumerate(conversations):
            self.swap(row, self.rows[name])

    def swap(self, one: int, other: int) -> None:
        """Let two rows trade places."""
        if one == other:
            return
        first, second = self._owners[one], self._owners[other]
        self._owners[one], self._owners[other] = second, first
        self.rows[first], self.rows[second] = other, one
        used = max(self.lengths[first], self.lengths[second])
        for tensor in (*self.keys, *self.values):
            kept = tensor[one, :, :used].clone()
            tensor[one, :, :used] = tensor[other, :, :used]
            tensor[other, :, :used] = kept

    def copy(self, source: int, target: int) -> None:
        """Fill a row with what another holds."""
        used = self.lengths[self._owners[source]]
        for tensor in (*self.keys, *self.values):
            tensor[target, :, :used] = tensor[source, :, :used]
        self.lengths[self._owners[target]] = used

    def drop(self, conversation: str) -> None:
        """Free a conversation's row."""
        if (row := self.rows.get(conversation)) is None:
            return
        self.swap(row, len(self._owners) - 1)
        self._owners.pop()
        del self.rows[conversation], self.lengths[conversation]

    def invalidate(self) -> None:
        """Forget what the rows hold, not whose they are."""
        self.lengths = dict.fromkeys(self.lengths, 0)

    def reserve(self, cells: int) -> None:
        """Make room for conversations of so many tokens."""
        if cells < self._num_cells:
            return
        self._num_cells = max(cells + 1, int(self._num_cells * _GROWTH))
        self._grow()

    def layer(self, index: int, like: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Make sure that a layer has its tables, of the head counts and sizes of ``like``.

        Args:
            index: The layer.
            like: Keys and values ``(..., heads, any, head_dim)``.
        """
        while len(self.keys) <= index:
            self.keys.append(self._table(like[0]))
            self.values.append(self._table(like[1]))

    def _reserve_rows(self, rows: int) -> None:
        if rows > self._num_rows:
            self._num_rows = max(rows, int(self._num_rows * _GROWTH))
            self._grow()

    def _grow(self) -> None:
        for tables in (self.keys, self.values):
            for index, old in enumerate(tables):  # one at a time: the peak is one layer's
                tables[index] = self._table(old)
                tables[index][: old.shape[0], :, : old.shape[2]] = old

    def _table(self, like: torch.Tensor) -> torch.Tensor:
        heads, size = like.shape[-3], like.shape[-1]
        return like.new_zeros(self._num_rows, heads, self._num_cells, size)
