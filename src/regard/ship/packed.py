"""What a decoder looks at, of all its blocks, as one tensor: (batch, time, packed).

Side by side, for each block, the keys of all heads and then their values: so a loop that writes holds two tensors, what
was read and what was written, whatever the number of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import torch
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.layers.block import DecoderBlock
from regard.layers.cache import AttentionCache, Cache
from regard.layers.multihead import MultiHeadAttention
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel


def blocks(model: EncoderDecoderModel) -> list[DecoderBlock]:
    """The decoder's blocks."""
    return [cast(DecoderBlock, block) for block in model.decoder.blocks]


def packed_width(model: EncoderDecoderModel) -> int:
    """How many numbers stand in the packed vector of one element."""
    return sum(sum(_widths(block.cross_attention)) for block in blocks(model))


def encoded(model: EncoderDecoderModel, inputs: Inputs) -> Tensor:
    """What was read, as each block looks at it: (batch, time, packed)."""
    found = [part for of_block in model.remember(inputs) for part in of_block]
    return torch.cat([_flat(part) for part in found], -1)


class _Given(AttentionCache):
    """What was written before is given, and never changed: it grows by joining.

    seen: keys and values, (batch, heads, length, width of a head)
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()
        self.seen = keys, values

    def extend(self, keys: Tensor, values: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        self.seen = torch.cat((self.seen[0], keys), 2), torch.cat((self.seen[1], values), 2)
        return *self.seen, torch.arange(self.seen[0].shape[2], device=keys.device)[None]


class StepGraph(nn.Module):
    """One piece more is written, with what was read and written given as tensors."""

    def __init__(self, model: EncoderDecoderModel, name: Callable[[str], str]) -> None:
        """name: what the scores of a column are called"""
        super().__init__()
        self.model = model
        self.name = name

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """inputs: written, (batch, 1); memory, (batch, time, packed), and its lengths, (batch,); past, (batch, length,
        packed), what was written before
        output: the columns' scores, (batch, 1, pieces), and past with this piece
        """
        written, past = inputs["written"], inputs["past"]
        cache = self.model.decoder.cache()
        cache.length = past.shape[1]
        of_memory, of_past = _parts(self.model, inputs["memory"]), _parts(self.model, past)
        for block in cache.blocks:
            block.cross_attention.keys, block.cross_attention.values = next(of_memory), next(of_memory)
            block.attention = _Given(next(of_past), next(of_past))
        scores = self.model.write(written, inputs["memory"], Mask.lengths(inputs["lengths"]), cache)
        found: dict[str, Tensor] = {self.name(column): of_column for column, of_column in scores.items()}
        return {**found, "past": packed(cache)}


def packed(cache: Cache) -> Tensor:
    """What a decoder remembers of what was written: (batch, length, packed)."""
    found = []
    for block in cache.blocks:
        attention = block.attention
        assert isinstance(attention, _Given)
        found += [_flat(attention.seen[0]), _flat(attention.seen[1])]
    return torch.cat(found, -1)


def _parts(model: EncoderDecoderModel, x: Tensor) -> Iterator[Tensor]:
    """Keys, then values, of one block after the other, (batch, heads, time, width of a head)."""
    sizes = [width for block in blocks(model) for width in _widths(block.cross_attention)]
    heads = [block.cross_attention.key_heads for block in blocks(model) for _ in range(2)]
    for part, count in zip(x.split(sizes, -1), heads, strict=True):
        # (batch, time, heads * width) -> (batch, heads, time, width)
        yield part.unflatten(-1, (count, -1)).transpose(1, 2)


def _flat(x: Tensor) -> Tensor:
    """(batch, heads, time, width) -> (batch, time, heads * width)"""
    return x.transpose(1, 2).flatten(2)


def _widths(attention: MultiHeadAttention) -> tuple[int, int]:
    """How many numbers the keys and the values of all heads have."""
    return attention.key_heads * attention.head_width, attention.key_heads * attention.value_width
