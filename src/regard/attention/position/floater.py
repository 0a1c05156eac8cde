"""Positions that flow: a small network says how the vector of a position changes into that of the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.position.kind import Position, Sizes, check_block
from regard.errors import ShapeError

# Time that passes from one position to the next. With networks of these sizes the method below is then exact to about
# 1e-6 (tests/attention/test_position.py).
STEP = 0.1


class Floater(Position):
    """The vector of a position is where a flow has carried a starting point by then; it is added at every block.

    p(t) = p(0) + ∫ h(τ, p(τ)) dτ, with h a small network. Source: Liu et al. 2020, arXiv:2003.09229, equation 8:
    all blocks share h, each has its own p(0). Since it is a flow, it goes on for any length.

    longest: how many positions an exported model knows; elsewhere there is no longest input
    """

    def __init__(self, width: int, *, depth: int = 1, longest: int = 512) -> None:
        super().__init__()
        self.longest = longest
        self.flow = Flow(width)
        self.starts = nn.Parameter(torch.zeros(depth, width))

    @classmethod
    def sized(cls, sizes: Sizes) -> Self:
        sizes = sizes.along_a_line("floater")
        return cls(sizes.width, depth=sizes.depth, longest=sizes.longest)

    def at(self, block: int) -> Position:
        check_block(block, len(self.starts))
        return FloaterBlock(self, block)

    def table(self, block: int, length: int) -> Tensor:
        """The vectors of the first positions: (length, width)."""
        return torch.stack(integrate(self.flow, self.starts[block], STEP, length))


class FloaterBlock(Position):
    """What one block sees of the flow."""

    def __init__(self, floater: Floater, block: int) -> None:
        super().__init__()
        # In a tuple, so that it is not registered as a part of a part: nothing here is to be learned twice.
        self.whole = (floater,)
        self.block = block

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        (floater,) = self.whole
        if not x.shape[1]:
            return x
        # While an export is traced positions have no values yet, and a flow cannot be followed for an unknown time.
        length = floater.longest if torch.compiler.is_compiling() else int(positions.max()) + 1
        if not torch.compiler.is_compiling() and int(positions.min()) < 0:
            raise ShapeError(f"the flow begins at position 0; there is none at {int(positions.min())}")
        # F.embedding and not indexing, whose gradient adds up in an order that changes from run to run.
        return x + F.embedding(positions, floater.table(self.block, length)).to(x.dtype)


class Flow(nn.Module):
    """h(τ, p): which way the vector of a position moves at a time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Linear(width + 1, width)
        self.leave = nn.Linear(width, width)

    def forward(self, time: float, point: Tensor) -> Tensor:
        """point, output: (width,)"""
        told = torch.cat((point, point.new_full((1,), time)), -1)
        return self.leave(torch.tanh(self.enter(told)))


def integrate(flow: Callable[[float, Tensor], Tensor], point: Tensor, step: float, count: int) -> list[Tensor]:
    """Where the flow carries a point: at the times 0, step, 2 · step … so many of them.

    The classical method of Runge and Kutta, of order 4: Kutta 1901. A fixed step and not one that adapts
    itself, so that each position's vector depends on the position alone.
    """
    found = []
    for index in range(count):
        found.append(point)
        time = index * step
        one = flow(time, point)
        two = flow(time + step / 2, point + step / 2 * one)
        three = flow(time + step / 2, point + step / 2 * two)
        four = flow(time + step, point + step * three)
        point = point + step / 6 * (one + 2 * two + 2 * three + four)
    return found
