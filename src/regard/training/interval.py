"""How far a score would move with other items of the same kind."""

from __future__ import annotations

import numpy as np

from regard.training.scores import Scores


def intervals(
    scores: Scores, *, resamples: int = 1000, seed: int = 1, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """Where each score lies in all but the outermost of many resamples of the items, drawn with replacement.

    The percentile bootstrap (Efron & Tibshirani 1993, section 13.3). It tells of the choice of items alone: another
    seed of training moves a score too.

    level: the share of resamples between low and high
    """
    random, items = np.random.default_rng(seed), scores.items
    draws = [
        scores.values(np.bincount(random.integers(items, size=items), minlength=items) if items else None)
        for _ in range(resamples if items else 1)
    ]
    edges = ((1 - level) / 2, (1 + level) / 2)
    found = {}
    for name in draws[0]:
        low, high = np.quantile([values[name] for values in draws], edges)
        found[name] = (float(low), float(high))
    return found
