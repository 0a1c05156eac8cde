"""How unlikely labels are, from vectors and not from scores: the scores of all labels are never held at once."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

# A piece of rows has at most so many scores: 8 MB, which stays in the processor's cache (bench/training.py).
SCORES_AT_ONCE = 2**21


def summed_cross_entropy(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    label_weights: Tensor | None = None,
    smoothing: float = 0.0,
) -> Tensor:
    """The cross-entropy of a linear layer's scores, summed over rows: ().

    The same as `F.cross_entropy(F.linear(x, weight, bias), labels, label_weights, reduction="sum",
    label_smoothing=smoothing)`, value and gradient. Some rows at a time are scored, and their gradient is formed at
    once, while their scores are there: these are never read again, and never held for all rows together.
    Source: Wijmans et al. 2024, arXiv:2411.09009, section 4 (theirs also cuts the labels, for an accelerator's memory).

    x:             (rows, width)
    weight, bias:  (labels, width), (labels,)
    labels:        (rows,)
    label_weights: (labels,), how much each counts; all the same where not given
    """
    if not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)):
        scores = F.linear(x, weight, bias)
        return F.cross_entropy(scores, labels, label_weights, reduction="sum", label_smoothing=smoothing)
    found: Tensor = _SummedCrossEntropy.apply(x, weight, bias, labels, label_weights, smoothing)
    return found


class _SummedCrossEntropy(torch.autograd.Function):
    """Value and gradients in one pass over the rows."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        label_weights: Tensor | None,
        smoothing: float,
    ) -> Tensor:
        of_x, of_weight = torch.empty_like(x), torch.zeros_like(weight)
        of_bias = None if bias is None else torch.zeros_like(bias)
        loss = x.new_zeros(())
        size = max(1, SCORES_AT_ONCE // len(weight))
        for start in range(0, len(x), size):
            rows = slice(start, start + size)
            piece = x[rows]
            of_piece, gradient = _piece(F.linear(piece, weight, bias), labels[rows], label_weights, smoothing)
            loss += of_piece
            torch.mm(gradient, weight, out=of_x[rows])
            of_weight.addmm_(gradient.mT, piece)
            if of_bias is not None:
                of_bias += gradient.sum(0)
        ctx.save_for_backward(of_x, of_weight, of_bias)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_x, of_weight, of_bias = ctx.saved_tensors
        # They are nobody else's, and are multiplied where they stand.
        scaled = (None if tensor is None else tensor.mul_(gradient) for tensor in (of_x, of_weight, of_bias))
        return (*scaled, None, None, None)


def _piece(scores: Tensor, labels: Tensor, label_weights: Tensor | None, smoothing: float) -> tuple[Tensor, Tensor]:
    """What some rows lose, and the gradient of their scores, which is written over them.

    With a share t of the belief for each label, the loss is Σ t (log Σ exp(scores) − score), and its gradient
    (Σ t) softmax(scores) − t.
    """
    at, alike = labels[:, None], smoothing / scores.shape[-1]
    others: Tensor = scores.new_full((1,), alike) if label_weights is None else alike * label_weights
    mine = (1 - smoothing) * (scores.new_ones(len(scores), 1) if label_weights is None else label_weights[at])
    # (rows, 1): the sum of a row's shares
    total = mine + (smoothing if label_weights is None else others.sum())
    told = scores.gather(1, at) * mine
    if smoothing:
        told = told + (alike * scores.sum(1) if label_weights is None else scores @ others)[:, None]
    # exp once, for the sum and for the gradient.
    highest = scores.amax(1, keepdim=True)
    gradient = scores.sub_(highest).exp_()
    summed = gradient.sum(1, keepdim=True)
    loss = (total * (highest + summed.log()) - told).sum()
    gradient.mul_(total / summed)
    if smoothing:
        gradient.sub_(others)
    return loss, gradient.scatter_add_(1, at, -mine)
