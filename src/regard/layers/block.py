"""The Transformer's blocks: attention, feed-forward, and "Add & Norm" around each.

Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1 and figure 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.position import NOWHERE, Position
from regard.errors import choose
from regard.layers.cache import BlockCache, Lineage
from regard.layers.dropout import Dropout
from regard.layers.look_back import LookBack
from regard.layers.multihead import MultiHeadAttention


class FeedForward(nn.Module):
    """Each element thinks about what it has gathered, alone.

    FFN(x) = activation(x W1 + b1) W2 + b2. Source: Vaswani et al. 2017, equation 2 (there with ReLU).
    Weights start as Xavier's uniform distribution, biases at zero.
    """

    def __init__(self, width: int, inner: int, *, activation: str = "gelu") -> None:
        super().__init__()
        make, function = choose(ACTIVATIONS, activation, "activation")
        self.enter = nn.Linear(width, inner * make)
        self.leave = nn.Linear(inner, width)
        self.activation = function
        for linear in (self.enter, self.leave):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x, output: (batch, time, width)"""
        return self.leave(self.activation(self.enter(x)))


def swiglu(x: Tensor) -> Tensor:
    """One half decides how much of the other half passes.

    Source: Shazeer 2020, arXiv:2002.05202, equation 6. There is a bias here, which they leave out.
    x: (…, 2 · inner); output: (…, inner)
    """
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value


# How many inner widths the activation takes in, and the activation.
ACTIVATIONS: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {
    "relu": (1, F.relu),
    "gelu": (1, F.gelu),
    "gelu_tanh": (1, partial(F.gelu, approximate="tanh")),
    "swiglu": (2, swiglu),
}


class LayerNorm(nn.Module):
    """Each element's vector is brought to mean 0 and variance 1, then scaled and shifted by learned amounts.

    Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, section 3.
    """

    def __init__(self, width: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); who is real does not matter here, each element is on its own."""
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.epsilon)


class RMSNorm(nn.Module):
    """Each element's vector is divided by its root mean square, then scaled by learned amounts.

    Source: Zhang & Sennrich 2019, arXiv:1910.07467, equation 4.
    """

    def __init__(self, width: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); who is real does not matter here, each element is on its own."""
        return F.rms_norm(x, self.scale.shape, self.scale, self.epsilon)


class BatchNorm(nn.Module):
    """Each feature is brought to mean 0 and variance 1 over the batch: in training an element's answer depends on its
    neighbours, which is why Transformers prefer layer norm.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, algorithm 1. Padding is not counted.
    """

    def __init__(self, width: int, epsilon: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width, eps=epsilon, momentum=momentum)

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); real: (batch, time), None where all are."""
        rows = x.flatten(0, 1) if real is None else x[real.expand(x.shape[:2])]
        if self.training and len(rows) < 2:  # one element has no variance
            return x
        normed = self.norm(rows)
        return normed.view_as(x) if real is None else torch.zeros_like(x).masked_scatter(real[..., None], normed)


class NoNorm(nn.Module):
    """Leaves everything as it is."""

    def __init__(self, width: int, epsilon: float = 0.0) -> None:
        super().__init__()

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        return x


NORMS: dict[str, Callable[..., nn.Module]] = {
    "layer": LayerNorm,
    "rms": RMSNorm,
    "batch": BatchNorm,
    "none": NoNorm,
}


# Norms of the queries and keys of each head; their mean over a batch would be another matter.
QUERY_KEY_NORMS: dict[str, Callable[[int], nn.Module]] = {name: NORMS[name] for name in ("none", "layer", "rms")}


# The norm that is put before a part and the one after adding it.
PLACES: dict[str, Callable[[nn.Module], tuple[nn.Module, nn.Module]]] = {
    "before": lambda norm: (norm, NoNorm(0)),
    "after": lambda norm: (NoNorm(0), norm),
}


def make_norm(name: str, width: int, epsilon: float | None = None) -> nn.Module:
    """A norm of the table. epsilon: what it adds to the variance; its own where not given"""
    kind = choose(NORMS, name, "norm")
    return kind(width) if epsilon is None else kind(width, epsilon)


class AddNorm(nn.Module):
    """What is around a part of a block: its change is added to what was there, and the sum is kept in bounds.

    place = "after" is the paper's LayerNorm(x + part(x)) (Vaswani et al. 2017, section 3.1); place = "before" is
    x + part(LayerNorm(x)), which trains without warm-up (Xiong et al. 2020, arXiv:2002.04745, figure 1).
    Without residual the change takes the place of what was there. epsilon: as `make_norm` takes it
    """

    def __init__(
        self,
        width: int,
        *,
        norm: str = "layer",
        place: str = "before",
        residual: bool = True,
        dropout: float = 0.0,
        epsilon: float | None = None,
    ) -> None:
        super().__init__()
        # Dropout is where Vaswani et al. 2017, section 5.4, have it: on each part's change, before it is added.
        self.norm_before, self.norm_after = choose(PLACES, place, "norm_place")(make_norm(norm, width, epsilon))
        self.dropout = Dropout(dropout)
        self.add = torch.add if residual else _replace

    def changed(self, x: Tensor, part: Callable[[Tensor], Tensor], real: Tensor | None = None) -> Tensor:
        """What was there and the change that the part makes of it become one.

        x, output: (batch, time, width), which the part takes and gives too
        real:      (batch, time), which elements are no padding
        """
        change = part(self.norm_before(x, real))
        return self.norm_after(self.add(x, self.dropout(change)), real)


def _replace(x: Tensor, change: Tensor) -> Tensor:
    return change


class EncoderBlock(nn.Module):
    """Attend to oneself, then think about it."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: FeedForward,
        around_attention: AddNorm,
        around_feed_forward: AddNorm,
    ) -> None:
        super().__init__()
        self.around_attention = around_attention
        self.attention = attention
        self.around_feed_forward = around_feed_forward
        self.feed_forward = feed_forward

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        position: Position = NOWHERE,
        real: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Attend to oneself, then think about it; each adds to what was there.

        x, output: (batch, time, width)
        mask:      who may look at whom
        real:      (batch, time), which elements are no padding
        positions: (batch | 1, time), where the elements stand; 0, 1, 2 … where not given
        """
        attend = partial(self.attention, mask=mask, position=position, positions=positions)
        x = self.around_attention.changed(x, attend, real)
        return self.around_feed_forward.changed(x, self.feed_forward, real)


class LookBackBlock(nn.Module):
    """Attend to what was written so far, then think about it: a decoder's block where nothing was read.

    Source: Radford et al. 2018, "Improving language understanding by generative pre-training", section 3.1 (after Liu
    et al. 2018, arXiv:1801.10198, section 4.2.3).

    attention: to what was written, or what looks back in its place: a causal convolution, a recurrence
    """

    def __init__(
        self,
        attention: MultiHeadAttention | LookBack,
        feed_forward: FeedForward,
        around_attention: AddNorm,
        around_feed_forward: AddNorm,
    ) -> None:
        super().__init__()
        self.around_attention = around_attention
        self.attention = attention
        self.around_feed_forward = around_feed_forward
        self.feed_forward = feed_forward

    def cache(self, lineage: Lineage) -> BlockCache:
        """An empty cache for decoding step by step."""
        return BlockCache(self.attention.cache(lineage))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        position: Position = NOWHERE,
        positions: Tensor | None = None,
        real: Tensor | None = None,
        cache: BlockCache | None = None,
    ) -> Tensor:
        """As `DecoderBlock` does it, but for the memory, which is not looked at.

        x, output: (batch, length, width)
        """
        own = None if cache is None else cache.attention
        look_back = partial(self.attention, mask=mask, position=position, positions=positions, cache=own)
        x = self.around_attention.changed(x, look_back, real)
        return self.around_feed_forward.changed(x, self.feed_forward, real)


class DecoderBlock(nn.Module):
    """Attend to what was written so far, then to what was read, then think about it.

    attention: to what was written, or what looks back in its place: a causal convolution, a recurrence
    """

    def __init__(
        self,
        attention: MultiHeadAttention | LookBack,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        around_attention: AddNorm,
        around_cross_attention: AddNorm,
        around_feed_forward: AddNorm,
    ) -> None:
        super().__init__()
        self.around_attention = around_attention
        self.attention = attention
        self.around_cross_attention = around_cross_attention
        self.cross_attention = cross_attention
        self.around_feed_forward = around_feed_forward
        self.feed_forward = feed_forward

    def cache(self, lineage: Lineage) -> BlockCache:
        """Empty caches for decoding step by step."""
        return BlockCache(self.attention.cache(lineage))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        position: Position = NOWHERE,
        positions: Tensor | None = None,
        real: Tensor | None = None,
        cache: BlockCache | None = None,
    ) -> Tensor:
        """One step of refinement for every element that is written.

        x, output:   (batch, length, width)
        memory:      (batch, time, memory_width), what the encoder made of the source
        mask:        who of the written may look at whom
        memory_mask: who may look at what of the memory
        positions:   (batch | 1, length), where the elements of x stand
        real:        (batch, length), which elements are no padding
        """
        own = None if cache is None else cache.attention
        look_back = partial(self.attention, mask=mask, position=position, positions=positions, cache=own)
        x = self.around_attention.changed(x, look_back, real)
        kept = None if cache is None else cache.cross_attention
        look_up = partial(self.cross_attention, memory=memory, mask=memory_mask, cache=kept)
        x = self.around_cross_attention.changed(x, look_up, real)
        return self.around_feed_forward.changed(x, self.feed_forward, real)
