"""A recipe's files -> the examples to learn from, to choose by and to report on."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.conllu import COLUMNS
from regard.data.dividing import ASIDE, divide
from regard.data.example import Example, Place, values_of
from regard.data.labels import first_wrong
from regard.data.lines import digest
from regard.data.masking import MASK, at_masks
from regard.data.parallel import Parallel
from regard.data.reading import (
    PAIR_READERS,
    Reader,
    guess_format,
    guess_table,
    read_examples,
    read_pairs,
    reader_for,
    table_reader_for,
)
from regard.data.scheme import converted
from regard.data.signal import ahead
from regard.data.signal.kinds import SIGNALS
from regard.data.signal.reader import SignalReader, Wanted, steps
from regard.data.table import Split
from regard.data.target import number, parted
from regard.data.text import SPLITS
from regard.errors import DataError, choose
from regard.plain_text import TEXT, read_texts, set_aside
from regard.recipe.settings import TEXT_TASKS, TO_TEXT_TASKS, WHOLE_TASKS, Recipe

Say = Callable[[str], None]

# A user's own example: words and labels, or for one answer to the whole a text (or words) and a class or number.
Pair = Example | tuple[str | Sequence[str] | np.ndarray, Any]
Pairs = Sequence[Pair]

PARTS = ("train", "dev", "test")

# Where not one answer is given for the whole.
ANSWERS = {"label": "each", "forecast": "ahead"}

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
    if recipe.task.kind in TEXT_TASKS:
        return _of_texts(recipe, {part: getattr(data, part) for part in PARTS}, say)
    parts = {}
    columns: tuple[str, ...] = ()
    for part in PARTS:
        paths = getattr(data, part)
        parts[part] = read_part(recipe, paths, say, grouped=part == "train") if paths else []
        columns = columns or (tuple(parts[part][0].labels) if parts[part] else ())
    digests = {path: digest(path) for part in PARTS for path in getattr(data, part)}
    return _split(recipe, parts, columns, digests, say)


def read_part(
    recipe: Recipe, paths: Sequence[str], say: Say = lambda sentence: None, *, grouped: bool = False
) -> list[Example]:
    """The examples in some files, with the recipe's columns.

    grouped: whether each knows its group, by which some are set aside
    """
    data = recipe.data
    if recipe.task.kind in TEXT_TASKS:
        return list(read_texts(recipe, paths, splitter(recipe)))
    examples: list[Example] = []
    if data.format in PAIR_READERS and recipe.task.kind in WHOLE_TASKS:
        reader = PAIR_READERS[data.format](split=splitter(recipe))
        examples = read_pairs(paths, reader, encoding_errors=data.encoding_errors, say=say)
    else:
        for path in paths:
            examples += read_examples(
                [path],
                reader_of(recipe, path, grouped=grouped),
                on_error=data.on_error,
                encoding_errors=data.encoding_errors,
                say=say,
            )
    if recipe.task.kind == "forecast":
        return [window for series in examples for window in _windows(recipe, series)]
    return _checked(recipe, examples, say)


def _windows(recipe: Recipe, series: Example) -> Iterator[Example]:
    """Each place in a series from which its next steps are forecast."""
    assert recipe.output.horizon is not None
    return ahead.windows(series, context=recipe.context, horizon=recipe.output.horizon, columns=recipe.data.target)


def to_be_answered(recipe: Recipe, example: Example) -> Example:
    """An example without labels, as it is asked: of a series that is forecast its end."""
    if recipe.task.kind != "forecast":
        return example
    assert recipe.output.horizon is not None
    return ahead.asked(example, context=recipe.context, horizon=recipe.output.horizon)


def _of_texts(recipe: Recipe, paths: Mapping[str, Sequence[str]], say: Say) -> Corpus:
    """Plain text, of which only dev and test are in memory."""
    split = splitter(recipe)
    found = {part: read_texts(recipe, of_part, split) if of_part else [] for part, of_part in paths.items()}
    digests = {path: digest(path) for of_part in paths.values() for path in of_part}
    return _with_dev(recipe, found, digests, say)


def _with_dev(recipe: Recipe, parts: Mapping[str, Sequence[Example]], digests: Mapping[str, str], say: Say) -> Corpus:
    """The parts of plain text; what is missing is set aside."""
    train, dev, test = (parts[part] for part in PARTS)
    if not dev:
        train, dev, *more = set_aside(recipe, train)
        test = more[0] if more else test
        say(f"no dev data: {len(dev):,} of {len(dev) + len(train):,} lines are set aside (data.split)")
    return Corpus(train, list(dev), list(test), (TEXT,), digests)


def to_be_scored(recipe: Recipe, examples: Sequence[Example]) -> Sequence[Example]:
    """Examples as they are scored: where several texts may be right, one for each source, with all that is right."""
    if not recipe.data.several_right:
        return examples
    found: dict[tuple[str, ...], Example] = {}
    for example in examples:
        first = found.setdefault(example.words, example)
        texts = [text for (text,) in example.labels.values() if text is not None]
        known = {*first.others, *(text for (text,) in first.labels.values())}
        others = (*first.others, *(text for text in texts if text not in known))
        found[example.words] = replace(first, others=others)
    return list(found.values())


def read_beside(
    recipe: Recipe, source: str, target: str, column: str, say: Say = lambda sentence: None
) -> list[Example]:
    """Texts in one file and their targets in another, line by line, whatever the recipe's own files are."""
    reader = Parallel(split=splitter(recipe), column=column)
    found = read_pairs([source, target], reader, encoding_errors=recipe.data.encoding_errors, say=say)
    return _checked(recipe, found, say)


def _checked(recipe: Recipe, examples: list[Example], say: Say) -> list[Example]:
    """The examples with their labels as they are learnt; the first that cannot be is named, or with on_error = "skip"
    left out."""
    checked, faults = [], []
    for example in examples:
        try:
            labels = {column: _learnt(recipe, of_column, example) for column, of_column in example.labels.items()}
        except DataError as error:
            if recipe.data.on_error == "stop":
                raise DataError(f'{error} (data.on_error = "skip" leaves such out)') from None
            faults.append(error)
            continue
        checked.append(replace(example, labels=labels))
    if faults and not checked:
        raise DataError(f"none of {len(examples)} examples can be learnt or scored; the first: {faults[0]}")
    for fault in faults:
        say(f"left out: {fault}")
    return checked


def _learnt(recipe: Recipe, labels: Sequence[str | None], example: Example) -> tuple[str | None, ...]:
    """What is learnt of a column: ignored labels are unknown, several classes are written in one way, spans are in the
    output's scheme; and what is learnt or scored must be there: a number that is one, a class that is not empty."""
    data, kind = recipe.data, recipe.task.kind
    labels = tuple(_known(label, recipe) for label in labels)
    if kind in TO_TEXT_TASKS:
        return tuple(None if text is None else _written(text, recipe) for text in labels)
    if kind == "regress":
        for value in labels:
            if value is not None:
                number(value, example.place)
    one_class = kind == "classify" and data.separator is None
    if one_class and any(label is not None and not label.strip() for label in labels):
        raise DataError(f"{example.place}: the class is empty; give it one, or take the line out")
    if data.scheme != "none":
        return converted(labels, data.scheme, recipe.output.scheme, example.place)
    return labels


def _written(text: str, recipe: Recipe) -> str:
    """A text in the form in which texts are written, and scored."""
    form = recipe.input.normalize if recipe.output.share == "all" else recipe.output.normalize
    return text if form == "none" else unicodedata.normalize(form, text)  # type: ignore[arg-type]


def _known(value: str | None, recipe: Recipe) -> str | None:
    """A label; None where it is not known or ignored. Of several classes those that are ignored are left out."""
    separator, ignore = recipe.data.separator, recipe.data.ignore
    if value is None or value in ignore:
        return None
    if separator is None:
        return value
    return separator.join(name for name in parted(value, separator) if name not in ignore)


def reader_of(
    recipe: Recipe,
    path: str | Path,
    *,
    format: str | None = None,
    target: Sequence[str] = (),
    grouped: bool = False,
    predicting: bool = False,
) -> Reader | SignalReader:
    """How a recipe's kind of file is read.

    format: another one than the recipe's; target: the columns to answer, where the recipe does not name them
    grouped: whether each example knows its group
    """
    data = recipe.data
    format = data.format if format is None else format
    if recipe.input.kind in SIGNALS:
        return _signal_reader(recipe, path, format, predicting)
    columns = tuple(data.target) or tuple(target)
    if recipe.task.kind in WHOLE_TASKS:
        return table_reader_for(
            path,
            format,
            data.source,
            data.target,
            split=splitter(recipe),
            header=True if data.header is None and isinstance(data.split_column, str) else data.header,
            group=data.split_column if grouped else None,
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


def _signal_reader(recipe: Recipe, path: str | Path, format: str, predicting: bool) -> SignalReader:
    """How a file of signals is read."""
    data, kind = recipe.data, SIGNALS[recipe.input.kind]
    wanted = Wanted(
        answers=ANSWERS.get(recipe.task.kind, "whole"),
        source=data.source,
        target=data.target,
        item=data.item,
        header=data.header,
        predicting=predicting,
        encoding_errors=data.encoding_errors,
        patch=recipe.patch,
        rate=recipe.input.rate,
    )
    format = kind.guess(path) if format == "guess" else format
    return choose(kind.readers, format, f"data.format of {recipe.input.kind}")(wanted, kind.check)


def guess(recipe: Recipe, path: str | Path) -> str:
    """The format of a file, by its contents."""
    if recipe.input.kind in SIGNALS:
        return SIGNALS[recipe.input.kind].guess(path)
    by_contents = guess_table if recipe.task.kind in WHOLE_TASKS else guess_format
    return by_contents(path, recipe.data.encoding_errors)


def settled(recipe: Recipe) -> Recipe:
    """The recipe with the format that its files have, where it was to be guessed: what is trained on one machine is
    asked on another, without those files."""
    data = recipe.data
    if recipe.task.kind in TEXT_TASKS or data.format != "guess" or not Path(data.train[0]).exists():
        return recipe
    found = guess(recipe, data.train[0])
    if found == "text":  # reading it will say what is wrong
        return recipe
    for path in (*data.train, *data.dev, *data.test):
        other = guess(recipe, path) if Path(path).exists() else found
        if other not in (found, "text"):
            raise DataError(
                f"{path} looks like {other}, but {data.train[0]} like {found}; give files of one format, or say with "
                "data.format which it is"
            )
    return recipe.model_copy(update={"data": data.model_copy(update={"format": found})})


def splitter(recipe: Recipe) -> Split:
    """How a text becomes words; letters and sub-words are made of the text as it stands, spaces too.

    Where a text is written, nothing is written of a text that is blank.
    """
    if recipe.task.kind in (*TO_TEXT_TASKS, *TEXT_TASKS):
        split = _split_text(recipe)
        return lambda text: split(text) if text.strip() else ()
    return _split_text(recipe)


def asking_splitter(recipe: Recipe) -> Split:
    """The same for what is asked: where masks are learnt, each that a person writes stays whole."""
    split = splitter(recipe)
    if recipe.task.kind != "mlm":
        return split
    spaced = recipe.input.tokens in ("subwords", "library")

    def apart(text: str) -> tuple[str, ...]:
        parts = at_masks(text, spaced=spaced)
        return tuple(word for part in parts for word in ((MASK,) if part == MASK else _split_text(recipe)(part)))

    return lambda text: apart(text) if MASK in text else split(text)


def _split_text(recipe: Recipe) -> Split:
    if recipe.task.kind in WHOLE_TASKS and recipe.input.tokens in ("characters", "subwords", "library"):
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
    if recipe.task.kind in TEXT_TASKS:
        return _given_texts(recipe, given, say)
    make = partial(_example, split=split, separator=recipe.data.separator)
    if recipe.input.kind == "vectors":
        given = {part: list(map(_upright, pairs)) for part, pairs in given.items()}
    if recipe.task.kind == "forecast":
        return _given_series(recipe, given, say)
    parts = {
        part: _checked(recipe, [make(pair, part, place) for place, pair in enumerate(given.get(part, ()), 1)], say)
        for part in PARTS
    }
    columns = tuple(parts["train"][0].labels)
    digests = {part: _digest(examples) for part, examples in parts.items()}
    return _split(recipe, parts, columns, digests, say)


def _given_series(recipe: Recipe, given: Mapping[str, Any], say: Say) -> Corpus:
    """The user's own series, (time, columns), to be forecast."""
    parts: dict[str, list[Example]] = {part: [] for part in PARTS}
    for part, of_part in given.items():
        for place, one in enumerate(of_part, 1):
            series = one if isinstance(one, Example) else Example((f"{part} {place}",), signal=one)
            parts[part] += _windows(recipe, replace(series, whole=True, place=Place(f"{part} {place}", 0)))
    columns = tuple(parts["train"][0].labels)
    return _split(recipe, parts, columns, {part: _digest(examples) for part, examples in parts.items()}, say)


def _digest(examples: Sequence[Example]) -> str:
    """By what examples are known again."""
    found = hashlib.sha256(repr(examples).encode())
    for example in examples:
        if example.signal is not None:
            found.update(np.ascontiguousarray(values_of(example.signal)).tobytes())
    return found.hexdigest()


def _given_texts(recipe: Recipe, given: Mapping[str, Any], say: Say) -> Corpus:
    """The user's own texts."""
    split = splitter(recipe)
    parts: dict[str, Sequence[Example]] = {}
    for part in PARTS:
        texts = [split(text) if isinstance(text, str) else tuple(text) for text in given.get(part, ())]
        parts[part] = [
            Example(words, place=Place(part, number), whole=True) for number, words in enumerate(texts, 1) if words
        ]
    if not parts["train"]:
        raise DataError("data['train'] holds no text: all are blank")
    return _with_dev(recipe, parts, {part: _digest(examples) for part, examples in parts.items()}, say)


def _example(pair: Pair, part: str, place: int, split: Split | None, separator: str | None) -> Example:
    """split: how a text becomes words, where the whole has one target; separator: what parts several classes"""
    if isinstance(pair, Example):
        return pair
    words, labels = pair
    if isinstance(words, np.ndarray):
        return _of_signal(words, labels, Place(part, place), separator, whole=split is not None)
    if split is not None:
        words = split(words) if isinstance(words, str) else tuple(words)
        if separator is not None and isinstance(labels, list | tuple | set | frozenset):
            labels = separator.join(map(str, labels))
        value = None if labels is None else str(labels)
        return Example(words, {PAIRS_COLUMN: (value,)}, Place(part, place), whole=True)
    if len(words) != len(labels):
        raise DataError(f"data[{part!r}], item {place}: {len(words)} words and {len(labels)} labels")
    return Example(tuple(words), {PAIRS_COLUMN: tuple(labels)}, Place(part, place))


def _of_signal(signal: np.ndarray, labels: Any, place: Place, separator: str | None, *, whole: bool) -> Example:
    """A user's own array, with one answer for the whole or one for each step."""
    if not whole:
        if len(signal) != len(labels):
            raise DataError(f"{place}: {len(signal)} steps and {len(labels)} labels")
        return Example(steps(len(signal)), {PAIRS_COLUMN: tuple(labels)}, place, signal=signal)
    if separator is not None and isinstance(labels, list | tuple | set | frozenset):
        labels = separator.join(map(str, labels))
    value = None if labels is None else str(labels)
    return Example((str(place),), {PAIRS_COLUMN: (value,)}, place, whole=True, signal=signal)


def _upright(pair: Pair) -> Pair:
    """A series of one column as (time, 1)."""
    if isinstance(pair, tuple) and isinstance(pair[0], np.ndarray) and pair[0].ndim == 1:
        return pair[0][:, None], pair[1]
    return pair


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
    train, dev, test = _following(recipe, parts["train"], columns, say), parts["dev"], parts["test"]
    _check_known(dev, train, columns)
    if not dev:
        if len(recipe.data.split) > 1 and test:
            raise DataError("data.split has a second share, for test, but test is given; give one share")
        train, dev, *more = _set_aside(recipe, train, say)
        test = more[0] if more else test
    return Corpus(train, to_be_scored(recipe, dev), to_be_scored(recipe, test), columns, digests)


def _check_known(dev: Sequence[Example], train: Sequence[Example], columns: Sequence[str]) -> None:
    """Refuse a dev in which there is nothing to be right or wrong about; _ stands where nobody has filled it in."""
    if dev and not _filled(dev) and _filled(train):
        raise DataError(
            f"{dev[0].place}: no item of dev has a label of {', '.join(columns)}, but by dev the best model is chosen; "
            "give labels, or leave data.dev out, so that a share of train is set aside"
        )


def _filled(examples: Sequence[Example]) -> bool:
    every = (label for one in examples for of_column in one.labels.values() for label in of_column)
    return any(label not in (None, "_") for label in every)


def _set_aside(recipe: Recipe, examples: Sequence[Example], say: Say) -> Sequence[Sequence[Example]]:
    """What is left to learn from, and what is set aside for dev, or for dev and test."""
    if recipe.task.kind == "forecast":
        found = ahead.by_time(examples, recipe.data.split)
        say(f"no dev data: the last {recipe.data.split[0]:.0%} of each series are set aside (data.split)")
        return found
    data, classes = recipe.data, recipe.task.kind == "classify" and recipe.data.separator is None
    found = divide(examples, data.split, by=data.split_by, seed=recipe.train.seed, classes=classes)
    counts = " and ".join(str(len(part)) for part in found[1:])
    how = {
        "chance": ", each class by its share" if classes else "",
        "lines": ", by lines",
        "column": f", by the column {data.split_column}",
    }[data.split_by]
    parts = " and no ".join(ASIDE[: len(data.split)])
    say(f"no {parts} data: {counts} of {len(examples)} examples are set aside (data.split{how})")
    return found


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
