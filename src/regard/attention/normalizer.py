"""From scores to weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Normalizer(nn.Module):
    """A normaliser turns one query's scores into its weights.

    fused: whether the fused path computes the same.
    """

    fused = False

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Weigh the allowed keys; the others get exactly 0, and so does everything in a row that allows none.

        scores:  (batch, heads, queries, keys)
        allowed: broadcasts to the scores; None allows all
        output:  (batch, heads, queries, keys)
        """
        raise NotImplementedError


class Softmax(Normalizer):
    """Weights are positive and sum to 1; a score that is larger by 1 weighs e times as much.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.
    """

    fused = True

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        if allowed is None:
            return scores.softmax(-1)
        # The most negative finite number and not -inf: a row of -inf is NaN forward and backward. Such a row becomes
        # uniform here and zero in the second step, so that neither its value nor its gradient reaches anything.
        hidden = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        return hidden.softmax(-1).masked_fill(~allowed, 0.0)


NORMALIZERS: dict[str, type[Normalizer]] = {"softmax": Softmax}
