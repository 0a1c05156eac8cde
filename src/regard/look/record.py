"""Recording what a model does, from outside: the model knows nothing of it, and its answers stay the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.attend import Path
from regard.attention.plain import tiled
from regard.attention.question import Question
from regard.errors import RegardError, nearest
from regard.layers.block import DecoderBlock, EncoderBlock
from regard.layers.mix import MixBlock
from regard.layers.multihead import MultiHeadAttention
from regard.layers.watch import Taken, Watch, everything, watching


@dataclass(frozen=True)
class Recording:
    """What a model did when it last ran, by module path.

    weights:   path -> (batch, heads, queries, keys): the attention weights before dropout
    questions: path -> what was asked of attention there: queries and keys as they are compared (normed, turned by their
               positions), values, mask and position; only where states are recorded
    hidden:    path of a block -> (batch, time, width): what the block gave; only where states are recorded
    """

    watches: Mapping[str, Watch]
    questions: dict[str, Question] = field(default_factory=dict)
    hidden: dict[str, Tensor] = field(default_factory=dict)

    @property
    def weights(self) -> dict[str, Tensor]:
        return {path: watch.weights for path, watch in self.watches.items() if watch.seen}


@contextmanager
def record(
    model: nn.Module,
    *,
    layers: Collection[str] | None = None,
    heads: Sequence[int] | None = None,
    rows: slice | None = None,
    take: Callable[[str], Taken] | None = None,
    states: bool = False,
) -> Iterator[Recording]:
    """While this is open, attention is recorded; the model's answers stay the same.

    layers: the paths of those to record, all where not given; so a long input takes the memory of what is asked for
    heads:  which heads, numbered from 0; all where not given
    rows:   which queries, as in slice(100, 200); all where not given
    take:   for each path, what to keep of each tile instead; neither heads nor rows then
    states: record hidden states, queries, keys and values too
    """
    points = _chosen(attention_layers(model), layers, heads)
    part = _part(heads, rows)
    with ExitStack() as stack:
        watches = {
            path: stack.enter_context(watching(layer.weights, part if take is None else take(path)))
            for path, layer in points.items()
        }
        recording = Recording(watches)
        if states:
            for path, layer in points.items():
                stack.enter_context(_overheard(layer, path, recording.questions))
            for path, block in model.named_modules():
                if isinstance(block, EncoderBlock | DecoderBlock | MixBlock):
                    handle = block.register_forward_hook(_keep(path, recording.hidden))
                    stack.callback(handle.remove)
        yield recording


def attention_layers(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """All attention layers by module path, in the order in which they stand in the model."""
    return {path: module for path, module in model.named_modules() if isinstance(module, MultiHeadAttention)}


def _chosen(
    points: dict[str, MultiHeadAttention], layers: Collection[str] | None, heads: Sequence[int] | None
) -> dict[str, MultiHeadAttention]:
    for path in layers or ():
        if path not in points:
            raise RegardError(f"there is no attention {path}; there are {', '.join(points)}{nearest(path, points)}")
    chosen = {path: layer for path, layer in points.items() if layers is None or path in layers}
    for path, layer in chosen.items():
        for head in heads or ():
            if not 0 <= head < layer.heads:
                raise RegardError(f"there is no head {head} in {path}; the heads are 0 to {layer.heads - 1}")
    return chosen


def _part(heads: Sequence[int] | None, rows: slice | None) -> Taken:
    """Keeps some heads and some rows of each tile."""
    if heads is None and rows is None:
        return everything
    wanted = slice(None) if heads is None else list(heads)

    def take(weights: Tensor, tile: slice) -> Tensor:
        first = tile.start or 0
        inside = slice(None)
        if rows is not None:
            start, stop, _ = rows.indices(2**62)
            inside = slice(max(0, start - first), max(0, stop - first))
        return weights[:, :, inside][:, wanted].detach().clone()

    return take


@contextmanager
def _overheard(layer: MultiHeadAttention, path: str, questions: dict[str, Question]) -> Iterator[None]:
    """While this is open, what the layer asks of `attend` is kept; what watches it still sees the weights."""

    def take(question: Question) -> Tensor:
        questions[path] = replace(question, watch=None)
        return tiled(question)

    before = layer.paths
    layer.paths = {"recorded": Path(take)}
    try:
        yield
    finally:
        layer.paths = before


def _keep(path: str, hidden: dict[str, Tensor]) -> Callable[[nn.Module, Any, Tensor], None]:
    def heard(block: nn.Module, inputs: Any, output: Tensor) -> None:
        hidden[path] = output.detach().clone()

    return heard


@contextmanager
def record_steps(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """While this is open, each run of each layer is kept, one after the other: what happens when a text is written step
    by step. path -> for each step (rows, heads, queries, keys so far)."""
    steps: dict[str, list[Tensor]] = {}
    with ExitStack() as stack:
        for path, layer in attention_layers(model).items():
            found = steps.setdefault(path, [])
            handle = layer.weights.register_forward_hook(_append(found))
            stack.callback(handle.remove)
        yield steps


def _append(found: list[Tensor]) -> Callable[[nn.Module, tuple[Tensor, slice], Tensor], None]:
    def heard(point: nn.Module, inputs: tuple[Tensor, slice], weights: Tensor) -> None:
        if inputs[1].start and found:
            found[-1] = torch.cat((found[-1], weights.detach().clone()), 2)
        else:
            found.append(weights.detach().clone())

    return heard
