"""A signal as a fixed number of values, for a linear model: what can be told without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.example import Example, values_of

# A series is resampled to so many steps.
_STEPS = 24


@dataclass(frozen=True)
class Dense:
    """A table of which every cell is filled: (rows, columns)."""

    values: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    def __matmul__(self, weights: Tensor) -> Tensor:
        """(columns, width) -> (rows, width)"""
        return self.values @ weights

    def transposed(self, slopes: Tensor) -> Tensor:
        """(rows, width) -> (columns, width)"""
        return self.values.T @ slopes


def standardized(train: Sequence[Example], test: Sequence[Example]) -> tuple[Dense, Dense]:
    """Each example's features, in units of their spread among the training examples."""
    one, other = (np.stack([features(example) for example in examples]) for examples in (train, test))
    mean, deviation = one.mean(0), one.std(0)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    first, second = ((part - mean) / deviation for part in (one, other))
    return Dense(torch.from_numpy(first)), Dense(torch.from_numpy(second))


def features(example: Example) -> np.ndarray:
    """The values of a signal, resampled to so many that all signals have as many."""
    assert example.signal is not None
    values = np.asarray(values_of(example.signal), dtype=np.float64)
    return FEATURES[values.ndim](values)


def resampled(values: np.ndarray) -> np.ndarray:
    """A series, (time, columns), at equally distant places from its first step to its last, and each column's mean and
    spread; a value that is missing is taken from the straight line between its neighbours."""
    values = np.zeros((1, values.shape[1])) if not len(values) else values
    places = np.linspace(0, len(values) - 1, _STEPS)
    columns = []
    for column in values.T:
        known = np.flatnonzero(~np.isnan(column))
        filled = np.interp(places, known, column[known]) if len(known) else np.zeros(_STEPS)
        columns.append([*filled, filled.mean(), filled.std()])
    return np.array(columns).ravel()


# By how many dimensions a signal has.
FEATURES: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    1: lambda values: resampled(values[:, None]),
    2: resampled,
}
