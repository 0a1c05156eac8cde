"""Any score and any normaliser in memory that grows with the length and not with its square.

Some rows of queries at a time take the plain path; what they computed is let go, and computed again when gradients are
asked for. Source: Chen et al. 2016, arXiv:1604.06174, section 3; for attention: Rabe & Staats 2021, arXiv:2112.05682,
section 3. Theirs cuts the keys as well, which needs a softmax; rows can be cut whatever the normaliser.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention.plain import plain
from regard.attention.question import Question

# A piece computes at most so many numbers for its pairs of query and key: 2 MB, which stays in the processor's
# cache (bench/attention.py).
CHUNK = 2**19

# From so many weights, 16 MB, it is faster than the plain path, for the same reason, and it matters what they take.
PAYS_FROM = 2**22


def chunked(question: Question) -> Tensor:
    """The plain path for some rows of queries at a time, computed again for their gradients."""
    recompute = partial(checkpoint, use_reentrant=False, preserve_rng_state=question.dropout > 0)
    take: Callable[[Question], Tensor] = partial(recompute, plain) if torch.is_grad_enabled() else plain
    # Written into one tensor: many small ones would stand between the places that pieces leave on the heap, so that
    # each piece would take memory anew (tests/attention/test_window.py).
    output = question.values.new_empty(*question.queries.shape[:3], question.values.shape[-1])
    for piece in question.tiles(CHUNK):
        output[:, :, piece.rows] = take(piece)
    return output


def refuse_chunked(question: Question) -> str | None:
    if question.watch is not None:
        return "somebody watches the weights, and it computes them several times"
    if 0 in question.scores_shape:
        return "there is nothing to attend to"
    if torch.compiler.is_compiling():
        return "while a model is traced, the number of its pieces is not known"
    return None


def chunked_pays(question: Question) -> bool:
    batch, heads, queries, keys = question.scores_shape
    return batch * heads * queries * keys * question.score.numbers >= PAYS_FROM
