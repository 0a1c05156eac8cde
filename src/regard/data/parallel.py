"""Parallel text: a line of one file is what is read, the same line of another is what is learnt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from regard.data.example import Example, Place
from regard.data.lines import Line
from regard.data.table import Split
from regard.errors import DataError

# The column of what is learnt, where nothing else names it.
TARGET = "target"

# So many places of pairs that are left out are named.
_SHOWN = 5


@dataclass(frozen=True)
class Blank:
    """A pair of lines that is no example, since a side of it is blank.

    both: whether the other side is blank too
    """

    place: Place
    both: bool


class Parallel:
    """Reads two files side by side: line n of the first with line n of the second."""

    name = "parallel"

    def __init__(self, *, split: Split, column: str = TARGET) -> None:
        self.split = split
        self.column = column

    def pairs(
        self, sources: Iterator[Line], targets: Iterator[Line], files: tuple[str, str]
    ) -> Iterator[Example | Blank]:
        """Each pair of lines; files of unequal length belong to different texts, and are refused when the shorter ends.

        files: what the two are called in messages
        """
        counts = [0, 0]
        for source, target in zip_longest(sources, targets):
            counts = [count + (line is not None) for count, line in zip(counts, (source, target), strict=True)]
            if source is None or target is None:
                continue  # the rest is counted, for the message
            place = Place(files[0], source[0])
            if source[1].strip() and target[1].strip():
                yield Example(self.split(source[1]), {self.column: (target[1],)}, place, whole=True)
            else:
                yield Blank(place, both=not source[1].strip() and not target[1].strip())
        if counts[0] != counts[1]:
            raise DataError(
                f"{files[0]} has {counts[0]:,} lines and {files[1]} has {counts[1]:,}; in parallel files each line has "
                "its counterpart on the same line"
            )


def left_out(blanks: Sequence[Blank], pairs: int, files: tuple[str, str]) -> str:
    """The sentence about pairs of which one side is blank; nothing where there are none."""
    half = [blank for blank in blanks if not blank.both]
    if not half:
        return ""
    places = ", ".join(str(blank.place.line) for blank in half[:_SHOWN])
    more = ", …" if len(half) > _SHOWN else ""
    both = len(blanks) - len(half)
    return (
        f"left out: {len(half):,} of {pairs:,} pairs of {files[0]} and {files[1]}, which are blank on one side (lines "
        f"{places}{more})" + (f", and {both:,} that are blank on both" if both else "")
    )
