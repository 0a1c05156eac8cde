"""A linear model of the steps to come, by the steps before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.data.example import Example
from regard.data.signal.ahead import last_known

# How much large weights cost, against the summed squared error of values in units of their spread.
_PENALTY = 1.0

# So many windows of train are fitted at most, taken evenly from all.
_MOST = 20_000


def linear_ahead(train: Sequence[Example], test: Sequence[Example], column: str) -> list[tuple[str, ...]]:
    """Ridge regression from all values that are looked back at to the changes of one column since its last known one.

    Source: Zeng et al. 2023, arXiv:2205.13504, section 4 (NLinear): on several benchmarks as good as the Transformers
    of their time.
    """
    train = train[:: -(-len(train) // _MOST)]
    longest = max(len(_values(example)) for example in train)
    x, last = _looked_back(train, longest, column)
    y = np.array([[np.nan if v is None else float(v) for v in example.labels[column]] for example in train])
    y = np.nan_to_num(y - last[:, None])
    mean, deviation = x.mean(0), x.std(0)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    scaled = (x - mean) / deviation
    weights = np.linalg.solve(scaled.T @ scaled + _PENALTY * np.eye(scaled.shape[1]), scaled.T @ (y - y.mean(0)))
    asked, last = _looked_back(test, longest, column)
    answers = (asked - mean) / deviation @ weights + y.mean(0) + last[:, None]
    return [tuple(map(repr, row)) for row in answers.tolist()]


def _values(example: Example) -> np.ndarray:
    assert isinstance(example.signal, np.ndarray)
    return example.signal


def _looked_back(examples: Sequence[Example], longest: int, column: str) -> tuple[np.ndarray, np.ndarray]:
    """(examples, longest * columns), each value as its distance from its column's last known one, and the column's last
    known one, (examples,). What is missing, or further back than the series, is no distance."""
    rows, lasts = [], []
    for example in examples:
        values = _values(example)[-longest:]
        last = last_known(values)
        back = np.nan_to_num(values - last)
        rows.append(np.concatenate((np.zeros((longest - len(back), back.shape[1])), back)).ravel())
        lasts.append(last[example.columns.index(column)])
    return np.array(rows), np.array(lasts)
