"""Several heads attend side by side, each in its own projection of the same vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention.attend import attend
from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer, Softmax
from regard.attention.position import NOWHERE, Position
from regard.attention.score import ScaledDot, Score
from regard.errors import ShapeError
from regard.layers.cache import AttentionCache


class WatchedPoint(nn.Module):
    """The place where attention weights pass when somebody watches: a forward hook here sees each tile of rows, and
    what the hook gives back is used in its place. Nobody watching, weights need not exist.

    weights, output: (batch, heads, rows, keys); rows: which queries they belong to
    """

    @property
    def watched(self) -> bool:
        return bool(self._forward_hooks or self._forward_pre_hooks)

    def forward(self, weights: Tensor, rows: slice) -> Tensor:
        return weights


class MultiHeadAttention(nn.Module):
    """Project into heads, let each head attend, join what they gathered.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2. Like most implementations and unlike the paper, the
    projections have a bias. Fewer key_heads than heads share keys and values between groups of heads: Ainslie et al.
    2023, arXiv:2305.13245, section 2.2.

    Projections start as Xavier's uniform distribution (Glorot & Bengio 2010, equation 16), biases at zero.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_width: int | None = None,
        key_heads: int | None = None,
        memory_width: int | None = None,
        score: Score | None = None,
        normalizer: Normalizer | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.key_heads = heads if key_heads is None else key_heads
        self.head_width = _head_width(width, heads) if head_width is None else head_width
        if self.key_heads < 1 or heads % self.key_heads:
            raise ShapeError(f"{heads} heads cannot share {self.key_heads} key_heads evenly")
        memory_width = width if memory_width is None else memory_width
        self.query = nn.Linear(width, heads * self.head_width)
        self.key = nn.Linear(memory_width, self.key_heads * self.head_width)
        self.value = nn.Linear(memory_width, self.key_heads * self.head_width)
        self.output = nn.Linear(heads * self.head_width, width)
        self.score = ScaledDot() if score is None else score
        self.normalizer = Softmax() if normalizer is None else normalizer
        self.scale = scale
        self.dropout = dropout
        self.weights = WatchedPoint()
        for linear in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Mask | None = None,
        position: Position = NOWHERE,
        positions: Tensor | None = None,
        cache: AttentionCache | None = None,
    ) -> Tensor:
        """Attend to the memory, or to oneself where there is none.

        x:         (batch, queries, width)
        memory:    (batch, keys, memory_width); or fewer rows, each of which is shared by as many rows of x that follow
                   one another (the beams of one item), for one query in each
        mask:      who may look at whom
        position:  where things are, for attention to oneself
        positions: (batch | 1, queries), where the elements of x stand; 0, 1, 2 … where not given
        cache:     remembers keys and values between steps
        output:    (batch, queries, width)
        """
        queries = _split(self.query(x), self.heads)
        if memory is None:
            keys, values = self._project(x)
            where = _in_order(x) if positions is None else positions
            queries = position.rotate(queries, where)
            keys = position.rotate(keys, where)
            key_positions = positions
            if cache is not None:
                keys, values, key_positions = cache.extend(keys, values, where)
                positions = where
        else:
            keys, values = self._project(memory) if cache is None else cache.keep(lambda: self._project(memory))
            position, positions, key_positions = NOWHERE, None, None
            queries = _beside(queries, len(keys))
        output = attend(
            queries,
            _share(keys, self.heads),
            _share(values, self.heads),
            score=self.score,
            normalizer=self.normalizer,
            scale=self.scale,
            mask=mask,
            position=position,
            query_positions=positions,
            key_positions=key_positions,
            watch=self.weights if self.weights.watched else None,
            dropout=self.dropout if self.training else 0.0,
        )
        # (batch, heads, queries, head_width) -> (batch, queries, width)
        return self.output(output.transpose(1, 2).reshape(*x.shape[:2], self.output.in_features))

    def _project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        return _split(self.key(memory), self.key_heads), _split(self.value(memory), self.key_heads)


def _split(x: Tensor, heads: int) -> Tensor:
    # (batch, time, width) -> (batch, heads, time, head_width)
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _beside(queries: Tensor, batch: int) -> Tensor:
    """Rows that share a memory become queries of one row: (rows, heads, 1, head_width) -> (batch, heads, rows / batch,
    head_width), so that the memory need not be there several times."""
    if len(queries) == batch:
        return queries
    if queries.shape[2] != 1 or len(queries) % batch:
        raise ShapeError(f"{len(queries)} rows of {queries.shape[2]} queries cannot share a memory of {batch} rows")
    return queries.view(batch, -1, *queries.shape[1:]).squeeze(3).transpose(1, 2)


def _share(x: Tensor, heads: int) -> Tensor:
    # (batch, key_heads, keys, head_width) -> (batch, heads, keys, head_width)
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], 1)


def _in_order(x: Tensor) -> Tensor:
    return torch.arange(x.shape[1], device=x.device)[None]


def _head_width(width: int, heads: int) -> int:
    if heads < 1 or width % heads:
        fitting = [str(number) for number in range(2, width) if width % number == 0 and number <= 2 * max(heads, 1)]
        below = width // max(heads, 1) * heads
        widths = " or ".join(str(size) for size in (below, below + heads) if size > 0)
        raise ShapeError(
            f"model.width is {width}, which cannot be split into {heads} heads; "
            f"use heads = {', '.join(fitting) or 1}{', or width = ' if widths else ''}{widths}"
        )
    return width // heads
