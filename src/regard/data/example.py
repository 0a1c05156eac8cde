"""What a reader gives: one example, and where it stood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Place:
    """Where an example begins: a file and a line counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Late:
    """A signal that stays in its file until it is needed, so that a folder of them need not fit into memory.

    load:  reads a file, or the part of it from start to end (in the file's own unit; None: all of it)
    shape: that of its values, where it is known already
    """

    path: str
    load: Callable[[str, float | None, float | None], np.ndarray]
    start: float | None = None
    end: float | None = None
    shape: tuple[int, ...] = ()

    def read(self) -> np.ndarray:
        """The values."""
        return self.load(self.path, self.start, self.end)


# What is read where it is not words: vectors (time, columns), not a number where a value is missing; an image
# (height, width, channels) of bytes or of 16 bits; speech (samples,).
Signal = np.ndarray | Late


def values_of(signal: Signal) -> np.ndarray:
    """The values of a signal, from memory or from its file."""
    return signal.read() if isinstance(signal, Late) else signal


@dataclass(frozen=True)
class Example:
    """A sequence of words and, where they are known, labels from each target column.

    Where a signal is read, the words are what people call that which is answered: the item, where there is one answer
    for the whole; its steps or patches, where each has one; the steps to come, where they are forecast.

    whole:  whether a column has one label for the whole sequence, and not one for each word
    others: what would be right too, where several texts are
    group:  whose it is, where all of a group are learnt from or none
    record: what it was read from, so that answers can be written into it
    signal: what is read, where that is no text
    columns: what the columns of a series are called
    """

    words: tuple[str, ...]
    labels: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    place: Place = Place("-", 0)
    whole: bool = False
    others: tuple[str, ...] = ()
    group: str | None = None
    record: Any = field(default=None, compare=False)
    signal: Signal | None = field(default=None, compare=False, repr=False)
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wanted = 1 if self.whole else len(self.words)
        for column, labels in self.labels.items():
            assert len(labels) == wanted, f"{self.place}: {len(labels)} labels of {column} for {self.words}"
