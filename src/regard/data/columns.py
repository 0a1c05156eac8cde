"""Columns of any number: a word a line with its labels beside it, a blank line between sentences (CoNLL 2000, 2003)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from regard.data.example import Example, Place
from regard.data.lines import Line, blocks
from regard.errors import DataError

# A line that only parts documents, as in CoNLL 2003; it is no word.
DOCUMENT_START = "-DOCSTART-"


class Columns:
    """Reads and writes columns parted by tabs where there are tabs, else by spaces. The first column is read and the
    last one learnt, if nothing else is said."""

    name = "columns"

    def __init__(self, source: str | int | None, target: Sequence[str | int], *, predicting: bool = False) -> None:
        # What was trained on named columns of another format has none here: the first is read, answers are added.
        named = predicting and any(not _is_number(column) for column in target)
        self.source = _number(1 if source is None or named else source, "data.source")
        self.target = {str(c): None if named else _number(c, "data.target") for c in (target or (-1,))}
        self.predicting = predicting

    def examples(self, lines: Iterator[Line], file: str) -> Iterator[Example | DataError]:
        """Each sentence, or what is wrong with it."""
        width = 0  # of the file, which its first sentence decides
        for block in blocks(lines):
            try:
                rows = [(number, _cells(line)) for number, line in block]
                rows = [(number, cells) for number, cells in rows if cells[0] != DOCUMENT_START]
                if rows:
                    width = width or len(rows[0][1])
                    yield self._example(rows, width, file)
            except DataError as error:
                yield error

    def write(self, example: Example, labels: Mapping[str, Sequence[str]]) -> str:
        """The sentence as it was read, with labels in the columns that were predicted (added where there are none)."""
        rows = [list(cells) for cells in example.record]
        for column, answers in labels.items():
            number = self.target[column]
            for row, answer in zip(rows, answers, strict=True):
                if number is None or (number < 0 and len(row) == 1):
                    place = len(row)
                else:
                    place = number - 1 if number > 0 else len(row) + number
                row.extend([""] * (place + 1 - len(row)))
                row[place] = answer
        return "".join("\t".join(row) + "\n" for row in rows)

    def _example(self, rows: list[tuple[int, list[str]]], width: int, file: str) -> Example:
        first = rows[0][0]
        for number, cells in rows:
            if len(cells) != width:
                raise DataError(f"{file}, line {number}: {len(cells)} columns where the file begins with {width}")

        def cells_of(column: int, setting: str) -> tuple[str, ...]:
            if not -width <= column <= width or (setting == "data.target" and width < 2):
                wanted = "column 2" if column == -1 else f"column {column}"
                raise DataError(f"{file}, line {first}: {width} columns, but {setting} is {wanted}")
            return tuple(cells[column if column < 0 else column - 1] for _, cells in rows)

        return Example(
            words=cells_of(self.source, "data.source"),
            labels={}
            if self.predicting
            else {name: cells_of(number, "data.target") for name, number in self.target.items() if number is not None},
            place=Place(file, first),
            record=[cells for _, cells in rows] if self.predicting else None,
        )


def _cells(line: str) -> list[str]:
    # Only spaces and tabs part columns: a word may be a no-break space.
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def _is_number(column: str | int) -> bool:
    return isinstance(column, int) or column.removeprefix("-").isdecimal()


def _number(column: str | int, setting: str) -> int:
    if _is_number(column):
        column = int(column)
    if not isinstance(column, int) or column == 0:
        raise DataError(f"{setting}: these columns have no names; give a number from 1 (or -1, the last), not {column}")
    return column
