"""How recordings are changed at random in training; each a plain function of samples and of what was drawn."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from regard.data.signal.recording import Samples, needed

# So many samples of each noise are made; some seconds, so that no two recordings have the same one.
_NOISE = 1 << 18


def faster(samples: Samples, factor: float, count: int) -> Samples:
    """So many times as fast, and as high: the tape runs at another speed.

    Source: Ko et al. 2015, Interspeech, "Audio augmentation for speech recognition", section 2.

    count: how many samples are wanted, which is about len(samples) / factor
    """
    found = needed("soxr", "recordings at another speed").resample(samples, factor, 1.0, quality="LQ")
    return np.pad(found, (0, max(0, count - len(found))))[:count].astype(np.float32)


def mixed_with(samples: Samples, noise: Samples, decibels: float, start: int) -> Samples:
    """With a recording of noise in it, so many decibels below the sound; it begins at `start` and is repeated.

    Source: Ko et al. 2017, ICASSP, "A study on data augmentation of reverberant speech for robust speech recognition",
    section 2.
    """
    start %= len(noise)
    behind = noise[start : start + len(samples)]
    if len(behind) < len(samples):
        behind = np.take(noise, np.arange(start, start + len(samples)), mode="wrap")
    power = float(behind @ behind) or 1.0
    return samples + behind * np.float32((float(samples @ samples) * 10 ** (-decibels / 10) / power) ** 0.5)


@lru_cache
def coloured_noise(tilt: float) -> Samples:
    """Noise that falls with its frequency f as f to the power of -tilt: 0 is white, 1 pink, 2 brown. Always the same,
    so that it is made once; where it is taken from is drawn."""
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(_NOISE))
    frequencies = np.arange(1, len(spectrum) + 1)
    return np.fft.irfft(spectrum * frequencies ** (-tilt / 2), _NOISE).astype(np.float32)


def hidden(random: np.random.Generator, length: int, share: float, count: int) -> list[tuple[int, int]]:
    """Some stretches that are hidden, each from a place to the one before another: SpecAugment's masks.

    Source: Park et al. 2019, arXiv:1904.08779, section 2 (their F or T is share * length; none is hidden wholly).
    """
    found = []
    for _ in range(count):
        width = int(random.integers(0, int(share * length) + 1))
        begin = int(random.integers(0, length - width + 1))
        found.append((begin, begin + width))
    return found
