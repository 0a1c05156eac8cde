"""Convolution: each element sees those that stand beside it, the same way everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.position import grid_positions
from regard.attention.position.grid import ROW
from regard.attention.position.relative import QuadraticBlock
from regard.errors import ShapeError
from regard.layers.multihead import MultiHeadAttention


class Convolution(nn.Module):
    """Each element looks through a window on its neighbours; one half of what it finds decides how much of the other
    half passes.

    h(X) = (X * W + b) ⊗ σ(X * V + c). Source: Dauphin et al. 2017, arXiv:1612.08083, equation 1; with a residual
    around it, in an encoder and a decoder: Gehring et al. 2017, arXiv:1705.03122, section 3.2 (their scaling by √0.5 is
    done by norms here). Weights start as Xavier's uniform distribution, biases at zero.

    kernel:   how many elements the window holds
    dilation: how far they stand apart: van den Oord et al. 2016, arXiv:1609.03499, section 2.1
    causal:   whether the window ends with the element itself, and not as far behind it as before it
    """

    def __init__(self, width: int, kernel: int, *, dilation: int = 1, causal: bool = False) -> None:
        super().__init__()
        if kernel < 1 or (kernel % 2 == 0 and not causal):
            raise ShapeError(f"a window of {kernel} elements has no middle; use an odd kernel, as {kernel + 1}")
        self.dilation = dilation
        self.causal = causal
        self.kernel = kernel
        self.reach = (kernel - 1) * dilation
        # One product of windows laid side by side is no slower than F.conv1d (bench/encoders.py) and needs no turning.
        self.project = nn.Linear(kernel * width, 2 * width)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); real: (batch, time), which elements are no padding; padding counts as 0,
        which is what stands beyond the ends too"""
        before = self.reach if self.causal else self.reach // 2
        return self._slide(F.pad(_zeroed(x, real), (0, 0, before, self.reach - before)))

    def step(self, x: Tensor, state: tuple[Tensor, ...] | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Goes on after what was seen before; gives the new elements' output and what to remember.

        x, output: (batch, time, width), the new elements; state: of one tensor, (batch, reach, width), the latest
        """
        seen = F.pad(x, (0, 0, self.reach, 0)) if state is None else torch.cat((state[0], x), 1)
        return self._slide(seen), (seen[:, seen.shape[1] - self.reach :],)

    def _slide(self, x: Tensor) -> Tensor:
        places = x.shape[1] - self.reach
        starts = range(0, self.reach + 1, self.dilation)
        # (batch, time + reach, width) -> (batch, time, kernel * width), the earliest of each window first
        windows = torch.cat([x[:, start : start + places] for start in starts], -1)
        return F.glu(self.project(windows), -1)


def _zeroed(x: Tensor, real: Tensor | None) -> Tensor:
    return x if real is None else x.masked_fill(~real[..., None], 0.0)


class AttendingConvolution(nn.Module):
    """A convolution's answer, computed by self-attention alone: each head looks at one place of the kernel.

    Source: Cordonnier, Loukas & Jaggi 2020, arXiv:1911.03584, theorem 1: with positions that are quadratic in the
    distance, a head of sharpness α puts a share of about 1 − 4 e^(−α) on one place, so a kernel of n places takes n
    heads. Values are the pixels themselves; the output holds the kernel.

    At the border attention looks at the nearest place that there is, which is a convolution padded by replication. For
    any other padding, its values stand around the picture as keys of their own (a ring).
    """

    def __init__(self, convolution: nn.Conv1d | nn.Conv2d, sharpness: float) -> None:
        super().__init__()
        self.kernel, self.stride, self.dilation = (
            _pair(given) for given in (convolution.kernel_size, convolution.stride, convolution.dilation)
        )
        self.line = isinstance(convolution, nn.Conv1d)
        middle = [(size - 1) // 2 * step for size, step in zip(self.kernel, self.dilation, strict=True)]
        padding = _padding(convolution)
        ring = convolution.padding_mode != "replicate" or any(
            pad > centre for pad, centre in zip(padding, middle, strict=True)
        )
        self.ring = padding if ring else (0, 0)
        self.mode = "constant" if convolution.padding_mode == "zeros" else convolution.padding_mode
        self.first = [centre - pad + around for centre, pad, around in zip(middle, padding, self.ring, strict=True)]
        self.padding = padding
        self.attention = _as_attention(convolution)
        self.position = _as_position(self.kernel, self.dilation, middle, sharpness).to(convolution.weight)

    def forward(self, x: Tensor) -> Tensor:
        """x, output: as of the convolution, (batch, channels, rows, columns), or (batch, channels, time)"""
        x = x[:, :, None] if self.line else x
        sizes = [
            (size + 2 * pad - step * (length - 1) - 1) // stride + 1
            for size, pad, step, length, stride in zip(
                x.shape[2:], self.padding, self.dilation, self.kernel, self.stride, strict=True
            )
        ]
        down, right = self.ring
        x = F.pad(x, (right, right, down, down), mode=self.mode)
        places = grid_positions(*(part.flatten() for part in _grid(x.shape[2], x.shape[3], x.device)))
        # (batch, channels, rows, columns) -> (batch, rows * columns, channels), and back
        seen = self.attention(x.flatten(2).mT, position=self.position, positions=places[None])
        seen = seen.mT.unflatten(2, x.shape[2:])
        rows, columns = (
            slice(first, first + stride * (size - 1) + 1, stride)
            for first, stride, size in zip(self.first, self.stride, sizes, strict=True)
        )
        answered = seen[:, :, rows, columns]
        return answered[:, :, 0] if self.line else answered


def attention_from_convolution(convolution: nn.Conv1d | nn.Conv2d, *, sharpness: float = 40.0) -> AttendingConvolution:
    """The same convolution as multi-head self-attention with relative quadratic positions.

    sharpness: α of the positions; the answers lie about 4 e^(−α) times the values apart, so from 14 on below 1e-5
    """
    if not isinstance(convolution, nn.Conv1d | nn.Conv2d) or convolution.transposed:
        raise ShapeError(f"a Conv1d or a Conv2d becomes attention, not {type(convolution).__name__}")
    if not sharpness > 0:
        raise ShapeError(f"sharpness is {sharpness}; it must be above 0, and is 14 or more where answers are to agree")
    return AttendingConvolution(convolution, sharpness)


def _as_attention(convolution: nn.Conv1d | nn.Conv2d) -> MultiHeadAttention:
    """A head for each place of the kernel; all share the channels as their values, and no head asks what they are."""
    channels, outputs = convolution.in_channels, convolution.out_channels
    places = convolution.weight[0, 0].numel()
    attention = MultiHeadAttention(channels, places, head_width=1, key_heads=1, value_width=channels, scale=0.0).to(
        convolution.weight
    )
    attention.output = nn.Linear(places * channels, outputs).to(convolution.weight)
    with torch.no_grad():
        assert isinstance(attention.value, nn.Linear)
        attention.value.weight.copy_(torch.eye(channels))
        # (outputs, channels of a group, places) -> (outputs, places, channels): a group sees no others' channels.
        kernel = torch.zeros(outputs, places, channels).to(convolution.weight)
        of_group, sees = outputs // convolution.groups, channels // convolution.groups
        for group in range(convolution.groups):
            mine, its = slice(group * of_group, (group + 1) * of_group), slice(group * sees, (group + 1) * sees)
            kernel[mine, :, its] = convolution.weight[mine].flatten(2).mT
        attention.output.weight.copy_(kernel.flatten(1))
        attention.output.bias.zero_()
        if convolution.bias is not None:
            attention.output.bias.copy_(convolution.bias)
    return attention


def _as_position(
    kernel: Sequence[int], dilation: Sequence[int], middle: Sequence[int], sharpness: float
) -> QuadraticBlock:
    """Each head looks at one place of the kernel, seen from its middle."""
    down, right = _grid(kernel[0], kernel[1], torch.device("cpu"))
    position = QuadraticBlock(down.numel(), ROW)
    ways = [way.flatten() * step - centre for way, step, centre in zip((down, right), dilation, middle, strict=True)]
    with torch.no_grad():
        position.centre.copy_(torch.stack(ways, -1))
        # softplus(x) = α at x = log(e^α − 1) = α + log(1 − e^−α)
        position.sharpness.fill_(sharpness + math.log(-math.expm1(-sharpness)))
    return position


def _grid(rows: int, columns: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The row and the column of each place: each (rows, columns)."""
    down, right = torch.meshgrid(torch.arange(rows, device=device), torch.arange(columns, device=device), indexing="ij")
    return down, right


def _pair(sizes: Sequence[int]) -> tuple[int, int]:
    """Down and right; along a line nothing is down."""
    return (1, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


def _padding(convolution: nn.Conv1d | nn.Conv2d) -> tuple[int, int]:
    """How many places are added on each side, down and right."""
    if not isinstance(convolution.padding, str):
        sides = convolution.padding
    elif convolution.padding == "valid":
        sides = (0,) * len(convolution.kernel_size)
    else:
        reach = [step * (size - 1) for step, size in zip(convolution.dilation, convolution.kernel_size, strict=True)]
        if any(length % 2 for length in reach):
            raise ShapeError("padding = same of an even kernel adds more on one side; give the padding as a number")
        sides = tuple(length // 2 for length in reach)
    return (0, sides[0]) if len(sides) == 1 else (sides[0], sides[1])


# How far apart the neighbours of a block stand, by its number: van den Oord et al. double up to 512, then begin again.
DILATIONS: dict[str, Callable[[int], int]] = {
    "none": lambda block: 1,
    "doubling": lambda block: 2 ** (block % 10),
}
