"""A linear model on bags of n-grams: what can be told without the order of words beyond neighbours.

It is often hard to beat on few and short texts (Wang & Manning 2012, ACL, "Baselines and bigrams"). With the same
choices (TfidfVectorizer with ngram_range=(1, 2) and min_df=2, LinearSVC, Ridge) scikit-learn 1.9 has the same scores
to within a tenth: on SST-2, on ChnSentiCorp by signs, and on every tenth of the VADER tweets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.example import Example
from regard.data.vocabulary import SEPARATOR
from regard.training.signal_features import Dense, standardized

# What is known of each training and of each test example.
Rows = tuple["Matrix | Dense", "Matrix | Dense"]

# The words of a text -> its n-grams.
Grams = Callable[[Sequence[str]], list[str]]

# How much large weights cost, against the loss summed over the examples (scikit-learn's C = 1 is 1).
_PENALTY = 1.0

# Words alone and pairs of them.
_LONGEST = 2

# An n-gram that stands in one training text alone tells of that text only.
_LEAST = 2

_WORD = re.compile(r"\b\w\w+\b")

# Steps of L-BFGS; the loss does not move any more long before on sets of some ten thousand texts.
_STEPS = 100

# Where no slope of the summed loss is steeper, it is smallest: no answer of some thousand texts changes any more.
_FLAT = 1e-3


@dataclass(frozen=True)
class Matrix:
    """A table that is mostly empty, as the row, the column and the value of each cell that is not: (cells,).

    Where a text has one score, sums by bincount take less time than torch's sparse matrices: 34 milliseconds a product
    against 121 on the 2.5 million n-grams of ChnSentiCorp, on one busy core.
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    def __matmul__(self, weights: Tensor) -> Tensor:
        """(columns, width) -> (rows, width)"""
        return self._sums(self.rows, self.columns, weights, self.shape[0])

    def transposed(self, slopes: Tensor) -> Tensor:
        """(rows, width) -> (columns, width)"""
        return self._sums(self.columns, self.rows, slopes, self.shape[1])

    def _sums(self, into: np.ndarray, of: np.ndarray, factors: Tensor, size: int) -> Tensor:
        each = [np.bincount(into, self.values * column[of], minlength=size) for column in factors.T.numpy()]
        return torch.from_numpy(np.stack(each, 1))


class Bags:
    """Texts as bags of n-grams, weighed by how telling each is (tf-idf), each text's vector of length 1.

    Source of the weights: Salton & Buckley 1988, table 1; document frequencies are smoothed by 1.

    least: in how many of the examples an n-gram must stand to count
    """

    def __init__(self, examples: Sequence[Example], grams: Grams, *, least: int = 1) -> None:
        self.grams = grams
        documents = Counter(gram for example in examples for gram in set(grams(example.words)))
        kept = {gram: count for gram, count in documents.items() if count >= least}
        self.places = {gram: place for place, gram in enumerate(kept)}
        counts = np.fromiter(kept.values(), dtype=np.float64, count=len(kept))
        self.weights: list[float] = (np.log((1 + len(examples)) / (1 + counts)) + 1).tolist()

    def bag(self, words: Sequence[str]) -> dict[int, float]:
        """The place of each n-gram that is known, and its share of the text's vector."""
        counts = Counter(self.places[gram] for gram in self.grams(words) if gram in self.places)
        weighed = {place: count * self.weights[place] for place, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weighed.values())) or 1.0
        return {place: weight / length for place, weight in weighed.items()}

    def matrix(self, examples: Sequence[Example]) -> Matrix:
        """(examples, grams)"""
        bags = [self.bag(example.words) for example in examples]
        rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
        columns = np.array([place for bag in bags for place in bag], dtype=np.int64)
        values = np.array([value for bag in bags for value in bag.values()], dtype=np.float64)
        return Matrix(rows, columns, values, (len(examples), len(self.places)))


def grams_of(examples: Sequence[Example], *, longest: int) -> Grams:
    """What texts such as these are cut into: words, up to so many together; where a text stands as it is, or each sign
    is a word, signs, up to one more of them."""
    words = [word for example in examples for word in example.words if word != SEPARATOR]
    uncut = sum(all(len(text) == 1 for text in _texts(example.words)) for example in examples)
    signs = sum(len(word) == 1 for word in words)
    by_signs = 2 * uncut > len(examples) or 2 * signs > len(words)
    return partial(sign_grams, longest=longest + 1) if by_signs else partial(word_grams, longest=longest)


def word_grams(words: Sequence[str], longest: int) -> list[str]:
    """Words of two or more letters or digits, alone and with their neighbours, in lower case."""
    found = [_WORD.findall(" ".join(text).lower()) for text in _texts(words)]
    return [" ".join(gram) for text in found for gram in _grams(text, longest)]


def sign_grams(words: Sequence[str], longest: int) -> list[str]:
    """Signs alone and with their neighbours, in lower case."""
    return ["".join(gram) for text in _texts(words) for gram in _grams("".join(text).lower(), longest)]


def _grams(parts: Sequence[str], longest: int) -> Iterator[Sequence[str]]:
    for size in range(1, longest + 1):
        for start in range(len(parts) - size + 1):
            yield parts[start : start + size]


def _texts(words: Sequence[str]) -> list[list[str]]:
    """The texts that were joined: n-grams do not reach from one into another."""
    return [list(text) for parts, text in groupby(words, SEPARATOR.__eq__) if not parts]


def classify(train: Sequence[Example], labels: Sequence[str], test: Sequence[Example]) -> list[str]:
    """A linear support vector machine, each label against the others: the label of each test example.

    The loss is the squared hinge (Fan et al. 2008, "LIBLINEAR", JMLR 9, equation 3).
    """
    return classify_rows(_matrices(train, test), labels) if len(set(labels)) > 1 else sorted(set(labels)) * len(test)


def classify_rows(rows: Rows, labels: Sequence[str]) -> list[str]:
    """The same of what is known of each example: the labels are those of the training rows."""
    names = sorted(set(labels))
    numbers = {name: number for number, name in enumerate(names)}
    there = F.one_hot(torch.tensor([numbers[label] for label in labels]), len(names))
    if len(names) == 2:  # what is not on the one's side is on the other's
        return [names[side] for side in (_sides(rows, there[:, 1:])[:, 0] > 0).tolist()]
    return [names[number] for number in _sides(rows, there).argmax(-1).tolist()]


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
        for scores in _sides(_matrices(train, test), there).tolist()
    ]


def are_pairs(examples: Sequence[Example]) -> bool:
    """Whether each example is two texts."""
    return all(example.words.count(SEPARATOR) == 1 for example in examples)


def regress_similarity(train: Sequence[Example], values: Sequence[float], test: Sequence[Example]) -> list[float]:
    """The number of each test pair by how alike its texts are, on the straight line that fits the training pairs best.

    Alike are texts with the same telling words: the cosine of their tf-idf vectors, over words alone.
    """
    pairs = [_two(example) for example in train]
    texts = [text for pair in pairs for text in pair]
    bags = Bags(texts, grams_of(texts, longest=1))
    alike = np.array([_cosine(bags, *pair) for pair in pairs])
    true = np.array(values, dtype=np.float64)
    spread = alike - alike.mean()
    slope = float(spread @ (true - true.mean())) / (float(spread @ spread) or 1.0)
    return [float(true.mean() + slope * (_cosine(bags, *_two(example)) - alike.mean())) for example in test]


def _two(example: Example) -> tuple[Example, Example]:
    place = example.words.index(SEPARATOR)
    return Example(example.words[:place], whole=True), Example(example.words[place + 1 :], whole=True)


def _cosine(bags: Bags, one: Example, other: Example) -> float:
    first, second = bags.bag(one.words), bags.bag(other.words)
    return sum(share * second.get(place, 0.0) for place, share in first.items())


def _sides(rows: Rows, there: Tensor) -> Tensor:
    """(test, labels): on which side of each label's plane a test example is, and how far.

    there: (train, labels), whether a training example has the label
    """
    sides = there * 2.0 - 1.0
    return _fitted(rows, there.shape[1], lambda scores: F.relu(1 - sides * scores).square().sum())


def regress(train: Sequence[Example], values: Sequence[float], test: Sequence[Example]) -> list[float]:
    """Ridge regression: the number of each test example."""
    mean = sum(values) / len(values)
    true = torch.tensor(values, dtype=torch.float64) - mean
    scores = _fitted(_matrices(train, test), 1, lambda scores: (scores[:, 0] - true).square().sum() / 2)
    return [value + mean for value in scores[:, 0].tolist()]


def _fitted(rows: Rows, width: int, loss: Callable[[Tensor], Tensor]) -> Tensor:
    """(test, width): the scores of the test examples, with weights for which loss on train and penalty are smallest."""
    matrix, of_test = rows
    weights = torch.zeros(matrix.shape[1], width, dtype=torch.float64)
    offset = torch.zeros(width, dtype=torch.float64)
    optimizer = torch.optim.LBFGS(
        [weights, offset], max_iter=_STEPS, tolerance_grad=_FLAT, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        scores = (matrix @ weights + offset).requires_grad_()
        total = loss(scores)
        (slopes,) = torch.autograd.grad(total, scores)
        weights.grad = matrix.transposed(slopes) + _PENALTY * weights
        offset.grad = slopes.sum(0)
        return total.detach() + _PENALTY * weights.square().sum() / 2

    with torch.enable_grad():
        optimizer.step(closure)
    return of_test @ weights + offset


def _matrices(train: Sequence[Example], test: Sequence[Example]) -> Rows:
    """What is known of each example: n-grams of a text, values of a signal."""
    if train[0].signal is not None:
        return standardized(train, test)
    bags = Bags(train, grams_of(train, longest=_LONGEST), least=_LEAST)
    return bags.matrix(train), bags.matrix(test)
