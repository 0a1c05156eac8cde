"""Where attention weights can be seen from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

# What is kept of a tile: (batch, heads, rows, keys) and which rows it has -> (batch, heads kept, rows kept, keys).
Taken = Callable[[Tensor, slice], Tensor]


class WatchedPoint(nn.Module):
    """The place where attention weights pass when somebody watches: a forward hook here sees each tile of rows, and
    what the hook gives back is used in its place. Nobody watching, weights need not exist.

    weights, output: (batch, heads, rows, keys); rows: which queries they belong to
    """

    @property
    def watched(self) -> bool:
        return bool(self._forward_hooks or self._forward_pre_hooks)

    def forward(self, weights: Tensor, rows: slice) -> Tensor:
        return weights


def everything(weights: Tensor, rows: slice) -> Tensor:
    """Keeps a tile as it is."""
    return weights.detach().clone()


class Watch:
    """The weights that passed a point when its layer ran last, or what was taken of them."""

    def __init__(self, take: Taken = everything) -> None:
        self._take = take
        self._tiles: list[Tensor] = []

    def heard(self, point: nn.Module, inputs: tuple[Tensor, slice], weights: Tensor) -> None:
        """A forward hook: one tile of rows has passed; the first row begins anew."""
        if not inputs[1].start:
            self._tiles = []
        self._tiles.append(self._take(weights, inputs[1]))

    @property
    def seen(self) -> bool:
        """Whether any have passed."""
        return bool(self._tiles)

    @property
    def weights(self) -> Tensor:
        """(batch, heads, queries, keys)"""
        return torch.cat(self._tiles, 2)


@contextmanager
def watching(point: WatchedPoint, take: Taken = everything) -> Iterator[Watch]:
    """While this is open, the weights that pass are kept, or what is taken of them."""
    watch = Watch(take)
    handle = point.register_forward_hook(watch.heard)
    try:
        yield watch
    finally:
        handle.remove()
