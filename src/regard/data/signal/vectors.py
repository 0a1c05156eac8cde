"""Vectors: measurements over time, in units of each column's spread; what is missing stays missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.drawing import Draws
from regard.data.example import Example, values_of
from regard.data.kind import Encoded, InputKind
from regard.data.padding import PADDING, stacked
from regard.data.signal.augment import jittered, mixed, scaled, warped
from regard.errors import DataError


@dataclass(frozen=True)
class EncodedVectors(Encoded):
    """A series as the network reads it.

    values: (time, columns), not a number where a value is missing
    patch:  so many steps become one vector
    """

    values: np.ndarray
    patch: int = 1

    @property
    def length(self) -> int:
        return math.ceil(len(self.values) / self.patch)

    @classmethod
    def side_by_side(cls, items: Sequence[EncodedVectors]) -> dict[str, Tensor]:
        """vectors: (batch, most steps, columns); steps: (batch,), how many of them each item has"""
        return {
            "vectors": stacked([item.values for item in items], PADDING["vectors"]),
            "steps": torch.tensor([len(item.values) for item in items]),
        }


class Vectors(InputKind):
    """Each column is put in units of its spread around its mean, both those of the training examples.

    columns: how the columns of the data are called
    """

    kind = "vectors"

    def __init__(
        self,
        columns: Sequence[str],
        mean: Sequence[float],
        deviation: Sequence[float],
        *,
        patch: int = 1,
    ) -> None:
        self.columns = tuple(columns)
        self.mean = tuple(mean)
        self.deviation = tuple(deviation)
        self.patch = patch

    @classmethod
    def learn(cls, examples: Sequence[Example], *, standardize: bool, patch: int) -> Vectors:
        """From the training examples; a column that is missing everywhere, or never varies, is left as it is."""
        columns = columns_of(examples[0])
        if not standardize:
            return cls(columns, (0.0,) * len(columns), (1.0,) * len(columns), patch=patch)
        counts, sums, squares = (np.zeros(len(columns)) for _ in range(3))
        for values in _all(examples, columns):
            counts += np.isfinite(values).sum(0)
            sums += np.nansum(values, 0)
        mean = sums / np.maximum(counts, 1)
        for values in _all(examples, columns):
            squares += np.nansum((values - mean) ** 2, 0)
        deviation = np.sqrt(squares / np.maximum(counts, 1))
        # All values equal, but for rounding: there is no spread to measure them by.
        deviation = np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0)
        return cls(columns, mean.tolist(), deviation.tolist(), patch=patch)

    def of(self, example: Example) -> EncodedVectors:
        values = checked(example, self.columns)
        scaled = (values - np.array(self.mean)) / np.array(self.deviation)
        return EncodedVectors(scaled.astype(np.float32), self.patch)

    def names(self, example: Example) -> tuple[str, ...]:
        return tuple(str(step + 1) for step in range(0, len(checked(example, self.columns)), self.patch))

    def sizes(self) -> dict[str, int]:
        return {"columns": len(self.columns)}

    def saved(self) -> dict[str, Any]:
        return {"columns": self.columns, "mean": self.mean, "deviation": self.deviation, "patch": self.patch}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Vectors:
        found = cls(saved["columns"], saved["mean"], saved["deviation"], patch=int(saved["patch"]))
        finite = all(map(math.isfinite, (*found.mean, *found.deviation)))
        if not len(found.columns) == len(found.mean) == len(found.deviation) or not finite or 0 in found.deviation:
            raise DataError(f"columns, mean and deviation do not fit together: {dict(saved)}")
        return found


def columns_of(example: Example) -> tuple[str, ...]:
    """How the columns of a series are called: as its file calls them, or by their numbers."""
    return example.columns or tuple(str(number + 1) for number in range(checked(example).shape[1]))


def checked(example: Example, columns: Sequence[str] | None = None) -> np.ndarray:
    """The values of an example, (time, columns), or a refusal that names its place."""
    if example.signal is None:
        raise DataError(f"{example.place}: a text, where vectors are read; give a file of numbers")
    values = np.asarray(values_of(example.signal), dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        raise DataError(f"{example.place}: an array of {values.ndim} dimensions, but a series has (time, columns)")
    if np.isinf(values).any():
        step, column = np.argwhere(np.isinf(values))[0]
        raise DataError(
            f"{example.place}: the value of step {step + 1} in column {column + 1} is infinite; leave it empty, or "
            "nan, if it is missing"
        )
    if columns is not None and values.shape[1] != len(columns):
        raise DataError(
            f"{example.place}: {values.shape[1]} columns where {len(columns)} were learnt ({', '.join(columns[:8])}"
            f"{' …' if len(columns) > 8 else ''})"
        )
    return values


def _all(examples: Iterable[Example], columns: Sequence[str]) -> Iterable[np.ndarray]:
    return (checked(example, columns) for example in examples)


@dataclass(frozen=True)
class VectorDraws(Draws):
    """How strongly series are changed in training; 0 leaves them as they are."""

    jitter: float = 0.0
    scaling: float = 0.0
    warp: float = 0.0

    def __call__(self, encoded: EncodedVectors, random: np.random.Generator) -> EncodedVectors:
        values = encoded.values
        if self.warp:
            values = warped(values, random, self.warp)
        if self.scaling:
            values = scaled(values, random, self.scaling)
        if self.jitter:
            values = jittered(values, random, self.jitter)
        return replace(encoded, values=values.astype(np.float32))

    def mixed(self, one: EncodedVectors, other: EncodedVectors, share: float) -> EncodedVectors:
        return replace(one, values=mixed(one.values, other.values, share).astype(np.float32))
