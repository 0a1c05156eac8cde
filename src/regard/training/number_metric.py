"""How good answered numbers are."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from regard.training.label_metric import Pairs
from regard.training.scores import Metric, Weights

Measure = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class NumberPairs:
    """Answered and true numbers of one target column, each with its item: (pairs,)."""

    items: np.ndarray
    answered: np.ndarray
    true: np.ndarray

    def measured(self, measure: Measure, weights: Weights) -> float | None:
        """A measure of the pairs, each as often as its item counts; None where none is left."""
        often = weights[self.items]
        return measure(np.repeat(self.answered, often), np.repeat(self.true, often)) if often.any() else None


@dataclass(frozen=True)
class NumberScores:
    """Answered and true numbers of each target column."""

    columns: Mapping[str, NumberPairs] = field(default_factory=dict)
    items: int = 0

    def values(self, weights: Weights | None = None) -> dict[str, float]:
        """All scores by name: the mean over the columns where there are several."""
        weights = np.ones(self.items, dtype=np.int64) if weights is None else weights
        return {name: metric.of(self, weights) for name, metric in NUMBER_METRICS.items()}

    def mean(self, measure: Measure, weights: Weights) -> float:
        """A measure of answered and true numbers, as the mean over the columns."""
        each = [pairs.measured(measure, weights) for pairs in self.columns.values()]
        found = [value for value in each if value is not None]
        return sum(found) / max(1, len(found))


def collect_numbers(pairs: Pairs, ignore: Collection[str] = ()) -> NumberScores:
    """Set answers beside the data: pairs of (answered columns, true columns)."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    items = 0
    for item, (answered, true) in enumerate(pairs):
        items += 1
        for column, values in true.items():
            rows = found.setdefault(column, [])
            for answer, value in zip(answered[column], values, strict=False):
                if value is not None and value not in ignore:
                    rows.append((item, float(answer), float(value)))
    tables = {column: np.array(rows, dtype=np.float64).reshape(-1, 3) for column, rows in found.items()}
    columns = {
        column: NumberPairs(table[:, 0].astype(np.int64), table[:, 1], table[:, 2]) for column, table in tables.items()
    }
    return NumberScores(columns, items)


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


NUMBER_METRICS: dict[str, Metric] = {
    "pearson": Metric(lambda scores, weights: scores.mean(pearson, weights), share=False),
    "spearman": Metric(lambda scores, weights: scores.mean(spearman, weights), share=False),
    "rmse": Metric(lambda scores, weights: scores.mean(rmse, weights), sign=-1, share=False),
}
