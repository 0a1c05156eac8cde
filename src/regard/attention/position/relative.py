"""Positions that are told to the scores: what counts is how far apart query and key are.

Each of these is the same wherever query and key stand together.
"""

from __future__ import annotations

import math
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.position.grid import ROW, Both
from regard.attention.position.kind import Position, Sizes, ahead, check_block
from regard.errors import ShapeError


class Shaw(Position):
    """Each distance, up to a largest, has a vector that is added to the keys and one that is added to the values.

    Source: Shaw, Uszkoreit & Vaswani 2018, arXiv:1803.02155, equations 3 and 4; section 4.1 for the largest distance
    of 16, and for vectors that all heads share and each block has for itself. What is added to the keys adds
    q · a / sqrt(head_width) to the score (equation 5), whatever the score is.
    """

    def __init__(self, head_width: int, value_width: int, *, depth: int = 1, distance: int = 16) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(ShawBlock(head_width, value_width, distance) for _ in range(depth))

    @classmethod
    def sized(cls, sizes: Sizes) -> Self:
        sizes = sizes.along_a_line("shaw")
        value_width = sizes.head_width if sizes.value_width is None else sizes.value_width
        distance = 16 if sizes.distance is None else sizes.distance
        return cls(sizes.head_width, value_width, depth=sizes.depth, distance=distance)

    def at(self, block: int) -> Position:
        check_block(block, len(self.blocks))
        position = self.blocks[block]
        assert isinstance(position, Position)
        return position


class ShawBlock(Position):
    """The vectors of one block: of keys and of values, each (2 · distance + 1, width of a head)."""

    adds_values = True

    def __init__(self, head_width: int, value_width: int, distance: int) -> None:
        super().__init__()
        self.distance = distance
        self.of_keys = nn.Parameter(torch.empty(2 * distance + 1, head_width))
        self.of_values = nn.Parameter(torch.empty(2 * distance + 1, value_width))
        nn.init.xavier_uniform_(self.of_keys)
        nn.init.xavier_uniform_(self.of_values)

    def _which(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return ahead(query_positions, key_positions).clamp(-self.distance, self.distance) + self.distance

    def bias(self, queries: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        # Every query against every distance, then each key's distance is picked out: (batch, heads, queries, keys).
        fits = queries @ self.of_keys.T * queries.shape[-1] ** -0.5
        which = self._which(query_positions, key_positions)[:, None]
        return fits.gather(-1, which.expand(*fits.shape[:-1], which.shape[-1]))

    def values(self, weights: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        # What weighs at each distance, taken together, then times its vector.
        which = self._which(query_positions, key_positions)[:, None].expand_as(weights)
        weighed = weights.new_zeros(*weights.shape[:-1], 2 * self.distance + 1).scatter_add(-1, which, weights)
        return weighed @ self.of_values


class T5(Position):
    """Distances are put into buckets, narrow near by and wide far away; each bucket adds a learned number to each
    head's scores.

    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1: 32 buckets up to a distance of 128, shared by all blocks.
    Half of the buckets are for keys ahead of the query, unless nobody looks ahead.
    """

    BUCKETS = 32

    def __init__(self, heads: int, *, distance: int = 128, causal: bool = False) -> None:
        super().__init__()
        sides = 1 if causal else 2
        if distance <= self.BUCKETS // sides // 2:
            raise ShapeError(f"the last bucket of T5 begins beyond {self.BUCKETS // sides // 2}, not at {distance}")
        self.distance = distance
        self.causal = causal
        self.table = nn.Parameter(torch.empty(heads, self.BUCKETS))
        nn.init.normal_(self.table, std=0.02)

    @classmethod
    def sized(cls, sizes: Sizes) -> Position:
        distance = 128 if sizes.distance is None else sizes.distance
        if sizes.grid is not None:
            return Both(cls(sizes.heads, distance=distance), cls(sizes.heads, distance=distance))
        return cls(sizes.heads, distance=distance, causal=sizes.causal)

    def bias(self, queries: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        buckets = self.buckets(ahead(query_positions, key_positions))
        # F.embedding and not indexing, whose gradient adds up in an order that changes from run to run.
        # (batch, queries, keys, heads) -> (batch, heads, queries, keys)
        return F.embedding(buckets, self.table[self.chosen].T).permute(0, 3, 1, 2)

    def buckets(self, ahead: Tensor) -> Tensor:
        """The bucket of each distance: one for each up to half of a side's buckets, from there on growing by a factor;
        the last takes all that is further. ahead, output: any shape
        """
        size = self.BUCKETS if self.causal else self.BUCKETS // 2
        far = (-ahead).clamp(min=0) if self.causal else ahead.abs()
        near = size // 2
        growth = (far.clamp(min=1).double() / near).log() / math.log(self.distance / near)
        wide = (near + (growth * (size - near)).long()).clamp(max=size - 1)
        bucket = far.where(far < near, wide)
        return bucket if self.causal else bucket + size * (ahead > 0)


class Alibi(Position):
    """The further a key is from the query, the more is taken from its score, by a slope of each head's own.

    −slope · |distance|, with slopes 2^(−8/n), 2^(−16/n), … of n heads. Source: Press, Smith & Lewis 2022,
    arXiv:2108.12409, section 3. Theirs only looks back; to both sides it is the same. There is nothing to learn. Where
    the number of heads is no power of 2, every other slope of twice as many heads fills up, as in their code.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes = slopes(heads)

    @classmethod
    def sized(cls, sizes: Sizes) -> Self:
        return cls(sizes.along_a_line("alibi").heads)

    def bias(self, queries: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        far = ahead(query_positions, key_positions).abs()[:, None]
        steep = torch.tensor(self.slopes, dtype=queries.dtype, device=queries.device)[self.chosen]
        return -steep[:, None, None] * far


def slopes(heads: int) -> list[float]:
    """ALiBi's slope of each head."""
    power = 2 ** int(math.log2(heads))
    found = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    return found if power == heads else found + slopes(2 * power)[::2][: heads - power]


class Quadratic(Position):
    """Each head looks most at one distance of its own and less the further a key is from there: as sharp as can be, it
    sees one place only, which is what makes attention able to be a convolution.

    −α |δ − Δ|², with δ the distance and α, Δ learned for each head and block. Source: Cordonnier, Loukas & Jaggi 2020,
    arXiv:1911.03584, equation 9 (there without α |Δ|², which is the same for all keys). Δ starts at random. Theirs is
    the whole score; here it is added to the score, of which a scale of 0 leaves nothing.

    columns: the elements are those of a grid, row after row, with so many columns; distances then have two parts
    """

    def __init__(self, heads: int, *, depth: int = 1, columns: int | None = None) -> None:
        super().__init__()
        if columns is not None and columns < 1:
            raise ShapeError(f"a grid has at least 1 column, not {columns}")
        self.blocks = nn.ModuleList(QuadraticBlock(heads, columns) for _ in range(depth))

    @classmethod
    def sized(cls, sizes: Sizes) -> Self:
        return cls(sizes.heads, depth=sizes.depth, columns=None if sizes.grid is None else ROW)

    def at(self, block: int) -> Position:
        check_block(block, len(self.blocks))
        position = self.blocks[block]
        assert isinstance(position, Position)
        return position


class QuadraticBlock(Position):
    """One block's distances, (heads, 1 | 2), and how sharply each head looks there, (heads,)."""

    def __init__(self, heads: int, columns: int | None) -> None:
        super().__init__()
        self.columns = columns
        self.centre = nn.Parameter(math.sqrt(2) * torch.randn(heads, 1 if columns is None else 2))
        # α = softplus(sharpness): it stays above 0. It starts at 1/2.
        self.sharpness = nn.Parameter(torch.full((heads,), math.log(math.expm1(0.5))))

    def bias(self, queries: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        ways = [ahead(query_positions, key_positions)]
        if self.columns is not None:
            ways = [
                ahead(part(query_positions), part(key_positions))
                for part in (
                    lambda positions: positions.div(self.columns, rounding_mode="floor"),
                    lambda positions: positions.remainder(self.columns),
                )
            ]
        # (batch, heads, queries, keys)
        missed = sum(
            (way[:, None] - self.centre[self.chosen][:, axis, None, None]).square() for axis, way in enumerate(ways)
        )
        return -F.softplus(self.sharpness[self.chosen])[:, None, None] * missed
