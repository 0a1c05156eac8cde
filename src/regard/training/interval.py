"""How far a score would move with other items of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.training.scores import Scores, Weights

# The share of resamples between low and high.
LEVEL = 0.95


def intervals(
    scores: Scores, *, resamples: int = 1000, seed: int = 1, level: float = LEVEL
) -> dict[str, tuple[float, float]]:
    """Where each score lies in all but the outermost of many resamples of the items, drawn with replacement.

    The percentile bootstrap (Efron & Tibshirani 1993, section 13.3). It tells of the choice of items alone: another
    seed of training moves a score too.

    level: the share of resamples between low and high
    """
    random, items = np.random.default_rng(seed), scores.items
    draws = [scores.values(resample(random, items) if items else None) for _ in range(resamples if items else 1)]
    return {name: middle([values[name] for values in draws], level) for name in draws[0]}


def resample(random: np.random.Generator, items: int) -> Weights:
    """(items,): how often each item is there when as many are drawn with replacement."""
    return np.bincount(random.integers(items, size=items), minlength=items)


def middle(values: Sequence[float] | np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """Where values lie, all but the outermost on both sides."""
    low, high = np.quantile(values, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)
