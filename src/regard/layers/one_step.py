"""One element more, written out: what `Decoder` does for one new element in each row, with nothing beside it.

When texts are written, this runs once for each piece, and for a single text most of the time goes into what is around
the computation: calls of modules, masks that are the same in all blocks, questions that are always answered alike. Here
all that is settled once, before the first piece. `Decoder` is the definition; a test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.position import Position
from regard.layers.block import AddNorm, DecoderBlock, FeedForward, LookBackBlock
from regard.layers.cache import AttentionCache, BlockCache, Cache
from regard.layers.multihead import MultiHeadAttention, beside, share, split
from regard.layers.stack import Decoder

# From vectors to vectors: (rows, 1, width).
Change = Callable[[Tensor], Tensor]


class OneStep:
    """The blocks of a decoder for one new element in each row, over a cache that `Decoder` could go on with.

    applies: whether a decoder has only what is written out here
    """

    def __init__(self, decoder: Decoder, cache: Cache) -> None:
        self.cache = cache
        self.places = [decoder.position.at(index) for index in range(len(decoder.blocks))]
        self.blocks = [
            _Block(cast(DecoderBlock | LookBackBlock, block), own, place)
            for block, own, place in zip(decoder.blocks, cache.blocks, self.places, strict=True)
        ]
        self.norm: Change = decoder.norm.forward
        self.heads = next(attention.heads for attention in _attentions(decoder))
        self.hidden_memory: Tensor | None = None

    @staticmethod
    def applies(decoder: Decoder) -> bool:
        """Nobody trains or watches, and attention is a softmax of dot products to which no position adds."""
        if decoder.training or any(part._forward_hooks or part._forward_pre_hooks for part in decoder.modules()):
            return False
        attentions = _attentions(decoder)
        return (
            len(decoder.blocks) > 0
            and all(type(block) in (DecoderBlock, LookBackBlock) for block in decoder.blocks)
            and all(type(part) is MultiHeadAttention and _is_plain(part) for part in attentions)
            and len({part.heads for part in attentions}) == 1
            and not any(decoder.position.at(index).speaks for index in range(len(decoder.blocks)))
        )

    def may_see(self, mask: Mask | None) -> bool:
        """Settle what of the memory is seen, until others enter or leave; false where this cannot be done here."""
        self.hidden_memory = None
        keys = self.cache.blocks[0].cross_attention.keys
        if keys is None or mask is None:
            return True
        time = torch.arange(keys.shape[2], device=keys.device)[None]
        if mask.asks_where:
            return False
        seen = mask.dense(time[:, :1], time)
        if seen is None or bool(seen.all()):
            return keys.shape[2] > 0
        if seen.shape[1:3] != (1, 1) or not bool(seen.any(-1).all()):
            return False  # whoever may see nothing gets zeros, which is not what a softmax gives
        self.hidden_memory = self._hidden(seen[:, 0], keys)
        return True

    def _hidden(self, seen: Tensor, like: Tensor) -> Tensor:
        """What is added to the scores of all blocks, in the precision of another tensor:
        (items, queries | 1, keys) -> (items * heads, queries | 1, keys)."""
        hidden = like.new_zeros(seen.shape).masked_fill_(~seen, -torch.inf)
        return hidden.repeat_interleave(self.heads, 0)

    def __call__(self, x: Tensor) -> Tensor:
        """x, output: (rows, 1, width), as `Decoder` does it."""
        positions = self.cache.begin(x)
        seen = self.cache.lineage.own
        hidden = None if seen is None else self._hidden(seen, x)
        for block, place in zip(self.blocks, self.places, strict=True):
            x = block(place.embed(x, positions), positions, hidden, self.hidden_memory)
        self.cache.advance(1)
        return self.norm(x)


class _Block:
    """A block with the functions of its parts, as they are when nobody watches and nothing is dropped."""

    def __init__(self, block: DecoderBlock | LookBackBlock, cache: BlockCache, position: Position) -> None:
        assert isinstance(block.attention, MultiHeadAttention) and isinstance(cache.attention, AttentionCache)
        self.cache, self.written, self.position = cache, cache.attention, position
        self.attention, self.around_attention = _Attention.of(block.attention), _Around.of(block.around_attention)
        self.memory: tuple[_Attention, _Around] | None = None
        if isinstance(block, DecoderBlock):
            self.memory = _Attention.of(block.cross_attention), _Around.of(block.around_cross_attention)
        self.think, self.around_think = _thinking(block.feed_forward), _Around.of(block.around_feed_forward)

    def __call__(self, x: Tensor, positions: Tensor, hidden: Tensor | None, hidden_memory: Tensor | None) -> Tensor:
        """Look at what was written, at what was read, and think about it."""
        x = self.around_attention(x, lambda seen: self._look_back(seen, positions, hidden))
        if self.memory is not None:
            attention, around = self.memory
            keys, values = self.cache.cross_attention.keys, self.cache.cross_attention.values
            assert keys is not None and values is not None
            x = around(x, lambda seen: attention.gather(attention.ask(seen), keys, values, hidden_memory))
        return self.around_think(x, self.think)

    def _look_back(self, x: Tensor, positions: Tensor, hidden: Tensor | None) -> Tensor:
        queries = self.position.rotate(self.attention.ask(x), positions)
        keys, values = self.attention.project(x)
        keys, values, _ = self.written.extend(self.position.rotate(keys, positions), values, positions)
        return self.attention.gather(queries, keys, values, hidden)


@dataclass(frozen=True)
class _Around:
    """Add & Norm without dropout."""

    before: Change
    add: Callable[[Tensor, Tensor], Tensor]
    after: Change

    @classmethod
    def of(cls, around: AddNorm) -> _Around:
        return cls(around.norm_before.forward, around.add, around.norm_after.forward)

    def __call__(self, x: Tensor, part: Change) -> Tensor:
        return self.after(self.add(x, part(self.before(x))))


def _thinking(part: FeedForward) -> Change:
    enter, activation, leave = part.enter.forward, part.activation, part.leave.forward
    return lambda x: leave(activation(enter(x)))


class _Attention:
    """softmax(queries · keysᵀ · factor + hidden) · values, and the projections around it."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        self.heads, self.key_heads, self.scale = attention.heads, attention.key_heads, attention.scale
        self.query, self.key, self.value = attention.query.forward, attention.key.forward, attention.value.forward
        self.query_norm, self.key_norm = attention.query_norm.forward, attention.key_norm.forward
        self.output, self.as_dot_product = attention.output.forward, attention.score.as_dot_product
        assert attention.normalizer.softmax_factor is not None
        self.softmax_factor = attention.normalizer.softmax_factor

    @classmethod
    def of(cls, attention: MultiHeadAttention) -> _Attention:
        return cls(attention)

    def ask(self, x: Tensor) -> Tensor:
        """(rows, 1, width) -> (rows, heads, 1, head_width)"""
        queries: Tensor = self.query_norm(split(self.query(x), self.heads))
        return queries

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(rows, 1, width) -> twice (rows, key_heads, 1, head_width)"""
        return self.key_norm(split(self.key(x), self.key_heads)), split(self.value(x), self.key_heads)

    def gather(self, queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor | None) -> Tensor:
        """Each query takes the weighted mean of the values.

        queries:      (rows, heads, 1, head_width); rows of one item follow one another
        keys, values: (items, key_heads, time, head_width)
        hidden:       (items * heads, rows of an item | 1, time)
        output:       (rows, 1, width)
        """
        rows, items = queries.shape[0], keys.shape[0]
        reduced = self.as_dot_product(beside(queries, items), share(keys, self.heads), self.scale)
        assert reduced is not None
        # (items, heads, …) -> (items * heads, …)
        asked, found, factor = reduced[0].flatten(0, 1), reduced[1].flatten(0, 1), reduced[2] * self.softmax_factor
        added = asked.new_zeros(1) if hidden is None else hidden
        scores = torch.baddbmm(added, asked, found.transpose(1, 2), alpha=factor)
        gathered = torch.bmm(scores.softmax(-1), share(values, self.heads).flatten(0, 1))
        # (items * heads, rows of an item, value_width) -> (rows, 1, heads * value_width)
        joined = gathered.unflatten(0, (items, self.heads)).transpose(1, 2).reshape(rows, 1, -1)
        output: Tensor = self.output(joined)
        return output


def _attentions(decoder: Decoder) -> list[MultiHeadAttention]:
    """All attentions of its blocks, or what stands in their place."""
    parts = [getattr(block, name, None) for block in decoder.blocks for name in ("attention", "cross_attention")]
    return [part for part in parts if part is not None]


def _is_plain(attention: MultiHeadAttention) -> bool:
    nothing = torch.zeros(1, attention.heads, 0, attention.head_width)
    return (
        attention.paths is None
        and attention.normalizer.softmax_factor is not None
        and attention.score.as_dot_product(nothing, nothing, attention.scale) is not None
    )
