"""The encoder in which something else than attention lets elements see each other: a convolution or a recurrence."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.layers.block import AddNorm, FeedForward, NoNorm
from regard.layers.convolution import Convolution
from regard.layers.dropout import Dropout
from regard.layers.padding import side_by_side
from regard.layers.recurrent import Recurrence


class MixBlock(nn.Module):
    """Take in what stands around, then think about it; each adds to what was there.

    This is the Transformer's block with a convolution or a recurrence in the place of attention, so that a comparison
    compares these and nothing else. Source of the exchange: Wu et al. 2019, arXiv:1901.10430, section 4 (there with
    other convolutions).
    """

    def __init__(
        self,
        mix: Convolution | Recurrence,
        feed_forward: FeedForward,
        around_mix: AddNorm,
        around_feed_forward: AddNorm,
    ) -> None:
        super().__init__()
        self.around_mix = around_mix
        self.mix = mix
        self.around_feed_forward = around_feed_forward
        self.feed_forward = feed_forward

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); real: (batch, time), the first so many of each row; None where all are"""
        x = self.around_mix.changed(x, lambda seen: self.mix(seen, real), real)
        return self.around_feed_forward.changed(x, self.feed_forward, real)


class MixEncoder(nn.Module):
    """Blocks one after the other, to whom order is known by itself: they need no positions.

    norm:    the last norm that blocks with the norm before their parts need
    dropout: that of the embedded input
    """

    def __init__(self, blocks: Iterable[MixBlock], *, norm: nn.Module | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(blocks)
        self.norm = NoNorm(0) if norm is None else norm

    @property
    def reach(self) -> tuple[int, int] | None:
        """How many elements back and ahead matter to one, all blocks together; None where all do."""
        sides = [block.mix.reach // 2 if isinstance(block.mix, Convolution) else None for block in self.blocks]
        known = [side for side in sides if side is not None]
        return (sum(known), sum(known)) if len(known) == len(sides) else None

    def forward(self, x: Tensor, mask: Mask | None = None, positions: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); of a mask padding and blocks, anything else is refused;
        order is what it is, whatever positions say"""
        x, real, back = side_by_side(self.dropout(x), mask)
        for block in self.blocks:
            x = block(x, real)
        return back(self.norm(x, real))
