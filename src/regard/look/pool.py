"""A layer's weights as a picture: all of them, or of a long input the largest of every few, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.look.measure import Totals

# A picture has at most so many rows and so many columns; of a longer input each shows the largest of several.
MOST = 200


@dataclass(frozen=True)
class Extent:
    """Which elements a side shows, and how many together.

    start, stop: counted from 0
    size:        how many elements one place of the picture stands for
    """

    start: int
    stop: int
    size: int

    @classmethod
    def of(cls, count: int, part: slice | None = None) -> Extent:
        start, stop, _ = (slice(None) if part is None else part).indices(count)
        return cls(start, max(start, stop), max(1, math.ceil((stop - start) / MOST)))

    @property
    def places(self) -> int:
        return math.ceil((self.stop - self.start) / self.size)


@dataclass(frozen=True)
class Map:
    """One layer's picture.

    cells:    (heads, places of rows, places of columns), the largest weight of each place
    where:    the same shape: which element that is, as row × columns of the input + column; None where each is one
    measures: of each head, from all its weights
    """

    path: str
    cells: Tensor
    where: Tensor | None
    rows: Extent
    columns: Extent
    measures: list[dict[str, float]]


class Pool:
    """Takes the tiles of one layer as they pass (see `record`) and keeps its picture."""

    def __init__(self, path: str, queries: Extent, keys: Extent, *, own: bool) -> None:
        self.path = path
        self.rows, self.columns, self.own = queries, keys, own
        self._begin()

    def _begin(self) -> None:
        self._cells: Tensor | None = None
        self._where: Tensor | None = None
        self._totals = Totals(self.own)

    def take(self, weights: Tensor, rows: slice) -> Tensor:
        """One tile has passed; the first row begins anew."""
        if not rows.start:
            self._begin()
        tile, first = weights[0].detach(), rows.start or 0
        numbers = torch.arange(first, first + tile.shape[1], device=tile.device)
        self._totals.add(tile, numbers)
        self._draw(tile.float().cpu(), first)
        # Nothing of the tile is kept, not even as an empty part of it, which would keep its memory.
        return weights.new_empty((*weights.shape[:2], 0, weights.shape[3]))

    def _draw(self, tile: Tensor, first: int) -> None:
        heads, count, keys = tile.shape
        if self._cells is None or self._where is None:
            shape = (heads, self.rows.places, self.columns.places)
            self._cells = torch.zeros(shape)
            self._where = torch.zeros(shape, dtype=torch.long)
        low, high = max(self.rows.start, first), min(self.rows.stop, first + count)
        if low >= high or not self.columns.places:
            return
        largest, at = _largest(tile[:, low - first : high - first], self.columns)
        places = (torch.arange(low, high) - self.rows.start) // self.rows.size
        for place in places.unique().tolist():
            mine = (places == place).nonzero()[:, 0]
            best, row = largest[:, mine].max(1)
            column = at[:, mine].gather(1, row[:, None])[:, 0]
            better = best > self._cells[:, place]
            self._cells[:, place] = torch.where(better, best, self._cells[:, place])
            found = (low + mine[0] + row) * keys + column
            self._where[:, place] = torch.where(better, found, self._where[:, place])

    @property
    def map(self) -> Map | None:
        """The picture; None where nothing has passed."""
        if self._cells is None:
            return None
        pooled = max(self.rows.size, self.columns.size) > 1
        where = self._where if pooled else None
        return Map(self.path, self._cells, where, self.rows, self.columns, self._totals.means())


def _largest(tile: Tensor, columns: Extent) -> tuple[Tensor, Tensor]:
    """(heads, rows, places) twice: the largest weight of every few columns, and which column that is."""
    some = tile[..., columns.start : columns.stop]
    if columns.size == 1:
        return some, torch.arange(columns.start, columns.stop).expand(some.shape)
    missing = columns.places * columns.size - some.shape[-1]
    filled = torch.nn.functional.pad(some, (0, missing), value=-1.0)
    largest, at = filled.unflatten(-1, (columns.places, columns.size)).max(-1)
    return largest, at + columns.start + torch.arange(columns.places) * columns.size
