"""Where things are: attention alone does not know the order of its input."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from regard.errors import ShapeError


class Position(nn.Module):
    """A position kind tells attention where things are; this one tells nothing.

    The stack owns one and hands each block `at(block)`. A kind overrides what it needs; each of the other methods
    leaves things as they are. Positions are whole numbers, (batch | 1, time), so that the rows of a batch may stand at
    different places.

    adds_values: whether `values` is overridden (the fused path cannot be taken then).
    longest:     how many positions there are; None where there is no end of them.
    """

    adds_values = False
    longest: int | None = None

    @property
    def speaks(self) -> bool:
        """Whether it adds anything inside of attention."""
        return self.adds_values or type(self).bias is not Position.bias

    def at(self, block: int) -> Position:
        """The position that the block of this number sees."""
        return self

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Tell each element where it stands.

        x, output: (batch, time, width)
        """
        return x

    def rotate(self, heads: Tensor, positions: Tensor) -> Tensor:
        """Turn queries or keys according to where they stand.

        heads, output: (batch, heads, time, head_width)
        """
        return heads

    def bias(self, queries: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """What to add to the scores, or None. Asked for some rows of queries at a time.

        queries: (batch, heads, queries, head_width)
        output:  (batch | 1, heads | 1, queries, keys)
        """
        return None

    def values(self, weights: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """What to add to the attended values, or None. Asked for some rows of queries at a time.

        weights: (batch, heads, queries, keys)
        output:  (batch, heads, queries, head_width)
        """
        return None


class Sinusoidal(Position):
    """Each position is a point on circles that turn at different speeds, added to the first block's input.

    PE(position, 2i) = sin(position / 10000^(2i/width)) and PE(position, 2i+1) = the cosine of the same.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5. An odd width, which they leave open, has one sine more
    than cosines. The table is computed when asked for, so there is no longest input.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def at(self, block: int) -> Position:
        return self if block == 0 else NOWHERE

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + sinusoids(positions, self.width).to(x.dtype)


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """The sines and cosines of Vaswani et al. 2017, section 3.5, for any positions and any width.

    positions: any shape
    output:    the same shape and a last axis of `width`
    """
    # Angles in double precision: in single precision position 100,000 is off by about 0.004 on the fastest circle.
    index = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device)
    angles = positions[..., None].double() * torch.exp(-math.log(10000.0) * index / width)
    # (…, width / 2, 2) -> (…, width): sine and cosine of one circle stand side by side
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[..., :width].float()


class Learned(Position):
    """Each position up to a longest one has a vector of its own, learned and added to the first block's input.

    Source: Gehring et al. 2017, arXiv:1705.03122, section 3.1.
    """

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.table = nn.Embedding(longest, width)
        # As small as BERT's (Devlin et al. 2019, arXiv:1810.04805), so that what a word is outweighs where it is.
        nn.init.normal_(self.table.weight, std=0.02)

    def at(self, block: int) -> Position:
        return self if block == 0 else NOWHERE

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        furthest = int(positions.max()) + 1 if positions.numel() else 0
        if furthest > self.table.num_embeddings:
            raise ShapeError(
                f"an input of {furthest} elements is longer than the {self.longest} learned positions; "
                "cut it, or train with a larger model.longest or with position sinusoidal or rotary"
            )
        return x + self.table(positions)


class Rotary(Position):
    """Queries and keys are turned by angles that grow with their position, so that their dot product depends on how
    far apart they are and not on where they are.

    Source: Su et al. 2021, arXiv:2104.09864, equation 15 and section 3.4.2. We pair dimension i with i + width/2, as
    most implementations do, and not 2i with 2i+1 as the paper does: the same up to the order of dimensions. Of an odd
    head width the last dimension is not turned.
    """

    def rotate(self, heads: Tensor, positions: Tensor) -> Tensor:
        half = heads.shape[-1] // 2
        speed = torch.exp(
            -math.log(10000.0) * torch.arange(half, dtype=torch.float64, device=heads.device) / max(half, 1)
        )
        # (batch, time) -> (batch, 1, time, half)
        angles = positions[:, None, :, None].double() * speed
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        one, other, rest = heads[..., :half], heads[..., half : 2 * half], heads[..., 2 * half :]
        return torch.cat((one * cos - other * sin, other * cos + one * sin, rest), -1)


NOWHERE = Position()

# Each kind is made from the sizes that a stack knows: its width and the longest input it will see.
POSITIONS: dict[str, Callable[[int, int], Position]] = {
    "none": lambda width, longest: Position(),
    "sinusoidal": lambda width, longest: Sinusoidal(width),
    "learned": Learned,
    "rotary": lambda width, longest: Rotary(),
}
