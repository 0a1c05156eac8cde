"""How good answered labels are: counts are kept item by item and summed, so that no score depends on batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from regard.data.labels import spans
from regard.data.target import parted
from regard.training.scores import Metric, Weights

Columns = Mapping[str, tuple[str | None, ...]]
Pairs = Iterable[tuple[Mapping[str, tuple[str, ...]], Columns]]


@dataclass(frozen=True)
class Marks:
    """Labels, each with the item that it was found in.

    names: the label of each number; items, labels: (marks,), numbers
    """

    names: Sequence[str]
    items: np.ndarray
    labels: np.ndarray

    @cached_property
    def _per_item(self) -> np.ndarray:
        """(last item that has one + 1,)"""
        return np.bincount(self.items)

    def total(self, weights: Weights | None = None) -> int:
        """How many there are, with each item counted so often."""
        each = self._per_item
        return int(each.sum() if weights is None else weights[: len(each)] @ each)

    def of_each(self, weights: Weights | None = None) -> np.ndarray:
        """(names,): how many there are of each label."""
        counted = None if weights is None else weights[self.items]
        return np.bincount(self.labels, weights=counted, minlength=len(self.names))

    def counts(self) -> Counter[str]:
        """The labels that were found, and how often."""
        return Counter({self.names[number]: int(count) for number, count in enumerate(self.of_each()) if count})


@dataclass(frozen=True)
class Tally:
    """What stands in the data, what was answered, and what was answered where it stands."""

    gold: Marks
    predicted: Marks
    right: Marks

    def recall(self, weights: Weights | None = None) -> float:
        """The share of what stands in the data that was answered: of one label for each element, the accuracy."""
        return self.right.total(weights) / max(1, self.gold.total(weights))

    def f1(self, weights: Weights | None = None) -> float:
        """Twice the right ones over those that stand and those that were answered; 0 where there are none."""
        return 2 * self.right.total(weights) / max(1, self.gold.total(weights) + self.predicted.total(weights))

    def mean_f1(self, weights: Weights | None = None) -> float:
        """The mean F1 of the labels that stand in the data, each weighing the same."""
        gold, predicted, right = (marks.of_each(weights) for marks in (self.gold, self.predicted, self.right))
        each = 2 * right[gold > 0] / (gold + predicted)[gold > 0]
        return float(each.sum()) / max(1, len(each))

    def table(self) -> list[tuple[str, int, float, float, float]]:
        """For each label: how often it stands in the data, precision, recall, F1; the most frequent first."""
        gold, predicted, right = (marks.counts() for marks in (self.gold, self.predicted, self.right))
        rows = []
        for label in sorted(gold | predicted, key=lambda label: (-gold[label], label)):
            precision = right[label] / max(1, predicted[label])
            recall = right[label] / max(1, gold[label])
            rows.append(
                (label, gold[label], precision, recall, 2 * right[label] / max(1, gold[label] + predicted[label]))
            )
        return rows


@dataclass(frozen=True)
class ColumnCounts:
    """What was counted of one target column.

    labels: the labels
    pairs:  how often each label was answered where each stands, where an element has one
    spans:  the spans that labels mean, where they follow a scheme
    """

    labels: Tally
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    spans: Tally | None = None

    def table(self) -> list[tuple[str, int, float, float, float]]:
        return self.labels.table()


@dataclass(frozen=True)
class LabelScores:
    """What was counted over a set of items.

    right:   (items,), whether an item is right in every label of every column
    whole:   whether a label is for the whole item
    several: whether an item may have several labels, each decided on its own
    asked:   (items,), whether anything is known of an item, where that plays a part
    scheme:  how labels mean spans (strictly); none where they do not
    """

    columns: Mapping[str, ColumnCounts] = field(default_factory=dict)
    right: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    whole: bool = False
    scheme: str = "none"
    several: bool = False
    asked: np.ndarray | None = None

    @property
    def items(self) -> int:
        return len(self.right)

    def values(self, weights: Weights | None = None) -> dict[str, float]:
        """All scores by name; with several columns each column's accuracy (or micro F1) too."""
        weights = np.ones(self.items, dtype=np.int64) if weights is None else weights
        told = _SEVERAL if self.several else _WHOLE if self.whole else _WORDS
        names = (*told, *(() if self.scheme == "none" else ("span_f1",)))
        found = {name: LABEL_METRICS[name].of(self, weights) for name in names}
        if len(self.columns) > 1:
            for column, counts in self.columns.items():
                alone = LabelScores({column: counts}, self.right)
                found[f"{told[0]} {column}"] = LABEL_METRICS[told[0]].of(alone, weights)
        return found

    def mean(self, of_each: Iterable[float]) -> float:
        """The mean over the columns."""
        return sum(of_each) / max(1, len(self.columns))


def accuracy(scores: LabelScores, weights: Weights) -> float:
    """The share of right labels; the mean over the columns where there are several."""
    return scores.mean(counts.labels.recall(weights) for counts in scores.columns.values())


def exact(scores: LabelScores, weights: Weights) -> float:
    """The share of items in which everything is right."""
    weights = weights if scores.asked is None else weights * scores.asked
    return int(weights @ scores.right) / max(1, int(weights.sum()))


def macro_f1(scores: LabelScores, weights: Weights) -> float:
    """The mean of all labels' F1, so that rare labels weigh as much as frequent ones; the mean over the columns."""
    return scores.mean(counts.labels.mean_f1(weights) for counts in scores.columns.values())


def micro_f1(scores: LabelScores, weights: Weights) -> float:
    """F1 of all labels together, so that frequent labels weigh more; the mean over the columns. Of one label for each
    element it is the accuracy."""
    return scores.mean(counts.labels.f1(weights) for counts in scores.columns.values())


def span_f1(scores: LabelScores, weights: Weights) -> float:
    """Of spans answered and spans there are, how many are the same, in place and kind; the mean over the columns.

    Source: Tjong Kim Sang & De Meulder 2003, CoNLL, section 3; their script also takes a stray I- for a beginning, we
    do not.
    """
    return scores.mean(counts.spans.f1(weights) for counts in scores.columns.values() if counts.spans)


LABEL_METRICS: dict[str, Metric] = {
    "accuracy": Metric(accuracy),
    "exact": Metric(exact),
    "macro_f1": Metric(macro_f1),
    "micro_f1": Metric(micro_f1),
    "span_f1": Metric(span_f1),
}

# Which are told of a label for each word, of one for the whole, and of several for the whole.
_WORDS, _WHOLE, _SEVERAL = ("accuracy", "exact"), ("accuracy", "macro_f1"), ("micro_f1", "macro_f1", "exact")


def count_labels(
    pairs: Pairs, ignore: Collection[str] = (), *, whole: bool = False, scheme: str = "none"
) -> LabelScores:
    """Count answers against the data: pairs of (answered columns, true columns). Unknown and ignored labels do not
    count; a label that was never seen in training counts as missed."""
    columns: dict[str, _Counting] = {}
    right = []
    for item, (answered, true) in enumerate(pairs):
        right.append(True)
        for column, labels in true.items():
            counting = columns.setdefault(column, _Counting(scheme))
            known = [None if label in ignore else label for label in labels]
            right[item] &= counting.add(item, known, answered[column])
    return LabelScores(
        {column: counting.counts() for column, counting in columns.items()},
        np.array(right, dtype=np.int64),
        whole,
        scheme,
    )


def count_classes(pairs: Pairs, separator: str) -> LabelScores:
    """Count answers of several classes against the data: pairs of (answered columns, true columns), a cell each. A cell
    that is not known does not count; an item without a known one counts for nothing at all."""
    columns: dict[str, _Gathering] = {}
    right: list[bool] = []
    asked: list[bool] = []
    for answered, true in pairs:
        known = {column: (cell, answered[column][0]) for column, (cell,) in true.items() if cell is not None}
        sets = {column: [set(parted(cell, separator)) for cell in cells] for column, cells in known.items()}
        for column in true:
            columns.setdefault(column, _Gathering())
        for column, (gold, answer) in sets.items():
            columns[column].add(len(right), sorted(gold), sorted(answer), sorted(gold & answer))
        right.append(all(gold == answer for gold, answer in sets.values()))
        asked.append(bool(sets))
    return LabelScores(
        {column: ColumnCounts(gathered.tally()) for column, gathered in columns.items()},
        np.array(right, dtype=np.int64),
        whole=True,
        several=True,
        asked=np.array(asked, dtype=np.int64),
    )


def score_classes(names: Sequence[str], gold: np.ndarray, answered: np.ndarray) -> LabelScores:
    """The same from tables of one column, (items, names): which classes stand, and which were answered."""
    tally = Tally(*(Marks(names, *np.nonzero(table)) for table in (gold, answered, gold & answered)))
    right = (gold == answered).all(-1).astype(np.int64)
    return LabelScores({"": ColumnCounts(tally)}, right, whole=True, several=True)


class _Counting:
    """One column while its items come one after the other."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        self.labels, self.spans = _Gathering(), _Gathering()
        self.pairs: Counter[tuple[str, str]] = Counter()

    def add(self, item: int, true: Sequence[str | None], answered: Sequence[str]) -> bool:
        """Whether everything that is known of the item is right."""
        known = [(label, answer) for label, answer in zip(true, answered, strict=True) if label is not None]
        hits = [label for label, answer in known if label == answer]
        self.labels.add(item, (label for label, _ in known), (answer for _, answer in known), hits)
        self.pairs.update(known)
        if self.scheme != "none":
            # Where the true label is not known or ignored, the answer does not count either.
            told = [None if label is None else answer for label, answer in zip(true, answered, strict=True)]
            standing, found = spans(true, self.scheme), spans(told, self.scheme)
            self.spans.add(item, *((kind for *_, kind in some) for some in (standing, found, standing & found)))
        return len(hits) == len(known)

    def counts(self) -> ColumnCounts:
        return ColumnCounts(self.labels.tally(), self.pairs, None if self.scheme == "none" else self.spans.tally())


class _Gathering:
    """A tally while its items come one after the other."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.found: tuple[list[tuple[int, int]], ...] = ([], [], [])

    def add(self, item: int, gold: Iterable[str], predicted: Iterable[str], right: Iterable[str]) -> None:
        for found, labels in zip(self.found, (gold, predicted, right), strict=True):
            found.extend((item, self.numbers.setdefault(label, len(self.numbers))) for label in labels)

    def tally(self) -> Tally:
        tables = [np.array(found, dtype=np.int64).reshape(-1, 2) for found in self.found]
        gold, predicted, right = (Marks(list(self.numbers), table[:, 0], table[:, 1]) for table in tables)
        return Tally(gold, predicted, right)
