"""Positions as points on circles."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.attention.position.grid import parted
from regard.attention.position.kind import NOWHERE, Position, Sizes
from regard.errors import ShapeError


class Sinusoidal(Position):
    """Each position is a point on circles that turn at different speeds, added to the first block's input.

    PE(position, 2i) = sin(position / 10000^(2i/width)) and PE(position, 2i+1) = the cosine of the same.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5. An odd width, which they leave open, has one sine more
    than cosines. The table is computed when asked for, so there is no longest input.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    @classmethod
    def sized(cls, sizes: Sizes) -> Position:
        if sizes.grid is not None:
            return GridSinusoidal(sizes.width)
        return cls(sizes.width)

    def at(self, block: int) -> Position:
        return self if block == 0 else NOWHERE

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + sinusoids(positions, self.width).to(x.dtype)

    def shift(self, steps: int) -> Tensor:
        """The matrix that moves any position by so many steps: PE(position + steps) = matrix · PE(position).

        Each circle is turned by its own angle. Section 3.5 hopes that this lets attention learn distances; and since
        turning changes no length, PE(x) · PE(y) depends on x − y alone.
        output: (width, width), in double precision
        """
        if self.width % 2:
            raise ShapeError(
                f"sinusoids of the odd width {self.width} have a sine without a cosine beside it, which no matrix "
                "moves; use an even width"
            )
        cosines, sines = (steps * speeds(self.width)).cos(), (steps * speeds(self.width)).sin()
        # sin(a + b) = cos(b) sin(a) + sin(b) cos(a); cos(a + b) = −sin(b) sin(a) + cos(b) cos(a)
        turns = torch.stack((torch.stack((cosines, sines), -1), torch.stack((-sines, cosines), -1)), -2)
        return torch.block_diag(*turns)


class GridSinusoidal(Position):
    """Half of the numbers tell the row, the others the column, each as sinusoids do along a line.

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, appendix D.4, of their 2-dimensional embedding; the sinusoids are
    those of Vaswani et al. 2017, section 3.5.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def at(self, block: int) -> Position:
        return self if block == 0 else NOWHERE

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        rows, columns = parted(positions)
        half = self.width // 2
        return x + torch.cat((sinusoids(rows, half), sinusoids(columns, self.width - half)), -1).to(x.dtype)


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """The sines and cosines of Vaswani et al. 2017, section 3.5, for any positions and any width.

    positions: any shape
    output:    the same shape and a last axis of `width`
    """
    # Angles in double precision: in single precision position 100,000 is off by about 0.004 on the fastest circle.
    angles = positions[..., None].double() * speeds(width, positions.device)
    # (…, width / 2, 2) -> (…, width): sine and cosine of one circle stand side by side
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[..., :width].float()


def speeds(width: int, device: torch.device | None = None) -> Tensor:
    """By how much each circle turns with each position: 10000^(−2i/width), for i = 0, 1, … below width / 2."""
    index = torch.arange(0, width, 2, dtype=torch.float64, device=device)
    return torch.exp(-math.log(10000.0) * index / max(width, 1))
