"""Input parts that read signals."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.block import LayerNorm
from regard.models.inputs import InputPart, Inputs


class VectorInput(InputPart):
    """A series becomes vectors: each sees some steps around it, and which of their values are missing.

    Two convolutions, the first of which takes a step of `patch`, the second of which adds to what the first found; a
    value that is missing is 0, the mean of its column, and a second number tells that it is not known. What stands in
    the padding is taken for what stands beyond the end of a series alone, so neighbours change nothing.
    """

    def __init__(self, columns: int, width: int, *, kernel: int = 5, patch: int = 1) -> None:
        super().__init__()
        self.patch = patch
        # So that the first vector's steps are in the middle of what it sees.
        self.around = max(kernel, patch) - patch
        self.first = nn.Conv1d(2 * columns, width, max(kernel, patch), stride=patch)
        self.second = nn.Conv1d(width, width, 3, padding=1)
        self.norm = LayerNorm(width)

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        values = inputs["vectors"]
        known = ~values.isnan()
        x = torch.cat((values.nan_to_num(0.0), known.to(values.dtype)), -1).mT
        time = -(-x.shape[-1] // self.patch)
        before = self.around // 2
        # (batch, 2 * columns, steps) -> (batch, width, time)
        x = F.gelu(self.first(F.pad(x, (before, time * self.patch - x.shape[-1] + self.around - before))))
        real = torch.arange(time, device=x.device) < inputs["lengths"][:, None]
        x = x * real[:, None]
        return self.norm((x + F.gelu(self.second(x))).mT)
