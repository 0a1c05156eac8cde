"""Recording what attention does, from outside: the model knows nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from regard.layers.multihead import WatchedPoint


class Recording:
    """The attention weights of a model's layers, by module path, as they were when it last ran.

    weights: path -> (batch, heads, queries, keys)
    """

    def __init__(self) -> None:
        self._tiles: dict[str, list[Tensor]] = {}

    @property
    def weights(self) -> dict[str, Tensor]:
        return {path: torch.cat(tiles, 2) for path, tiles in self._tiles.items()}

    def heard(self, path: str, point: nn.Module, inputs: tuple[Tensor, slice], weights: Tensor) -> None:
        """A forward hook: one tile of rows has passed; the first row begins anew."""
        if not inputs[1].start:
            self._tiles[path] = []
        self._tiles[path].append(weights.detach().clone())


@contextmanager
def record(model: nn.Module) -> Iterator[Recording]:
    """While this is open, all attention weights are recorded; the model's answers stay the same."""
    recording = Recording()
    handles = [
        module.register_forward_hook(partial(recording.heard, path.removesuffix(".weights")))
        for path, module in model.named_modules()
        if isinstance(module, WatchedPoint)
    ]
    try:
        yield recording
    finally:
        for handle in handles:
            handle.remove()
