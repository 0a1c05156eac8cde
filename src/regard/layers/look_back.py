"""What a decoder may have in the place of attention to what was written: a causal convolution or a recurrence."""

from __future__ import annotations

from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.position import NOWHERE, Position
from regard.errors import ShapeError
from regard.layers.cache import Lineage, StateCache
from regard.layers.convolution import Convolution
from regard.layers.padding import refuse_all_but_padding, side_by_side
from regard.layers.recurrent import Recurrence


class LookBack(nn.Module):
    """Stands where attention to oneself stands, and looks back by a causal convolution or a one-way recurrence.

    Source of the first: Gehring et al. 2017, arXiv:1705.03122, section 3.2; of the second: Bahdanau, Cho & Bengio 2015,
    arXiv:1409.0473, section 3 (there the memory also decides where to look in what was read).
    """

    def __init__(self, part: Convolution | Recurrence) -> None:
        super().__init__()
        if not part.causal:
            raise ShapeError("a decoder looks back only; use a causal convolution, or a recurrence of one direction")
        self.part = part

    def cache(self, lineage: Lineage | None = None) -> StateCache:
        """An empty cache for decoding step by step; each row has a state of its own, whoever's past it is."""
        return StateCache()

    def forward(
        self,
        x: Tensor,
        *,
        mask: Mask | None = None,
        position: Position = NOWHERE,
        positions: Tensor | None = None,
        cache: StateCache | None = None,
    ) -> Tensor:
        """Look back at what was written so far, as `MultiHeadAttention` does.

        x, output: (batch, length, width); with a cache only the new elements
        mask:      padding; beside a cache there may be none
        position:  may have told x where it stands; inside of the part there is nobody to tell
        """
        if position.speaks or type(position).rotate is not Position.rotate:
            raise ShapeError(
                f"{type(position).__name__} tells attention where things are, but a convolution or a recurrence knows "
                "by itself; use none, sinusoidal or learned positions"
            )
        if cache is None:
            rows, real, back = side_by_side(x, mask, causal=True)
            return back(self.part(rows, real))
        if mask is not None:
            refuse_all_but_padding(mask, causal=True)
            if mask.key_lengths is not None or mask.real_keys is not None or mask.blocks_of_keys is not None:
                raise ShapeError("a convolution or a recurrence cannot go on after padding; decode rows of one length")
        output, cache.state = self.part.step(x, cache.state)
        return output
