"""The mean of a model's weights at its last few evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

Weights = dict[str, Tensor]


class Average:
    """Remembers the weights of the last `size` evaluations; their mean is often better than the last of them.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 6.1 (the last 5 checkpoints of the base models).
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.recent: list[Weights] = []

    def add(self, model: nn.Module) -> None:
        """Remember the weights as they are."""
        if self.size > 1:
            self.recent = [*self.recent, _copy(model)][-self.size :]

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """The model has the mean of the remembered weights, and its own again afterwards."""
        if len(self.recent) < 2:
            yield
            return
        own = _copy(model)
        model.load_state_dict(self._mean())
        try:
            yield
        finally:
            model.load_state_dict(own)

    def _mean(self) -> Weights:
        latest = self.recent[-1]
        numbers = [name for name, tensor in latest.items() if tensor.is_floating_point()]
        means = {name: torch.stack([weights[name] for weights in self.recent]).mean(0) for name in numbers}
        return {**latest, **means}


def _copy(model: nn.Module) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
