"""The definition of attention, all at once or some rows at a time."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.question import Question
from regard.errors import ShapeError


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


def refuse_tiled(question: Question) -> str | None:
    return None if question.watch is not None else "nobody watches the weights"
