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


def flipped(pixels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Half of all pictures are mirrored, left to right. pixels, output: (height, width, channels)"""
    return pixels[:, ::-1] if random.random() < 0.5 else pixels


def shifted(pixels: np.ndarray, random: np.random.Generator, most: int) -> np.ndarray:
    """Moved by up to so many pixels up or down and sideways; at the border the last row or column goes on.

    pixels, output: (height, width, channels)
    """
    height, width, _ = pixels.shape
    down, right = random.integers(-most, most + 1, 2)
    rows = np.clip(np.arange(height) - down, 0, height - 1)
    columns = np.clip(np.arange(width) - right, 0, width - 1)
    return pixels[rows][:, columns]


def cropped(pixels: np.ndarray, random: np.random.Generator, least: float) -> np.ndarray:
    """A part of the picture, at least that share of its area, drawn as large as the whole.

    Source: Szegedy et al. 2015, arXiv:1409.4842, section 6, without their change of the sides' ratio.
    pixels, output: (height, width, channels)
    """
    side = np.sqrt(random.uniform(least, 1))
    height, width, _ = pixels.shape
    top, left = random.uniform(0, 1 - side, 2)
    rows = (top + side * (np.arange(height) + 0.5) / height) * height - 0.5
    columns = (left + side * (np.arange(width) + 0.5) / width) * width - 0.5
    return between(pixels, rows[:, None], columns[None])


def turned(pixels: np.ndarray, random: np.random.Generator, degrees: float) -> np.ndarray:
    """Turned around its middle by up to so many degrees, and drawn larger or smaller by up to a hundredth for each.

    pixels, output: (height, width, channels)
    """
    angle = np.deg2rad(random.uniform(-degrees, degrees))
    scale = 1 + random.uniform(-degrees, degrees) / 100
    height, width, _ = pixels.shape
    down, right = np.arange(height)[:, None] - (height - 1) / 2, np.arange(width)[None] - (width - 1) / 2
    rows = (np.cos(angle) * down - np.sin(angle) * right) * scale + (height - 1) / 2
    columns = (np.sin(angle) * down + np.cos(angle) * right) * scale + (width - 1) / 2
    return between(pixels, rows, columns)


def between(pixels: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The picture at places between its pixels, by straight lines; beyond the border the last pixel goes on.

    pixels: (height, width, channels); rows, columns: places, of shapes that fit; output: (…, channels)
    """
    height, width, _ = pixels.shape
    rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    below, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, over = (rows - top)[..., None].astype(np.float32), (columns - left)[..., None].astype(np.float32)
    upper = (1 - over) * pixels[top, left] + over * pixels[top, right]
    lower = (1 - over) * pixels[below, left] + over * pixels[below, right]
    return (1 - down) * upper + down * lower


def mixed_pictures(one: np.ndarray, other: np.ndarray, share: float) -> np.ndarray:
    """A share of the one and the rest of the other, from the upper left corner, where both are.

    Source: Zhang et al. 2018, arXiv:1710.09412, equation 1. one, other: (height, width, channels); output: as one
    """
    height, width = min(len(one), len(other)), min(one.shape[1], other.shape[1])
    found = one.copy()
    found[:height, :width] = share * one[:height, :width] + (1 - share) * other[:height, :width]
    return found
