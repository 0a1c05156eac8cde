"""Where attention weights can be seen from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


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


class Watch:
    """The weights that passed a point when its layer ran last."""

    def __init__(self) -> None:
        self._tiles: list[Tensor] = []

    def heard(self, point: nn.Module, inputs: tuple[Tensor, slice], weights: Tensor) -> None:
        """A forward hook: one tile of rows has passed; the first row begins anew."""
        if not inputs[1].start:
            self._tiles = []
        self._tiles.append(weights.detach().clone())

    @property
    def seen(self) -> bool:
        """Whether any have passed."""
        return bool(self._tiles)

    @property
    def weights(self) -> Tensor:
        """(batch, heads, queries, keys)"""
        return torch.cat(self._tiles, 2)


@contextmanager
def watching(point: WatchedPoint) -> Iterator[Watch]:
    """While this is open, the weights that pass are kept."""
    watch = Watch()
    handle = point.register_forward_hook(watch.heard)
    try:
        yield watch
    finally:
        handle.remove()
