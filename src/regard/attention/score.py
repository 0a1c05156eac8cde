"""How well a query fits a key."""

from __future__ import annotations

from torch import Tensor, nn


class Score(nn.Module):
    """A score says how well each query fits each key: the larger, the better.

    A kind overrides `as_dot_product` where it can be written as a scaled dot product of changed queries and keys (then
    the fused path can be taken), or `forward` where it cannot.
    """

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
        return queries, keys, 1.0 if scale is None else scale


class ScaledDot(Score):
    """The dot product, divided by the root of the head width, so that wide heads do not make it larger.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1. Their d_k is the width of one head's keys.
    """

    def as_dot_product(self, queries: Tensor, keys: Tensor, scale: float | None) -> tuple[Tensor, Tensor, float]:
        return queries, keys, queries.shape[-1] ** -0.5 if scale is None else scale


SCORES: dict[str, type[Score]] = {"scaled_dot": ScaledDot, "dot": Dot}
