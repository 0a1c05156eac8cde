"""Files -> examples, whatever their format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from regard.data.columns import Columns
from regard.data.conllu import COLUMNS, Conllu
from regard.data.example import Example
from regard.data.lines import Line, check_file, read_lines
from regard.data.parallel import Blank, Parallel, left_out
from regard.data.signal.reader import SignalReader
from regard.data.table import Csv, JsonLines, Split, Tsv
from regard.data.text import SPLITS, Text
from regard.errors import DataError, choose


class Reader(Protocol):
    """Lines -> examples, and back with the answers written in."""

    @property
    def name(self) -> str: ...

    def examples(self, lines: Iterator[Line], file: str) -> Iterator[Example | DataError]:
        """Each example, or what is wrong with it."""

    def write(self, example: Example, labels: Mapping[str, Sequence[str]]) -> str:
        """The example with its answers, in the reader's own format."""


# Formats with a label for each word: (source, target, predicting=) -> a reader.
WORD_READERS: dict[str, Callable[..., Reader]] = {"conllu": Conllu, "columns": Columns}

# Formats with one target for the whole: (source, target, split=, header=, group=, predicting=) -> a reader.
TABLE_READERS: dict[str, Callable[..., Reader]] = {"tsv": Tsv, "csv": Csv, "jsonl": JsonLines}

# Formats whose files come in twos, a source and its target: (split=, column=) -> a reader.
PAIR_READERS: dict[str, Callable[..., Parallel]] = {"parallel": Parallel}

READERS = {**WORD_READERS, **TABLE_READERS, **PAIR_READERS}

# So many lines are looked at to guess a format.
_LOOKED_AT = 5000

# Columns are columns if at least this share of rows has the same number of them.
_MOST = 0.6


def found_in(path: str | Path, reader: Reader | SignalReader, encoding_errors: str) -> Iterator[Example | DataError]:
    """What is in a file: each example, or what is wrong with it."""
    if isinstance(reader, SignalReader):
        return reader.found(path)
    return reader.examples(read_lines(path, encoding_errors), str(path))


def read_examples(
    paths: Sequence[str | Path],
    reader: Reader | SignalReader,
    *,
    on_error: str = "stop",
    encoding_errors: str = "strict",
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Example]:
    """All examples of some files, in order.

    on_error: at an example that cannot be read, stop, or skip it and say so
    """
    examples: list[Example] = []
    for path in paths:
        before = len(examples)
        for found in found_in(path, reader, encoding_errors):
            if isinstance(found, Example):
                examples.append(found)
            elif on_error == "stop":
                raise DataError(f'{found} (data.on_error = "skip" leaves such out)')
            else:
                say(f"left out: {found}")
        for note in reader.notes() if isinstance(reader, SignalReader) else ():
            say(note)
        if len(examples) == before:
            raise DataError(f"{path} holds no example that could be read as {reader.name}")
    return examples


def read_pairs(
    paths: Sequence[str | Path],
    reader: Parallel,
    *,
    encoding_errors: str = "strict",
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Example]:
    """All examples of files that come in twos: source, target, source, target … Pairs of which a side is blank are left
    out, and said."""
    if len(paths) % 2:
        raise DataError(f"parallel files come in twos (source, target, source, target …); found {len(paths)}")
    examples: list[Example] = []
    for files in zip(map(str, paths[::2]), map(str, paths[1::2]), strict=True):
        source, target = (read_lines(file, encoding_errors) for file in files)
        found = list(reader.pairs(source, target, files))
        kept = [one for one in found if isinstance(one, Example)]
        if not kept:
            raise DataError(f"{files[0]} and {files[1]} hold no pair of lines that are not blank")
        sentence = left_out([one for one in found if isinstance(one, Blank)], len(found), files)
        if sentence:
            say(sentence)
        examples += kept
    return examples


def guess_format(path: str | Path, encoding_errors: str = "strict") -> str:
    """The format of a file by its contents: conllu, columns or text."""
    check_file(path)
    lines = [line for _, line in islice(read_lines(path, encoding_errors), _LOOKED_AT)]
    rows = [line for line in lines if line.strip() and not line.startswith("#")]
    # The first row decides, and most of the others: a faulty row among them is then named by its line.
    if rows and rows[0].startswith(("1\t", "1-", "0.1\t")) and rows[0].count("\t") == len(COLUMNS) - 1:
        return "conllu"
    widths = Counter(len(row.split("\t" if "\t" in row else None)) for row in rows)
    width, count = widths.most_common(1)[0] if rows else (1, 0)
    parted = any(not line.strip() for line in lines) or any("\t" in row for row in rows)
    if len(rows) > 1 and width > 1 and count >= _MOST * len(rows) and (parted or len(lines) == _LOOKED_AT):
        return "columns"
    return "text"


def guess_table(path: str | Path, encoding_errors: str = "strict") -> str:
    """The format of a table by its contents: jsonl, tsv, csv, or text where it is none."""
    check_file(path)
    lines = [line for _, line in islice(read_lines(path, encoding_errors), _LOOKED_AT) if line.strip()]
    if lines and all(line.lstrip().startswith("{") for line in lines[:20]):
        return "jsonl"
    tabs = Counter(line.count("\t") for line in lines)
    count, often = tabs.most_common(1)[0] if lines else (0, 0)
    if count and often >= _MOST * len(lines):
        return "tsv"
    return "csv" if lines and sum("," in line for line in lines) >= _MOST * len(lines) else "text"


def reader_for(
    path: str | Path,
    format: str,
    source: str | int | None,
    target: Sequence[str | int],
    *,
    predicting: bool = False,
    split: str = "punctuation",
    encoding_errors: str = "strict",
) -> Reader:
    """The reader of a file with a label for each word, whose format is given or guessed. Without labels, plain text
    will do."""
    guessed = guess_format(path, encoding_errors) if format == "guess" else format
    if guessed == "text":
        if predicting:
            return Text(SPLITS[split])
        raise DataError(
            f"{path} looks like plain text; labels are read from CoNLL-U or from columns "
            "(a word a line, its label in the last column, a blank line between sentences); say which with data.format"
        )
    return choose(WORD_READERS, guessed, "data.format of a label for each word")(source, target, predicting=predicting)


def table_reader_for(
    path: str | Path,
    format: str,
    source: Sequence[str | int],
    target: Sequence[str | int],
    *,
    split: Split,
    header: bool | None = None,
    group: str | int | None = None,
    predicting: bool = False,
    encoding_errors: str = "strict",
) -> Reader:
    """The reader of a table whose format is given or guessed. Without targets, plain text will do."""
    guessed = guess_table(path, encoding_errors) if format == "guess" else format
    if predicting and guessed in ("text", *PAIR_READERS):
        return Text(split, whole=True)
    if guessed == "text":
        raise DataError(
            f"{path} looks like plain text; a text and its target are read from TSV, CSV or JSON lines, or from two "
            "files line by line (parallel); say which with data.format"
        )
    make = choose(TABLE_READERS, guessed, "data.format of one target for the whole")
    return make(source, target, split=split, header=header, group=group, predicting=predicting)
