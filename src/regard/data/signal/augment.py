"""What training changes at random in what it sees, so that it does not learn it by heart: plain functions."""

from __future__ import annotations

import numpy as np


def jittered(values: np.ndarray, random: np.random.Generator, amount: float) -> np.ndarray:
    """Noise is added, whose spread is `amount` (in units of the columns' spread). values, output: (time, columns)"""
    return values + amount * random.standard_normal(values.shape, dtype=np.float32)


def scaled(values: np.ndarray, random: np.random.Generator, amount: float) -> np.ndarray:
    """Each column is multiplied by a factor around 1. values, output: (time, columns)"""
    return values * (1 + amount * random.standard_normal(values.shape[1], dtype=np.float32))


def warped(values: np.ndarray, random: np.random.Generator, amount: float) -> np.ndarray:
    """Time runs faster and slower: each step sees what stood up to a share `amount` of the whole before or after it.

    The shift is a sum of sines that vanish at both ends. What lies between two steps is between their values; where one
    of them is missing, it is missing too. values, output: (time, columns)
    """
    count = len(values)
    if count < 3:
        return values
    time = np.arange(count) / (count - 1)
    waves = np.arange(1, 4)
    shift = np.sin(np.pi * np.outer(time, waves)) @ (random.uniform(-1, 1, len(waves)) / waves)
    places = np.clip(time + amount * shift / np.sum(1 / waves), 0, 1) * (count - 1)
    before = np.minimum(places.astype(np.int64), count - 2)
    share = (places - before)[:, None].astype(values.dtype)
    # A step that stands where it stood must not become missing by its neighbour.
    one, other = values[before], values[before + 1]
    return np.where(share == 0, one, np.where(share == 1, other, (1 - share) * one + share * other))


def mixed(one: np.ndarray, other: np.ndarray, share: float) -> np.ndarray:
    """A share of the one and the rest of the other, where both are; beyond the other's end the one alone.

    Source: Zhang et al. 2018, arXiv:1710.09412, equation 1. one, other: (time, columns); output: as one
    """
    found = one.copy()
    both = min(len(one), len(other))
    found[:both] = share * one[:both] + (1 - share) * other[:both]
    return np.where(np.isnan(found), one, found)
