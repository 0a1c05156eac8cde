"""CoNLL-U: Universal Dependencies' treebanks, a word a line in ten columns.

Source: https://universaldependencies.org/format.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import conllu
from conllu.exceptions import ParseException

from regard.data.example import Example, Place
from regard.data.lines import Line, blocks
from regard.errors import DataError, nearest

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

# Kept as they are written, so that what is not predicted is written back to the letter.
_AS_WRITTEN = {column: (lambda line, index: line[index]) for column in COLUMNS if column != "id"}


class Conllu:
    """Reads and writes CoNLL-U. Only words are examples' words; ranges (1-2), empty nodes (2.1) and comments are kept
    and written back."""

    name = "conllu"

    def __init__(self, source: str | int | None, target: Sequence[str | int], *, predicting: bool = False) -> None:
        self.source = _column("form" if source is None else source, "data.source")
        self.target = tuple(_column(column, "data.target") for column in target)
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
        sentence = example.record.copy()
        words = [token for token in sentence if isinstance(token["id"], int)]
        for column, answers in labels.items():
            for token, answer in zip(words, answers, strict=True):
                token[column] = answer
        return sentence.serialize().removesuffix("\n")

    def _example(self, block: list[Line], file: str) -> Example:
        _check_columns(block, file)
        _check_numbers(block, file)
        try:
            text = "\n".join(line for _, line in block) + "\n\n"
            sentence = conllu.parse(text, fields=COLUMNS, field_parsers=_AS_WRITTEN)[0]
        except (ParseException, IndexError) as error:
            reason = (str(error) or "it has no words").splitlines()[0]
            raise DataError(f"{file}, line {block[0][0]}: this sentence is no CoNLL-U: {reason}") from None
        words = [token for token in sentence if isinstance(token["id"], int)]
        labels = {column: tuple(token[column] for token in words) for column in self.target if not self.predicting}
        return Example(
            words=tuple(token[self.source] for token in words),
            labels=labels,
            place=Place(file, block[0][0]),
            record=sentence if self.predicting else None,
        )


def _column(column: str | int, setting: str) -> str:
    """The column's name, from a name or a number from 1."""
    if isinstance(column, int) and 1 <= column <= len(COLUMNS):
        return COLUMNS[column - 1]
    if column in COLUMNS:
        return str(column)
    raise DataError(
        f"{setting}: CoNLL-U has no column {column}; it has {', '.join(COLUMNS)}{nearest(str(column), COLUMNS)}"
    )


def _check_columns(block: list[Line], file: str) -> None:
    for number, line in block:
        columns = line.count("\t") + 1
        if columns != len(COLUMNS) and not _is_comment(line):
            raise DataError(
                f"{file}, line {number}: {columns} columns where CoNLL-U has {len(COLUMNS)}, parted by tabs"
            )


def _is_comment(line: str) -> bool:
    # A comment stands before the words; a word "#" has a number before it.
    return line.startswith("#")


def _check_numbers(block: list[Line], file: str) -> None:
    """Words are numbered 1, 2, 3 …; a range goes from a word to a later one and stands before its first word."""
    word = 0
    covered = 0
    for number, line in block:
        if _is_comment(line):
            continue
        written = line.split("\t", 1)[0]
        first, dash, last = written.partition("-")
        whole, dot, _ = written.partition(".")
        if dash and first.isdecimal() and last.isdecimal():
            if int(first) >= int(last) or int(first) != word + 1 or int(first) <= covered:
                raise DataError(
                    f"{file}, line {number}: the range {written} must go from the next word ({word + 1}) to a later one"
                )
            covered = int(last)
        elif dot and whole.isdecimal():
            if int(whole) != word:
                raise DataError(f"{file}, line {number}: the empty node {written} does not follow word {whole}")
        elif written.isdecimal() and int(written) == word + 1:
            word += 1
        else:
            raise DataError(f"{file}, line {number}: {written!r} stands where word {word + 1} was expected")
    if covered > word:
        raise DataError(f"{file}, line {block[-1][0]}: a range goes to word {covered}, but the last word is {word}")
