"""Tables of numbers (CSV, TSV): a row is a step of a series (long), or a row is a whole series (wide)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from regard.data.example import Example, Place
from regard.data.lines import read_lines
from regard.data.signal.numbers import is_value, value
from regard.data.signal.reader import TARGET, Column, SignalReader, steps
from regard.errors import DataError, nearest

Row = tuple[int, list[str]]
Labels = dict[str, tuple[str | None, ...]]


@dataclass
class Rows:
    """The rows of one item, as they come: where it begins, its values step by step, and its labels row by row."""

    place: Place
    values: list[list[float]] = field(default_factory=list)
    labels: list[list[str | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """Where things stand in a table, counted from 0."""

    names: tuple[str, ...]
    source: tuple[int, ...]
    target: tuple[int, ...]
    item: int | None


class CsvVectors(SignalReader):
    """With data.item, rows that have the same value there are the steps of one item; for a label per step or a
    forecast, all rows of a file without one. Else each row is an item: the values of one column, step by step.

    Cells that are empty, or hold nan, na or ?, are missing values; those at the end of a row that is an item are none.
    """

    name = "csv"
    separator = ","

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        rows = self._rows(path)
        first = next(rows, None)
        if first is None:
            raise DataError(f"{path} holds no row")
        layout, headed = self._layout(first[1], str(path))
        rest = rows if headed else self._again(first, rows)
        long = layout.item is not None or self.wanted.answers != "whole"
        yield from (self._long if long else self._wide)(rest, layout, str(path))

    def _again(self, first: Row, rows: Iterator[Row]) -> Iterator[Row]:
        yield first
        yield from rows

    def _rows(self, path: str | Path) -> Iterator[Row]:
        number = 0

        def lines() -> Iterator[str]:
            nonlocal number
            for line_number, line in read_lines(path, self.wanted.encoding_errors):
                number = line_number
                yield line

        try:
            for cells in csv.reader(lines(), delimiter=self.separator):
                if cells:
                    yield number, cells
        except csv.Error as error:
            raise DataError(f"{path}, line {number}: this row is no CSV: {error}") from None

    def _layout(self, first: Sequence[str], path: str) -> tuple[Layout, bool]:
        """Where things stand, and whether the first row names the columns."""
        wanted = self.wanted
        given = [*wanted.source, *wanted.target, *(() if wanted.item is None else (wanted.item,))]
        headed = wanted.header
        if headed is None:
            headed = any(isinstance(column, str) for column in given) or not any(map(is_value, first))
        names = tuple(first) if headed else tuple(str(number) for number in range(1, len(first) + 1))
        item = None if wanted.item is None else self._place(wanted.item, names, path, "data.item")
        target = [] if wanted.answers == "ahead" else list(wanted.target) or [len(names)]
        targets = tuple(
            self._place(column, names, path, "data.target") for column in target if not self._absent(column, names)
        )
        source = tuple(self._place(column, names, path, "data.source") for column in wanted.source) or tuple(
            number for number in range(len(names)) if number != item and number not in targets
        )
        if not source:
            raise DataError(f"{path}: no column is left to read beside what is learnt; name them with data.source")
        return Layout(names, source, targets, item), headed

    def _absent(self, column: Column, names: Sequence[str]) -> bool:
        """Whether what is to be answered need not be there, and is not."""
        there = column in names if isinstance(column, str) else column <= len(names)
        return self.wanted.predicting and not there

    def _place(self, column: Column, names: Sequence[str], path: str, setting: str) -> int:
        if isinstance(column, int):
            if not (1 <= column <= len(names) or -len(names) <= column <= -1):
                raise DataError(f"{path}: {len(names)} columns, but {setting} is column {column}")
            return column - 1 if column > 0 else len(names) + column
        if column not in names:
            raise DataError(
                f"{path}: there is no column {column}; the columns are {', '.join(names[:20])}{nearest(column, names)}"
            )
        return names.index(column)

    def _wide(self, rows: Iterator[Row], layout: Layout, path: str) -> Iterator[Example | DataError]:
        for number, cells in rows:
            place = Place(path, number)
            try:
                self._check(cells, layout, place)
                values = [value(cells[column], place) for column in layout.source]
                end = max((at + 1 for at, known in enumerate(values) if known == known), default=0)
                labels: Labels = {self._called(layout, column): (_label(cells[column]),) for column in layout.target}
                signal = np.array(values[:end])[:, None]
                yield Example((str(place),), self._known(labels), place, whole=True, signal=signal)
            except DataError as error:
                yield error

    def _long(self, rows: Iterator[Row], layout: Layout, path: str) -> Iterator[Example | DataError]:
        found: dict[str, Rows | DataError] = {}
        for number, cells in rows:
            place = Place(path, number)
            try:
                self._check(cells, layout, place)
                name = "" if layout.item is None else cells[layout.item]
                of_item = found.setdefault(name, Rows(place))
                if isinstance(of_item, Rows):
                    of_item.values.append([value(cells[column], place) for column in layout.source])
                    of_item.labels.append([_label(cells[column]) for column in layout.target])
            except DataError as error:
                # One step is missing: the item is no longer the series that it was.
                found[name if len(cells) == len(layout.names) else str(place)] = error
        for name, of_item in found.items():
            try:
                yield of_item if isinstance(of_item, DataError) else self._example(name, of_item, layout)
            except DataError as error:
                yield error

    def _example(self, name: str, rows: Rows, layout: Layout) -> Example:
        whole = self.wanted.answers == "whole"
        labels: Labels = {}
        for number, column in enumerate(layout.target):
            of_column = tuple(row[number] for row in rows.labels)
            if whole and len(set(of_column)) > 1:
                raise DataError(
                    f"{rows.place}: the item {name} has several values in column {self._called(layout, column)}; for "
                    "a label for each step, task.kind = label"
                )
            labels[self._called(layout, column)] = of_column[:1] if whole else of_column
        words = (name or str(rows.place),) if self.wanted.answers != "each" else steps(len(rows.values))
        columns = tuple(layout.names[column] for column in layout.source)
        whole = self.wanted.answers != "each"
        return Example(
            words, self._known(labels), rows.place, whole=whole, signal=np.array(rows.values), columns=columns
        )

    def _known(self, labels: Labels) -> Labels:
        return {} if self.wanted.predicting else labels

    def _called(self, layout: Layout, column: int) -> str:
        """A target column's name; of a table without names the one of several, or `label`."""
        if layout.names[column] == str(column + 1):
            return TARGET if len(layout.target) == 1 else str(column + 1)
        return layout.names[column]

    def _check(self, cells: Sequence[str], layout: Layout, place: Place) -> None:
        if len(cells) != len(layout.names):
            raise DataError(
                f"{place}: {len(cells)} columns where the file begins with {len(layout.names)}; is there a stray "
                "separator?"
            )


class TsvVectors(CsvVectors):
    """The same with tabs between columns."""

    name = "tsv"
    separator = "\t"


def _label(cell: str) -> str | None:
    """A label; an empty cell is an unknown one."""
    return cell.strip() or None


def looks_like(path: str | Path) -> str:
    """tsv or csv, by the signs in the first lines."""
    lines = [line for _, line in islice(read_lines(path, "replace"), 20)]
    return "tsv" if sum(line.count("\t") for line in lines) > sum(line.count(",") for line in lines) else "csv"
