"""Floors: what is reached without a network, or without looking at the neighbours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence

from regard.data.example import Example
from regard.data.target import Numbers
from regard.training.metric import LabelScores, NumberScores, collect_numbers, count_labels

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


# Where the whole has one label, a word alone is no answer.
WHOLE_FLOORS = {"most frequent label": most_frequent}


def label_floors(
    train: Sequence[Example], test: Sequence[Example], columns: Sequence[str], ignore: Collection[str]
) -> dict[str, LabelScores]:
    """Each floor's scores on the same items as the model's."""
    whole = bool(test) and test[0].whole
    found = {}
    for name, make in (WHOLE_FLOORS if whole else FLOORS).items():
        look_up = {column: make(train, column, ignore) for column in columns}
        answers = (
            ({column: _answers(look_up[column], example, whole) for column in columns}, example.labels)
            for example in test
        )
        found[name] = count_labels(answers, ignore, whole=whole)
    return found


def number_floors(
    train: Sequence[Example], test: Sequence[Example], columns: Sequence[str], ignore: Collection[str]
) -> dict[str, NumberScores]:
    """The mean of the training numbers as the answer to everything."""
    means = {column: Numbers.of(train, column, ignore).decode(0.0) for column in columns}
    answers = (({column: (mean,) for column, mean in means.items()}, example.labels) for example in test)
    return {"mean of train": collect_numbers(answers, ignore)}


def _answers(look_up: Lookup, example: Example, whole: bool) -> tuple[str, ...]:
    return (look_up(""),) if whole else tuple(map(look_up, example.words))


def _first(counts: Counter[str]) -> str:
    """The most frequent; of equally frequent ones the first in the alphabet."""
    return min(counts, key=lambda label: (-counts[label], label))
