"""Examples -> batches of nearly equal lengths under a budget, in an order that (seed, epoch) decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.kind import Encoded
from regard.data.padding import PADDING, padded

# What stands where nothing is learnt: a label that is unknown, to be ignored, or padding.
IGNORED = -100

# Lengths are shaken by up to this share before they are sorted, so that the same items do not always meet.
_SHAKE = 0.1


class Plan(Sequence[list[int]]):
    """Which items make up which batch, in the memory of one number for each item.

    order: (items,), all items; ends: (batches,), where each batch ends in it; places: (batches,), which comes when
    """

    def __init__(self, order: np.ndarray, ends: np.ndarray, places: np.ndarray) -> None:
        self.order, self.ends, self.places = order, ends, places

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, number: int) -> list[int]: ...
    @overload
    def __getitem__(self, number: slice) -> list[list[int]]: ...
    def __getitem__(self, number: int | slice) -> list[int] | list[list[int]]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        place = int(self.places[number])
        begin = 0 if place == 0 else int(self.ends[place - 1])
        found: list[int] = self.order[begin : self.ends[place]].tolist()
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


# So many items at a time are plain numbers of Python's, which take several times the memory.
_AT_A_TIME = 1 << 16


def plan(lengths: Sequence[int] | np.ndarray, budget: int, *, seed: int | None = None, epoch: int = 0) -> Plan:
    """Which items make up which batch: items × longest ≤ budget; an item that is longer goes alone.

    With a seed the order is drawn anew for each epoch, a pure function of (seed, epoch); without, batches go from
    short to long.
    """
    sizes = np.maximum(np.asarray(lengths, dtype=np.int64), 1)
    if seed is None:
        order = np.argsort(sizes, kind="stable")
    else:
        random = np.random.default_rng((seed, epoch))
        order = np.argsort(sizes * (1 + _SHAKE * random.random(len(sizes))), kind="stable")
    ends: list[int] = []
    longest = count = 0
    for begin in range(0, len(order), _AT_A_TIME):
        for place, size in enumerate(sizes[order[begin : begin + _AT_A_TIME]].tolist(), begin):
            longest, count = max(longest, size), count + 1
            if count > 1 and count * longest > budget:
                ends.append(place)
                longest, count = size, 1
    ends += [len(order)] if len(order) else []
    places = np.arange(len(ends)) if seed is None else random.permutation(len(ends))
    return Plan(order, np.array(ends, dtype=np.int64), places)


@dataclass(frozen=True)
class Item:
    """An example as numbers: what goes in, and what should come out for each target column.

    labels:  for each column the numbers of labels (whole), or measured numbers (not whole); where an answer is several
             classes, 1 or 0 for each class there is
    words:   how many words it has
    answers: how many answers it gets: one for each word, one for the whole, or one for each piece that is written
    written: what is known of the text to be written when each of its pieces is asked for
    texts:   which text each vector belongs to, where several are read apart
    spelled: whether each of the vectors that are read answers, whatever their number
    shared:  whether each word stands in another of the texts too (1) or not (0), where that is marked
    asked:   which of its vectors are asked for, where not all are
    """

    encoded: Encoded
    labels: Mapping[str, tuple[int, ...] | tuple[float, ...]]
    words: int
    answers: int
    written: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()
    spelled: bool = False

    @property
    def size(self) -> int:
        """Its share in the size of a batch: what is read or what is written, whichever is longer."""
        return max(self.length, len(self.written))

    @property
    def length(self) -> int:
        """How many vectors the network reads."""
        return self.encoded.length


@dataclass(frozen=True)
class Batch:
    """Items side by side, padded to the longest.

    inputs: what the input part reads; always with
        lengths: (batch,), how many vectors each item has
        words:   (batch,), how many words each item has
        answers: (batch,), how many answers each item gets
        texts:   (batch, most vectors), where several are read apart: which text each vector belongs to; below 0 what
                 parts them, and padding
        shared:  (batch, most words), where that is marked: whether each word stands in another text too
        written: (batch, most answers), where a text is written: what is known when each piece is asked for
        asked:   (batch, most answers), where not all vectors are asked for: which are
    labels: for each target column (batch, most answers), or (batch, classes) where an answer is several classes;
            IGNORED, or not a number, where nothing is learnt
    items:  which items these are
    """

    inputs: dict[str, Tensor]
    labels: dict[str, Tensor]
    items: list[int]

    @property
    def size(self) -> int:
        """How many vectors the network sees, padding included."""
        return int(self.inputs["lengths"].max()) * len(self.items)

    def to(self, device: torch.device) -> Batch:
        if device.type == "cpu":
            return self
        return Batch(
            {name: tensor.to(device, non_blocking=True) for name, tensor in self.inputs.items()},
            {name: tensor.to(device, non_blocking=True) for name, tensor in self.labels.items()},
            self.items,
        )


def collate(items: Sequence[Item], numbers: Sequence[int]) -> Batch:
    """Some of the items as one batch."""
    chosen = [items[number] for number in numbers]
    inputs = {
        "lengths": torch.tensor([item.length for item in chosen]),
        "words": torch.tensor([item.words for item in chosen]),
        "answers": torch.tensor([item.answers for item in chosen]),
    }
    if chosen:
        inputs |= type(chosen[0].encoded).side_by_side([item.encoded for item in chosen])
    if any(item.written for item in chosen):
        inputs["written"] = padded([item.written for item in chosen], PADDING["written"])
    if any(item.texts for item in chosen):
        inputs["texts"] = padded([item.texts for item in chosen], PADDING["texts"])
    if any(item.shared for item in chosen):
        inputs["shared"] = padded([item.shared for item in chosen], PADDING["shared"])
    if any(item.asked for item in chosen):
        inputs["asked"] = padded([item.asked for item in chosen], PADDING["asked"])
    # Where only some of the items have labels, the others' are unknown.
    columns = dict.fromkeys(column for item in chosen for column in item.labels)
    labels = {
        column: _targets([item.labels.get(column) for item in chosen], [item.answers for item in chosen])
        for column in columns
    }
    return Batch(inputs, labels, list(numbers))


class Items(Protocol):
    """Items that are learnt from, be they kept in memory or made when they are asked for."""

    @property
    def sizes(self) -> Sequence[int] | np.ndarray:
        """The size of each."""

    def batch(self, numbers: Sequence[int], epoch: int) -> Batch:
        """Some of them, as they are in that epoch."""


def batches(items: Sequence[Item], budget: int) -> Iterator[Batch]:
    """All items once, for evaluation and prediction."""
    for numbers in plan([item.size for item in items], budget):
        yield collate(items, numbers)


def longer(batch: Batch, more: int) -> Batch:
    """The same with so many places more of padding behind each item, and behind each word's letters."""
    inputs = {
        name: _longer(tensor, more, PADDING[name]) if name in PADDING else tensor
        for name, tensor in batch.inputs.items()
    }
    return Batch(inputs, batch.labels, batch.items)


def _longer(tensor: Tensor, more: int, padding: float) -> Tensor:
    """(batch, time, …) -> (batch, time + more, …)"""
    return F.pad(tensor, (0, 0) * (tensor.dim() - 2) + (0, more), value=padding)


def _targets(rows: Sequence[tuple[int, ...] | tuple[float, ...] | None], answers: Sequence[int]) -> Tensor:
    """(rows, most answers); what is not known is IGNORED among labels, and not a number among numbers."""
    measured = any(isinstance(value, float) for row in rows for value in row or ())
    nothing = math.nan if measured else IGNORED
    filled = [(nothing,) * count if row is None else row for row, count in zip(rows, answers, strict=True)]
    return padded(filled, nothing, np.float32 if measured else np.int64)
