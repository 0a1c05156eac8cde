"""A signal as a fixed number of values, for a linear model: what can be told without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.example import Example, values_of
from regard.models.logmel import LogMel

# A series is resampled to so many steps, a picture to so many cells on each side.
_STEPS, _CELLS = 24, 14

# Of a recording there are so many bands at each of them.
_RATE, _BANDS = 8000, 13


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
    first, second = standardized_rows(one, other)
    return Dense(first), Dense(second)


def standardized_rows(train: np.ndarray, test: np.ndarray) -> tuple[Tensor, Tensor]:
    """Columns in units of their spread in train; those that never vary there stay as they are."""
    mean, deviation = train.mean(0), train.std(0)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    return torch.from_numpy((train - mean) / deviation), torch.from_numpy((test - mean) / deviation)


def features(example: Example) -> np.ndarray:
    """The values of a signal, resampled to so many that all signals have as many."""
    assert example.signal is not None
    values = values_of(example.signal)
    return FEATURES[values.ndim](values)


def resampled(values: np.ndarray) -> np.ndarray:
    """A series, (time, columns), at equally distant places from its first step to its last, and each column's mean and
    spread; a value that is missing is taken from the straight line between its neighbours."""
    values = np.asarray(values, dtype=np.float64) if len(values) else np.zeros((1, values.shape[1]))
    places = np.linspace(0, len(values) - 1, _STEPS)
    columns = []
    for column in values.T:
        known = np.flatnonzero(~np.isnan(column))
        filled = np.interp(places, known, column[known]) if len(known) else np.zeros(_STEPS)
        columns.append([*filled, filled.mean(), filled.std()])
    return np.array(columns).ravel()


def pooled(pixels: np.ndarray) -> np.ndarray:
    """A picture, (height, width, channels), as the means of a grid of so many cells; grey and colours alike have three
    values a cell, in shares of the brightest."""
    values = pixels / np.iinfo(pixels.dtype).max
    values = np.repeat(values, 3, -1) if values.shape[-1] == 1 else values
    for axis in (0, 1):
        edges = np.linspace(0, values.shape[axis], min(_CELLS, values.shape[axis]) + 1).astype(np.int64)[:-1]
        counts = np.diff([*edges, values.shape[axis]])
        values = np.moveaxis(np.moveaxis(np.add.reduceat(values, edges, axis), axis, -1) / counts, -1, axis)
        values = values.repeat(-(-_CELLS // values.shape[axis]), axis).take(range(_CELLS), axis)
    return values.ravel()


def heard(samples: np.ndarray) -> np.ndarray:
    """A recording, (samples,), as the bands of its log-mel frames at such places. Its rate does not matter here: all
    that are compared have the same."""
    mel = LogMel(_RATE, _BANDS)
    with torch.no_grad():
        frames = mel(torch.from_numpy(samples.astype(np.float32))[None])[0]
    return resampled(frames.double().numpy())


# By how many dimensions a signal has.
FEATURES: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    1: heard,
    2: resampled,
    3: pooled,
}
