"""A file of text as lines, each with its number: packed or not, with any line ends, and with its faults named."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from regard.errors import DataError

Line = tuple[int, str]

_UNDECODED = re.compile("[\udc80-\udcff]")
_GZIP = b"\x1f\x8b"


def read_lines(path: str | Path, encoding_errors: str = "strict") -> Iterator[Line]:
    """The lines of a text file, counted from 1 and without their ends; "-" is the standard input.

    A byte order mark is dropped; Windows', Unix's and old Mac's line ends are the same.
    encoding_errors: at bytes that are not UTF-8, strict refuses the line by its number, replace shows U+FFFD
    """
    with _open(path) as stream:
        # Undecodable bytes become lone surrogates, which can then be named with their line: the decoder reads ahead
        # and could not say where it stopped.
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=None)
        try:
            for number, line in enumerate(text, 1):
                if _UNDECODED.search(line):
                    if encoding_errors == "strict":
                        raise not_utf8(path, number)
                    line = _UNDECODED.sub("\ufffd", line)
                yield number, line.removesuffix("\n")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{path} is packed, and damaged: {error}") from None


def not_utf8(path: str | Path, line: int) -> DataError:
    """The refusal of bytes that are not text."""
    return DataError(
        f"{path}, line {line}: bytes that are not UTF-8; save the file as UTF-8, or set "
        'data.encoding_errors = "replace"'
    )


def check_file(path: str | Path) -> None:
    """Refuse what is no file to be read, before any work is done."""
    path = Path(path)
    if str(path) == "-":
        return
    if path.is_dir():
        raise DataError(f"{path} is a folder where a file was expected")
    if not path.exists():
        near = [other.name for other in path.parent.glob("*")][:5] if path.parent.is_dir() else []
        there = f" (beside it there are {', '.join(sorted(near))})" if near else ""
        raise DataError(f"there is no file {path}{there}")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")


def digest(path: str | Path) -> str:
    """A file's SHA-256, by which it is known again; of a folder, that of all names in it and what is in the files."""
    if Path(path).is_dir():
        inside = (file for file in sorted(Path(path).rglob("*")) if file.is_file())
        told = "".join(f"{file.relative_to(path)} {digest(file)}\n" for file in inside if file.stat().st_size)
        return hashlib.sha256(told.encode()).hexdigest()
    check_file(path)
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_packed(path: str | Path) -> bool:
    """Whether a file is packed with gzip."""
    with Path(path).open("rb") as raw:
        return raw.read(2) == _GZIP


def _open(path: str | Path) -> BinaryIO:
    if str(path) == "-":
        return open(sys.stdin.fileno(), "rb", closefd=False)
    check_file(path)
    try:
        return cast(BinaryIO, gzip.open(path)) if is_packed(path) else Path(path).open("rb")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None


def blocks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """The lines between blank lines, as columns files have a sentence between blank lines."""
    block: list[Line] = []
    for number, line in lines:
        # A no-break space is a word, not a blank.
        if line.strip(" \t"):
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block
