"""CoNLL-U: Universal Dependencies' treebanks, a word a line in ten columns.

Source: https://universaldependencies.org/format.html

The lines are read here and not by the library conllu (the tests' oracle): it also splits cells at two spaces, drops
comments that are no key = value, and so would not give back what it read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from regard.data.example import Example, Place
from regard.data.lines import Line, blocks
from regard.errors import DataError, nearest

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


class Conllu:
    """Reads and writes CoNLL-U. Only words are examples' words; ranges (1-2), empty nodes (2.1) and comments are kept
    and written back to the letter."""

    name = "conllu"

    def __init__(self, source: str | int | None, target: Sequence[str | int], *, predicting: bool = False) -> None:
        self.source = _column("form" if source is None else source, "data.source")
        self.target = {COLUMNS[number]: number for number in (_column(name, "data.target") for name in target)}
        self.predicting = predicting

    def examples(self, lines: Iterator[Line], file: str) -> Iterator[Example | DataError]:
        """Each sentence, or what is wrong with it."""
        for block in blocks(lines):
            try:
                yield self._example(block, file)
            except DataError as error:
                yield error

    def write(self, example: Example, labels: Mapping[str, Sequence[str]]) -> str:
        """The sentence as it was read, with labels in the columns that were predicted."""
        lines = [line.split("\t") for line in example.record]
        words = [cells for cells in lines if cells[0].isdecimal()]
        for column, answers in labels.items():
            for cells, answer in zip(words, answers, strict=True):
                cells[self.target[column]] = answer
        return "".join("\t".join(cells) + "\n" for cells in lines)

    def _example(self, block: list[Line], file: str) -> Example:
        rows = [(number, line.split("\t")) for number, line in block if not _is_comment(line)]
        for number, cells in rows:
            if len(cells) != len(COLUMNS):
                raise DataError(
                    f"{file}, line {number}: {len(cells)} columns where CoNLL-U has {len(COLUMNS)}, parted by tabs"
                )
        _check_numbers([(number, cells[0]) for number, cells in rows], file)
        words = [cells for _, cells in rows if cells[0].isdecimal()]
        return Example(
            words=tuple(cells[self.source] for cells in words),
            labels={}
            if self.predicting
            else {name: tuple(cells[number] for cells in words) for name, number in self.target.items()},
            place=Place(file, block[0][0]),
            record=[line for _, line in block] if self.predicting else None,
        )


def _column(column: str | int, setting: str) -> int:
    """Where the column stands, from its name or its number from 1."""
    if isinstance(column, int) and 1 < column <= len(COLUMNS):
        return column - 1
    if column in COLUMNS[1:]:
        return COLUMNS.index(str(column))
    raise DataError(
        f"{setting}: CoNLL-U has no column {column} to read; "
        f"it has {', '.join(COLUMNS[1:])}{nearest(str(column), COLUMNS[1:])}"
    )


def _is_comment(line: str) -> bool:
    # A word "#" has a number before it.
    return line.startswith("#")


def _check_numbers(ids: Sequence[tuple[int, str]], file: str) -> None:
    """Words are numbered 1, 2, 3 …; a range goes from the next word to a later one; an empty node follows its word."""
    word = covered = 0
    for number, written in ids:
        first, dash, last = written.partition("-")
        whole, dot, part = written.partition(".")
        if dash and first.isdecimal() and last.isdecimal():
            if not covered < int(first) == word + 1 < int(last):
                raise DataError(
                    f"{file}, line {number}: the range {written} must go from the next word ({word + 1}) to a later one"
                )
            covered = int(last)
        elif dot and whole.isdecimal() and part.isdecimal():
            if int(whole) != word:
                raise DataError(f"{file}, line {number}: the empty node {written} does not follow word {whole}")
        elif written.isdecimal() and int(written) == word + 1:
            word += 1
        else:
            raise DataError(f"{file}, line {number}: {written!r} stands where word {word + 1} was expected")
    if covered > word:
        raise DataError(f"{file}, line {ids[-1][0]}: a range goes to word {covered}, but the last word is {word}")
