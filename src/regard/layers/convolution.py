"""Convolution: each element sees those that stand beside it, the same way everywhere."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import ShapeError


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


# How far apart the neighbours of a block stand, by its number: van den Oord et al. double up to 512, then begin again.
DILATIONS: dict[str, Callable[[int], int]] = {
    "none": lambda block: 1,
    "doubling": lambda block: 2 ** (block % 10),
}
