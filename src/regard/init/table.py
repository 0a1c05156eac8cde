"""Looking at a table: which of its columns is the text, which the target, and whether the first line names them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from regard.data.lines import read_lines
from regard.data.reading import PAIR_READERS, guess_table
from regard.data.table import Csv, JsonLines, Table, Tsv, parsed
from regard.data.target import parted
from regard.data.text import at_spaces
from regard.errors import DataError

# So many rows are looked at.
_LOOKED_AT = 2000

# So many rows, at least, must have a number for a column of numbers.
_MOST = 0.95


@dataclass(frozen=True)
class Looked:
    """What a table looks like."""

    format: str
    source: tuple[str | int, ...]
    target: tuple[str | int, ...]
    header: bool


def look_at_table(
    path: str,
    format: str,
    source: Sequence[str | int],
    target: Sequence[str | int],
    *,
    numbers: bool,
    separator: str | None = None,
) -> Looked:
    """The text is the column with the longest cells, the target that with the fewest different ones (or with numbers);
    columns that are given are left as they are. A name can only be one of the first line's.

    separator: what parts several classes in a cell of the target
    """
    found = guess_table(path) if format == "guess" else format
    if found in PAIR_READERS:
        raise DataError(
            f'init looks at one file for each part; in a recipe, data.format = "{found}" names two for each'
        )
    if found not in ("tsv", "csv", "jsonl"):
        raise DataError(f"{path} looks like plain text; a text and its target are read from TSV, CSV or JSON lines")
    names, rows = _json_rows(path) if found == "jsonl" else _rows(path, found)
    if len(rows) < 2 or len(rows[0]) < 2:
        raise DataError(f"{path} has {len(rows)} rows of {len(rows[0]) if rows else 0} columns; two of each are needed")
    if names is None and any(isinstance(column, str) for column in (*source, *target)):
        names = rows[0]
    columns = list(zip(*rows, strict=True))
    text = _place(source, names) if source else max(range(len(columns)), key=lambda c: _mean_length(columns[c][1:]))
    value = _place(target, names) if target else _target(columns, text, numbers)
    header = names is not None or _names_it(columns[value], numbers, separator)
    if found == "jsonl":
        assert names is not None
        return Looked(found, tuple(source) or (names[text],), tuple(target) or (names[value],), False)
    titles: Sequence[str | int] = rows[0] if header else range(1, len(columns) + 1)
    return Looked(found, tuple(source) or (titles[text],), tuple(target) or (titles[value],), header)


def _rows(path: str, format: str) -> tuple[None, list[list[str]]]:
    table: Table = {"tsv": Tsv, "csv": Csv}[format]((1,), (1,), split=at_spaces)
    rows = [row for row in islice(table.rows(read_lines(path), path), _LOOKED_AT) if not isinstance(row, DataError)]
    width = len(rows[0][1]) if rows else 0
    return None, [cells for _, cells in rows if len(cells) == width]


def _json_rows(path: str) -> tuple[list[str], list[list[str]]]:
    reader = JsonLines((), (), split=at_spaces)
    assert reader.name == "jsonl"
    values = []
    for number, line in islice(read_lines(path), _LOOKED_AT):
        if line.strip():
            try:
                values.append(parsed(line))
            except ValueError as error:
                raise DataError(f"{path}, line {number}: this is no JSON: {error}") from None
    names = [name for name, value in values[0].items() if isinstance(value, str)]
    return names, [[str(row.get(name, "")) for name in names] for row in values]


def _place(given: Sequence[str | int], names: Sequence[str] | None) -> int:
    column = given[0]
    if isinstance(column, int):
        return column - 1
    return list(names).index(column) if names is not None and column in names else 0


def _mean_length(cells: Sequence[str]) -> float:
    return sum(map(len, cells)) / max(1, len(cells))


def _target(columns: Sequence[Sequence[str]], text: int, numbers: bool) -> int:
    others = [place for place in range(len(columns)) if place != text]
    if numbers:
        # Row numbers count up by one; what is measured does not.
        fitting = [place for place in others if _numeric(columns[place][1:]) and not _counts_up(columns[place][1:])]
        if not fitting:
            raise DataError("no column of numbers was found to learn; name it with --target")
        return fitting[-1]
    return min(others, key=lambda place: (len(set(columns[place][1:])), -place))


def _numeric(cells: Sequence[str]) -> bool:
    return sum(map(_is_number, cells)) >= _MOST * len(cells)


def _counts_up(cells: Sequence[str]) -> bool:
    return (
        cells[:50] == tuple(str(int(cells[0]) + step) for step in range(len(cells[:50])))
        if cells[0].isdecimal()
        else False
    )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _names_it(target: Sequence[str], numbers: bool, separator: str | None) -> bool:
    """Whether the first cell of the target is a name and not a value: no number, or a class that never comes again."""
    if numbers:
        return not _is_number(target[0])
    if separator is not None:
        classes = {name for cell in target[1:] for name in parted(cell, separator)}
        first = parted(target[0], separator)
        return len(first) == 1 and first[0] not in classes and len(classes) < len(target) / 2
    return target[0] not in target[1:] and len(set(target[1:])) < len(target) / 2
