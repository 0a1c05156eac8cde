"""Attention whose weights are never written down: PyTorch's kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.question import Question


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


# PyTorch's kernel on a CPU is made for blocks of queries; for so few among many keys the plain path takes less time
# (bench/decoding.py).
_FEW = 8


def fused_pays(question: Question) -> bool:
    """Whether it is better than writing the weights down."""
    _, _, queries, keys = question.scores_shape
    return not (queries < keys and queries <= _FEW and question.queries.device.type == "cpu")


def refuse_fused(question: Question) -> str | None:
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
