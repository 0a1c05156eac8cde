"""Gathering: of the encoded vectors, one for each element that gets an answer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.inputs import Inputs


class EachWord(nn.Module):
    """Each word answers; of a word in several pieces the mean of its pieces."""

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, words, width)"""
        if "word_of_piece" not in inputs:
            return x
        longest = int(inputs["words"].max()) if len(x) else 0
        # (batch, words, time): which pieces make up which word
        mine = inputs["word_of_piece"][:, None] == torch.arange(longest, device=x.device)[:, None]
        return _mean(mine & real(x, inputs)[:, None]).to(x.dtype) @ x


class MeanPool(nn.Module):
    """All real elements together give one answer: their mean."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, 1, width)"""
        return _mean(real(x, inputs)[:, None]).to(x.dtype) @ x


class FirstPool(nn.Module):
    """The first element answers for all (it has seen them)."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, 1, width)"""
        return x[:, :1]


class AttentionPool(nn.Module):
    """One learned question weighs all real elements.

    Source: Yang et al. 2016, NAACL, section 2.2 (their context vector u_w is our question).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)
        self.question = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, 1, width)"""
        scores = torch.tanh(self.project(x)) @ self.question
        hidden = scores.masked_fill(~real(x, inputs), torch.finfo(scores.dtype).min)
        return hidden.softmax(-1)[:, None] @ x


POOLINGS: dict[str, type[nn.Module]] = {"mean": MeanPool, "first": FirstPool, "attention": AttentionPool}


def real(x: Tensor, inputs: Inputs) -> Tensor:
    """(batch, time): which elements are no padding."""
    return torch.arange(x.shape[1], device=x.device) < inputs["lengths"][:, None]


def _mean(mine: Tensor) -> Tensor:
    """What share each has in the mean of those that are marked; all 0 where none is."""
    return mine / mine.sum(-1, keepdim=True).clamp(min=1)
