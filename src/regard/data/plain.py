"""Plain text of any size: where each line stands is kept, and the line is read when it is asked for."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, overload

import numpy as np

from regard.data.example import Example, Place
from regard.data.lines import check_file, is_packed, not_utf8
from regard.errors import DataError

# A line is taken from the file in parts of at most so many bytes, so that a file of one line fits too.
_AT_ONCE = 1 << 16

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What is kept of a stretch: the number of its file, its line counted from 1, its first byte, and how many bytes it has.
_STRETCH = np.dtype([("file", "u2"), ("line", "u4"), ("begin", "i8"), ("bytes", "u4")])

Split = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True)
class PlainText(Sequence[Example]):
    """The lines of some files; those that are long are cut into stretches.

    Memory grows with the number of stretches (18 bytes each), not with their text.

    names, files: what they are called, and what they are read from
    stretches:    where each stands
    split:        how a text becomes words
    errors:       as in data.encoding_errors
    """

    names: tuple[str, ...]
    files: tuple[Held, ...]
    stretches: np.ndarray
    split: Split
    errors: str = "strict"

    @classmethod
    def of(cls, paths: Sequence[str | Path], split: Split, *, longest: int, errors: str = "strict") -> PlainText:
        """All lines that are not blank, in stretches of so many letters at most."""
        names, files = tuple(map(str, paths)), tuple(map(Held, paths))
        rows = (
            (number, *row)
            for number, (name, file) in enumerate(zip(names, files, strict=True))
            for row in _stretches(file, name, longest, errors)
        )
        tables = [np.empty(0, _STRETCH)]
        while some := list(islice(rows, _AT_ONCE)):
            tables.append(np.array(some, dtype=_STRETCH))
        found = np.concatenate(tables)
        for number, name in enumerate(names):
            if not (found["file"] == number).any():
                raise DataError(f"{name} holds no text: every line is blank")
        return cls(names, files, found, split, errors)

    def __len__(self) -> int:
        return len(self.stretches)

    @overload
    def __getitem__(self, number: int) -> Example: ...
    @overload
    def __getitem__(self, number: slice) -> PlainText: ...
    def __getitem__(self, number: int | slice) -> Example | PlainText:
        if isinstance(number, slice):
            return replace(self, stretches=self.stretches[number])
        file, line, begin, count = self.stretches[number].tolist()
        text = self.files[file].read(begin, count).decode(errors=self.errors)
        return Example(self.split(text), place=Place(self.names[file], line), whole=True)

    def take(self, chosen: np.ndarray) -> PlainText:
        """The stretches that are chosen. chosen: (stretches,), True where one is"""
        return replace(self, stretches=self.stretches[chosen])

    @property
    def bytes(self) -> int:
        """How long all of it is."""
        return int(self.stretches["bytes"].sum())


def evenly(examples: Sequence[Example], most: int) -> Sequence[Example]:
    """At most so many of the examples, from everywhere among them."""
    return examples[:: max(1, -(-len(examples) // most))]


def cut(text: str, longest: int) -> Iterator[str]:
    """A text in stretches of so many letters at most: each ends after a space if there is one in its second half."""
    while len(text) > longest:
        space = text.rfind(" ", longest // 2, longest)
        end = longest if space < 0 else space + 1
        yield text[:end]
        text = text[end:]
    yield text


class Held:
    """A file that is open as long as somebody holds it, and is read from its places."""

    def __init__(self, path: str | Path) -> None:
        check_file(path)
        try:
            with _unpacked(path) as file:
                self.number = os.dup(file.fileno())
        except (OSError, EOFError) as error:
            raise DataError(f"cannot read {path}: {error}") from None
        weakref.finalize(self, os.close, self.number)

    def read(self, begin: int, count: int) -> bytes:
        """So many bytes from there."""
        return os.pread(self.number, count, begin)

    def stream(self) -> IO[bytes]:
        """All of it from the beginning; to be closed."""
        stream = os.fdopen(os.dup(self.number), "rb")
        stream.seek(0)
        return stream


def _unpacked(path: str | Path) -> IO[bytes]:
    """The file; what is packed is unpacked into one that is deleted at the end, since places in it must be found."""
    if not is_packed(path):
        return Path(path).open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115 -- who asks closes it
    with gzip.open(path) as packed:
        shutil.copyfileobj(packed, file)
    file.flush()
    return file


def _stretches(file: Held, name: str, longest: int, errors: str) -> Iterator[tuple[int, int, int]]:
    """(line, first byte, bytes) of each stretch that is not blank."""
    with file.stream() as stream:
        yield from _cut(_lines(stream), name, longest, errors)


def _cut(
    lines: Iterator[tuple[int, int, bytes]], name: str, longest: int, errors: str
) -> Iterator[tuple[int, int, int]]:
    for line, begin, raw in lines:
        if errors == "strict" and not _is_utf8(raw):
            raise not_utf8(name, line)
        for stretch in cut(raw.decode(errors="surrogateescape"), longest):
            count = len(stretch.encode(errors="surrogateescape"))
            if stretch.strip():
                yield line, begin, count
            begin += count


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines(file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """(line, first byte, its bytes without the end) of each line, or of each part of a very long one."""
    begin, line = 0, 1
    while part := _whole_letters(file.readline(_AT_ONCE)):
        for piece in part.splitlines(keepends=True):
            raw = piece.rstrip(b"\r\n")
            mark = len(_BYTE_ORDER_MARK) if begin == 0 and raw.startswith(_BYTE_ORDER_MARK) else 0
            yield line, begin + mark, raw[mark:]
            begin += len(piece)
            line += piece.endswith((b"\n", b"\r"))
        file.seek(begin)


def _whole_letters(part: bytes) -> bytes:
    """Without the beginning of a letter at the end, whose rest comes later."""
    if len(part) < _AT_ONCE:
        return part
    for back in range(1, 4):
        if part[-back] >= 0xC0:
            needed = 2 + (part[-back] >= 0xE0) + (part[-back] >= 0xF0)
            return part[:-back] if needed > back else part
        if part[-back] < 0x80:
            break
    return part
