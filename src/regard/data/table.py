"""Tables: a line is an example, its columns are what is read and what is learnt (TSV, CSV, JSON lines)."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from regard.data.example import Example, Place
from regard.data.lines import Line
from regard.data.text import one_line
from regard.data.vocabulary import SEPARATOR
from regard.errors import DataError, nearest

# How a text becomes words.
Split = Callable[[str], tuple[str, ...]]

Row = tuple[int, list[str]]


class Table:
    """Reads a table's rows as examples whose target is one value for the whole.

    Columns are given by name, where the first line names them, or by number from 1. Every cell is text, whatever it
    looks like: null and NA are words.
    """

    name = "table"

    def __init__(
        self,
        source: Sequence[str | int],
        target: Sequence[str | int],
        *,
        split: Split,
        header: bool | None = None,
        group: str | int | None = None,
        predicting: bool = False,
    ) -> None:
        self.source = tuple(source) or (1,)
        # What is not read is learnt: the second column, or the first where the second is read.
        self.target = () if predicting else tuple(target) or ((1,) if self.source == (2,) else (2,))
        self.split = split
        self.group = () if group is None else (group,)
        named = any(isinstance(column, str) for column in (*self.source, *target, *self.group))
        self.header = named if header is None else header
        self.predicting = predicting

    def rows(self, lines: Iterator[Line], file: str) -> Iterator[Row | DataError]:
        """Each row as the number of its first line and its cells."""
        raise NotImplementedError

    def row(self, cells: Sequence[str]) -> str:
        """A row as it is written."""
        raise NotImplementedError

    def examples(self, lines: Iterator[Line], file: str) -> Iterator[Example | DataError]:
        """Each row, or what is wrong with it."""
        names: Sequence[str] | None = None
        width = 0
        for row in self.rows(lines, file):
            if isinstance(row, DataError):
                yield row
                continue
            number, cells = row
            width = width or len(cells)
            if self.header and names is None:
                names = cells
                self._check_names(names, f"{file}, line {number}")
                continue
            try:
                yield self._example(number, cells, names, width, file)
            except DataError as error:
                yield error

    def write(self, example: Example, values: Mapping[str, Sequence[str]]) -> str:
        """The answer alone, one line for each row."""
        return "\t".join(one_line(value) for of_column in values.values() for value in of_column)

    def _check_names(self, names: Sequence[str], place: str) -> None:
        """Refuse a header in which two columns have one name, or a column that is needed has none."""
        twice = [name for name in names if name and names.count(name) > 1]
        if twice:
            raise DataError(f"{place}: two columns are named {twice[0]}")
        for column in (*self.source, *self.target, *self.group):
            if isinstance(column, str) and column not in names:
                raise DataError(
                    f"{place}: there is no column {column}; the columns are {', '.join(names)}{nearest(column, names)}"
                )

    def _example(
        self, number: int, cells: Sequence[str], names: Sequence[str] | None, width: int, file: str
    ) -> Example:
        if len(cells) != width:
            raise DataError(
                f"{file}, line {number}: {len(cells)} columns where the file begins with {width}; "
                "is there a stray separator?"
            )
        place = Place(file, number)

        def text(column: str | int, setting: str) -> str:
            return cells[_place(column, names, width, place, setting)]

        return Example(
            words=joined([self.split(text(column, "data.source")) for column in self.source]),
            labels={str(column): (text(column, "data.target"),) for column in self.target},
            place=place,
            whole=True,
            group=next((text(column, "data.split_column") for column in self.group), None),
        )


def joined(texts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The words of several texts as those of one, with a separator between them."""
    words = texts[0]
    for text in texts[1:]:
        words = (*words, SEPARATOR, *text)
    return words


class Tsv(Table):
    """Columns parted by tabs; a quote is a sign like any other."""

    name = "tsv"

    def rows(self, lines: Iterator[Line], file: str) -> Iterator[Row | DataError]:
        for number, line in lines:
            yield number, line.split("\t")


class Csv(Table):
    """Columns parted by commas; a cell in quotes may hold commas, line ends and doubled quotes (RFC 4180)."""

    name = "csv"

    def rows(self, lines: Iterator[Line], file: str) -> Iterator[Row | DataError]:
        # The csv module asks for line after line; where a row began is remembered for messages.
        current = 0

        def ended() -> Iterator[str]:
            nonlocal current
            for number, line in lines:
                current = number
                yield line + "\n"

        begins = 1
        reader = csv.reader(ended(), strict=True)
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield DataError(f"{file}, line {begins}: this row is no CSV: {error}")
                cells = []
            if cells:
                yield begins, cells
            begins = current + 1


class JsonLines(Table):
    """A JSON object on each line; columns are its keys."""

    name = "jsonl"

    def examples(self, lines: Iterator[Line], file: str) -> Iterator[Example | DataError]:
        for number, line in lines:
            if not line.strip():
                continue
            place = Place(file, number)
            try:
                values = parsed(line)
                if not isinstance(values, dict):
                    raise DataError(f"{file}, line {number}: no JSON object")
                yield Example(
                    words=joined([self.split(_text(values, column, place)) for column in self.source]),
                    labels={str(column): (_text(values, column, place),) for column in self.target},
                    place=place,
                    whole=True,
                    group=next((_text(values, column, place) for column in self.group), None),
                )
            except DataError as error:
                yield error
            except (ValueError, RecursionError) as error:
                yield DataError(f"{file}, line {number}: this is no JSON: {error}")


def _text(values: Mapping[str, Any], column: str | int, place: Place) -> str:
    if isinstance(column, int):
        raise DataError(f"{place}: columns of JSON lines have names; give them as data.source and data.target")
    if column not in values:
        known = ", ".join(values)
        raise DataError(f"{place}: there is no {column}; the keys are {known}{nearest(str(column), values)}")
    value = values[str(column)]
    if not isinstance(value, str):
        what = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else json.dumps(value)
        raise DataError(f"{place}: {column} is {what}, neither text nor a number")
    return value


def parsed(line: str) -> Any:
    """What a line of JSON says, its numbers as they are written: 1.0 is not 1."""
    return json.loads(line, parse_int=str, parse_float=str, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON's")


def _place(column: str | int, names: Sequence[str] | None, width: int, place: Place, setting: str) -> int:
    """Where a column stands, counted from 0."""
    if isinstance(column, int):
        if not 1 <= column <= width:
            raise DataError(f"{place}: {width} columns, but {setting} is column {column}")
        return column - 1
    if names is None:
        raise DataError(
            f"{place}: there is no column {column}, since data.header = false says that columns have no names"
        )
    return names.index(column)
