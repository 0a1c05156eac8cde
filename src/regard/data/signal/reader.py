"""What all readers of signals have in common: what is wanted of a file, and how answers are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.example import Example
from regard.data.text import one_line
from regard.errors import DataError

# The one target column of files that name none.
TARGET = "label"

Column = str | int


@dataclass(frozen=True)
class Wanted:
    """What of a file is read, and what is learnt.

    answers:    one for the whole item, one for each step or patch, or none (what is to come is cut off later)
    source:     the columns that are read, all where none is named
    target:     the columns that are learnt
    item:       the column whose equal values make an item
    header:     whether a table's first line names its columns; None: where it holds a text that is no number
    patch:      images: so many pixels on each side make one patch
    predicting: whether there need be no targets
    rate:       of speech, the samples in a second that are wanted
    """

    answers: str = "whole"
    source: Sequence[Column] = ()
    target: Sequence[Column] = ()
    item: Column | None = None
    header: bool | None = None
    predicting: bool = False
    encoding_errors: str = "strict"
    patch: int = 1
    rate: int = 16000


class SignalReader:
    """Reads a file (or a folder) of signals: each example, or what is wrong with it."""

    name = ""

    def __init__(self, wanted: Wanted, check: Callable[[Example], object] = lambda example: None) -> None:
        """check: raises a DataError at an example that its kind of input cannot be"""
        self.wanted = wanted
        self.check = check

    def found(self, path: str | Path) -> Iterator[Example | DataError]:
        """Each example that can be what it should be, or what is wrong with it."""
        for one in self.read(path):
            try:
                if isinstance(one, Example):
                    self.check(one)
                yield one
            except DataError as error:
                yield error

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        """Each example, or what is wrong with it."""
        raise NotImplementedError

    def notes(self) -> Iterator[str]:
        """What is to be told of what was read."""
        yield from ()

    def write(self, example: Example, labels: Mapping[str, Sequence[str]]) -> str:
        """A line for each item: its answers, those of several columns parted by tabs, several of one by spaces."""
        return "\t".join(" ".join(map(one_line, of_column)) for of_column in labels.values())


def steps(count: int) -> tuple[str, ...]:
    """What people call the steps of a series."""
    return tuple(str(step) for step in range(1, count + 1))
