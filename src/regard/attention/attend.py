"""Attention: each query gathers the values of the keys that fit it.

`attend` alone chooses how it is computed. The plain path is the definition; every other path gives the same, faster or
in less memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.position import NOWHERE, Position
from regard.attention.question import Question, Watch
from regard.attention.score import SCORES, Score
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
    if path is None:
        return next(take for refuse, take in PATHS.values() if refuse(question) is None)(question)
    refuse, take = choose(PATHS, path, "path")
    reason = refuse(question)
    if reason is not None:
        raise ShapeError(f"the {path} path cannot be taken: {reason}")
    return take(question)


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


def scored(question: Question) -> tuple[Tensor, Tensor | None]:
    """The scores of the definition, (batch, heads, queries, keys), and which of them are allowed."""
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
    return scores, allowed


def plain(question: Question) -> Tensor:
    """The definition: scores, weights, weighted sum, each written out whole."""
    # Scores live as long as weights: freed before, their place on the heap is cut up by the small output, and a long
    # input watched in tiles takes memory for each tile anew (tests/attention/test_awkward.py).
    scores, allowed = scored(question)
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
    factor = question.normalizer.softmax_factor
    assert reduced is not None and factor is not None
    queries, keys, scale = reduced
    added = question.added()
    if question.mask is not None and question.mask.only_causal and question.in_order and added is None:
        return F.scaled_dot_product_attention(
            queries, keys, question.values, dropout_p=question.dropout, is_causal=True, scale=scale * factor
        )
    # Padding stays (batch, 1, 1, keys): written out to the full shape it costs 1.6 to 2 times the forward pass.
    allowed: Tensor | None = question.allowed
    if added is not None:
        added = (added * factor).expand((1,) * (4 - added.dim()) + added.shape).to(queries.dtype)
        allowed = added if allowed is None else torch.where(allowed, added, float("-inf"))
    return F.scaled_dot_product_attention(
        queries, keys, question.values, attn_mask=allowed, dropout_p=question.dropout, scale=scale * factor
    )


def _refuse_fused(question: Question) -> str | None:
    if question.watch is not None:
        return "somebody watches the weights, and it never writes them down"
    if question.normalizer.softmax_factor is None:
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
