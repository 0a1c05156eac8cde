"""The encoder that sees each element alone: the floor that attention must beat."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.layers.block import AddNorm, FeedForward, NoNorm
from regard.layers.dropout import Dropout


class PointwiseBlock(nn.Module):
    """Think about oneself, and add it to what was there."""

    def __init__(self, feed_forward: FeedForward, around_feed_forward: AddNorm) -> None:
        super().__init__()
        self.around_feed_forward = around_feed_forward
        self.feed_forward = feed_forward

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); real: (batch, time), which elements are no padding"""
        return self.around_feed_forward.changed(x, self.feed_forward, real)


class PointwiseEncoder(nn.Module):
    """The same feed-forward network for each element, which sees no other and not even where it stands."""

    def __init__(
        self, blocks: Iterable[PointwiseBlock], *, norm: nn.Module | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(blocks)
        self.norm = NoNorm(0) if norm is None else norm

    @property
    def reach(self) -> tuple[int, int]:
        """How many elements back and ahead matter to one: none."""
        return 0, 0

    def forward(self, x: Tensor, mask: Mask | None = None, positions: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); of the mask only the padding matters, and only to batch norm;
        positions do not"""
        real = None if mask is None else mask.real_positions(x.shape[1])
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x, real)
        return self.norm(x, real)
