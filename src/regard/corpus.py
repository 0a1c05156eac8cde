"""A recipe's files -> the examples to learn from, to choose by and to report on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.conllu import COLUMNS
from regard.data.example import Example, Place
from regard.data.lines import digest
from regard.data.reading import guess_format, read_examples, reader_for
from regard.errors import DataError
from regard.recipe.settings import Recipe

Say = Callable[[str], None]

# A user's own sequences: for each part examples, or pairs of words and labels.
Pairs = Sequence[Example | tuple[Sequence[str], Sequence[str]]]

PARTS = ("train", "dev", "test")

# The one column of data that is given as pairs.
PAIRS_COLUMN = "label"


@dataclass(frozen=True)
class Corpus:
    """The examples of each part, the target columns, and what the data can be known by again."""

    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    columns: tuple[str, ...]
    digests: Mapping[str, str]


def read_corpus(recipe: Recipe, say: Say) -> Corpus:
    """All files that the recipe names."""
    data = recipe.data
    parts = {}
    columns: tuple[str, ...] = ()
    for part in PARTS:
        paths = getattr(data, part)
        parts[part] = read_part(recipe, paths, say) if paths else []
        columns = columns or (tuple(parts[part][0].labels) if parts[part] else ())
    digests = {path: digest(path) for part in PARTS for path in getattr(data, part)}
    return _split(recipe, parts, columns, digests, say)


def read_part(recipe: Recipe, paths: Sequence[str], say: Say = lambda sentence: None) -> list[Example]:
    """The examples in some files, with the recipe's columns."""
    data = recipe.data
    format = guess_format(paths[0], data.encoding_errors) if data.format == "guess" else data.format
    target = default_targets(format) if not data.target else data.target
    reader = reader_for(paths[0], format, data.source, target, encoding_errors=data.encoding_errors)
    return read_examples(paths, reader, on_error=data.on_error, encoding_errors=data.encoding_errors, say=say)


def default_targets(format: str) -> tuple[str, ...]:
    """What is learnt where nothing is said: UPOS of CoNLL-U, the last column of others."""
    return (COLUMNS[3],) if format == "conllu" else ()


def given_corpus(recipe: Recipe, given: Mapping[str, Pairs], say: Say) -> Corpus:
    """The user's own sequences."""
    unknown = set(given) - set(PARTS)
    if unknown or not given.get("train"):
        raise DataError(f"data has the parts {', '.join(PARTS)}, of which train must not be empty; found {list(given)}")
    parts = {
        part: [_example(pair, part, number) for number, pair in enumerate(given.get(part, ()), 1)] for part in PARTS
    }
    columns = tuple(parts["train"][0].labels)
    digests = {part: hashlib.sha256(repr(examples).encode()).hexdigest() for part, examples in parts.items()}
    return _split(recipe, parts, columns, digests, say)


def _example(pair: Example | tuple[Sequence[str], Sequence[str]], part: str, number: int) -> Example:
    if isinstance(pair, Example):
        return pair
    words, labels = pair
    if len(words) != len(labels):
        raise DataError(f"data[{part!r}], item {number}: {len(words)} words and {len(labels)} labels")
    return Example(tuple(words), {PAIRS_COLUMN: tuple(labels)}, Place(part, number))


def _split(
    recipe: Recipe,
    parts: Mapping[str, Sequence[Example]],
    columns: tuple[str, ...],
    digests: Mapping[str, str],
    say: Say,
) -> Corpus:
    for part, examples in parts.items():
        for example in examples:
            if set(example.labels) != set(columns):
                raise DataError(
                    f"{example.place}: the columns {', '.join(example.labels) or 'none'} where {', '.join(columns)} "
                    f"are learnt; {part} must have the columns of train"
                )
    train, dev = parts["train"], parts["dev"]
    if not dev:
        train, dev = set_aside(train, recipe.data.split, recipe.train.seed)
        say(f"no dev data: {len(dev)} of {len(train) + len(dev)} examples are set aside (data.split)")
    return Corpus(train, dev, parts["test"], columns, digests)


def set_aside(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """A share of the examples, drawn from the seed, and the rest: (rest, share), both in their order."""
    if len(examples) < 2:
        raise DataError("one example cannot be split into train and dev; give data.dev")
    size = min(len(examples) - 1, max(1, round(share * len(examples))))
    chosen = set(np.random.default_rng(seed).permutation(len(examples))[:size].tolist())
    rest = [example for number, example in enumerate(examples) if number not in chosen]
    return rest, [example for number, example in enumerate(examples) if number in chosen]
