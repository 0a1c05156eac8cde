"""What one call of `attend` asks, with its shapes checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer
from regard.attention.position import Position
from regard.attention.score import Score
from regard.errors import ShapeError

# Sees some rows of weights, (batch, heads, rows, keys), and which rows; what it gives back is used in their place.
Watch = Callable[[Tensor, slice], Tensor]

# A watched tile holds at most so many weights (4 MB in single precision), so that long inputs can be watched. Larger
# tiles leave the processor's cache, smaller ones are many: both take longer (bench/attention.py, weights_too).
TILE_WEIGHTS = 2**20


@dataclass(frozen=True)
class Question:
    """All that one call of `attend` asks; the axes are those of its arguments."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    score: Score
    normalizer: Normalizer
    scale: float | None
    mask: Mask | None
    bias: Tensor | None
    position: Position
    query_positions: Tensor | None
    key_positions: Tensor | None
    watch: Watch | None = None
    dropout: float = 0.0
    rows: slice = field(default_factory=lambda: slice(None))
    tile_weights: int | None = None  # the most that a tile may hold; TILE_WEIGHTS where not given

    def check(self) -> None:
        """Refuse shapes that do not fit, naming the axis."""
        self._check_tensors()
        self._check_mask()
        if self.bias is not None and not _broadcasts(self.bias.shape, self.scores_shape):
            raise ShapeError(
                f"the bias {tuple(self.bias.shape)} does not broadcast to {self.scores_shape} "
                "(batch, heads, queries, keys)"
            )

    def _check_mask(self) -> None:
        if self.mask is not None and not isinstance(self.mask, Mask):
            raise ShapeError(
                f"mask must be a Mask, not {type(self.mask).__name__}; Mask.allowed(tensor) makes one of booleans"
            )
        if self.query_positions is None and self.queries.shape[2] != self.keys.shape[2] and self._asks_where:
            raise ShapeError(
                f"{self.queries.shape[2]} queries and {self.keys.shape[2]} keys: where the queries stand among the "
                "keys decides what they see; give query_positions and key_positions"
            )
        if self.mask is None or self.mask.only_causal:
            return
        # Not written out: of a long input it would take more memory than all the rest.
        shape = self.mask.shape(self.where_queries, self.where_keys)
        if not _broadcasts(shape, self.scores_shape):
            raise ShapeError(
                f"the mask {tuple(shape)} does not broadcast to {self.scores_shape} (batch, heads, queries, keys)"
            )

    def _check_tensors(self) -> None:
        shapes = {"queries": self.queries.shape, "keys": self.keys.shape, "values": self.values.shape}
        for name, shape in shapes.items():
            if len(shape) != 4:
                raise ShapeError(f"{name} must be (batch, heads, time, head_width); found {tuple(shape)}")
        for name, one, other, axis in (
            ("batch", "queries", "keys", 0),
            ("heads", "queries", "keys", 1),
            ("batch", "keys", "values", 0),
            ("heads", "keys", "values", 1),
            ("time", "keys", "values", 2),
        ):
            if shapes[one][axis] != shapes[other][axis]:
                raise ShapeError(f"{one} {tuple(shapes[one])} and {other} {tuple(shapes[other])} differ in {name}")

    @property
    def scores_shape(self) -> tuple[int, int, int, int]:
        batch, heads, queries, _ = self.queries.shape
        return batch, heads, queries, self.keys.shape[2]

    @property
    def _asks_where(self) -> bool:
        return self.position.speaks or (self.mask is not None and self.mask.asks_where)

    @property
    def in_order(self) -> bool:
        """Whether queries and keys stand at 0, 1, 2 … and nothing else was said."""
        return self.query_positions is None and self.key_positions is None

    @cached_property
    def where_queries(self) -> Tensor:
        """(batch | 1, queries)"""
        if self.query_positions is not None:
            return self.query_positions
        return torch.arange(self.queries.shape[2], device=self.queries.device)[None]

    @cached_property
    def where_keys(self) -> Tensor:
        """(batch | 1, keys)"""
        if self.key_positions is not None:
            return self.key_positions
        return torch.arange(self.keys.shape[2], device=self.keys.device)[None]

    @cached_property
    def allowed(self) -> Tensor | None:
        """Who may look at whom, broadcasting to (batch, heads, queries, keys); None: everybody at everything."""
        return None if self.mask is None else self.mask.dense(self.where_queries, self.where_keys)

    def added(self) -> Tensor | None:
        """All that is added to the scores, broadcasting to (batch, heads, queries, keys)."""
        positional = self.position.bias(self.queries, self.where_queries, self.where_keys)
        if self.bias is None or positional is None:
            return self.bias if positional is None else positional
        return self.bias + positional

    def of_rows(self, rows: slice | Tensor) -> Question:
        """The same question for some of the queries."""
        bias = self.bias
        if bias is not None and bias.dim() > 1 and bias.shape[-2] > 1:
            bias = bias[..., rows, :]
        return replace(
            self,
            queries=self.queries[:, :, rows],
            query_positions=self.where_queries[:, rows],
            mask=None if self.mask is None else self.mask.rows(rows),
            bias=bias,
        )

    def of_heads(self, heads: slice | Tensor) -> Question:
        """The same question for some of the heads."""
        bias = self.bias
        if bias is not None and bias.dim() > 2 and bias.shape[-3] > 1:
            bias = bias[..., heads, :, :]
        return replace(
            self,
            queries=self.queries[:, heads],
            keys=self.keys[:, heads],
            values=self.values[:, heads],
            score=self.score.of_heads(heads),
            position=self.position.of_heads(heads),
            mask=None if self.mask is None else self.mask.of_heads(heads),
            bias=bias,
        )

    def tiles(self, most: int | None = None) -> Iterator[Question]:
        """The question in pieces of rows, each of which computes at most so many numbers for its pairs of query and
        key (or one row, where that is more); for those who watch, TILE_WEIGHTS."""
        batch, heads, queries, keys = self.scores_shape
        watched = TILE_WEIGHTS if self.tile_weights is None else self.tile_weights
        each_row = batch * heads * keys * (1 if most is None else self.score.numbers)
        size = max(1, (watched if most is None else most) // max(1, each_row))
        for start in range(0, queries, size):
            rows = slice(start, min(start + size, queries))
            yield replace(self.of_rows(rows), rows=rows)


def _broadcasts(shape: torch.Size, target: tuple[int, ...]) -> bool:
    return len(shape) <= len(target) and all(
        size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(target), strict=False)
    )
