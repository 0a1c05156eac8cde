"""Sounds that tests make: tones with an edge and files of them."""

import numpy as np

RATE = 8000


def tone(frequency, seconds=0.3, rate=RATE, loud=0.4):
    """(samples,): a tone that swells and fades."""
    time = np.arange(round(seconds * rate)) / rate
    swell = np.minimum(1, np.minimum(time, seconds - time) / 0.02)
    return (loud * swell * np.sin(2 * np.pi * frequency * time)).astype(np.float32)


def noise(seconds, rate=RATE, loud=0.1, seed=0):
    return (loud * np.random.default_rng(seed).standard_normal(round(seconds * rate))).astype(np.float32)
