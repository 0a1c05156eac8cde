"""Several heads attend side by side, each in its own projection of the same vectors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from regard.attention.attend import Path, attend
from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer, Softmax
from regard.attention.position import NOWHERE, Position
from regard.attention.score import ScaledDot, Score
from regard.errors import ShapeError
from regard.layers.cache import AttentionCache, Lineage, MemoryCache
from regard.layers.watch import WatchedPoint


class MultiHeadAttention(nn.Module):
    """Project into heads, let each head attend, join what they gathered.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2. Like most implementations and unlike the paper, the
    projections have a bias. Fewer key_heads than heads share keys and values between groups of heads: Ainslie et al.
    2023, arXiv:2305.13245, section 2.2.

    Projections start as Xavier's uniform distribution (Glorot & Bengio 2010, equation 16), biases at zero.

    width:        of what asks; the output has it too
    memory_width: of what keys are made from (width where not given)
    content_width: of what values are made from (memory_width where not given)
    head_width, value_width: numbers in one head's queries and keys, and in its values (head_width where not given)
    project:      without projections each head takes its share of the numbers as they are, and nothing is learned
    query_norm, key_norm: norms of each head's queries and keys, which keep scores from growing: Dehghani et al. 2023,
                  arXiv:2302.05442, section 2 (that of Henry et al. 2020 is the score Cosine)
    """

    # The ways to compute attention from which `attend` chooses; what is set on one layer is of that layer.
    paths: Mapping[str, Path] | None = None

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_width: int | None = None,
        key_heads: int | None = None,
        value_width: int | None = None,
        memory_width: int | None = None,
        content_width: int | None = None,
        project: bool = True,
        query_norm: nn.Module | None = None,
        key_norm: nn.Module | None = None,
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
        content_width = memory_width if content_width is None else content_width
        value_width = self.value_width = self.head_width if value_width is None else value_width
        if not project and (memory_width, content_width, value_width) != (width, width, width / heads):
            raise ShapeError(
                f"without projections all is as wide as what asks, {width}, in {heads} heads; found a memory of "
                f"{memory_width}, a content of {content_width} and values of {value_width} in each head"
            )
        if not project and self.key_heads != heads:
            raise ShapeError(f"without projections {heads} heads cannot share {self.key_heads} key_heads")
        linear = nn.Linear if project else _as_it_is
        self.query = linear(width, heads * self.head_width)
        self.key = linear(memory_width, self.key_heads * self.head_width)
        self.value = linear(content_width, self.key_heads * value_width)
        self.output = linear(heads * value_width, width)
        self.query_norm = nn.Identity() if query_norm is None else query_norm
        self.key_norm = nn.Identity() if key_norm is None else key_norm
        self.score = ScaledDot() if score is None else score
        self.normalizer = Softmax() if normalizer is None else normalizer
        self.scale = scale
        self.dropout = dropout
        self.weights = WatchedPoint()
        for projection in (self.query, self.key, self.value, self.output):
            if isinstance(projection, nn.Linear):
                nn.init.xavier_uniform_(projection.weight)
                nn.init.zeros_(projection.bias)

    def cache(self, lineage: Lineage | None = None) -> AttentionCache:
        """An empty cache for decoding step by step."""
        return AttentionCache(lineage)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        content: Tensor | None = None,
        *,
        mask: Mask | None = None,
        position: Position = NOWHERE,
        positions: Tensor | None = None,
        cache: AttentionCache | MemoryCache | None = None,
    ) -> Tensor:
        """Attend to the memory, or to oneself where there is none.

        x:         (batch, queries, width)
        memory:    (batch, keys, memory_width); or fewer rows, each of which is shared by as many rows of x that follow
                   one another (the beams of one item), for one query in each
        content:   (batch, keys, content_width), what the values are made from; the memory where not given
        mask:      who may look at whom
        position:  where things are, for attention to oneself
        positions: (batch | 1, queries), where the elements of x stand; 0, 1, 2 … where not given
        cache:     remembers keys and values between steps
        output:    (batch, queries, width)
        """
        queries = self.query_norm(split(self.query(x), self.heads))
        if memory is None:
            keys, values = self.project(x, content)
            where = _in_order(x) if positions is None else positions
            queries = position.rotate(queries, where)
            keys = position.rotate(keys, where)
            key_positions = positions
            if isinstance(cache, AttentionCache):
                keys, values, key_positions = cache.extend(keys, values, where)
                queries, mask = beside(queries, keys.shape[0]), cache.sight & mask
                # Beams stand beside each other, where the row of each would stand.
                positions = where.view(-1, queries.shape[2]) if len(where) > 1 else where.expand(1, queries.shape[2])
        else:
            project = partial(self.project, memory, content)
            keys, values = cache.keep(project) if isinstance(cache, MemoryCache) else project()
            position, positions, key_positions = NOWHERE, None, None
            queries = beside(queries, keys.shape[0])
        output = attend(
            queries,
            share(keys, self.heads),
            share(values, self.heads),
            score=self.score,
            normalizer=self.normalizer,
            scale=self.scale,
            mask=mask,
            position=position,
            query_positions=positions,
            key_positions=key_positions,
            watch=self.weights if self.weights.watched else None,
            dropout=self.dropout if self.training else 0.0,
            paths=self.paths,
        )
        # (batch, heads, queries, value_width) -> (batch, queries, width); rows that shared a memory are rows again
        joined = output.transpose(1, 2).flatten(2)
        return self.output(joined.reshape(*x.shape[:2], joined.shape[-1]))

    def project(self, memory: Tensor, content: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The keys and values of a memory: (batch, key_heads, keys, head_width) and (…, value_width)."""
        values = self.value(memory if content is None else content)
        return self.key_norm(split(self.key(memory), self.key_heads)), split(values, self.key_heads)


def _as_it_is(inputs: int, outputs: int) -> nn.Module:
    """What stands in the place of a projection where there is none."""
    return nn.Identity()


def split(x: Tensor, heads: int) -> Tensor:
    # (batch, time, width) -> (batch, heads, time, head_width)
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def beside(queries: Tensor, batch: int) -> Tensor:
    """Rows that share a memory become queries of one row: (rows, heads, 1, head_width) -> (batch, heads, rows / batch,
    head_width), so that the memory need not be there several times."""
    # Not len(…), which makes a fixed number of a size that is open while a model is exported.
    rows = queries.shape[0]
    if rows == batch:
        return queries
    if queries.shape[2] != 1 or rows % batch:
        raise ShapeError(f"{rows} rows of {queries.shape[2]} queries cannot share a memory of {batch} rows")
    return queries.view(batch, -1, *queries.shape[1:]).squeeze(3).transpose(1, 2)


def share(x: Tensor, heads: int) -> Tensor:
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
