"""What a decoder looks at in the source while it writes, seen from outside."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.layers.block import DecoderBlock
from regard.layers.multihead import MultiHeadAttention
from regard.layers.watch import watching
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel


def cross_attention(model: EncoderDecoderModel, layer: int | None = None) -> MultiHeadAttention:
    """A layer's attention to what was read, counted from 1; the last where not given."""
    blocks = list(model.decoder.blocks)
    number = len(blocks) if layer is None else layer
    if not 1 <= number <= len(blocks):
        raise RegardError(f"there is no layer {number} of the decoder; the layers are 1 to {len(blocks)}")
    block = blocks[number - 1]
    assert isinstance(block, DecoderBlock)
    return block.cross_attention


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
    with watching(cross_attention(model, layer).weights) as watch:
        real = torch.arange(written.shape[1], device=memory.device) < torch.tensor(
            [1 + len(pieces) for _, pieces in texts], device=memory.device
        ).unsqueeze(1)
        mask = model.input.mask({"lengths": lengths})
        model.decoder(model.written(written), memory[items], memory_mask=mask, real=real)
    rows = zip(watch.weights.mean(1).cpu(), texts, lengths.tolist(), strict=True)
    return [weights[: len(pieces), :length] for weights, (_, pieces), length in rows]
