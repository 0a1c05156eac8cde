"""Rows of different lengths side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

# What stands behind the end of each input that is as long as its item (or as its word).
PADDING: dict[str, float] = {
    **dict.fromkeys(
        ("piece_numbers", "word_of_piece", "word_numbers", "written", "shared", "letters", "spellings", "segments"), 0
    ),
    "asked": 0,
    "texts": -1,
    "vectors": math.nan,
    "pixels": math.nan,
    "places": 0,
    "samples": 0.0,
}


def padded(rows: Sequence[Sequence[float]], padding: float, kind: type[np.number[Any]] = np.int64) -> Tensor:
    """(rows, longest)"""
    longest = max((len(row) for row in rows), default=0)
    table = np.full((len(rows), longest), padding, dtype=kind)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return torch.from_numpy(table)


def stacked(arrays: Sequence[np.ndarray], padding: float) -> Tensor:
    """Arrays of as many dimensions, (rows, largest, …): each filled up to the largest in every dimension."""
    shape = np.max([array.shape for array in arrays], axis=0)
    table = np.full((len(arrays), *shape), padding, dtype=arrays[0].dtype)
    for place, array in enumerate(arrays):
        table[place][tuple(slice(size) for size in array.shape)] = array
    return torch.from_numpy(table)
