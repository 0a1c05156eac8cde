"""How well a query fits a key."""

from __future__ import annotations

import copy
import math
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import ShapeError


class Score(nn.Module):
    """A score says how well each query fits each key: the larger, the better.

    A kind overrides `as_dot_product` where it can be written as a scaled dot product of changed queries and keys (then
    the fused path can be taken), or `forward` where it cannot. One that has learned numbers says `learns = True` and
    overrides `sized`: such a score is made once, for the heads of one layer, and given to `attend` as an object.

    learns: whether the kind must be made for a number of heads
    numbers: how many numbers it computes for each pair of query and key
    chosen: which of its heads are asked; a kind with numbers of its own for each head takes these
    """

    learns = False
    numbers = 1
    chosen: slice | Tensor = slice(None)

    @classmethod
    def sized(cls, heads: int, head_width: int, scale: float | None = None) -> Self:
        """The score for one layer; scale is what that layer will give as the factor."""
        return cls()

    def of_heads(self, heads: slice | Tensor) -> Self:
        """The same score, for some of its heads."""
        other = copy.copy(self)
        other.chosen = heads
        return other

    def as_dot_product(self, queries: Tensor, keys: Tensor, scale: float | None) -> tuple[Tensor, Tensor, float] | None:
        """Queries, keys and a scale whose scaled dot product is this score; None if there are none."""
        return None

    def forward(self, queries: Tensor, keys: Tensor, scale: float | None = None) -> Tensor:
        """Score every query against every key.

        queries: (batch, heads, queries, head_width)
        keys:    (batch, heads, keys, head_width)
        scale:   a factor for the scores; None leaves it to the kind
        output:  (batch, heads, queries, keys)
        """
        reduced = self.as_dot_product(queries, keys, scale)
        assert reduced is not None, f"{type(self).__name__} overrides neither as_dot_product nor forward"
        queries, keys, factor = reduced
        return queries @ keys.transpose(-1, -2) * factor


class Dot(Score):
    """Query and key fit when their dot product is large.

    Source: Luong, Pham & Manning 2015, arXiv:1508.04025, section 3.1, "dot".
    """

    def as_dot_product(self, queries: Tensor, keys: Tensor, scale: float | None) -> tuple[Tensor, Tensor, float]:
        _same_width(queries, keys)
        return queries, keys, 1.0 if scale is None else scale


class ScaledDot(Score):
    """The dot product, divided by the root of the head width, so that wide heads do not make it larger.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1. Their d_k is the width of one head's keys.
    """

    def as_dot_product(self, queries: Tensor, keys: Tensor, scale: float | None) -> tuple[Tensor, Tensor, float]:
        _same_width(queries, keys)
        return queries, keys, queries.shape[-1] ** -0.5 if scale is None else scale


class Cosine(Score):
    """Query and key fit when they point the same way, however long they are; a sharpness says how much that matters.

    sharpness · q·k / (|q| |k|). Source: Henry et al. 2020, arXiv:2010.04245, section 3, whose g is one number for all
    heads; one for each head, starting at 10: Liu et al. 2022, arXiv:2111.09883, section 3.2 (their 1/τ).

    heads: for how many heads the sharpness is learned; None: it is not, and a given scale takes its place
    """

    learns = False

    def __init__(self, heads: int | None = None, *, sharpness: float = 10.0) -> None:
        super().__init__()
        self.sharpness = sharpness
        # Learned as a logarithm: it cannot become negative.
        self.logarithm = None if heads is None else nn.Parameter(torch.full((heads, 1, 1), math.log(sharpness)))

    @classmethod
    def sized(cls, heads: int, head_width: int, scale: float | None = None) -> Self:
        return cls(heads if scale is None else None)

    def as_dot_product(self, queries: Tensor, keys: Tensor, scale: float | None) -> tuple[Tensor, Tensor, float]:
        _same_width(queries, keys)
        queries, keys = F.normalize(queries, dim=-1), F.normalize(keys, dim=-1)
        if self.logarithm is None:
            return queries, keys, self.sharpness if scale is None else scale
        if scale is not None:
            raise ShapeError(f"a scale of {scale} was given, but this cosine learns its sharpness; give one of the two")
        _for_heads(self.logarithm[self.chosen], queries)
        return queries * self.logarithm[self.chosen].exp().to(queries.dtype), keys, 1.0


class Bilinear(Score):
    """A learned matrix says which part of a query fits which part of a key: qᵀ W k, one W for each head.

    Source: Luong, Pham & Manning 2015, arXiv:1508.04025, section 3.1, "general". Queries and keys may differ in width.
    W starts as Xavier's uniform distribution (Glorot & Bengio 2010, equation 16).
    """

    learns = True

    def __init__(self, heads: int, query_width: int, key_width: int | None = None) -> None:
        super().__init__()
        self.matrix = _drawn(heads, query_width, query_width if key_width is None else key_width)

    @classmethod
    def sized(cls, heads: int, head_width: int, scale: float | None = None) -> Self:
        return cls(heads, head_width)

    def as_dot_product(self, queries: Tensor, keys: Tensor, scale: float | None) -> tuple[Tensor, Tensor, float]:
        matrix = self.matrix[self.chosen]
        _for_heads(matrix, queries)
        _for_widths(self, matrix.shape[-2:], queries, keys)
        return queries @ matrix, keys, 1.0 if scale is None else scale


class Additive(Score):
    """A small network asks how well query and key fit together: vᵀ tanh(W q + U k), one network for each head.

    Source: Bahdanau, Cho & Bengio 2015, arXiv:1409.0473, appendix A.1.2. Their W_a, U_a, v_a are our query, key,
    energy. They add no bias, nor do we. Queries and keys may differ in width.
    """

    learns = True

    def __init__(self, heads: int, query_width: int, key_width: int | None = None, *, inner: int | None = None) -> None:
        super().__init__()
        self.numbers = inner = query_width if inner is None else inner
        self.query = _drawn(heads, query_width, inner)
        self.key = _drawn(heads, query_width if key_width is None else key_width, inner)
        self.energy = _drawn(heads, inner, 1)

    @classmethod
    def sized(cls, heads: int, head_width: int, scale: float | None = None) -> Self:
        return cls(heads, head_width)

    def forward(self, queries: Tensor, keys: Tensor, scale: float | None = None) -> Tensor:
        query, key, energy = (part[self.chosen] for part in (self.query, self.key, self.energy))
        _for_heads(query, queries)
        _for_widths(self, torch.Size((query.shape[-2], key.shape[-2])), queries, keys)
        # (batch, heads, queries, 1, inner) + (batch, heads, 1, keys, inner)
        heard = torch.tanh((queries @ query)[..., None, :] + (keys @ key)[..., None, :, :])
        # (batch, heads, queries, keys, inner) @ (heads, 1, inner, 1)
        scores = (heard @ energy[:, None])[..., 0]
        return scores if scale is None else scores * scale


SCORES: dict[str, type[Score]] = {
    "scaled_dot": ScaledDot,
    "dot": Dot,
    "cosine": Cosine,
    "bilinear": Bilinear,
    "additive": Additive,
}


def _drawn(heads: int, inputs: int, outputs: int) -> nn.Parameter:
    """A matrix for each head, from Xavier's uniform distribution."""
    bound = math.sqrt(6 / (inputs + outputs))
    return nn.Parameter(torch.empty(heads, inputs, outputs).uniform_(-bound, bound))


def _same_width(queries: Tensor, keys: Tensor) -> None:
    if queries.shape[-1] != keys.shape[-1]:
        raise ShapeError(
            f"queries {tuple(queries.shape)} and keys {tuple(keys.shape)} differ in head_width; "
            "the scores Bilinear and Additive join different widths"
        )


def _for_heads(numbers: Tensor, queries: Tensor) -> None:
    if len(numbers) != queries.shape[1]:
        raise ShapeError(f"the score was made for {len(numbers)} heads, but queries and keys have {queries.shape[1]}")


def _for_widths(score: Score, widths: torch.Size, queries: Tensor, keys: Tensor) -> None:
    if tuple(widths) != (queries.shape[-1], keys.shape[-1]):
        raise ShapeError(
            f"the score {type(score).__name__} was made for widths {tuple(widths)} of queries and keys, "
            f"but they are {queries.shape[-1]} and {keys.shape[-1]}"
        )
