"""How good the answers are: counts are summed, so that no score depends on how items were batched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass
class ColumnCounts:
    """What was counted of one target column.

    gold, predicted, right: how often each label stands in the data, was answered, and was answered where it stands
    """

    gold: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

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
class LabelScores:
    """What was counted over a set of items.

    right_items: how many items are right in every label of every column
    """

    columns: dict[str, ColumnCounts] = field(default_factory=dict)
    items: int = 0
    right_items: int = 0

    def values(self) -> dict[str, float]:
        """All scores by name; with several columns each column's accuracy too."""
        found = {name: metric(self) for name, metric in METRICS.items()}
        if len(self.columns) > 1:
            found.update({f"accuracy {column}": counts.accuracy for column, counts in self.columns.items()})
        return found


Columns = Mapping[str, tuple[str | None, ...]]


def count_labels(
    pairs: Iterable[tuple[Mapping[str, tuple[str, ...]], Columns]], ignore: Collection[str] = ()
) -> LabelScores:
    """Count answers against the data: pairs of (answered columns, true columns). Unknown and ignored labels do not
    count; a label that was never seen in training counts as missed."""
    scores = LabelScores()
    for answered, true in pairs:
        whole = True
        scores.items += 1
        for column, labels in true.items():
            counts = scores.columns.setdefault(column, ColumnCounts())
            for answer, label in zip(answered[column], labels, strict=True):
                if label is None or label in ignore:
                    continue
                counts.gold[label] += 1
                counts.predicted[answer] += 1
                counts.right[label] += answer == label
                whole &= answer == label
        scores.right_items += whole
    return scores


def accuracy(scores: LabelScores) -> float:
    """The share of right labels; the mean over the columns where there are several."""
    return sum(counts.accuracy for counts in scores.columns.values()) / max(1, len(scores.columns))


def exact(scores: LabelScores) -> float:
    """The share of items in which everything is right."""
    return scores.right_items / max(1, scores.items)


METRICS: dict[str, Callable[[LabelScores], float]] = {"accuracy": accuracy, "exact": exact}
