"""Where the elements of a picture stand: in rows and columns.

A position stays one whole number: its row times ROW, and its column. What tells distances along a line is told here
along both ways.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.position.kind import NOWHERE, Position
from regard.errors import ShapeError

# No picture has more columns than this.
ROW = 4096


def grid_positions(rows: Tensor, columns: Tensor) -> Tensor:
    """Rows and columns, counted from 0, as one number each."""
    if not torch.compiler.is_compiling() and columns.numel() and int(columns.max()) >= ROW:
        raise ShapeError(f"a picture has at most {ROW} columns, not {int(columns.max()) + 1}; use larger patches")
    return rows * ROW + columns


def parted(positions: Tensor) -> tuple[Tensor, Tensor]:
    """The rows and the columns of positions."""
    return positions.div(ROW, rounding_mode="floor"), positions.remainder(ROW)


class GridLearned(Position):
    """Each place of a grid has a vector of its own, learned and added to the first block's input.

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1. table: (rows, columns, width)
    """

    def __init__(self, width: int, rows: int, columns: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(rows, columns, width))
        nn.init.normal_(self.table, std=0.02)

    def at(self, block: int) -> Position:
        return self if block == 0 else NOWHERE

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        rows, columns = parted(positions)
        if not torch.compiler.is_compiling() and positions.numel():
            self._check(int(rows.max()) + 1, int(columns.max()) + 1)
        # F.embedding and not indexing, whose gradient adds up in an order that changes from run to run.
        return x + F.embedding(rows * self.table.shape[1] + columns, self.table.flatten(0, 1))

    def _check(self, rows: int, columns: int) -> None:
        if rows > self.table.shape[0] or columns > self.table.shape[1]:
            raise ShapeError(
                f"a picture of {rows} × {columns} patches is larger than the {self.table.shape[0]} × "
                f"{self.table.shape[1]} learned places; draw it smaller (input.picture_size), train with position "
                f"sinusoidal or rotary, or stretch them: position.stretched({rows}, {columns})"
            )

    def stretched(self, rows: int, columns: int) -> GridLearned:
        """The same places drawn out to another grid: the corners stay, the rest lies between.

        Source: Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.2. Rows stay rows, whatever the numbers; the same
        grid is the same to the bit.
        """
        other = GridLearned(self.table.shape[-1], rows, columns).to(self.table)
        with torch.no_grad():
            # (rows, columns, width) -> (1, width, rows, columns)
            drawn = F.interpolate(
                self.table.permute(2, 0, 1)[None], size=(rows, columns), mode="bilinear", align_corners=True
            )
            same = self.table.shape[:2] == (rows, columns)
            other.table.copy_(self.table if same else drawn[0].permute(1, 2, 0))
        return other


class Both(Position):
    """What two kinds add to the scores, one of them along the rows and one along the columns."""

    def __init__(self, rows: Position, columns: Position) -> None:
        super().__init__()
        self.rows = rows
        self.columns = columns

    def of_heads(self, heads: slice | Tensor) -> Both:
        return Both(self.rows.of_heads(heads), self.columns.of_heads(heads))

    def bias(self, queries: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        pairs = zip(parted(query_positions), parted(key_positions), strict=True)
        down, right = (kind.bias(queries, *pair) for kind, pair in zip((self.rows, self.columns), pairs, strict=True))
        assert down is not None and right is not None
        return down + right
