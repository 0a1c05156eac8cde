"""How good the answers are: counts are summed, so that no score depends on how items were batched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.data.labels import Span, spans


@dataclass
class ColumnCounts:
    """What was counted of one target column.

    gold, predicted, right: how often each label stands in the data, was answered, and was answered where it stands
    pairs: how often each label was answered where each stands
    spans: what was counted of the spans that labels mean, where they follow a scheme
    """

    gold: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    spans: SpanCounts = field(default_factory=lambda: SpanCounts())

    @property
    def accuracy(self) -> float:
        """The share of elements with the right label; 0 where there are none."""
        return self.right.total() / max(1, self.gold.total())

    def table(self) -> list[tuple[str, int, float, float, float]]:
        """For each label: how often it stands in the data, precision, recall, F1; the most frequent first."""
        rows = []
        for label in sorted(self.gold | self.predicted, key=lambda label: (-self.gold[label], label)):
            precision = self.right[label] / max(1, self.predicted[label])
            recall = self.right[label] / max(1, self.gold[label])
            both = 2 * self.right[label] / max(1, self.gold[label] + self.predicted[label])
            rows.append((label, self.gold[label], precision, recall, both))
        return rows


@dataclass
class SpanCounts:
    """How many spans of each kind stand in the data, were answered, and were answered exactly where one stands."""

    gold: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

    def add(self, true: set[Span], answered: set[Span]) -> None:
        """Count one item's spans."""
        for counts, found in ((self.gold, true), (self.predicted, answered), (self.right, true & answered)):
            counts.update(kind for _, _, kind in found)

    @property
    def f1(self) -> float:
        return 2 * self.right.total() / max(1, self.gold.total() + self.predicted.total())


@dataclass
class LabelScores:
    """What was counted over a set of items.

    whole:       whether a label is for the whole item
    scheme:      how labels mean spans (strictly); none where they do not
    right_items: how many items are right in every label of every column
    """

    columns: dict[str, ColumnCounts] = field(default_factory=dict)
    items: int = 0
    right_items: int = 0
    whole: bool = False
    scheme: str = "none"

    def values(self) -> dict[str, float]:
        """All scores by name; with several columns each column's accuracy too."""
        found = {name: METRICS[name].of(self) for name in LABEL_METRICS[self.whole]}
        if self.scheme != "none":
            found["span_f1"] = METRICS["span_f1"].of(self)
        if len(self.columns) > 1:
            found.update({f"accuracy {column}": counts.accuracy for column, counts in self.columns.items()})
        return found


@dataclass
class NumberScores:
    """Answered and true numbers of each target column."""

    columns: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    items: int = 0

    def values(self) -> dict[str, float]:
        """All scores by name: the mean over the columns where there are several."""
        return {name: METRICS[name].of(self) for name in NUMBER_METRICS}

    def mean(self, measure: Callable[[np.ndarray, np.ndarray], float]) -> float:
        """A measure of answered and true numbers, as the mean over the columns."""
        found = [measure(*np.array(pairs, dtype=np.float64).T) for pairs in self.columns.values() if pairs]
        return sum(found) / max(1, len(found))


Scores = LabelScores | NumberScores

Columns = Mapping[str, tuple[str | None, ...]]


def count_labels(
    pairs: Iterable[tuple[Mapping[str, tuple[str, ...]], Columns]],
    ignore: Collection[str] = (),
    *,
    whole: bool = False,
    scheme: str = "none",
) -> LabelScores:
    """Count answers against the data: pairs of (answered columns, true columns). Unknown and ignored labels do not
    count; a label that was never seen in training counts as missed."""
    scores = LabelScores(whole=whole, scheme=scheme)
    for answered, true in pairs:
        whole = True
        scores.items += 1
        for column, labels in true.items():
            counts = scores.columns.setdefault(column, ColumnCounts())
            if scheme != "none":
                # Where the true label is not known or ignored, the answer does not count either.
                true_labels = [None if label in ignore else label for label in labels]
                pairs_known = zip(answered[column], true_labels, strict=True)
                known_answers = [None if label is None else answer for answer, label in pairs_known]
                counts.spans.add(spans(true_labels, scheme), spans(known_answers, scheme))
            for answer, label in zip(answered[column], labels, strict=True):
                if label is None or label in ignore:
                    continue
                counts.gold[label] += 1
                counts.predicted[answer] += 1
                counts.right[label] += answer == label
                counts.pairs[label, answer] += 1
                whole &= answer == label
        scores.right_items += whole
    return scores


def accuracy(scores: LabelScores) -> float:
    """The share of right labels; the mean over the columns where there are several."""
    return sum(counts.accuracy for counts in scores.columns.values()) / max(1, len(scores.columns))


def exact(scores: LabelScores) -> float:
    """The share of items in which everything is right."""
    return scores.right_items / max(1, scores.items)


def macro_f1(scores: LabelScores) -> float:
    """The mean of all labels' F1, so that rare labels weigh as much as frequent ones; the mean over the columns."""
    found = []
    for counts in scores.columns.values():
        each = [both for _, count, _, _, both in counts.table() if count]
        found.append(sum(each) / max(1, len(each)))
    return sum(found) / max(1, len(found))


def span_f1(scores: LabelScores) -> float:
    """Of spans answered and spans there are, how many are the same, in place and kind; the mean over the columns.

    Source: Tjong Kim Sang & De Meulder 2003, CoNLL, section 3; their script also takes a stray I- for a beginning, we
    do not.
    """
    return sum(counts.spans.f1 for counts in scores.columns.values()) / max(1, len(scores.columns))


def collect_numbers(
    pairs: Iterable[tuple[Mapping[str, tuple[str, ...]], Columns]], ignore: Collection[str] = ()
) -> NumberScores:
    """Set answers beside the data: pairs of (answered columns, true columns)."""
    scores = NumberScores()
    for answered, true in pairs:
        scores.items += 1
        for column, values in true.items():
            found = scores.columns.setdefault(column, [])
            for answer, value in zip(answered[column], values, strict=False):
                if value is not None and value not in ignore:
                    found.append((float(answer), float(value)))
    return scores


def pearson(answered: np.ndarray, true: np.ndarray) -> float:
    """How well a straight line leads from the one to the other, -1 to 1; 0 where either does not vary."""
    if not np.ptp(answered) or not np.ptp(true):
        return 0.0
    one, other = _centred(answered), _centred(true)
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


def _centred(values: np.ndarray) -> np.ndarray:
    """Distances from the mean in units of the largest, so that no square is too large or too small."""
    scaled = values / np.abs(values).max()
    apart = scaled - scaled.mean()
    largest = np.abs(apart).max()
    return apart / largest


def spearman(answered: np.ndarray, true: np.ndarray) -> float:
    """Pearson's correlation of the ranks; equal numbers share the mean of theirs."""
    return pearson(_ranks(answered), _ranks(true))


def rmse(answered: np.ndarray, true: np.ndarray) -> float:
    """The root of the mean squared error, in the target's own unit."""
    return math.sqrt(float(np.mean((answered - true) ** 2)))


def _ranks(values: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[places]


@dataclass(frozen=True)
class Metric:
    """A measure of scores.

    sign:  1 if more of it is better, -1 if less
    share: whether it is a share, shown in percent
    """

    of: Callable[[Any], float]
    sign: int = 1
    share: bool = True


METRICS: dict[str, Metric] = {
    "accuracy": Metric(accuracy),
    "exact": Metric(exact),
    "macro_f1": Metric(macro_f1),
    "span_f1": Metric(span_f1),
    "pearson": Metric(lambda scores: scores.mean(pearson), share=False),
    "spearman": Metric(lambda scores: scores.mean(spearman), share=False),
    "rmse": Metric(lambda scores: scores.mean(rmse), sign=-1, share=False),
}

# Which are told of labels (for each word, for the whole) and of numbers.
LABEL_METRICS: dict[bool, tuple[str, ...]] = {False: ("accuracy", "exact"), True: ("accuracy", "macro_f1")}
NUMBER_METRICS = ("pearson", "spearman", "rmse")


def shown(name: str, value: float) -> str:
    """A score as people read it; names may carry a column, as in "accuracy upos"."""
    metric = METRICS.get(name.split(" ")[0])
    return f"{value:.2%}" if metric is None or metric.share else f"{value:.4f}"
