"""Examples -> batches of nearly equal lengths under a budget, in an order that (seed, epoch) decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.tokenizer import Encoded

# What stands where nothing is learnt: a label that is unknown, to be ignored, or padding.
IGNORED = -100

# What stands behind the end of each input that is as long as its item (or as its word).
_PADDING = {
    **dict.fromkeys(("piece_numbers", "word_of_piece", "word_numbers", "written", "shared", "letters", "spellings"), 0),
    "texts": -1,
}

# Lengths are shaken by up to this share before they are sorted, so that the same items do not always meet.
_SHAKE = 0.1


def plan(lengths: Sequence[int], budget: int, *, seed: int | None = None, epoch: int = 0) -> list[list[int]]:
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
    batches: list[list[int]] = []
    longest = 0
    for item in order.tolist():
        longest = max(longest, int(sizes[item])) if batches else int(sizes[item])
        if batches and (len(batches[-1]) + 1) * longest <= budget:
            batches[-1].append(item)
        else:
            batches.append([item])
            longest = int(sizes[item])
    if seed is not None:
        batches = [batches[place] for place in random.permutation(len(batches)).tolist()]
    return batches


@dataclass(frozen=True)
class Item:
    """An example as numbers: what goes in, and what should come out for each target column.

    labels:  for each column the numbers of labels (whole), or measured numbers (not whole); where an answer is several
             classes, 1 or 0 for each class there is
    words:   how many words it has
    answers: how many answers it gets: one for each word, one for the whole, or one for each piece that is written
    written: what is known of the text to be written when each of its pieces is asked for
    texts:   which text each vector belongs to, where several are read apart
    shared:  whether each word stands in another of the texts too (1) or not (0), where that is marked
    """

    encoded: Encoded
    labels: Mapping[str, tuple[int, ...] | tuple[float, ...]]
    words: int
    answers: int
    written: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Its share in the size of a batch: what is read or what is written, whichever is longer."""
        return max(self.length, len(self.written))

    @property
    def length(self) -> int:
        """How many vectors the network reads."""
        return len(self.encoded.pieces) or self.words


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
    if chosen and any(item.encoded.pieces for item in chosen):
        inputs["piece_numbers"] = _padded([item.encoded.pieces for item in chosen], _PADDING["piece_numbers"])
        inputs["word_of_piece"] = _padded([item.encoded.word_of_piece for item in chosen], _PADDING["word_of_piece"])
    else:
        inputs["word_numbers"] = _padded([item.encoded.words for item in chosen], _PADDING["word_numbers"])
    if any(item.written for item in chosen):
        inputs["written"] = _padded([item.written for item in chosen], _PADDING["written"])
    if any(item.texts for item in chosen):
        inputs["texts"] = _padded([item.texts for item in chosen], _PADDING["texts"])
    if any(item.shared for item in chosen):
        inputs["shared"] = _padded([item.shared for item in chosen], _PADDING["shared"])
    if any(item.encoded.letters for item in chosen):
        inputs.update(_distinct([item.encoded for item in chosen]))
    # Where only some of the items have labels, the others' are unknown.
    columns = dict.fromkeys(column for item in chosen for column in item.labels)
    labels = {
        column: _targets([item.labels.get(column) for item in chosen], [item.answers for item in chosen])
        for column in columns
    }
    return Batch(inputs, labels, list(numbers))


def batches(items: Sequence[Item], budget: int) -> Iterator[Batch]:
    """All items once, for evaluation and prediction."""
    for numbers in plan([item.size for item in items], budget):
        yield collate(items, numbers)


def longer(batch: Batch, more: int) -> Batch:
    """The same with so many places more of padding behind each item, and behind each word's letters."""
    inputs = {
        name: F.pad(tensor, (0, more), value=_PADDING[name]) if name in _PADDING else tensor
        for name, tensor in batch.inputs.items()
    }
    return Batch(inputs, batch.labels, batch.items)


def _targets(rows: Sequence[tuple[int, ...] | tuple[float, ...] | None], answers: Sequence[int]) -> Tensor:
    """(rows, most answers); what is not known is IGNORED among labels, and not a number among numbers."""
    measured = any(isinstance(value, float) for row in rows for value in row or ())
    nothing = math.nan if measured else IGNORED
    filled = [(nothing,) * count if row is None else row for row, count in zip(rows, answers, strict=True)]
    return _padded(filled, nothing, np.float32 if measured else np.int64)


def _padded(rows: Sequence[Sequence[float]], padding: float, kind: type[np.number[Any]] = np.int64) -> Tensor:
    """(rows, longest)"""
    longest = max((len(row) for row in rows), default=0)
    table = np.full((len(rows), longest), padding, dtype=kind)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return torch.from_numpy(table)


def _distinct(texts: Sequence[Encoded]) -> dict[str, Tensor]:
    """The spelling of each distinct word once, since words come again and again, and which word stands where.

    letters: (distinct, longest word); affixes: (distinct, 3); spellings: (batch, longest in words), rows of the others
    """
    spelled = [list(zip(text.letters, text.affixes, strict=True)) for text in texts]
    # From short to long, so that they can be read in groups with little padding; row 0 is padding.
    words = sorted({word for text in spelled for word in text}, key=lambda word: (len(word[0]), word))
    numbers = {word: number for number, word in enumerate(words, 1)}
    return {
        "letters": _padded([(), *(letters for letters, _ in words)], 0),
        "affixes": _padded([(0, 0, 0), *(affixes for _, affixes in words)], 0),
        "spellings": _padded([[numbers[word] for word in text] for text in spelled], 0),
    }
