"""Attention: each query gathers the values of the keys that fit it.

`attend` alone chooses how it is computed. The plain path is the definition; every other path gives the same, faster or
in less memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.position import NOWHERE, Position
from regard.attention.score import SCORES, Score
from regard.errors import ShapeError, choose

# Sees some rows of weights, (batch, heads, rows, keys), and which rows; what it gives back is used in their place.
Watch = Callable[[Tensor, slice], Tensor]

# A watched tile holds at most so many weights (16 MB in single precision), so that long inputs can be watched.
TILE_WEIGHTS = 2**22


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    score: str | Score = "scaled_dot",
    normalizer: str | Normalizer = "softmax",
    scale: float | None = None,
    mask: Mask | None = None,
    bias: Tensor | None = None,
    position: Position | None = None,
    query_positions: Tensor | None = None,
    key_positions: Tensor | None = None,
    watch: Watch | None = None,
    dropout: float = 0.0,
    path: str | None = None,
) -> Tensor:
    """Each query takes the weighted mean of the values, weighed by how well their keys fit it.

    With the defaults: softmax(queries · keysᵀ / sqrt(head_width)) · values.
    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    queries: (batch, heads, queries, head_width)
    keys:    (batch, heads, keys, head_width)
    values:  (batch, heads, keys, value_width)
    scale:   the factor for the scores; None leaves it to the score (scaled_dot: the root of the head width, inverted)
    mask:    who may look at whom; a query that may see nothing gets zeros
    bias:    added to the scores, broadcasts to (batch, heads, queries, keys)
    position: what it adds to scores and values; queries and keys come already turned (`position.rotate`)
    query_positions, key_positions: (batch | 1, queries) and (batch | 1, keys); 0, 1, 2 … where they are not given
    watch:   sees the weights before dropout, in tiles of rows, and may replace them
    dropout: the share of weights that is dropped; pass 0 outside of training
    path:    forces a path, for tests and benches; refused where it does not apply
    output:  (batch, heads, queries, value_width)
    """
    question = Question(
        queries=queries,
        keys=keys,
        values=values,
        score=_part(score, SCORES, "score"),
        normalizer=_part(normalizer, NORMALIZERS, "normalizer"),
        scale=scale,
        mask=mask,
        bias=bias,
        position=NOWHERE if position is None else position,
        query_positions=query_positions,
        key_positions=key_positions,
        watch=watch,
        dropout=dropout,
    )
    question.check()
    if path is None:
        return next(take for refuse, take in PATHS.values() if refuse(question) is None)(question)
    refuse, take = choose(PATHS, path, "path")
    reason = refuse(question)
    if reason is not None:
        raise ShapeError(f"the {path} path cannot be taken: {reason}")
    return take(question)


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
    watch: Watch | None
    dropout: float
    rows: slice = field(default_factory=lambda: slice(None))

    def check(self) -> None:
        """Refuse shapes that do not fit, naming the axis."""
        if self.mask is not None and not isinstance(self.mask, Mask):
            raise ShapeError(
                f"mask must be a Mask, not {type(self.mask).__name__}; Mask.allowed(tensor) makes one of booleans"
            )
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
        if self.bias is not None and not _broadcasts(self.bias.shape, self.scores_shape):
            raise ShapeError(
                f"the bias {tuple(self.bias.shape)} does not broadcast to {self.scores_shape} "
                "(batch, heads, queries, keys)"
            )
        if self.query_positions is None and self.queries.shape[2] != self.keys.shape[2] and self._asks_where:
            raise ShapeError(
                f"{self.queries.shape[2]} queries and {self.keys.shape[2]} keys: where the queries stand among the "
                "keys decides what they see; give query_positions and key_positions"
            )
        if self.mask is None or self.mask.only_causal:
            return
        allowed = self.allowed
        if allowed is not None and not _broadcasts(allowed.shape, self.scores_shape):
            raise ShapeError(
                f"the mask {tuple(allowed.shape)} does not broadcast to {self.scores_shape} "
                "(batch, heads, queries, keys)"
            )

    @property
    def scores_shape(self) -> tuple[int, int, int, int]:
        batch, heads, queries, _ = self.queries.shape
        return batch, heads, queries, self.keys.shape[2]

    @property
    def _asks_where(self) -> bool:
        return self.position.speaks or (
            self.mask is not None and (self.mask.before is not None or self.mask.after is not None)
        )

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

    def tile(self, rows: slice) -> Question:
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
            rows=rows,
        )

    def tiles(self) -> Iterator[Question]:
        """The question in pieces whose weights fit into a bounded tile."""
        batch, heads, queries, keys = self.scores_shape
        size = max(1, TILE_WEIGHTS // max(1, batch * heads * keys))
        for start in range(0, queries, size):
            yield self.tile(slice(start, min(start + size, queries)))


def plain(question: Question) -> Tensor:
    """The definition: scores, weights, weighted sum, each written out whole."""
    scores = question.score(question.queries, question.keys, question.scale)
    if scores.shape != question.scores_shape:
        raise ShapeError(
            f"the score {type(question.score).__name__} gave {tuple(scores.shape)} where "
            f"{question.scores_shape} (batch, heads, queries, keys) was expected"
        )
    added, allowed = question.added(), question.allowed
    if added is not None:
        scores = scores + added
        # A bias of -inf hides as a mask does; a row of nothing else would be NaN.
        seen = added > float("-inf")
        allowed = seen if allowed is None else allowed & seen
    weights = question.normalizer(scores, allowed)
    if question.watch is not None:
        weights = question.watch(weights, question.rows)
    weights = F.dropout(weights, question.dropout) if question.dropout else weights
    output = weights @ question.values
    positional = question.position.values(weights, question.where_queries, question.where_keys)
    return output if positional is None else output + positional


def tiled(question: Question) -> Tensor:
    """The plain path for some rows of queries at a time, so that the weights of long inputs can be watched."""
    outputs = [plain(tile) for tile in question.tiles()]
    if not outputs:
        return question.queries.new_zeros(*question.queries.shape[:3], question.values.shape[-1])
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, 2)


def fused(question: Question) -> Tensor:
    """PyTorch's kernel, which never writes the weights down."""
    reduced = question.score.as_dot_product(question.queries, question.keys, question.scale)
    assert reduced is not None
    queries, keys, scale = reduced
    added = question.added()
    if question.mask is not None and question.mask.only_causal and question.in_order and added is None:
        return F.scaled_dot_product_attention(
            queries, keys, question.values, dropout_p=question.dropout, is_causal=True, scale=scale
        )
    # Padding stays (batch, 1, 1, keys): written out to the full shape it costs 1.6 to 2 times the forward pass.
    allowed: Tensor | None = question.allowed
    if added is not None:
        added = added.expand((1,) * (4 - added.dim()) + added.shape).to(queries.dtype)
        allowed = added if allowed is None else torch.where(allowed, added, float("-inf"))
    return F.scaled_dot_product_attention(
        queries, keys, question.values, attn_mask=allowed, dropout_p=question.dropout, scale=scale
    )


def _refuse_fused(question: Question) -> str | None:
    if question.watch is not None:
        return "somebody watches the weights, and it never writes them down"
    if not question.normalizer.fused:
        return f"it knows only softmax, not {type(question.normalizer).__name__}"
    if question.position.adds_values:
        return f"the position {type(question.position).__name__} adds to the values"
    if question.score.as_dot_product(question.queries[:, :, :0], question.keys[:, :, :0], question.scale) is None:
        return f"the score {type(question.score).__name__} is no dot product"
    if 0 in question.scores_shape:
        return "there is nothing to attend to"
    return None


def _refuse_plain(question: Question) -> str | None:
    return None


# In the order of preference: a path is taken where its first function gives no reason against it.
PATHS: dict[str, tuple[Callable[[Question], str | None], Callable[[Question], Tensor]]] = {
    "fused": (_refuse_fused, fused),
    "tiled": (lambda question: None if question.watch is not None else "nobody watches the weights", tiled),
    "plain": (_refuse_plain, plain),
}


def _part(part: str | torch.nn.Module, table: dict[str, type], what: str):  # type: ignore[no-untyped-def]
    return choose(table, part, what)() if isinstance(part, str) else part


def _broadcasts(shape: torch.Size, target: tuple[int, ...]) -> bool:
    return len(shape) <= len(target) and all(
        size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(target), strict=False)
    )
