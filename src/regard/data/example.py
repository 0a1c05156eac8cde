"""What a reader gives: one example, and where it stood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where an example begins: a file and a line counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Example:
    """A sequence of words and, where they are known, labels from each target column.

    whole:  whether a column has one label for the whole sequence, and not one for each word
    others: what would be right too, where several texts are
    group:  whose it is, where all of a group are learnt from or none
    record: what it was read from, so that answers can be written into it
    """

    words: tuple[str, ...]
    labels: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    place: Place = Place("-", 0)
    whole: bool = False
    others: tuple[str, ...] = ()
    group: str | None = None
    record: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        wanted = 1 if self.whole else len(self.words)
        for column, labels in self.labels.items():
            assert len(labels) == wanted, f"{self.place}: {len(labels)} labels of {column} for {self.words}"
