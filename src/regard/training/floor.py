"""Floors: what is reached without a network, or without looking at the neighbours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence

import numpy as np

from regard.data.example import Example
from regard.data.signal.ahead import last_known
from regard.data.target import Numbers, parted
from regard.training import linear
from regard.training.elements import linear_elements
from regard.training.linear_ahead import linear_ahead
from regard.training.metric import LabelScores, NumberScores, collect_numbers, count_classes, count_labels

Lookup = Callable[[str], str]


def most_frequent(train: Sequence[Example], column: str, ignore: Collection[str]) -> Lookup:
    """Answers the most frequent label, whatever the word."""
    labels = (label for example in train for label in example.labels[column])
    counts = Counter(label for label in labels if label is not None and label not in ignore)
    label = _first(counts)
    return lambda word: label


def each_word_alone(train: Sequence[Example], column: str, ignore: Collection[str]) -> Lookup:
    """Answers each word's most frequent label; for a word never seen, that of the words seen once."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for example in train:
        for word, label in zip(example.words, example.labels[column], strict=True):
            if label is not None and label not in ignore:
                counts[word][label] += 1
    once = Counter(_first(labels) for labels in counts.values() if labels.total() == 1)
    unseen = _first(once) if once else most_frequent(train, column, ignore)("")
    readings = {word: _first(labels) for word, labels in counts.items()}
    return lambda word: readings.get(word, unseen)


FLOORS: dict[str, Callable[[Sequence[Example], str, Collection[str]], Lookup]] = {
    "most frequent label": most_frequent,
    "each word alone (its most frequent label)": each_word_alone,
}


LINEAR = "linear model on words and pairs of words"

# A linear model of signals is fitted to so many training items at most, taken evenly from all.
_SIGNALS = 10_000

OF_SIGNALS = f"linear model on resampled values (of at most {_SIGNALS:,} items)"

SIMILARITY = "words that both texts share (tf-idf cosine)"

# Where the whole has one label, a word alone is no answer.
WHOLE_FLOORS = {"most frequent label": most_frequent}


def label_floors(
    train: Sequence[Example],
    test: Sequence[Example],
    columns: Sequence[str],
    ignore: Collection[str],
    *,
    scheme: str = "none",
) -> dict[str, LabelScores]:
    """Each floor's scores on the same items as the model's."""
    whole = bool(test) and test[0].whole
    signals = bool(test) and test[0].signal is not None
    found = {}
    # A step's or a patch's own name tells nothing of it.
    for name, make in (WHOLE_FLOORS if whole or signals else FLOORS).items():
        look_up = {column: make(train, column, ignore) for column in columns}
        answers = (
            ({column: _answers(look_up[column], example, whole) for column in columns}, example.labels)
            for example in test
        )
        found[name] = count_labels(answers, ignore, whole=whole, scheme=scheme)
    if signals and not whole:
        alone = {column: linear_elements(train, test, column, ignore) for column in columns}
        answers = (
            ({column: alone[column][number] for column in columns}, example.labels)
            for number, example in enumerate(test)
        )
        found["each element alone (linear model of its values)"] = count_labels(answers, ignore, scheme=scheme)
    if whole:
        each = {column: _linear(train, test, column, ignore) for column in columns}
        answers = (
            ({column: (each[column][number],) for column in columns}, example.labels)
            for number, example in enumerate(test)
        )
        found[linear_floor(train)] = count_labels(answers, ignore, whole=True)
    return found


def class_floors(
    train: Sequence[Example], test: Sequence[Example], columns: Sequence[str], separator: str
) -> dict[str, LabelScores]:
    """Floors where an item may have several classes: the most frequent cell, and a linear model of each class."""
    most = {column: most_frequent(train, column, ())("") for column in columns}
    fitted = {}
    for column in columns:
        known, cells = _known(train, column, ())
        sets = linear.classify_several(known, [parted(cell, separator) for cell in cells], test)
        fitted[column] = [separator.join(found) for found in sets]
    constant = (({column: (most[column],) for column in columns}, example.labels) for example in test)
    linears = (
        ({column: (fitted[column][number],) for column in columns}, example.labels)
        for number, example in enumerate(test)
    )
    return {
        "most frequent set of classes": count_classes(constant, separator),
        linear_floor(train): count_classes(linears, separator),
    }


def linear_floor(train: Sequence[Example]) -> str:
    """What the linear model's floor is called."""
    return LINEAR if train[0].signal is None else OF_SIGNALS


def _linear(train: Sequence[Example], test: Sequence[Example], column: str, ignore: Collection[str]) -> list[str]:
    known, values = _known(train, column, ignore)
    return linear.classify(known, values, test)


def _known(examples: Sequence[Example], column: str, ignore: Collection[str]) -> tuple[list[Example], list[str]]:
    """The examples whose one value is known, and those values."""
    if examples[0].signal is not None:
        examples = examples[:: -(-len(examples) // _SIGNALS)]
    pairs = [(example, example.labels[column][0]) for example in examples]
    kept = [(example, value) for example, value in pairs if value is not None and value not in ignore]
    return [example for example, _ in kept], [value for _, value in kept]


def number_floors(
    train: Sequence[Example], test: Sequence[Example], columns: Sequence[str], ignore: Collection[str]
) -> dict[str, NumberScores]:
    """The mean of the training numbers as the answer to everything, a linear model, and where an example is two texts
    how alike they are."""
    means = {column: Numbers.of(train, column, ignore).decode(0.0) for column in columns}
    answers = (({column: (mean,) for column, mean in means.items()}, example.labels) for example in test)
    found = {"mean of train": collect_numbers(answers, ignore)}
    fits = {linear_floor(train): linear.regress}
    if linear.are_pairs(train) and linear.are_pairs(test):
        fits[SIMILARITY] = linear.regress_similarity
    for name, fit in fits.items():
        fitted = {}
        for column in columns:
            known, values = _known(train, column, ignore)
            fitted[column] = fit(known, [float(value) for value in values], test)
        answers = (
            ({column: (str(fitted[column][number]),) for column in columns}, example.labels)
            for number, example in enumerate(test)
        )
        found[name] = collect_numbers(answers, ignore)
    return found


def ahead_floors(train: Sequence[Example], test: Sequence[Example], columns: Sequence[str]) -> dict[str, NumberScores]:
    """The last known value of each column for all steps to come, and a linear model of what is looked back at."""
    answers = (({column: _still(example, column) for column in columns}, example.labels) for example in test)
    found = {"last value": collect_numbers(answers)}
    fitted = {column: linear_ahead(train, test, column) for column in columns}
    answers = (
        ({column: fitted[column][number] for column in columns}, example.labels) for number, example in enumerate(test)
    )
    return {**found, "linear model on the steps before": collect_numbers(answers)}


def _still(example: Example, column: str) -> tuple[str, ...]:
    assert isinstance(example.signal, np.ndarray)
    last = last_known(example.signal)[example.columns.index(column)]
    return (repr(float(last)),) * len(example.words)


def _answers(look_up: Lookup, example: Example, whole: bool) -> tuple[str, ...]:
    return (look_up(""),) if whole else tuple(map(look_up, example.words))


def _first(counts: Counter[str]) -> str:
    """The most frequent; of equally frequent ones the first in the alphabet."""
    return min(counts, key=lambda label: (-counts[label], label))
