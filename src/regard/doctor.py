"""`regard doctor`: what this machine has, or what is odd about a file of data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from regard.corpus import default_targets
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.reading import guess_format, reader_for
from regard.errors import DataError

# So many of the faults of a kind are shown.
_SHOWN = 5


def examine(paths: Sequence[str]) -> list[str]:
    """What each file is, and what in it cannot be read, comes twice or contradicts itself."""
    told = []
    everything: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for path in paths:
        format = guess_format(path, "replace")
        told.append(f"{path}: looks like {'plain text' if format == 'text' else format}")
        told += _undecodable(path)
        if format == "text":
            continue
        examples, faults = _read(path, format)
        told += _shown("cannot be read", faults)
        told += _describe(examples)
        for example in examples:
            everything[example.words].add(path)
    shared = sum(len(files) > 1 for files in everything.values())
    if len(paths) > 1:
        told.append(f"{shared:,} sentences stand in more than one of the files, word for word")
    return told


def _undecodable(path: str) -> list[str]:
    bad = [number for number, line in read_lines(path, "replace") if "\ufffd" in line]
    return [f"  line {bad[0]} and {len(bad) - 1} more are not UTF-8, or hold U+FFFD"] if bad else []


def _read(path: str, format: str) -> tuple[list[Example], list[str]]:
    reader = reader_for(path, format, None, default_targets(format), encoding_errors="replace")
    examples, faults = [], []
    for found in reader.examples(read_lines(path, "replace"), path):
        if isinstance(found, DataError):
            faults.append(str(found))
        else:
            examples.append(found)
    return examples, faults


def _describe(examples: Sequence[Example]) -> list[str]:
    if not examples:
        return ["  no example could be read"]
    lengths = sorted(len(example.words) for example in examples)
    told = [f"  {len(examples):,} items, {sum(lengths):,} words, the longest item has {lengths[-1]:,}"]
    twice = len(examples) - len({example.words for example in examples})
    told.append(f"  {twice:,} items come again, word for word")
    for column in examples[0].labels:
        readings: dict[tuple[str, ...], set[tuple[str | None, ...]]] = defaultdict(set)
        for example in examples:
            readings[example.words].add(example.labels[column])
        conflicts = [" ".join(words)[:60] for words, labels in readings.items() if len(labels) > 1]
        counts = Counter(label for example in examples for label in example.labels[column])
        rare = [str(label) for label, count in counts.items() if count == 1]
        told.append(f"  column {column}: {len(counts)} labels")
        told += _shown(f"of the labels come only once ({column})", rare, whole=False)
        told += _shown(f"sentences have two different labellings ({column})", conflicts)
    return told


def _shown(what: str, found: Sequence[str], whole: bool = True) -> list[str]:
    if not found:
        return []
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    joined = (";\n    " if whole else ", ").join(found[:_SHOWN])
    return [f"  {len(found)} {what}: {joined}{more}"]
