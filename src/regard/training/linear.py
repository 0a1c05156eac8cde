"""A linear model on bags of n-grams: what can be told without the order of words beyond neighbours.

It is often hard to beat on few and short texts (Wang & Manning 2012, ACL, "Baselines and bigrams").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.example import Example

# How much large weights cost, against the loss summed over the examples (scikit-learn's C = 1 is 1).
_PENALTY = 1.0

# Steps of L-BFGS; the loss does not move any more long before on sets of some ten thousand texts.
_STEPS = 100


class Bags:
    """Texts as bags of n-grams, weighed by how telling each is (tf-idf), each text's vector of length 1.

    Source of the weights: Salton & Buckley 1988, table 1; document frequencies are smoothed by 1.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        documents = Counter(gram for example in examples for gram in set(grams(example)))
        self.places = {gram: place for place, gram in enumerate(documents)}
        counts = np.fromiter(documents.values(), dtype=np.float64, count=len(documents))
        self.weights = np.log((1 + len(examples)) / (1 + counts)) + 1

    def matrix(self, examples: Sequence[Example]) -> Tensor:
        """(examples, grams), sparse"""
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for row, example in enumerate(examples):
            counts = Counter(self.places[gram] for gram in grams(example) if gram in self.places)
            weighed = [count * self.weights[place] for place, count in counts.items()]
            length = math.sqrt(sum(weight * weight for weight in weighed)) or 1.0
            rows += [row] * len(counts)
            columns += counts
            values += [weight / length for weight in weighed]
        shape = (len(examples), max(1, len(self.places)))
        cells = torch.tensor([rows, columns], dtype=torch.int64)
        return torch.sparse_coo_tensor(cells, torch.tensor(values, dtype=torch.float32), shape, check_invariants=False)


def grams(example: Example) -> Iterable[str]:
    """Words and pairs of neighbours in lower case; of a text that is not split into words, one to three signs."""
    words = [word.lower() for word in example.words]
    if len(words) == 1:
        text = words[0]
        return [text[start : start + size] for size in (1, 2, 3) for start in range(len(text) - size + 1)]
    return [*words, *(f"{one} {other}" for one, other in pairwise(words))]


def classify(train: Sequence[Example], labels: Sequence[str], test: Sequence[Example]) -> list[str]:
    """A linear support vector machine, each label against the others: the label of each test example.

    The loss is the squared hinge (Fan et al. 2008, "LIBLINEAR", JMLR 9, equation 3).
    """
    names = sorted(set(labels))
    if len(names) < 2:
        return names * len(test)
    numbers = {name: number for number, name in enumerate(names)}
    there = F.one_hot(torch.tensor([numbers[label] for label in labels]), len(names))
    return [names[number] for number in _sides(train, there, test).argmax(-1).tolist()]


def classify_several(
    train: Sequence[Example], sets: Sequence[Collection[str]], test: Sequence[Example]
) -> list[list[str]]:
    """The same where an example may have several labels: those of each test example that are on the right side."""
    names = sorted({name for labels in sets for name in labels})
    if not names:
        return [[] for _ in test]
    there = torch.tensor([[name in labels for name in names] for labels in sets]).long()
    return [
        [name for name, score in zip(names, scores, strict=True) if score > 0]
        for scores in _sides(train, there, test).tolist()
    ]


def _sides(train: Sequence[Example], there: Tensor, test: Sequence[Example]) -> Tensor:
    """(test, labels): on which side of each label's plane a test example is, and how far.

    there: (train, labels), whether a training example has the label
    """
    sides = there * 2.0 - 1.0
    bags = Bags(train)
    scores = _fitted(bags.matrix(train), there.shape[1], lambda scores: F.relu(1 - sides * scores).square().sum())
    found: Tensor = scores(bags.matrix(test))
    return found


def regress(train: Sequence[Example], values: Sequence[float], test: Sequence[Example]) -> list[float]:
    """Ridge regression: the number of each test example."""
    mean = sum(values) / len(values)
    true = torch.tensor(values, dtype=torch.float32) - mean
    bags = Bags(train)
    scores = _fitted(bags.matrix(train), 1, lambda scores: (scores[:, 0] - true).square().sum() / 2)
    return [value + mean for value in scores(bags.matrix(test))[:, 0].tolist()]


def _fitted(matrix: Tensor, width: int, loss):  # type: ignore[no-untyped-def]
    """The weights for which loss and penalty are smallest, as a function from bags to scores."""
    weights = torch.zeros(matrix.shape[1], width, requires_grad=True)
    offset = torch.zeros(width, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, offset], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        total = loss(matrix @ weights + offset) + _PENALTY * weights.square().sum() / 2
        total.backward()
        return total

    with torch.enable_grad():
        optimizer.step(closure)
    return lambda bags: (bags @ weights + offset).detach()
