"""Who may look at whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import torch
from torch import Tensor

from regard.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Mask:
    """A mask says which keys each query may look at: True means "may look".

    It keeps its structure, so that a fast path can use it; `dense` is its definition. Masks are combined with `&`:
    a query may look where all of them let it.

    key_lengths: (batch,)       only the first so many keys are real
    real_keys:   (batch, keys)  only these keys are real
    before: how many positions back a query may look (None: any number)
    after:  how many positions ahead a query may look (None: any number; 0: causal)
    table:  (batch | 1, heads | 1, queries, keys), anything else
    first:  (batch | 1,), keys that stand before this position are seen by all, other keys only by those behind them
    blocks_of_queries, blocks_of_keys: (batch | 1, queries | keys, kinds), only keys of the query's own block are seen
    """

    key_lengths: Tensor | None = None
    real_keys: Tensor | None = None
    before: int | None = None
    after: int | None = None
    table: Tensor | None = None
    first: Tensor | None = None
    blocks_of_queries: Tensor | None = None
    blocks_of_keys: Tensor | None = None

    @staticmethod
    def causal() -> Mask:
        """Nobody looks ahead."""
        return Mask(after=0)

    @staticmethod
    def window(left: int, right: int) -> Mask:
        """Everybody looks at most `left` positions back and `right` positions ahead."""
        if left < 0 or right < 0:
            raise ShapeError(f"a window reaches 0 or more positions to each side, not ({left}, {right})")
        return Mask(before=left, after=right)

    @staticmethod
    def lengths(lengths: Tensor) -> Mask:
        """In each row only the first keys are real, the rest is padding."""
        if lengths.dim() != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
            raise ShapeError(f"lengths are whole numbers, one for each row, not {_describe(lengths)}")
        return Mask(key_lengths=lengths)

    @staticmethod
    def keys(allowed: Tensor) -> Mask:
        """In each row only the keys marked True are real.

        allowed: (batch, keys)
        """
        return Mask(real_keys=_boolean(allowed, 2, "(batch, keys)"))

    @staticmethod
    def prefix(first: int | Tensor) -> Mask:
        """All may look at the first so many positions; beyond them nobody looks ahead.

        Source: Raffel et al. 2020, arXiv:1910.10683, section 3.2.1 and figure 3, right.
        first: how many, for all rows or for each, (batch,)
        """
        first = torch.as_tensor(first)
        if first.dim() > 1 or first.is_floating_point() or first.dtype == torch.bool:
            raise ShapeError(f"a prefix is a whole number, or one for each row, not {_describe(first)}")
        return Mask(first=first.reshape(-1))

    @staticmethod
    def blocks(ids: Tensor, queries: Tensor | None = None) -> Mask:
        """Everybody looks only inside of the own block: several sequences packed into one row see nothing of each
        other.

        ids:     (time,) or (batch, time), the block of each key; the numbers themselves mean nothing
        queries: the blocks of the queries, where they are not the same elements (a later chunk of decoding)
        """
        return Mask(blocks_of_queries=_ids(ids if queries is None else queries), blocks_of_keys=_ids(ids))

    @staticmethod
    def allowed(allowed: Tensor) -> Mask:
        """Any table of who may look at whom.

        allowed: (queries, keys) or (batch, queries, keys) or (batch | 1, heads | 1, queries, keys)
        """
        if allowed.dim() not in (2, 3, 4):
            raise ShapeError(
                "a mask is (queries, keys), (batch, queries, keys) or (batch, heads, queries, keys), "
                f"not {_describe(allowed)}"
            )
        table = _boolean(allowed, allowed.dim(), "")
        return Mask(table=table[:, None] if table.dim() == 3 else table.reshape((1,) * (4 - table.dim()) + table.shape))

    def __and__(self, other: Mask | None) -> Mask:
        if other is None:
            return self
        return Mask(
            key_lengths=_smaller(self.key_lengths, other.key_lengths),
            real_keys=_both(self.real_keys, other.real_keys),
            before=_nearer(self.before, other.before),
            after=_nearer(self.after, other.after),
            table=_both(self.table, other.table),
            first=_smaller(self.first, other.first),
            blocks_of_queries=_side_by_side(self.blocks_of_queries, other.blocks_of_queries),
            blocks_of_keys=_side_by_side(self.blocks_of_keys, other.blocks_of_keys),
        )

    def dense(self, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """The mask written out; None where everybody may look at everything.

        query_positions: (batch | 1, queries), where each query stands
        key_positions:   (batch | 1, keys), where each key stands
        output: (batch | 1, heads | 1, queries | 1, keys); an axis of 1 stands for "the same for all"
        """
        self.shape(query_positions, key_positions)
        parts = [*self._padding(key_positions), *self._band(query_positions, key_positions)]
        if self.blocks_of_queries is not None and self.blocks_of_keys is not None:
            same = self.blocks_of_queries[:, :, None] == self.blocks_of_keys[:, None]
            parts.append(same.all(-1)[:, None])
        if self.table is not None:
            parts.append(self.table)
        return reduce(_joined, parts) if parts else None

    def shape(self, query_positions: Tensor, key_positions: Tensor) -> torch.Size:
        """The shape of `dense`, which is not written out for it. A mask that does not fit is refused."""
        # Not len(…), which makes a fixed number of a size that is open while a model is exported.
        queries, keys = query_positions.shape[-1], key_positions.shape[-1]
        shapes: list[tuple[int, ...]] = []
        if self.key_lengths is not None:
            shapes.append((self.key_lengths.shape[0], 1, 1, keys))
        if self.real_keys is not None:
            if self.real_keys.shape[-1] != keys:
                raise ShapeError(f"the mask knows {self.real_keys.shape[-1]} keys, but there are {keys}")
            shapes.append((self.real_keys.shape[0], 1, 1, keys))
        if self.asks_where:
            shapes += [(places.shape[0], 1, queries, keys) for places in (query_positions, key_positions)]
        if self.first is not None:
            shapes.append((self.first.shape[0], 1, queries, keys))
        if self.blocks_of_queries is not None and self.blocks_of_keys is not None:
            here = (self.blocks_of_queries.shape[1], self.blocks_of_keys.shape[1])
            if here != (queries, keys):
                raise ShapeError(
                    f"the mask knows the blocks of {here} (queries, keys), but there are {(queries, keys)}; "
                    "Mask.blocks(ids, queries) takes those of the queries by themselves"
                )
            shapes += [(ids.shape[0], 1, queries, keys) for ids in (self.blocks_of_queries, self.blocks_of_keys)]
        if self.table is not None:
            if self.table.shape[-1] not in (1, keys) or self.table.shape[-2] not in (1, queries):
                raise ShapeError(
                    f"the mask is for {tuple(self.table.shape[-2:])} (queries, keys), but there are {(queries, keys)}"
                )
            shapes.append(tuple(self.table.shape))
        if len(shapes) < 2:  # as at each step of decoding, where the general way would take as long as attention
            return torch.Size(*shapes)
        try:
            return torch.broadcast_shapes(*shapes)
        except RuntimeError:
            raise ShapeError(f"parts of a mask do not broadcast to each other: {', '.join(map(str, shapes))}") from None

    def _padding(self, key_positions: Tensor) -> Iterator[Tensor]:
        """Which keys are real: (batch, 1, 1, keys)."""
        keys = key_positions.shape[-1]
        if self.key_lengths is not None:
            index = torch.arange(keys, device=self.key_lengths.device)
            yield (index < self.key_lengths[:, None])[:, None, None, :]
        if self.real_keys is not None:
            yield self.real_keys[:, None, None, :]

    def _band(self, query_positions: Tensor, key_positions: Tensor) -> Iterator[Tensor]:
        """Which keys stand where the query looks: (batch | 1, 1, queries, keys)."""
        if not self.asks_where:
            return
        # (batch, queries, keys): how far ahead of the query the key stands
        ahead = key_positions[:, None, :] - query_positions[:, :, None]
        if self.after is not None:
            yield (ahead <= self.after)[:, None]
        if self.before is not None:
            yield (ahead >= -self.before)[:, None]
        if self.first is not None:
            seen_by_all = key_positions < self.first[:, None].to(key_positions.device)
            yield ((ahead <= 0) | seen_by_all[:, None])[:, None]

    @property
    def asks_where(self) -> bool:
        """Whether it matters where queries and keys stand."""
        return any(part is not None for part in (self.before, self.after, self.first))

    @property
    def only_causal(self) -> bool:
        """Whether this is the causal mask and nothing else."""
        others = (self.key_lengths, self.real_keys, self.before, self.table, self.first, self.blocks_of_keys)
        return self.after == 0 and all(other is None for other in others)

    def rows(self, rows: slice | Tensor) -> Mask:
        """The mask of some of the queries."""
        mask = self
        if self.blocks_of_queries is not None:
            mask = replace(mask, blocks_of_queries=self.blocks_of_queries[:, rows])
        if self.table is not None and self.table.shape[-2] > 1:
            mask = replace(mask, table=self.table[:, :, rows])
        return mask

    def of_heads(self, heads: slice | Tensor) -> Mask:
        """The mask of some of the heads."""
        if self.table is None or self.table.shape[1] == 1:
            return self
        return replace(self, table=self.table[:, heads])

    def of_blocks(self, item: int, queries: Tensor, keys: Tensor) -> Mask:
        """The mask of one item, cut into blocks that take the place of a batch.

        queries: (blocks, size), the numbers of each block's queries
        keys:    (blocks, reach), the numbers of its keys
        """

        def own(part: Tensor | None) -> Tensor | None:
            return None if part is None else part[item if len(part) > 1 else 0]

        lengths, real, first = own(self.key_lengths), own(self.real_keys), own(self.first)
        of_queries, of_keys = own(self.blocks_of_queries), own(self.blocks_of_keys)
        real = None if real is None else real[keys]
        return replace(
            self,
            key_lengths=None,
            real_keys=real if lengths is None else _both(real, keys < lengths),
            table=None if self.table is None else of_pairs(self.table, item, queries, keys),
            first=None if first is None else first[None],
            blocks_of_queries=None if of_queries is None else of_queries[queries],
            blocks_of_keys=None if of_keys is None else of_keys[keys],
        )

    def real_positions(self, time: int) -> Tensor | None:
        """Which elements are real and not padding: (batch, time); None where all are."""
        device = next((part.device for part in (self.key_lengths, self.real_keys) if part is not None), None)
        positions = torch.arange(time, device=device)[None]
        padding = Mask(key_lengths=self.key_lengths, real_keys=self.real_keys).dense(positions, positions)
        return None if padding is None else padding[:, 0, 0]

    def picture(self, queries: int, keys: int | None = None, *, start: int = 0) -> str:
        """The mask of the first item and head, drawn: # may look, . may not.

        start: where the first query stands (keys begin at 0), as in a later chunk of decoding
        """
        keys = queries if keys is None else keys
        dense = self.dense(torch.arange(start, start + queries)[None], torch.arange(keys)[None])
        if dense is None:
            return "\n".join("#" * keys for _ in range(queries))
        rows = dense[0, 0].expand(queries, keys).tolist()
        return "\n".join("".join("#" if allowed else "." for allowed in row) for row in rows)


def of_pairs(table: Tensor, item: int, queries: Tensor, keys: Tensor) -> Tensor:
    """Of numbers for each query and key those of one item, cut into blocks.

    table:  broadcasts to (batch, heads, queries, keys)
    queries, keys: (blocks, size) and (blocks, reach), which of them stand in each block
    output: (blocks | 1, heads | 1, size | 1, reach | 1)
    """
    table = table.reshape((1,) * (4 - table.dim()) + table.shape)
    table = table[item if len(table) > 1 else 0][None]
    if table.shape[2] > 1:
        # (1, heads, queries, keys) -> (blocks, heads, size, keys)
        table = table[0].index_select(1, queries.flatten()).unflatten(1, queries.shape).transpose(0, 1)
    if table.shape[3] > 1:
        own = keys[:, None, None].expand(-1, *table.shape[1:3], -1)
        table = table.expand(len(keys), -1, -1, -1).gather(3, own)
    return table


def _describe(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"


def _boolean(mask: Tensor, axes: int, names: str) -> Tensor:
    if mask.dtype != torch.bool:
        raise ShapeError(
            f"a mask is boolean and True means 'may look'; found {_describe(mask)}. "
            "Write mask == 1 if 1 means 'may look'; numbers to be added to the scores are given as bias"
        )
    if mask.dim() != axes:
        raise ShapeError(f"this mask is {names}, not {_describe(mask)}")
    return mask


def _ids(ids: Tensor) -> Tensor:
    if ids.dim() not in (1, 2) or ids.is_floating_point() or ids.dtype == torch.bool:
        raise ShapeError(f"blocks are whole numbers, (time,) or (batch, time), not {_describe(ids)}")
    return ids.reshape(-1, ids.shape[-1], 1)


def _side_by_side(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    if one.shape[1] != other.shape[1] or (len(one) != len(other) and 1 not in (len(one), len(other))):
        raise ShapeError(f"two masks know blocks of {tuple(one.shape[:2])} and {tuple(other.shape[:2])} (batch, time)")
    batch = max(len(one), len(other))
    return torch.cat((one.expand(batch, -1, -1), other.expand(batch, -1, -1)), -1)


def _nearer(one: int | None, other: int | None) -> int | None:
    known = [limit for limit in (one, other) if limit is not None]
    return min(known) if known else None


def _smaller(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    if len(one) != len(other) and 1 not in (len(one), len(other)):
        raise ShapeError(f"two masks have lengths for {len(one)} and for {len(other)} rows")
    return torch.minimum(one, other)


def _both(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return _joined(one, other)


def _joined(one: Tensor, other: Tensor) -> Tensor:
    try:
        return one & other
    except RuntimeError:
        raise ShapeError(
            f"two masks do not broadcast to each other: {tuple(one.shape)} and {tuple(other.shape)}"
        ) from None
