"""Positions with a vector of their own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.position.grid import GridLearned
from regard.attention.position.kind import NOWHERE, Position, Sizes
from regard.errors import ShapeError


class Learned(Position):
    """Each position up to a longest one has a vector of its own, learned and added to the first block's input.

    Source: Gehring et al. 2017, arXiv:1705.03122, section 3.1.
    """

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.most = longest
        self.table = nn.Embedding(longest, width)
        # As small as BERT's (Devlin et al. 2019, arXiv:1810.04805), so that what a word is outweighs where it is.
        nn.init.normal_(self.table.weight, std=0.02)

    @classmethod
    def sized(cls, sizes: Sizes) -> Position:
        if sizes.grid is not None:
            return GridLearned(sizes.width, *sizes.grid)
        return cls(sizes.width, sizes.longest)

    def at(self, block: int) -> Position:
        return self if block == 0 else NOWHERE

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        # While an export is traced positions have no values yet; there the look-up itself refuses what is too far.
        if not torch.compiler.is_compiling():
            self._check(int(positions.max()) + 1 if positions.numel() else 0)
        return x + self.table(positions)

    def _check(self, furthest: int) -> None:
        if furthest > self.table.num_embeddings:
            raise ShapeError(
                f"an input of {furthest} elements is longer than the {self.table.num_embeddings} learned positions; "
                "cut it, or train with a larger model.longest or with position sinusoidal or rotary, "
                f"or stretch them: position.stretched({furthest})"
            )

    def stretched(self, longest: int) -> Learned:
        """The same positions drawn out to another longest input: the first and the last stay, the rest lies between.

        Source: Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.2, who interpolate what they learnt for smaller
        images. Made once and not at each input, so that an item's answer does not depend on how long its neighbours
        are. Fine-tuning afterwards is advised.
        """
        table = self.table.weight
        other = Learned(table.shape[1], longest).to(table)
        with torch.no_grad():
            # (longest, width) -> (1, width, longest)
            drawn = F.interpolate(table.T[None], size=longest, mode="linear", align_corners=True)[0].T
            other.table.weight.copy_(table if longest == len(table) else drawn)
        return other
