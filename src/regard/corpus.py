"""A recipe's files -> the examples to learn from, to choose by and to report on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.conllu import COLUMNS
from regard.data.example import Example, Place
from regard.data.labels import first_wrong
from regard.data.lines import digest
from regard.data.reading import (
    Reader,
    guess_format,
    guess_table,
    read_examples,
    reader_for,
    table_reader_for,
)
from regard.data.table import Split
from regard.data.target import number, parted
from regard.data.text import SPLITS
from regard.errors import DataError
from regard.recipe.settings import WHOLE_TASKS, Recipe

Say = Callable[[str], None]

# A user's own example: words and labels, or for one answer to the whole a text (or words) and a class or number.
Pair = Example | tuple[str | Sequence[str], Any]
Pairs = Sequence[Pair]

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
    reader = reader_of(recipe, paths[0])
    examples = read_examples(paths, reader, on_error=data.on_error, encoding_errors=data.encoding_errors, say=say)
    return _checked(recipe, examples, say)


def _checked(recipe: Recipe, examples: list[Example], say: Say) -> list[Example]:
    """Ignored labels become unknown, cells of several classes are written in one way, and where numbers are learnt or
    scored each target must be one.

    The first that is none is named; with on_error = "skip" its example is left out.
    """
    checked = []
    for example in examples:
        labels = {c: tuple(_known(value, recipe) for value in values) for c, values in example.labels.items()}
        try:
            if recipe.task.kind == "regress":
                for value in (value for values in labels.values() for value in values if value is not None):
                    number(value, example.place)
        except DataError as error:
            if recipe.data.on_error == "stop":
                raise DataError(f'{error} (data.on_error = "skip" leaves such out)') from None
            say(f"left out: {error}")
            continue
        checked.append(replace(example, labels=labels))
    return checked


def _known(value: str | None, recipe: Recipe) -> str | None:
    """A label; None where it is not known or ignored. Of several classes those that are ignored are left out."""
    separator, ignore = recipe.data.separator, recipe.data.ignore
    if value is None or value in ignore:
        return None
    if separator is None:
        return value
    return separator.join(name for name in parted(value, separator) if name not in ignore)


def reader_of(
    recipe: Recipe, path: str | Path, *, format: str | None = None, target: Sequence[str] = (), predicting: bool = False
) -> Reader:
    """How a recipe's kind of file is read.

    format: another one than the recipe's; target: the columns to answer, where the recipe does not name them
    """
    data = recipe.data
    format = data.format if format is None else format
    columns = tuple(data.target) or tuple(target)
    if recipe.task.kind in WHOLE_TASKS:
        return table_reader_for(
            path,
            format,
            data.source,
            data.target,
            split=splitter(recipe),
            header=data.header,
            predicting=predicting,
            encoding_errors=data.encoding_errors,
        )
    if format == "guess":
        format = guess_format(path, data.encoding_errors)
    return reader_for(
        path,
        format,
        data.source[0] if data.source else None,
        columns or default_targets(format),
        predicting=predicting,
        split=recipe.input.split,
    )


def settled(recipe: Recipe) -> Recipe:
    """The recipe with the format that its first file has, where it was to be guessed: what is trained on one machine is
    asked on another, without that file."""
    data = recipe.data
    if data.format != "guess" or not Path(data.train[0]).is_file():
        return recipe
    guess = guess_table if recipe.task.kind in WHOLE_TASKS else guess_format
    found = guess(data.train[0], data.encoding_errors)
    if found == "text":  # reading it will say what is wrong
        return recipe
    return recipe.model_copy(update={"data": data.model_copy(update={"format": found})})


def splitter(recipe: Recipe) -> Split:
    """How a text becomes words; letters and sub-words are made of the text as it stands, spaces too."""
    if recipe.task.kind in WHOLE_TASKS and recipe.input.tokens in ("characters", "subwords"):
        return lambda text: (text,) if text else ()
    return SPLITS[recipe.input.split]


def default_targets(format: str) -> tuple[str, ...]:
    """What is learnt where nothing is said: UPOS of CoNLL-U, the last column of others."""
    return (COLUMNS[3],) if format == "conllu" else ()


def given_corpus(recipe: Recipe, given: Mapping[str, Pairs], say: Say) -> Corpus:
    """The user's own sequences."""
    unknown = set(given) - set(PARTS)
    if unknown or not given.get("train"):
        raise DataError(f"data has the parts {', '.join(PARTS)}, of which train must not be empty; found {list(given)}")
    split = splitter(recipe) if recipe.task.kind in WHOLE_TASKS else None
    make = partial(_example, split=split, separator=recipe.data.separator)
    parts = {
        part: _checked(recipe, [make(pair, part, place) for place, pair in enumerate(given.get(part, ()), 1)], say)
        for part in PARTS
    }
    columns = tuple(parts["train"][0].labels)
    digests = {part: hashlib.sha256(repr(examples).encode()).hexdigest() for part, examples in parts.items()}
    return _split(recipe, parts, columns, digests, say)


def _example(pair: Pair, part: str, place: int, split: Split | None, separator: str | None) -> Example:
    """split: how a text becomes words, where the whole has one target; separator: what parts several classes"""
    if isinstance(pair, Example):
        return pair
    words, labels = pair
    if split is not None:
        words = split(words) if isinstance(words, str) else tuple(words)
        if separator is not None and isinstance(labels, list | tuple | set | frozenset):
            labels = separator.join(map(str, labels))
        value = None if labels is None else str(labels)
        return Example(words, {PAIRS_COLUMN: (value,)}, Place(part, place), whole=True)
    if len(words) != len(labels):
        raise DataError(f"data[{part!r}], item {place}: {len(words)} words and {len(labels)} labels")
    return Example(tuple(words), {PAIRS_COLUMN: tuple(labels)}, Place(part, place))


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
    train, dev = _following(recipe, parts["train"], columns, say), parts["dev"]
    if not dev:
        train, dev = set_aside(train, recipe.data.split, recipe.train.seed)
        say(f"no dev data: {len(dev)} of {len(train) + len(dev)} examples are set aside (data.split)")
    return Corpus(train, dev, parts["test"], columns, digests)


def _following(recipe: Recipe, train: Sequence[Example], columns: Sequence[str], say: Say) -> Sequence[Example]:
    """The examples whose labels follow the scheme that the CRF will insist on. With on_error = "skip" the others are
    left out; else they are left for the refusal that names the first."""
    if not recipe.output.crf or recipe.output.scheme == "none" or recipe.data.on_error == "stop":
        return train
    kept = [example for example in train if not any(breaks(example, c, recipe) for c in columns)]
    if len(kept) < len(train):
        first = next(example for example in train if example not in kept)
        say(
            f"left out: {len(train) - len(kept)} of {len(train)} items of train, whose labels break the scheme "
            f"{recipe.output.scheme}, as at {first.place}"
        )
    return kept


def breaks(example: Example, column: str, recipe: Recipe) -> bool:
    """Whether an example's labels break the recipe's scheme; after an unknown one anything may stand."""
    return first_wrong(example.labels[column], recipe.output.scheme) is not None


def set_aside(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """A share of the examples, drawn from the seed, and the rest: (rest, share), both in their order."""
    if len(examples) < 2:
        raise DataError("one example cannot be split into train and dev; give data.dev")
    size = min(len(examples) - 1, max(1, round(share * len(examples))))
    chosen = set(np.random.default_rng(seed).permutation(len(examples))[:size].tolist())
    rest = [example for number, example in enumerate(examples) if number not in chosen]
    return rest, [example for number, example in enumerate(examples) if number in chosen]
