"""Encoder and Decoder: blocks one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.position import Position
from regard.errors import ShapeError
from regard.layers.block import DecoderBlock, NoNorm
from regard.layers.cache import Cache, Lineage
from regard.layers.dropout import Dropout


class Stack(nn.Module):
    """A position, some blocks, a last norm: what encoder and decoder have in common.

    norm:    the last norm that blocks with the norm before their parts need
    dropout: that of the embedded input
    """

    def __init__(
        self,
        blocks: Iterable[nn.Module],
        *,
        position: Position | None = None,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.position = Position() if position is None else position
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(blocks)
        self.norm = NoNorm(0) if norm is None else norm

    def place(self, x: Tensor, positions: Tensor, block: int) -> tuple[Position, Tensor]:
        """The position that a block sees, and its input, told where it stands.

        x, output: (batch, time, width)
        """
        position = self.position.at(block)
        x = position.embed(x, positions)
        return position, self.dropout(x) if block == 0 else x


class Encoder(Stack):
    """Blocks one after the other: each lets every element look at all others once more.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1. Its blocks are `EncoderBlock`s.

    window: how many positions back and ahead each element looks in one block: truncated attention, section 4 there;
            one for all blocks, or one for each
    """

    def __init__(
        self,
        blocks: Iterable[nn.Module],
        *,
        position: Position | None = None,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
        window: Sequence[int] | Sequence[Sequence[int]] | None = None,
    ) -> None:
        super().__init__(blocks, position=position, norm=norm, dropout=dropout)
        self.windows = _for_each(window, len(self.blocks))

    @property
    def reach(self) -> tuple[int, int] | None:
        """How many elements back and ahead matter to one, all blocks together; None where all do."""
        if not self.windows:
            return None
        return sum(back for back, _ in self.windows), sum(ahead for _, ahead in self.windows)

    def forward(self, x: Tensor, mask: Mask | None = None, positions: Tensor | None = None) -> Tensor:
        """Each element's vector, in the light of all others.

        x, output: (batch, time, width)
        mask:      who may look at whom
        positions: (batch | 1, time), where the elements stand; 0, 1, 2 … where not given
        """
        given = positions
        positions = torch.arange(x.shape[1], device=x.device)[None] if positions is None else positions
        real = None if mask is None else mask.real_positions(x.shape[1])
        for index, block in enumerate(self.blocks):
            position, x = self.place(x, positions, index)
            sight = Mask.window(*self.windows[index]) if self.windows else Mask()
            x = block(x, sight & mask, position, real, given)
        return self.norm(x, real)


def _for_each(window: Sequence[Any] | None, blocks: int) -> tuple[tuple[int, int], ...]:
    """The window of each block; nothing where there is none."""
    if not window:
        return ()
    each = window if isinstance(window[0], Sequence) else [window] * blocks
    if len(each) != blocks:
        raise ShapeError(f"there are {len(each)} windows, but {blocks} blocks; give one, or one for each block")
    for back, ahead in each:
        Mask.window(back, ahead)  # refuses what reaches less than nothing
    return tuple((back, ahead) for back, ahead in each)


class Decoder(Stack):
    """Blocks that write from left to right: each element looks at those written before it and at what was read.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1. Its blocks are `DecoderBlock`s.
    """

    def cache(self, beam: int = 1) -> Cache:
        """An empty cache for decoding step by step, so many beams of each item."""
        lineage = Lineage(beam)
        return Cache([block.cache(lineage) for block in self._blocks], lineage)

    def remember(self, memory: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Each block's keys and values of a memory, as its attention to it makes them."""
        return [block.cross_attention.project(memory) for block in self._blocks]

    @property
    def _blocks(self) -> Iterable[DecoderBlock]:
        return cast(Iterable[DecoderBlock], self.blocks)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        real: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """Each written element's vector, in the light of those before it and of the memory.

        x, output:   (batch, length, width); with a cache only the new elements
        memory:      (batch, time, memory_width)
        mask:        beside the causal mask, which is always there; padding after what is written needs none, since
                     nothing looks ahead
        memory_mask: padding of the memory
        real:        (batch, length), which elements are no padding; what the mask says where not given
        """
        positions = torch.arange(x.shape[1], device=x.device)[None] if cache is None else cache.begin(x)
        # What comes alone has nothing ahead of it.
        sight = mask if cache is not None and x.shape[1] == 1 else Mask.causal() & mask
        if real is None and mask is not None and cache is None:
            real = mask.real_positions(x.shape[1])
        for index, block in enumerate(self.blocks):
            position, x = self.place(x, positions, index)
            x = block(
                x,
                memory,
                mask=sight,
                memory_mask=memory_mask,
                position=position,
                positions=None if cache is None else positions,
                real=real,
                cache=None if cache is None else cache.blocks[index],
            )
        if cache is not None:
            cache.advance(x.shape[1])
        return self.norm(x, real)
