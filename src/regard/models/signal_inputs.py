"""Input parts that read signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.position import grid_positions
from regard.layers.block import BatchNorm, LayerNorm
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


class ImageInput(InputPart):
    """A picture becomes vectors: one for each patch, row after row, and where asked one of its own before them.

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1. Where a picture stands is told by `positions`: its
    row and its column, so pictures of different sizes stand side by side in a batch. What is beyond a picture's border
    is 0, the mean of train, whatever its neighbours.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(
        self, stem: nn.Module, width: int, mean: Sequence[float], deviation: Sequence[float], *, token: bool = False
    ) -> None:
        super().__init__()
        self.stem = stem
        self.norm = LayerNorm(width)
        self.token = nn.Parameter(0.02 * torch.randn(width)) if token else None
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("deviation", torch.tensor(deviation))

    def positions(self, inputs: Inputs) -> Tensor:
        """(batch, time): row and column as one number"""
        return grid_positions(inputs["places"][..., 0], inputs["places"][..., 1])

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        pixels = (inputs["pixels"] - self.mean) / self.deviation
        inside = ~pixels[..., 0].isnan()
        # (batch, height, width of the picture, channels) -> (batch, rows, columns, width)
        grid = self.stem(pixels.nan_to_num(0.0), inside)
        cells = inputs["places"][..., 0] * grid.shape[2] + inputs["places"][..., 1]
        x = self.norm(grid.flatten(1, 2).gather(1, cells[..., None].expand(-1, -1, grid.shape[-1])))
        return x if self.token is None else torch.cat((self.token.expand(len(x), 1, -1), x[:, 1:]), 1)


class Patches(nn.Module):
    """Each patch by itself: a linear map of all its pixels."""

    def __init__(self, channels: int, width: int, patch: int) -> None:
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(channels * patch * patch, width)

    def forward(self, pixels: Tensor, inside: Tensor) -> Tensor:
        """pixels: (batch, height, width, channels); inside: (batch, height, width), what is no padding;
        output: (batch, rows, columns, width)"""
        x = _whole_patches(pixels, self.patch)
        # (batch, rows * patch, columns * patch, channels) -> (batch, rows, columns, patch, patch, channels)
        x = x.unflatten(2, (-1, self.patch)).unflatten(1, (-1, self.patch)).transpose(2, 3)
        return self.project(x.flatten(3))


class Convolutions(nn.Module):
    """A small convolutional network: each of its layers looks at 3 × 3 places, then keeps the strongest of 2 × 2.

    Source: Hassani et al. 2021, arXiv:2104.05704, section 3.3 (their convolutional tokenizer; the batch norm is ours).
    """

    def __init__(self, channels: int, width: int, patch: int) -> None:
        super().__init__()
        self.patch = patch
        count = max(1, patch.bit_length() - 1)
        widths = [channels, *(max(8, width >> (count - layer)) for layer in range(1, count)), width]
        self.layers = nn.ModuleList(nn.Conv2d(one, other, 3, padding=1, bias=False) for one, other in pairwise(widths))
        self.norms = nn.ModuleList(BatchNorm(width) for width in widths[1:])

    def forward(self, pixels: Tensor, inside: Tensor) -> Tensor:
        """pixels: (batch, height, width, channels); inside: (batch, height, width), what is no padding;
        output: (batch, rows, columns, width)"""
        x = _whole_patches(pixels, self.patch).permute(0, 3, 1, 2)
        # A picture's last patches are whole ones: what hangs over its border is a part of it.
        real = F.max_pool2d(_whole_patches(inside[..., None].to(x.dtype), self.patch).permute(0, 3, 1, 2), self.patch)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            mask = F.interpolate(real, size=x.shape[-2:], mode="nearest")
            # Beyond a picture there is nothing to each layer, as beyond the border of one alone.
            x = F.relu(_over_places(norm, layer(x), mask)) * mask
            x = F.max_pool2d(x, 2) if self.patch > 1 else x
        return x.permute(0, 2, 3, 1)


def _over_places(norm: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    """A norm of sequences over the places of a grid.

    x, output: (batch, width, rows, columns); mask: (batch, 1, rows, columns), 1 where there is no padding
    """
    real = None if bool(mask.all()) else mask[:, 0].flatten(1).bool()
    # (batch, width, rows, columns) -> (batch, rows * columns, width), and back
    return norm(x.flatten(2).mT, real).mT.unflatten(2, x.shape[2:])


def _whole_patches(pixels: Tensor, patch: int) -> Tensor:
    """Height and width filled up with 0 to multiples of a patch. pixels: (batch, height, width, channels)"""
    height, width = pixels.shape[1:3]
    return F.pad(pixels, (0, 0, 0, -width % patch, 0, -height % patch))


# How a picture's patches become vectors, by the names of input.stem.
STEMS: dict[str, Callable[[int, int, int], nn.Module]] = {"patches": Patches, "convolution": Convolutions}
