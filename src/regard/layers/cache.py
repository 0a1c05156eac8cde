"""What a decoder remembers between steps, so that each step computes only what is new."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class AttentionCache:
    """The keys and values which one attention layer has seen.

    keys, values: (batch, heads, seen, head_width), or None before the first step
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Remember new keys and values; gives all there are."""
        if self.keys is None or self.values is None:
            self.keys, self.values = keys, values
        else:
            self.keys = torch.cat((self.keys, keys), 2)
            self.values = torch.cat((self.values, values), 2)
        return self.keys, self.values

    def keep(self, project: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """The keys and values of a memory that stays the same: projected once."""
        if self.keys is None or self.values is None:
            self.keys, self.values = project()
        return self.keys, self.values

    def select(self, rows: Tensor) -> None:
        """Go on with these rows of the batch only, in this order (a row may be taken several times)."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]


class BlockCache:
    """The caches of one decoder block."""

    def __init__(self) -> None:
        self.attention = AttentionCache()
        self.cross_attention = AttentionCache()


class Cache:
    """The caches of a decoder's blocks, and how many elements they have seen."""

    def __init__(self, depth: int) -> None:
        self.blocks = [BlockCache() for _ in range(depth)]
        self.length = 0

    def select(self, rows: Tensor) -> None:
        """Go on with these rows of the batch only, in this order (a row may be taken several times)."""
        for block in self.blocks:
            block.attention.select(rows)
            block.cross_attention.select(rows)
