"""What a position kind is."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from regard.errors import ShapeError


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a stack tells a position kind about itself.

    width:       numbers in the vectors between layers
    heads, head_width, value_width: how many heads, and the numbers in the vectors and values of one (as head_width)
    depth:       how many blocks it has
    longest:     the longest input that is foreseen
    distance:    the largest distance that is told apart; None leaves it to the kind
    turned:      rotary: the share of each head's numbers that is turned
    causal:      whether nobody looks ahead
    grid:        of pictures: how many rows and columns the largest that is foreseen has
    """

    width: int
    heads: int
    head_width: int
    value_width: int | None = None
    depth: int = 1
    longest: int = 512
    distance: int | None = None
    turned: float = 1.0
    causal: bool = False
    grid: tuple[int, int] | None = None

    def along_a_line(self, name: str) -> Sizes:
        """These sizes, for a kind that knows no rows and columns; those of a picture are refused."""
        if self.grid is not None:
            raise ShapeError(
                f"the position {name} knows elements along a line, and no rows and columns; take none, sinusoidal, "
                "learned, rotary, t5 or quadratic"
            )
        return self


class Position(nn.Module):
    """A position kind tells attention where things are; this one tells nothing.

    The stack owns one and hands each block `at(block)`. A kind overrides what it needs; each of the other methods
    leaves things as they are. Positions are whole numbers, (batch | 1, time), so that the rows of a batch may stand at
    different places.

    adds_values: whether `values` is overridden (the fused path cannot be taken then)
    chosen:      which heads are asked; a kind with numbers of its own for each head takes these
    most:        how many positions there are; None where there is no end of them
    """

    adds_values = False
    chosen: slice | Tensor = slice(None)
    most: int | None = None

    @classmethod
    def sized(cls, sizes: Sizes) -> Position:
        """The position for a stack of these sizes."""
        return cls()

    @property
    def speaks(self) -> bool:
        """Whether it adds anything inside of attention."""
        return self.adds_values or type(self).bias is not Position.bias

    def at(self, block: int) -> Position:
        """The position that the block of this number sees."""
        return self

    def of_heads(self, heads: slice | Tensor) -> Self:
        """The same position, for some of its heads."""
        other = copy.copy(self)
        other.chosen = heads
        return other

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Tell each element where it stands.

        x, output: (batch, time, width)
        """
        return x

    def rotate(self, heads: Tensor, positions: Tensor) -> Tensor:
        """Turn queries or keys according to where they stand.

        heads, output: (batch, heads, time, head_width)
        """
        return heads

    def bias(self, queries: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """What to add to the scores, or None. Asked for some rows of queries at a time.

        queries: (batch, heads, queries, head_width)
        output:  (batch | 1, heads | 1, queries, keys)
        """
        return None

    def values(self, weights: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """What to add to the attended values, or None. Asked for some rows of queries at a time.

        weights: (batch, heads, queries, keys)
        output:  (batch, heads, queries, value_width)
        """
        return None


NOWHERE = Position()


def ahead(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """How far ahead of each query each key stands.

    query_positions: (batch | 1, queries); key_positions: (batch | 1, keys); output: (batch | 1, queries, keys)
    """
    return key_positions[:, None, :] - query_positions[:, :, None]


def check_block(block: int, depth: int) -> None:
    """Refuse a block that a position kind with something for each block was not made for."""
    if block >= depth:
        raise ShapeError(f"the position was made for {depth} blocks, but the stack has more; make it with their depth")
