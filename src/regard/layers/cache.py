"""What a decoder remembers between steps, so that each step computes only what is new.

Keys and values are written once and stay where they are. The beams of an item share one store: what each of them writes
stands beside what the others write, and a table of booleans (`Lineage`) says what is whose past. When beams change
places, only this table changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.mask import Mask

# Room is made for so many elements at first, then for twice as many each time it is full.
_ROOM = 16

# Cells are cleared away when there are so many times as many as are wanted.
_WORN = 1.5


class Lineage:
    """Which of what was written is whose past: the same for all layers of a decoder.

    What is written lies in cells, each with a place of its own in the store; the beams of an item write cells beside
    each other, and a beam sees those that it goes on from.

    beam:   how many beams an item has; they are rows that follow one another
    length: how many elements each item has, as long as all have as many
    ages:   (items,), the same where some came later than others
    own:    (items, beam, cells), whether a cell is the past of a beam; None where all there is is everybody's past
    where:  (items, cells), at which position of its text each of these cells stands
    """

    def __init__(self, beam: int = 1) -> None:
        self.beam = beam
        self.length = 0
        self.ages: Tensor | None = None
        self.own: Tensor | None = None
        self.where = torch.empty(0, 0, dtype=torch.long)

    def begin(self, items: int, device: torch.device) -> None:
        """Each row writes a cell, which it sees itself."""
        if self.beam == 1 and self.ages is None:
            return
        if self.own is None:
            self.own = torch.ones(items, self.beam, self.length * self.beam, dtype=torch.bool, device=device)
            self.where = torch.arange(self.length, device=device).repeat_interleave(self.beam).expand(items, -1)
            if self.ages is not None:
                self.own = self.own & (self.ages > 0)[:, None, None]
        ages = torch.full((items,), self.length, device=device) if self.ages is None else self.ages
        itself = torch.eye(self.beam, dtype=torch.bool, device=device)
        self.own = torch.cat((self.own, itself.expand(items, -1, -1)), 2)
        self.where = torch.cat((self.where, ages[:, None].expand(-1, self.beam)), 1)

    def advance(self, count: int) -> None:
        """Each has so many elements more."""
        self.length += count
        self.ages = None if self.ages is None else self.ages + count

    def sight(self) -> Mask:
        """Who may look at what, while each row has one new element."""
        return Mask() if self.own is None else Mask(table=self.own[:, None])

    def items(self, rows: Tensor) -> Tensor:
        """The item of each beam's first row."""
        return rows[:: self.beam] // self.beam

    def select(self, rows: Tensor) -> None:
        """Go on with these rows."""
        items = self.items(rows)
        self.ages = None if self.ages is None else self.ages[items]
        if self.own is not None:
            self.own = self.own[items[:, None], (rows % self.beam).view(-1, self.beam)]
            self.where = self.where[items]

    def enter(self, places: Tensor, items: int) -> None:
        """In these places of so many items are new ones, of which nothing is written yet."""
        if self.length == 0:  # all are as new
            return
        if self.ages is None:
            self.ages = torch.full((items,), self.length, device=places.device)
        self.ages = self.ages.index_fill(0, places, 0)
        if self.own is not None:
            self.own = self.own.index_fill(0, places, False)

    def worn(self) -> Tensor | None:
        """(items, cells), which cells to keep, once a good part of them is nobody's past any more."""
        if self.own is None:
            return None
        live = self.own.any(1)
        most = int(live.sum(1).max())
        if live.shape[1] < _WORN * (most + 2 * self.beam):
            return None
        kept = live.byte().argsort(dim=1, descending=True, stable=True)[:, :most]
        self.own = self.own.gather(2, kept[:, None].expand(-1, self.beam, -1))
        self.where = self.where.gather(1, kept)
        return kept


class AttentionCache:
    """The keys and values of what was written, as one attention layer sees them.

    keys, values: (items, heads, cells, head_width); None before the first step. They are written in place into a store
                  that grows, and are not meant to be trained through
    positions:    (batch | 1, cells), where they stand
    """

    def __init__(self, lineage: Lineage | None = None) -> None:
        self.lineage = Lineage() if lineage is None else lineage
        self.cells = 0
        self.positions: Tensor | None = None
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    @property
    def keys(self) -> Tensor | None:
        return None if self._keys is None else self._keys[:, :, : self.cells]

    @property
    def values(self) -> Tensor | None:
        return None if self._values is None else self._values[:, :, : self.cells]

    @property
    def sight(self) -> Mask:
        """Who may look at what of it."""
        return self.lineage.sight()

    def extend(self, keys: Tensor, values: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Remember new keys and values, and where they stand; gives all there are.

        keys, values: (rows, heads, new, head_width); of several beams one new element each
        positions:    (rows | 1, new)
        """
        keys, values = self._beside(keys), self._beside(values)
        new = slice(self.cells, self.cells + keys.shape[2])
        self.cells = new.stop
        self._keys, self._values = _with_room(self._keys, keys, new.stop), _with_room(self._values, values, new.stop)
        self._keys[:, :, new], self._values[:, :, new] = keys, values
        if self.lineage.own is not None:
            self.positions = self.lineage.where
        else:
            self.positions = positions if self.positions is None else torch.cat((self.positions, positions), 1)
        return self._keys[:, :, : new.stop], self._values[:, :, : new.stop], self.positions

    def _beside(self, new: Tensor) -> Tensor:
        """(rows, heads, new, head_width) -> (items, heads, new * beam, head_width)"""
        beam = self.lineage.beam
        return new if beam == 1 else new.squeeze(2).unflatten(0, (-1, beam)).transpose(1, 2)

    def select(self, rows: Tensor) -> None:
        """Go on with these rows only, in this order (a row may be taken several times); beams stay with their item."""
        items = self.lineage.items(rows)
        if self._keys is not None and self._values is not None and not _all_there(items, len(self._keys)):
            self._keys, self._values = self._keys[items], self._values[items]
        if self.positions is not None and len(self.positions) > 1:
            self.positions = self.positions[items]

    def keep(self, cells: Tensor) -> None:
        """Of each item these cells only, (items, cells); the others' room is free again."""
        assert self._keys is not None and self._values is not None
        self.cells = cells.shape[1]
        for store in (self._keys, self._values):
            each = torch.arange(len(store), device=cells.device)[:, None]
            store[:, :, : self.cells] = store[each, :, cells].transpose(1, 2)

    def enter(self, rows: Tensor) -> None:
        """What is there of others is not seen by those that are new."""


class MemoryCache:
    """The keys and values which one layer's attention makes of what was read: projected once.

    keys, values: (items, heads, time, head_width), or None before the first step
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def keep(self, project: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """The keys and values of a memory that stays the same."""
        if self.keys is None or self.values is None:
            self.keys, self.values = project()
        return self.keys, self.values

    def select(self, items: Tensor) -> None:
        """Go on with these items only."""
        if self.keys is not None and self.values is not None and not _all_there(items, len(self.keys)):
            self.keys, self.values = self.keys[items], self.values[items]

    def enter(self, places: Tensor, items: int, keys: Tensor, values: Tensor, time: int) -> None:
        """Put others in these places of so many items; all are then so many elements long, padding included."""
        self.keys = _placed(self.keys, places, items, keys, time)
        self.values = _placed(self.values, places, items, values, time)


class StateCache:
    """What a convolution or a recurrence remembers of what it has seen.

    state: tensors whose first axis is the batch; None before the first step
    """

    def __init__(self) -> None:
        self.state: tuple[Tensor, ...] | None = None

    def select(self, rows: Tensor) -> None:
        """Go on with these rows of the batch only, in this order (a row may be taken several times)."""
        if self.state is not None:
            self.state = tuple(part[rows] for part in self.state)

    def keep(self, cells: Tensor) -> None:
        """There are no cells here that could be cleared away."""

    def enter(self, rows: Tensor) -> None:
        """These rows begin anew."""
        if self.state is not None:
            self.state = tuple(part.index_fill(0, rows, 0) for part in self.state)


class BlockCache:
    """The caches of one decoder block: of what looks back at what was written, and of the attention to the memory."""

    def __init__(self, attention: AttentionCache | StateCache) -> None:
        self.attention = attention
        self.cross_attention = MemoryCache()


class Cache:
    """The caches of a decoder's blocks, and how many elements they have seen.

    lineage: whose past is what, where several beams of an item are written, or some items later than others
    """

    def __init__(self, blocks: Iterable[BlockCache], lineage: Lineage) -> None:
        self.blocks = list(blocks)
        self.lineage = lineage
        self.length = 0

    def begin(self, x: Tensor) -> Tensor:
        """Make room for new elements, (rows, new, width); gives where they stand, (rows | 1, new)."""
        # Not len(…), which makes a fixed number of a size that is open while a model is exported.
        self.lineage.begin(x.shape[0] // self.lineage.beam, x.device)
        if self.lineage.ages is not None:
            return self.lineage.ages.repeat_interleave(self.lineage.beam)[:, None]
        return torch.arange(self.length, self.length + x.shape[1], device=x.device)[None]

    def written(self, items: int) -> list[int]:
        """How many elements each of so many items has."""
        ages = self.lineage.ages
        return [self.length] * items if ages is None else ages.tolist()

    def advance(self, count: int) -> None:
        """So many new elements are there."""
        self.length += count
        self.lineage.advance(count)

    def select(self, rows: Tensor) -> None:
        """Go on with these rows of what is written only, in this order; beams stay with their item."""
        self.lineage.select(rows)
        kept = self.lineage.worn()
        for block in self.blocks:
            block.attention.select(rows)
            if kept is not None:
                block.attention.keep(kept)

    def select_memory(self, items: Tensor) -> None:
        """Go on with these items of the memory only."""
        for block in self.blocks:
            block.cross_attention.select(items)

    def enter(self, places: Tensor, items: int, memory: Sequence[tuple[Tensor, Tensor]], time: int) -> None:
        """Others take these places of so many items.

        memory: for each block the keys and values of what they read, none where nothing is read; all are then so many
                elements long
        """
        beam = self.lineage.beam
        rows = (places[:, None] * beam + torch.arange(beam, device=places.device)).flatten()
        self.lineage.enter(places, items)
        for block in self.blocks:
            block.attention.enter(rows)
        for block, (keys, values) in zip(self.blocks, memory, strict=bool(memory)):
            block.cross_attention.enter(places, items, keys, values, time)


def _with_room(store: Tensor | None, new: Tensor, wanted: int) -> Tensor:
    """The store, or a larger one with what was in it."""
    if store is not None and store.shape[2] >= wanted:
        return store
    room = max(wanted, _ROOM * new.shape[2], 0 if store is None else 2 * store.shape[2])
    larger = new.new_zeros(*new.shape[:2], room, new.shape[3])
    if store is not None:
        larger[:, :, : store.shape[2]] = store
    return larger


def _placed(store: Tensor | None, places: Tensor, items: int, new: Tensor, time: int) -> Tensor:
    placed = new.new_zeros(items, new.shape[1], time, new.shape[3]) if store is None else _of_time(store, time)
    placed[places] = _of_time(new, time)
    return placed


def _of_time(x: Tensor, time: int) -> Tensor:
    """Longer by padding, or shorter: (items, heads, time, head_width)."""
    return x[:, :, :time] if x.shape[2] >= time else F.pad(x, (0, 0, 0, time - x.shape[2]))


def _all_there(items: Tensor, count: int) -> bool:
    return len(items) == count and bool((items == torch.arange(count, device=items.device)).all())


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Several batches as one, (items, heads, longest, head_width), with padding where one is shorter."""
    longest = max(part.shape[2] for part in parts)
    return torch.cat([_of_time(part, longest) for part in parts])
