"""Queries and keys that are turned by where they stand."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor

from regard.attention.position.grid import ROW
from regard.attention.position.kind import Position, Sizes
from regard.errors import ShapeError


class Rotary(Position):
    """Queries and keys are turned by angles that grow with their position, so that their dot product depends on how
    far apart they are and not on where they are.

    Source: Su et al. 2021, arXiv:2104.09864, equation 15 and section 3.4.2. We pair dimension i with i + width/2, as
    most implementations do, and not 2i with 2i+1 as the paper does: the same up to the order of dimensions. Of an odd
    head width the last dimension is not turned.

    turned:  the share of each head's numbers that is turned (the first ones); the rest compares what things are,
             wherever they stand: Black et al. 2022, arXiv:2204.06745, section 2, who turn a quarter
    columns: the elements are those of a grid, row after row, with so many columns: one half of what is turned follows
             the row, the other the column: the axial frequencies of Heo et al. 2024, arXiv:2403.13298
    """

    def __init__(self, *, turned: float = 1.0, columns: int | None = None) -> None:
        super().__init__()
        if not 0 < turned <= 1:
            raise ShapeError(f"the share of numbers that is turned is above 0 and at most 1, not {turned}")
        if columns is not None and columns < 1:
            raise ShapeError(f"a grid has at least 1 column, not {columns}")
        self.turned = turned
        self.columns = columns

    @classmethod
    def sized(cls, sizes: Sizes) -> Self:
        return cls(turned=sizes.turned, columns=None if sizes.grid is None else ROW)

    def rotate(self, heads: Tensor, positions: Tensor) -> Tensor:
        width = int(heads.shape[-1] * self.turned)
        turning, rest = heads[..., :width], heads[..., width:]
        if self.columns is None:
            return torch.cat((turn(turning, positions), rest), -1)
        rows = turn(turning[..., : width // 2], positions.div(self.columns, rounding_mode="floor"))
        return torch.cat((rows, turn(turning[..., width // 2 :], positions.remainder(self.columns)), rest), -1)


def turn(heads: Tensor, positions: Tensor) -> Tensor:
    """Turn the plane of dimensions i and i + width/2 by the position times 10000^(−2i/width).

    heads, output: (batch, heads, time, width); positions: (batch | 1, time)
    """
    half = heads.shape[-1] // 2
    index = torch.arange(half, dtype=torch.float64, device=heads.device)
    speed = torch.exp(-math.log(10000.0) * index / max(half, 1))
    # (batch, time) -> (batch, 1, time, half)
    angles = positions[:, None, :, None].double() * speed
    cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
    one, other, rest = heads[..., :half], heads[..., half : 2 * half], heads[..., 2 * half :]
    return torch.cat((one * cos - other * sin, other * cos + one * sin, rest), -1)
