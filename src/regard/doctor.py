"""`regard doctor`: what this machine has, or what is odd about a file of data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from regard.corpus import default_targets
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.parallel import TARGET, Blank, Parallel
from regard.data.reading import guess_format, reader_for
from regard.data.text import at_spaces
from regard.errors import DataError

# So many of the faults of a kind are shown.
_SHOWN = 5

# A pair of lines is odd if one has more than so many times the letters of the other.
# Source: Koehn et al. 2007 (Moses), clean-corpus-n.perl, whose limit is this one, in words.
_UNEVEN = 9


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


def examine_pairs(paths: Sequence[str]) -> list[str]:
    """What is odd about parallel files, given as source, target, source, target …"""
    if len(paths) % 2:
        raise DataError(f"parallel files come in twos (source, target, source, target …); found {len(paths)}")
    told = []
    for files in zip(paths[::2], paths[1::2], strict=True):
        told += [f"{files[0]} and {files[1]}: read line by line", *_undecodable(files[0]), *_undecodable(files[1])]
        reader = Parallel(split=at_spaces)
        try:
            found = list(reader.pairs(read_lines(files[0], "replace"), read_lines(files[1], "replace"), files))
        except DataError as error:
            told.append(f"  {error}")
            continue
        told += _describe_pairs([pair for pair in found if isinstance(pair, Example)])
        told += _shown("pairs are blank on one side, or on both", [str(p.place) for p in found if isinstance(p, Blank)])
    return told


def _describe_pairs(pairs: Sequence[Example]) -> list[str]:
    texts = [(pair, " ".join(pair.words), " ".join(str(pair.labels[TARGET][0]).split())) for pair in pairs]
    readings: dict[str, set[str]] = defaultdict(set)
    for _, source, target in texts:
        readings[source].add(target)
    twice = len(texts) - sum(map(len, readings.values()))
    same = [str(pair.place) for pair, source, target in texts if source == target]
    uneven = [str(pair.place) for pair, source, target in texts if _uneven(len(source), len(target))]
    several = [source[:60] for source, targets in readings.items() if len(targets) > 1]
    return [
        f"  {len(texts):,} pairs, {sum(len(pair.words) for pair in pairs):,} words in the first file",
        f"  {twice:,} pairs come again, word for word",
        *_shown("pairs are the same on both sides", same),
        *_shown(f"pairs are more than {_UNEVEN} times as long on one side", uneven),
        *_shown("lines have two different counterparts", several),
    ]


def _uneven(one: int, other: int) -> bool:
    return max(one, other) > _UNEVEN * min(one, other)


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
