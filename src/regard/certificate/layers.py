"""Which layer is the first to depart, where two ways of running a model do not say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.certificate.asking import THRESHOLD, scores_of
from regard.certificate.ways import Way
from regard.data.batching import Batch, Item
from regard.layers.watch import WatchedPoint
from regard.predict import Predictor

# What passes through these is as long as what is read; through all others, as what is answered.
_READING = ("input", "encoder")


@dataclass
class Trace:
    """What went into each layer and came out of it, for each item, in the order in which layers were done.

    passed: module path -> item -> (what went in or None, what came out), each (time, width) without padding
    """

    passed: dict[str, dict[int, tuple[Tensor | None, Tensor]]] = field(default_factory=dict)


def trace(predictor: Predictor, items: Sequence[Item], way: Way) -> Trace:
    """What passes through each layer while the model runs in this way."""
    model, found = predictor.model, Trace()
    training = model.training
    model.eval()
    try:
        with way.around(model), torch.inference_mode(not way.gradients):
            for batch in way.cut(items, predictor.batch_tokens):
                batch = batch.to(predictor.device)
                _keep(found, _calls(predictor, batch, way), batch, items)
    finally:
        model.train(training)
    return found


_Call = tuple[Tensor | None, Tensor]


def _calls(predictor: Predictor, batch: Batch, way: Way) -> dict[str, list[_Call]]:
    """Each layer's calls for one batch."""
    calls: dict[str, list[_Call]] = {}

    def heard(path: str, module: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor) and output.dim() == 3:
            first = given[0] if given and isinstance(given[0], Tensor) and given[0].dim() == 3 else None
            calls.setdefault(path, []).append((None if first is None else first.detach(), output.detach()))

    # A hook on a watched point would watch it, and another path would be taken.
    handles = [
        module.register_forward_hook(partial(heard, path))
        for path, module in predictor.model.named_modules()
        if not isinstance(module, WatchedPoint)
    ]
    try:
        scores_of(predictor, batch.inputs, way)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _keep(found: Trace, calls: dict[str, list[_Call]], batch: Batch, items: Sequence[Item]) -> None:
    for path, of_path in calls.items():
        # Step by step there are several calls, one for each place; else the first is what counts.
        came_in, came_out = (_joined([call[side] for call in of_path]) for side in (0, 1))
        for row, number in enumerate(batch.items):
            item = items[number]
            real = item.length if path.partition(".")[0] in _READING else item.answers
            if came_out is None or len(came_out) != len(batch.items) or came_out.shape[1] < real:
                continue  # not a row for each item: words that are spelled, texts that are parted
            fits = came_in is not None and len(came_in) == len(batch.items)
            first = came_in[row, :real].cpu() if fits and came_in is not None else None
            found.passed.setdefault(path, {})[number] = (first, came_out[row, :real].cpu())


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    tensors = [part for part in parts if part is not None]
    if len(tensors) != len(parts):
        return None
    if all(part.shape == (*tensors[0].shape[:1], 1, tensors[0].shape[2]) for part in tensors):
        return torch.cat(tensors, 1)
    return tensors[0]


def first_departing(one: Trace, other: Trace) -> str | None:
    """The path of the first layer that gives something else though it was given the same; None where there is none.

    Where no layer is far off by itself, one that is off by a tenth of the threshold is named.
    """
    for threshold in (THRESHOLD, THRESHOLD / 10):
        departing = [path for path in one.passed if path in other.passed and _departs(one, other, path, 1, threshold)]
        for path in departing:
            if not _departs(one, other, path, 0, threshold):
                return path
        if departing:
            return departing[0]
    return None


def _departs(one: Trace, other: Trace, path: str, side: int, threshold: float) -> bool:
    """Whether what went into a layer (side 0) or came out of it (side 1) is not the same for all items."""
    for number, passed in one.passed[path].items():
        here, there = passed[side], other.passed[path].get(number, (None, None))[side]
        if here is None or there is None:
            continue
        if here.shape != there.shape:
            return True
        apart, size = (here - there).abs(), here.abs().max() if here.numel() else torch.ones(())
        if apart.numel() and not bool((apart <= threshold * size.clamp(min=1)).all()):
            return True
    return False
