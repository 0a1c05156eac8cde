"""What every kind of scores can do: tell its values, with each item counted as often as is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

# How often each item counts: (items,), whole numbers.
Weights = np.ndarray


class Scores(Protocol):
    """Answers held against the data, kept item by item.

    Every value is a function of what was kept and of how often each item counts, and the same as if the items were
    there so often. So a resample is a draw of weights; and of two runs whose items stand one after the other, weights
    of 0 and 1 say whose answer to each item counts.
    """

    @property
    def items(self) -> int:
        """How many items there are."""

    def values(self, weights: Weights | None = None) -> dict[str, float]:
        """All scores by name; without weights each item counts once."""


@dataclass(frozen=True)
class Metric:
    """A measure of scores.

    of:    (scores, weights) -> its value
    sign:  1 if more of it is better, -1 if less
    share: whether it is a share, shown in percent
    """

    of: Callable[[Any, Weights], float]
    sign: int = 1
    share: bool = True
