"""Every metric by its name, and how a score is written for people."""

from __future__ import annotations

from regard.training.label_metric import LABEL_METRICS, LabelScores, count_classes, count_labels
from regard.training.language_metric import LANGUAGE_METRICS, MASKED_METRICS, LanguageScores
from regard.training.number_metric import NUMBER_METRICS, NumberScores, collect_numbers
from regard.training.scores import Metric, Scores, Weights
from regard.training.text_metric import TEXT_METRICS, TextScores

__all__ = [
    "METRICS",
    "LabelScores",
    "LanguageScores",
    "Metric",
    "NumberScores",
    "Scores",
    "TextScores",
    "Weights",
    "collect_numbers",
    "count_classes",
    "count_labels",
    "shown",
    "shown_interval",
]


def shown(name: str, value: float) -> str:
    """A score as people read it; names may carry a column, as in "accuracy upos"."""
    metric = METRICS.get(name.split(" ")[0])
    return f"{value:.2%}" if metric is None or metric.share else f"{value:.4f}"


def shown_interval(name: str, interval: tuple[float, float]) -> str:
    """A score's interval as people read it."""
    low, high = interval
    return f"{shown(name, low)} to {shown(name, high)}"


METRICS: dict[str, Metric] = {
    **LANGUAGE_METRICS,
    **MASKED_METRICS,
    **TEXT_METRICS,
    **LABEL_METRICS,
    **NUMBER_METRICS,
}
