"""Truncated attention in time and memory that grow with the length and not with its square.

Queries that follow one another look at keys that follow one another: a block of queries needs only the keys from the
reach of its first query to the reach of its last. The question is cut into such blocks, which overlap in their keys,
and all blocks are asked at once, as if they were the items of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.fused import fused, refuse_fused
from regard.attention.mask import Mask, of_pairs
from regard.attention.plain import plain
from regard.attention.question import Question

# Queries in a block: of more, most keys are outside of the window of most queries; of fewer, the products are small.
BLOCK = 64

# Cutting pays where it saves each query so many keys: below, it takes longer than it spares (bench/attention.py).
WORTH = 192


@dataclass(frozen=True)
class Blocks:
    """How queries and keys are cut.

    size:   queries in a block
    queries, keys: how many there are
    before, after: how far back and ahead a query looks
    start:  where the first query stands among the keys
    """

    size: int
    queries: int
    keys: int
    before: int
    after: int
    start: int

    @property
    def count(self) -> int:
        return -(-self.queries // self.size)

    @property
    def reach(self) -> int:
        """How many keys a block sees, there or not."""
        return self.before + self.size + self.after

    def of_queries(self, x: Tensor) -> Tensor:
        """(heads, queries, width) -> (blocks, heads, size, width)"""
        padded = F.pad(x, (0, 0, 0, self.count * self.size - self.queries))
        return padded.unflatten(1, (self.count, self.size)).transpose(0, 1)

    def of_keys(self, x: Tensor) -> Tensor:
        """(heads, keys, width) -> (blocks, heads, reach, width), which overlap and share their memory"""
        first = self.start - self.before
        last = first + (self.count - 1) * self.size + self.reach
        begin, end = max(first, 0), min(last, self.keys)
        if begin >= end:  # no block reaches a key; one that is hidden takes the place, for the sake of its gradient
            return (0 * x[:, :1]).expand(len(x), self.reach, -1).expand(self.count, -1, -1, -1)
        return _Overlapping.apply(F.pad(x[:, begin:end], (0, 0, begin - first, last - end)), self.reach, self.size)

    def numbers(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Which queries and keys stand in each block, (blocks, size) and (blocks, reach); some are beyond the ends."""
        begin = torch.arange(self.count, device=device)[:, None] * self.size
        keys = torch.arange(self.reach, device=device) + self.start - self.before
        return begin + torch.arange(self.size, device=device), begin + keys

    def window(self, device: torch.device) -> Tensor:
        """Who may look at whom, the same in every block: (size, reach)."""
        ahead = torch.arange(self.reach, device=device) - self.before - torch.arange(self.size, device=device)[:, None]
        return (ahead >= -self.before) & (ahead <= self.after)


class _Overlapping(torch.autograd.Function):
    """Overlapping blocks of an axis, without a copy; the gradients of blocks add up where they overlap.

    Several times as fast backward as that of `Tensor.unfold`, which adds number by number.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, reach: int, size: int) -> Tensor:
        ctx.reach, ctx.size, ctx.time = reach, size, x.shape[1]
        # (heads, time, width) -> (heads, blocks, width, reach) -> (blocks, heads, reach, width)
        return x.unfold(1, reach, size).permute(1, 0, 3, 2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        blocks, heads, reach, width = gradient.shape
        size = ctx.size
        # Room for whole steps behind the last block.
        steps = blocks + -(-reach // size) - 1
        found = gradient.new_zeros(heads, steps, size, width)
        for step, begin in enumerate(range(0, reach, size)):
            part = gradient[:, :, begin : begin + size].transpose(0, 1)
            found[:, step : step + blocks, : part.shape[2]] += part
        return found.flatten(1, 2)[:, : ctx.time], None, None


def windowed(question: Question) -> Tensor:
    """Each item by itself, so that what is held at once does not grow with the batch."""
    blocks = _blocks(question)
    outputs = [_of_item(question, item, blocks) for item in range(len(question.queries))]
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs)


def _of_item(question: Question, item: int, blocks: Blocks) -> Tensor:
    """(1, heads, queries, value_width)"""
    cut = _cut(question, item, blocks)
    output = fused(cut) if refuse_fused(cut) is None else plain(cut)
    # (blocks, heads, size, value_width) -> (1, heads, queries, value_width)
    return output.transpose(0, 1).flatten(1, 2)[None, :, : blocks.queries]


def _cut(question: Question, item: int, blocks: Blocks) -> Question:
    """The question of one item, its blocks in the place of a batch."""
    assert question.mask is not None
    rows, columns = blocks.numbers(question.queries.device)
    there = (columns >= 0) & (columns < blocks.keys)
    # What is beyond the ends is hidden; until then it is taken for what stands there.
    rows, columns = rows.clamp(max=blocks.queries - 1), columns.clamp(0, blocks.keys - 1)
    # The window is the same in every block and need not be found from positions again.
    mask = replace(question.mask.of_blocks(item, rows, columns), before=None, after=None)
    return replace(
        question,
        queries=blocks.of_queries(question.queries[item]),
        keys=blocks.of_keys(question.keys[item]),
        values=blocks.of_keys(question.values[item]),
        mask=mask & Mask.keys(there) & Mask.allowed(blocks.window(columns.device)),
        bias=None if question.bias is None else of_pairs(question.bias, item, rows, columns),
        query_positions=question.where_queries.expand(item + 1, -1)[item][rows],
        key_positions=question.where_keys.expand(item + 1, -1)[item][columns],
    )


def _blocks(question: Question) -> Blocks:
    mask = question.mask
    start = _start(question)
    assert mask is not None and mask.before is not None and mask.after is not None and start is not None
    queries, keys = question.scores_shape[2:]
    return Blocks(min(BLOCK, queries), queries, keys, mask.before, mask.after, start)


def _start(question: Question) -> int | None:
    """Where the first query stands among the keys; None where they do not stand one after the other."""
    if question.in_order:
        return 0
    queries, keys = question.where_queries, question.where_keys
    for places in (queries, keys):
        if not (places == places[:1, :1] + torch.arange(places.shape[1], device=places.device)).all():
            return None
    return int(queries[0, 0] - keys[0, 0])


def refuse_windowed(question: Question) -> str | None:
    mask = question.mask
    if mask is None or mask.before is None or mask.after is None:
        return "the mask has no window that ends on both sides"
    if question.watch is not None:
        return "somebody watches the weights, whole rows of them"
    if 0 in question.scores_shape:
        return "there is nothing to attend to"
    if torch.compiler.is_compiling():
        return "while a model is traced, the number of its blocks is not known"
    if _start(question) is None:
        return "queries or keys do not stand one after the other, at the same places in all rows"
    return None


def windowed_pays(question: Question) -> bool:
    return question.scores_shape[3] - _blocks(question).reach >= WORTH
