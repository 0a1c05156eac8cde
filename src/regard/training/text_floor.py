"""Floors of texts: what is reached by copying."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from regard.data.example import Example
from regard.training.linear import Bags, grams_of

# Runs of words are compared up to this length, runs of signs up to one more.
_LONGEST = 2


def the_source(train: Sequence[Example], test: Sequence[Example]) -> list[str]:
    """Each text as it was read."""
    return [" ".join(example.words) for example in test]


def of_the_most_similar(train: Sequence[Example], test: Sequence[Example]) -> list[str]:
    """The target of that training text which shares most with each: the cosine of their bags of n-grams."""
    known = [(example, text) for example in train for (text,) in example.labels.values() if text is not None]
    examples = [example for example, _ in known]
    bags = Bags(examples, grams_of(examples, longest=_LONGEST))
    matrix = bags.matrix(examples)
    # In which texts each n-gram stands, and its share there, one n-gram after the other.
    order = np.argsort(matrix.columns, kind="stable")
    texts, shares = matrix.rows[order], matrix.values[order]
    begins = np.searchsorted(matrix.columns[order], np.arange(matrix.shape[1] + 1))
    written = []
    for example in test:
        likeness = np.zeros(len(known))
        for gram, share in bags.bag(example.words).items():
            here = slice(begins[gram], begins[gram + 1])
            likeness[texts[here]] += share * shares[here]  # a text has an n-gram once
        written.append(known[int(likeness.argmax())][1])
    return written


def the_most_frequent(train: Sequence[Example], test: Sequence[Example]) -> list[str]:
    """The text that stands most often in train; of several the first in the alphabet."""
    counts = Counter(text for example in train for (text,) in example.labels.values() if text is not None)
    return [min(counts, key=lambda text: (-counts[text], text))] * len(test)


# What is written where no text is read.
FREQUENT = "most frequent text of train"

TEXT_FLOORS: dict[str, Callable[[Sequence[Example], Sequence[Example]], list[str]]] = {
    "the source, copied": the_source,
    "target of the most similar source of train": of_the_most_similar,
}


def text_floors(train: Sequence[Example], test: Sequence[Example]) -> dict[str, list[str]]:
    """What each floor writes for the same items as the model."""
    if train and train[0].signal is not None:  # there is no text to be copied or to be similar
        return {FREQUENT: the_most_frequent(train, test)}
    return {name: write(train, test) for name, write in TEXT_FLOORS.items()}
