"""Recordings in lists, in folders, or alone: each becomes an example."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.data.example import Example, Place
from regard.data.lines import Line, read_lines
from regard.data.reading import guess_table
from regard.data.signal.reader import TARGET, Column, SignalReader, Wanted
from regard.data.signal.recording import Recording, look_at
from regard.data.table import Csv, JsonLines, Table, Tsv, parsed
from regard.errors import DataError, nearest

# How files of sound end, and how their contents begin.
ENDINGS = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff")
_BEGINNINGS = (b"RIFF", b"fLaC", b"OggS", b"ID3", b"FORM")

# What first lines of lists call the files and what is said in them.
_FILES = ("path", "file", "filename", "audio", "audio_filepath", "wav", "recording")
_SAID = ("text", "label", "class", "transcript", "sentence")


class SoundReader(SignalReader):
    """What readers of sound have in common: they remember at which rates recordings were."""

    def __init__(self, wanted: Wanted, check: Callable[[Example], object] = lambda example: None) -> None:
        super().__init__(wanted, check)
        self.rates: dict[int, list[str]] = {}

    def recording(self, path: str | Path, start: float | None = None, end: float | None = None) -> Recording:
        self.rates.setdefault(look_at(path).rate, []).append(str(path))
        return Recording.of(path, self.wanted.rate, start, end)

    def notes(self) -> Iterator[str]:
        """What is to be told of recordings that are not all at one rate, or not at the wanted one."""
        for rate, paths in sorted(self.rates.items()):
            if rate != self.wanted.rate:
                yield (
                    f"{len(paths):,} recordings have {rate:,} samples a second and are resampled to input.rate = "
                    f"{self.wanted.rate:,}, as {paths[0]}"
                )


class SoundList(SoundReader):
    """A list: a line for each recording or part of one, with its file (as seen from the list), what is said in it, and
    where it begins and ends in seconds, if the list has columns `start` and `end`, or `offset` and `duration`."""

    rows: type[Table]

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        lines = read_lines(path, self.wanted.encoding_errors)
        for number, cells in self._cells(lines, str(path)):
            try:
                yield cells if isinstance(cells, DataError) else self._example(path, number, cells)
            except DataError as error:
                yield DataError(f"{path}, line {number}: {error}")

    def _cells(self, lines: Iterator[Line], file: str) -> Iterator[tuple[int, Mapping[str, str] | DataError]]:
        """Each line's number and its cells by the names of their columns, which are numbers where none are given."""
        names: Sequence[str] | None = None
        for row in self.rows((), (), split=lambda text: (text,)).rows(lines, file):
            if isinstance(row, DataError):
                yield 0, row
                continue
            number, cells = row
            if names is None:
                header = self._has_header(cells)
                names = cells if header else [str(place) for place in range(1, len(cells) + 1)]
                if header:
                    continue
            if len(cells) == len(names):
                yield number, dict(zip(names, cells, strict=True))
            else:
                yield number, DataError(f"{file}, line {number}: {len(cells)} columns where there are {len(names)}")

    def _has_header(self, cells: Sequence[str]) -> bool:
        named = any(isinstance(column, str) for column in (*self.wanted.source, *self.wanted.target))
        guessed = named or any(cell.lower() in _FILES for cell in cells)
        return guessed if self.wanted.header is None else self.wanted.header

    def _example(self, path: str | Path, number: int, cells: Mapping[str, str]) -> Example:
        file = self._cell(cells, self.wanted.source, _FILES, 0)
        start, end = _segment(cells)
        target = () if self.wanted.predicting else self.wanted.target or (_known(cells, _SAID, 1),)
        sound = self.recording(Path(path).parent / file, start, end)
        name = file if start is None and end is None else f"{file} {start or 0:g}-{'' if end is None else f'{end:g}'}"
        return Example(
            words=(name,),
            labels={str(column): (self._cell(cells, (column,), (), 0),) for column in target},
            place=Place(str(path), number),
            whole=True,
            signal=sound,
        )

    @staticmethod
    def _cell(cells: Mapping[str, str], column: Sequence[Column], known: Sequence[str], place: int) -> str:
        name = str(column[0]) if column else _known(cells, known, place)
        if name not in cells:
            raise DataError(f"there is no column {name}; the columns are {', '.join(cells)}{nearest(name, cells)}")
        return cells[name]


class SoundTsv(SoundList):
    name, rows = "tsv", Tsv


class SoundCsv(SoundList):
    name, rows = "csv", Csv


class SoundJsonLines(SoundList):
    """The same as a JSON object on each line."""

    name, rows = "jsonl", JsonLines

    def _cells(self, lines: Iterator[Line], file: str) -> Iterator[tuple[int, Mapping[str, str] | DataError]]:
        for number, line in lines:
            if not line.strip():
                continue
            try:
                values: Any = parsed(line)
            except (ValueError, RecursionError) as error:
                yield number, DataError(f"{file}, line {number}: this is no JSON: {error}")
                continue
            if isinstance(values, dict):
                yield number, {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
            else:
                yield number, DataError(f"{file}, line {number}: no JSON object")


class SoundFolder(SoundReader):
    """A folder with a folder for each class, of which the files in it are; without classes, the files in it."""

    name = "folder"

    def __init__(self, wanted: Wanted, check: Callable[[Example], object] = lambda example: None) -> None:
        super().__init__(wanted, check)
        self.others: list[Path] = []

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        folder = Path(path)
        files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
        self.others = [file for file in files if file.suffix.lower() not in ENDINGS]
        for file in files:
            if file.suffix.lower() in ENDINGS:
                try:
                    yield self._example(folder, file)
                except DataError as error:
                    yield error

    def _example(self, folder: Path, file: Path) -> Example:
        within = file.relative_to(folder)
        labels: dict[str, tuple[str | None, ...]] = {}
        if not self.wanted.predicting:
            if len(within.parts) < 2:
                raise DataError(
                    f"{file} is in no folder of a class; make one for each class in {folder}, or give a list"
                )
            labels = {TARGET: (within.parts[0],)}
        return Example((str(within),), labels, Place(str(file), 1), whole=True, signal=self.recording(file))

    def notes(self) -> Iterator[str]:
        yield from super().notes()
        if self.others:
            yield f"{len(self.others):,} files do not end as sound does ({', '.join(ENDINGS)}), as {self.others[0]}"


class SoundFile(SoundReader):
    """One recording."""

    name = "sound"

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        if not self.wanted.predicting:
            raise DataError(f"{path} is one recording; what is learnt is read from a list, or a folder for each class")
        try:
            yield Example((str(path),), {}, Place(str(path), 1), whole=True, signal=self.recording(path))
        except DataError as error:
            yield error


def guess_sound(path: str | Path) -> str:
    """folder, sound, or which kind of list."""
    path = Path(path)
    if path.is_dir():
        return "folder"
    if path.is_file():
        with path.open("rb") as file:
            begins = file.read(4)
        if path.suffix.lower() in ENDINGS or begins.startswith(_BEGINNINGS):
            return "sound"
    found = guess_table(path)
    return "tsv" if found == "text" else found


def _known(cells: Mapping[str, str], names: Sequence[str], place: int) -> str:
    """The column that is called as such columns are; else the one at that place."""
    called = {name.lower(): name for name in cells}
    found = next((called[name] for name in names if name in called), None)
    return found or list(cells)[min(place, len(cells) - 1)]


def _segment(cells: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Where a part begins and ends; None where it is the recording's own beginning or end."""
    start = _seconds(cells, "start") if "start" in cells else _seconds(cells, "offset")
    if "end" in cells:
        return start, _seconds(cells, "end")
    # A duration alone is the whole recording's own, which is only told.
    length = _seconds(cells, "duration") if start is not None else None
    return start, None if length is None or start is None else start + length


def _seconds(cells: Mapping[str, str], name: str) -> float | None:
    text = cells.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{name} is {text!r}, which is no number of seconds")
    return value


# By the name of their format.
SOUND_READERS: dict[str, type[SoundReader]] = {
    reader.name: reader for reader in (SoundTsv, SoundCsv, SoundJsonLines, SoundFolder, SoundFile)
}
