"""What a decoder remembers between steps, so that each step computes only what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


class AttentionCache:
    """The keys and values which one attention layer has seen.

    keys, values: (batch, heads, seen, head_width), or None before the first step
    positions:    (batch | 1, seen), where they stand; None for a memory
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.positions: Tensor | None = None

    def extend(self, keys: Tensor, values: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Remember new keys and values, and where they stand; gives all there are."""
        if self.keys is None or self.values is None or self.positions is None:
            self.keys, self.values, self.positions = keys, values, positions
        else:
            self.keys = torch.cat((self.keys, keys), 2)
            self.values = torch.cat((self.values, values), 2)
            self.positions = torch.cat((self.positions, positions), 1)
        return self.keys, self.values, self.positions

    def keep(self, project: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """The keys and values of a memory that stays the same: projected once."""
        if self.keys is None or self.values is None:
            self.keys, self.values = project()
        return self.keys, self.values

    def select(self, rows: Tensor) -> None:
        """Go on with these rows of the batch only, in this order (a row may be taken several times)."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]
        if self.positions is not None and len(self.positions) > 1:
            self.positions = self.positions[rows]


class StateCache:
    """What a convolution or a recurrence remembers of what it has seen.

    state: tensors whose first axis is the batch; None before the first step
    """

    def __init__(self) -> None:
        self.state: tuple[Tensor, ...] | None = None

    def select(self, rows: Tensor) -> None:
        """Go on with these rows of the batch only, in this order (a row may be taken several times)."""
        if self.state is not None:
            self.state = tuple(part[rows] for part in self.state)


class BlockCache:
    """The caches of one decoder block: of what looks back at what was written, and of the attention to the memory."""

    def __init__(self, attention: AttentionCache | StateCache) -> None:
        self.attention = attention
        self.cross_attention = AttentionCache()


class Cache:
    """The caches of a decoder's blocks, and how many elements they have seen."""

    def __init__(self, blocks: Iterable[BlockCache]) -> None:
        self.blocks = list(blocks)
        self.length = 0

    def select(self, rows: Tensor) -> None:
        """Go on with these rows of what is written only, in this order (a row may be taken several times)."""
        for block in self.blocks:
            block.attention.select(rows)

    def select_memory(self, items: Tensor) -> None:
        """Go on with these items of the memory only."""
        for block in self.blocks:
            block.cross_attention.select(items)
