"""What a decoder looks at in the source while it writes, seen from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.layers.block import DecoderBlock
from regard.layers.multihead import MultiHeadAttention
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel


class Watch:
    """The weights that passed when a layer ran last, as the mean of its heads."""

    def __init__(self) -> None:
        self._tiles: list[Tensor] = []

    def heard(self, point: nn.Module, inputs: tuple[Tensor, slice], weights: Tensor) -> None:
        """A forward hook: one tile of rows has passed; the first row begins anew."""
        if not inputs[1].start:
            self._tiles = []
        self._tiles.append(weights.detach().mean(1))

    @property
    def weights(self) -> Tensor:
        """(batch, queries, keys)"""
        return torch.cat(self._tiles, 1)


def cross_attention(model: EncoderDecoderModel, layer: int | None = None) -> MultiHeadAttention:
    """A layer's attention to what was read, counted from 1; the last where not given."""
    blocks = list(model.decoder.blocks)
    number = len(blocks) if layer is None else layer
    if not 1 <= number <= len(blocks):
        raise RegardError(f"there is no layer {number} of the decoder; the layers are 1 to {len(blocks)}")
    block = blocks[number - 1]
    assert isinstance(block, DecoderBlock)
    return block.cross_attention


@contextmanager
def watching(attention: MultiHeadAttention) -> Iterator[Watch]:
    """While this is open, the weights of an attention layer can be seen."""
    watch = Watch()
    handle = attention.weights.register_forward_hook(watch.heard)
    try:
        yield watch
    finally:
        handle.remove()


def looked_at(
    model: EncoderDecoderModel,
    inputs: Inputs,
    texts: Sequence[tuple[int, Sequence[int]]],
    start: int,
    layer: int | None = None,
) -> list[Tensor]:
    """How much each piece of given texts looks at each element of its source when it is written.

    texts:  (item of the batch, its pieces without the end)
    output: for each text (pieces, elements of its source)
    """
    items = torch.tensor([item for item, _ in texts], dtype=torch.long)
    written = torch.full((len(texts), 1 + max((len(pieces) for _, pieces in texts), default=0)), start)
    for row, (_, pieces) in enumerate(texts):
        written[row, 1 : 1 + len(pieces)] = torch.tensor(pieces, dtype=torch.long)
    memory, _ = model.read(inputs)
    items, written = items.to(memory.device), written.to(memory.device)
    lengths = inputs["lengths"][items]
    with watching(cross_attention(model, layer)) as watch:
        real = torch.arange(written.shape[1], device=memory.device) < torch.tensor(
            [1 + len(pieces) for _, pieces in texts], device=memory.device
        ).unsqueeze(1)
        mask = model.input.mask({"lengths": lengths})
        model.decoder(model.written(written), memory[items], memory_mask=mask, real=real)
    rows = zip(watch.weights.cpu(), texts, lengths.tolist(), strict=True)
    return [weights[: len(pieces), :length] for weights, (_, pieces), length in rows]
