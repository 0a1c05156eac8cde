"""Attention: each query gathers the values of the keys that fit it.

`attend` alone chooses how it is computed. The plain path is the definition; every other path gives the same, faster or
in less memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.chunked import chunked, chunked_pays, refuse_chunked
from regard.attention.fused import fused, fused_pays, refuse_fused
from regard.attention.mask import Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.plain import plain, refuse_tiled, scored, tiled
from regard.attention.position import NOWHERE, Position
from regard.attention.question import Question, Watch
from regard.attention.score import SCORES, Score
from regard.attention.window import refuse_windowed, windowed, windowed_pays
from regard.errors import ShapeError, choose

# Which of several: a slice, numbers, or one number; None stands for all.
Some = int | slice | Sequence[int] | None


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
    paths: Mapping[str, Path] | None = None,
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
    position: what it adds to scores and values (of a stack's position what its first block sees); queries and keys come
             already turned (`position.rotate`)
    query_positions, key_positions: (batch | 1, queries) and (batch | 1, keys); 0, 1, 2 … where they are not given
    watch:   sees the weights before dropout, in tiles of rows, and may replace them
    dropout: the share of weights that is dropped; pass 0 outside of training
    path:    forces a path, for tests and benches; refused where it does not apply
    paths:   the ways to choose from, in the order of preference; `PATHS` where not given
    output:  (batch, heads, queries, value_width)
    """
    question = Question(
        queries=queries,
        keys=keys,
        values=values,
        score=_score(score),
        normalizer=_normalizer(normalizer),
        scale=scale,
        mask=mask,
        bias=bias,
        position=NOWHERE if position is None else position.at(0),
        query_positions=query_positions,
        key_positions=key_positions,
        watch=watch,
        dropout=dropout,
    )
    question.check()
    paths = PATHS if paths is None else paths
    if path is None:
        return next(way for way in paths.values() if way.refuse(question) is None and way.pays(question)).take(question)
    way = choose(paths, path, "path")
    reason = way.refuse(question)
    if reason is not None:
        raise ShapeError(f"the {path} path cannot be taken: {reason}")
    return way.take(question)


def attention_weights(
    queries: Tensor,
    keys: Tensor,
    *,
    score: str | Score = "scaled_dot",
    normalizer: str | Normalizer = "softmax",
    scale: float | None = None,
    mask: Mask | None = None,
    bias: Tensor | None = None,
    position: Position | None = None,
    query_positions: Tensor | None = None,
    key_positions: Tensor | None = None,
    rows: Some = None,
    heads: Some = None,
) -> Tensor:
    """How much each query looks at each key; only the rows and heads that are asked for are computed.

    rows, heads: which queries and heads, in which order: a slice, numbers, or one number; None: all
    output:      (batch, heads asked for, rows asked for, keys)
    The others are as in `attend`.
    """
    question = Question(
        queries=queries,
        keys=keys,
        values=keys,
        score=_score(score),
        normalizer=_normalizer(normalizer),
        scale=scale,
        mask=mask,
        bias=bias,
        position=NOWHERE if position is None else position.at(0),
        query_positions=query_positions,
        key_positions=key_positions,
    )
    question.check()
    if heads is not None:
        question = question.of_heads(_some(heads, queries.shape[1], "heads", queries.device))
    if rows is not None:
        question = question.of_rows(_some(rows, queries.shape[2], "rows", queries.device))
    return question.normalizer(*scored(question))


def _some(asked: int | slice | Sequence[int], count: int, what: str, device: torch.device) -> slice | Tensor:
    if isinstance(asked, slice):
        return asked
    numbers = [asked] if isinstance(asked, int) else list(asked)
    if any(not -count <= number < count for number in numbers):
        raise ShapeError(f"{what} {numbers} were asked for, but there are {count}, numbered from 0")
    return torch.tensor(numbers, dtype=torch.long, device=device)


@dataclass(frozen=True)
class Path:
    """One way to compute attention.

    take:   computes it
    refuse: why it cannot be taken, or None
    pays:   whether it is better than those after it, where it can be taken
    """

    take: Callable[[Question], Tensor]
    refuse: Callable[[Question], str | None] = lambda question: None
    pays: Callable[[Question], bool] = lambda question: True


# In the order of preference: the first that can be taken and pays is taken.
PATHS: dict[str, Path] = {
    "windowed": Path(windowed, refuse_windowed, windowed_pays),
    "fused": Path(fused, refuse_fused, fused_pays),
    "chunked": Path(chunked, refuse_chunked, chunked_pays),
    "tiled": Path(tiled, refuse_tiled),
    "plain": Path(plain),
}


def _score(score: str | Score) -> Score:
    if not isinstance(score, str):
        return score
    kind = choose(SCORES, score, "score")
    if kind.learns:
        raise ShapeError(
            f"the score {score} has numbers that are learned, so it must be made once and kept: "
            f"give score={kind.__name__}(heads, head_width)"
        )
    return kind()


def _normalizer(normalizer: str | Normalizer) -> Normalizer:
    return choose(NORMALIZERS, normalizer, "normalizer")() if isinstance(normalizer, str) else normalizer
