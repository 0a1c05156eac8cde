"""Looking at pairs of texts: what each side is written in, and settings that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.parallel import Parallel
from regard.data.reading import guess_table, read_examples, read_pairs, table_reader_for
from regard.data.vocabulary import SEPARATOR
from regard.errors import RegardError

# Of texts with spaces: if there are at most so many different words, each is a sign of its own, like phonemes.
_FEW_WORDS = 300

# Letters of scripts that put no spaces between words: from here on to Hangul, which does.
_UNSPACED = ("぀", "꓏")

# What first lines of tables call the two sides.
_TITLES = {
    *("source", "src", "input", "text", "word", "words", "lemma", "grapheme", "question", "sentence1"),
    *("target", "tgt", "output", "label", "form", "phonemes", "pronunciation", "answer", "translation", "sentence2"),
}


@dataclass(frozen=True)
class Side:
    """What the texts of one side are.

    tokens:   the kind of piece that fits
    unspaced: whether most letters are of a script without spaces
    pieces:   how many pieces there are in all, about
    """

    tokens: str
    unspaced: bool
    pieces: int


def look_at_side(texts: Sequence[str]) -> Side:
    """Single words are written in letters, texts of few different words in words, scripts without spaces in signs, and
    all others in sub-words."""
    split = [part.split() for text in texts for part in text.split(SEPARATOR)]
    words = [word for one in split for word in one]
    letters = "".join(words)
    unspaced = sum(_UNSPACED[0] <= letter <= _UNSPACED[1] for letter in letters) > 0.3 * len(letters)
    if unspaced:
        return Side("characters", True, len(letters))
    if len(words) < 1.5 * len(split):
        return Side("characters", False, len(letters))
    distinct = len(set(words))
    if distinct <= _FEW_WORDS and 10 * distinct <= len(words):
        return Side("words", False, len(words))
    return Side("subwords", False, len(words))


@dataclass(frozen=True)
class SequenceSize:
    """A network for an amount of text to write."""

    up_to_pieces: float
    width: int
    depth: int
    dropout: float
    minutes: float


# From trials on data of these sizes (docs/results.md).
SIZES = (
    SequenceSize(20_000, width=64, depth=2, dropout=0.2, minutes=2),
    SequenceSize(300_000, width=128, depth=2, dropout=0.3, minutes=18),
    SequenceSize(3_000_000, width=128, depth=3, dropout=0.1, minutes=28),
    SequenceSize(float("inf"), width=256, depth=4, dropout=0.1, minutes=120),
)


def sequence_settings(train: Sequence[Example]) -> dict[str, dict[str, Any]]:
    """Settings for writing a text."""
    source = look_at_side([" ".join(example.words) for example in train])
    targets = [text for example in train for (text,) in example.labels.values() if text is not None]
    target = look_at_side(targets)
    size = next(size for size in SIZES if target.pieces <= size.up_to_pieces)
    translates = target.tokens == "subwords" or target.unspaced
    share = "all" if source.tokens == target.tokens == "subwords" and _alike(train, targets) else "target"
    given = {"tokens": source.tokens, "dropout": 0.0, **_vocabulary(source)}
    written: dict[str, Any] = {"tokens": target.tokens, "share": share}
    if share != "all" and target.tokens == "subwords":
        written["size"] = _vocabulary(target)["size"]
    if target.unspaced:
        written["bleu_tokens"] = "zh"
    return {
        "input": given,
        "output": written,
        "model": {"width": size.width, "heads": 4, "depth": size.depth, "dropout": size.dropout},
        "train": {
            "minutes": size.minutes,
            "batch_tokens": 2000,
            "label_smoothing": 0.1,
            "average": 5,
            "metric": "bleu" if translates else "exact",
        },
    }


def _vocabulary(side: Side) -> dict[str, Any]:
    """How words become numbers: all of few, or sub-words in a number that grows with the text."""
    if side.tokens == "words":
        return {"split": "spaces", "minimum_count": 1}
    return {"size": int(np.clip(side.pieces // 50, 500, 10_000))} if side.tokens == "subwords" else {}


def _alike(train: Sequence[Example], targets: Sequence[str]) -> bool:
    """Whether the two sides are written in the same letters."""
    one = {letter for example in train for word in example.words for letter in word}
    other = {letter for text in targets for letter in text}
    return len(one & other) > 0.5 * min(len(one), len(other))


def read_sequences(
    paths: Sequence[str], format: str, source: tuple[str | int, ...], target: tuple[str | int, ...]
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], dict[str, list[Example]]]:
    """(settings of [data], the files of each part, their examples): tables, or plain files in twos, line by line."""
    found = guess_table(paths[0]) if format == "guess" else format
    if found in ("text", "parallel"):
        return _read_parallel(paths)
    parts = _parts([(path,) for path in paths], "TRAIN [DEV [TEST]]")
    source = source or (2 if target == (1,) else 1,)
    target = target or (1 if source == (2,) else 2,)
    data: dict[str, Any] = {"format": found, "source": source, "target": target}
    if found != "jsonl":
        data["header"] = any(isinstance(column, str) for column in (*source, *target)) or _has_titles(paths[0])
    examples = {}
    for part, (path,) in parts.items():
        reader = table_reader_for(path, found, source, target, split=_as_it_is, header=data.get("header"))
        examples[part] = read_examples([path], reader)
    return data, parts, examples


def _read_parallel(
    paths: Sequence[str],
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], dict[str, list[Example]]]:
    if len(paths) % 2:
        raise RegardError(
            f"plain text comes in twos, a source and its target line by line: --data SOURCE TARGET [SOURCE TARGET …]; "
            f"found {len(paths)} files"
        )
    twos = list(zip(paths[::2], paths[1::2], strict=True))
    parts = _parts(twos, "SOURCE TARGET, for train, dev and test")
    reader = Parallel(split=_as_it_is)
    return {"format": "parallel"}, parts, {part: read_pairs(files, reader) for part, files in parts.items()}


def _parts(files: Sequence[tuple[str, ...]], wanted: str) -> dict[str, tuple[str, ...]]:
    if not 1 <= len(files) <= 3:
        raise RegardError(f"--data takes the files {wanted}; found {len(files)} parts")
    return dict(zip(("train", "dev", "test"), files, strict=False))


def _as_it_is(text: str) -> tuple[str, ...]:
    return (text,) if text.strip() else ()


def _has_titles(path: str) -> bool:
    """Whether a table's first line calls its columns by names that tell of sources and targets."""
    _, line = next(iter(read_lines(path)))
    return any(cell.strip().lower() in _TITLES for cell in line.replace(",", "\t").split("\t"))
