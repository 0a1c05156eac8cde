"""Recording what attention does, from outside: the model knows nothing of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from torch import Tensor, nn

from regard.layers.watch import Watch, WatchedPoint, watching


@dataclass(frozen=True)
class Recording:
    """The attention weights of a model's layers, by module path, as they were when it last ran.

    weights: path -> (batch, heads, queries, keys)
    """

    watches: Mapping[str, Watch]

    @property
    def weights(self) -> dict[str, Tensor]:
        return {path: watch.weights for path, watch in self.watches.items() if watch.seen}


@contextmanager
def record(model: nn.Module) -> Iterator[Recording]:
    """While this is open, all attention weights are recorded; the model's answers stay the same."""
    points = {path: module for path, module in model.named_modules() if isinstance(module, WatchedPoint)}
    with ExitStack() as stack:
        watches = {
            path.removesuffix(".weights"): stack.enter_context(watching(point)) for path, point in points.items()
        }
        yield Recording(watches)
