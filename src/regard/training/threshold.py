"""How probable a class must be to be answered, where each is decided on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from regard.data.target import Classes, Target
from regard.predict import Answer
from regard.training.label_metric import LABEL_METRICS, score_classes

# From a half outwards, so that of equally good ones the first is nearest to it.
CANDIDATES = sorted((percent / 100 for percent in range(1, 100)), key=lambda threshold: abs(threshold - 0.5))


def best_threshold(probabilities: np.ndarray, true: np.ndarray, metric: str) -> float:
    """The threshold under which the metric is best; of equally good ones that nearest to a half.

    probabilities, true: (items, classes), how probable each class is, and whether it is there
    """
    names, weights = [str(number) for number in range(true.shape[1])], np.ones(len(true), dtype=np.int64)

    def worth(threshold: float) -> float:
        return LABEL_METRICS[metric].of(score_classes(names, true, probabilities > threshold), weights)

    return max(CANDIDATES, key=worth)


def choose_thresholds(targets: Mapping[str, Target], answers: Sequence[Answer], metric: str) -> list[Answer]:
    """Give each target of several classes the threshold that is best on these answers; the answers under it."""
    for column, target in targets.items():
        known = [answer for answer in answers if answer.example.labels[column][0] is not None]
        if isinstance(target, Classes) and known:
            shares = np.array([_shares(answer, column) for answer in known])
            true = np.array([target.encode(answer.example.labels[column]) for answer in known]) == 1
            target.threshold = best_threshold(shares, true, metric)
    return [_again(targets, answer) for answer in answers]


def _again(targets: Mapping[str, Target], answer: Answer) -> Answer:
    """The answer under its targets' thresholds as they are now."""
    decided = {
        column: (target.decode(_shares(answer, column)),)
        for column, target in targets.items()
        if isinstance(target, Classes)
    }
    return replace(answer, columns={**answer.columns, **decided})


def _shares(answer: Answer, column: str) -> list[float]:
    (shares,) = answer.probabilities[column]
    assert isinstance(shares, Mapping)
    return list(shares.values())
