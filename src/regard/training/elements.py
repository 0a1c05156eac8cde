"""What can be told of a step or a patch alone, by a linear model of its own values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from regard.data.example import Example, values_of
from regard.training.linear import classify_rows
from regard.training.signal_features import Dense, standardized_rows

# So many training elements are fitted at most, taken evenly from all.
_MOST = 20_000


def linear_elements(
    train: Sequence[Example], test: Sequence[Example], column: str, ignore: Collection[str]
) -> list[tuple[str, ...]]:
    """For each test example the label of each of its elements, which sees no other."""
    rows = [(row, label) for example in train for row, label in zip(*_of(example, column), strict=True)]
    known = [(row, label) for row, label in rows if label is not None and label not in ignore]
    known = known[:: -(-len(known) // _MOST)]
    labels = [label for _, label in known]
    asked = [_elements(example) for example in test]
    if len(set(labels)) < 2:
        return [(labels[0],) * len(elements) for elements in asked]
    one, other = standardized_rows(np.stack([row for row, _ in known]), np.concatenate(asked))
    found = classify_rows((Dense(one), Dense(other)), labels)
    ends = np.cumsum([len(elements) for elements in asked])
    return [tuple(found[end - len(elements) : end]) for elements, end in zip(asked, ends, strict=True)]


def _of(example: Example, column: str) -> tuple[np.ndarray, Sequence[str | None]]:
    return _elements(example), example.labels[column]


def _elements(example: Example) -> np.ndarray:
    """(elements, values): the columns of each step; of each patch the mean and the spread of each channel."""
    assert example.signal is not None
    values = np.asarray(values_of(example.signal), dtype=np.float64)
    if values.ndim < 3:
        return np.nan_to_num(values.reshape(len(values), -1))
    last = example.words[-1].split(",")
    rows, columns = int(last[0]), int(last[1])
    parts = [np.array_split(row, columns, 1) for row in np.array_split(values, rows)]
    cells = [part for row in parts for part in row]
    colours = [np.repeat(cell, 3 // cell.shape[-1], -1).reshape(-1, 3) for cell in cells]
    return np.stack([np.concatenate((cell.mean(0), cell.std(0))) for cell in colours])
