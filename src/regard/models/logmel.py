"""Log-mel frames: how loud each band of frequencies is, a hundred times a second."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Kaldi's constants: samples count as 16-bit numbers, each is lowered by this share of the one before it, no energy is
# below single precision's epsilon, and bands begin here.
_LOUDEST, _EMPHASIS, _FLOOR, _LOWEST = 32768.0, 0.97, 1.1920928955078125e-07, 20.0

# So many frames are made at a time: of a recording of an hour nothing larger than this is held.
_AT_A_TIME = 4096


class LogMel(nn.Module):
    """Samples -> frames: the logarithm of the power in bands that are as wide as the ear's.

    As Kaldi's fbank with its defaults, without dither: windows that lie within the sound, mean taken off, high
    frequencies lifted, Povey's window, power spectrum, triangles on the mel scale 1127 ln(1 + f / 700)
    (feature-fbank.cc, feature-window.cc, mel-computations.cc). All that is linear up to the spectrum is one
    convolution, which exports as such. It learns nothing.
    """

    def __init__(self, rate: int, bands: int = 80, *, frame_ms: float = 25.0, step_ms: float = 10.0) -> None:
        super().__init__()
        self.rate, self.bands = rate, bands
        self.window, self.step = int(rate * frame_ms / 1000), int(rate * step_ms / 1000)
        self.size = 1 << (self.window - 1).bit_length()
        self.spectrum: Tensor
        self.mel: Tensor
        # They follow from the settings and are not saved.
        self.register_buffer("spectrum", _spectrum(self.window, self.size)[:, None], persistent=False)
        self.register_buffer("mel", triangles(self.size, rate, bands), persistent=False)

    def lengths(self, samples: Tensor) -> Tensor:
        """How many frames so many samples have; what is shorter than one frame is filled up to it with silence."""
        return ((samples - self.window).clamp(min=0) // self.step) + 1

    def forward(self, wave: Tensor, mel: Tensor | None = None) -> Tensor:
        """(batch, samples) -> (batch, frames, bands)

        mel: (batch, frequencies, bands), how much each frequency counts in each band where items differ in that
        """
        mel = self.mel if mel is None else mel
        wave = F.pad(wave, (0, max(0, self.window - wave.shape[1])))
        frames = (wave.shape[1] - self.window) // self.step + 1
        if torch.compiler.is_compiling() or frames <= _AT_A_TIME:
            return self._bands(wave, mel)
        starts = range(0, frames, _AT_A_TIME)
        reach = (_AT_A_TIME - 1) * self.step + self.window
        return torch.cat([self._bands(wave[:, at * self.step : at * self.step + reach], mel) for at in starts], 1)

    def _bands(self, wave: Tensor, mel: Tensor) -> Tensor:
        # Silence has no logarithm, but a floor.
        return (self._power(wave) @ mel).clamp(min=_FLOOR).log()

    def _power(self, wave: Tensor) -> Tensor:
        """(batch, samples) -> (batch, frames, frequencies): the power spectrum."""
        # (batch, samples) -> (batch, 2 * frequencies, frames): cosines, then sines
        cosines, sines = F.conv1d(wave[:, None], self.spectrum, stride=self.step).chunk(2, 1)
        return (cosines.square() + sines.square()).transpose(1, 2)


def _spectrum(window: int, size: int) -> Tensor:
    """(2 * frequencies, window): what a frame of samples is multiplied by, which prepares it as Kaldi does."""
    taps = torch.arange(window, dtype=torch.float64)
    frame = torch.eye(window, dtype=torch.float64) * _LOUDEST
    frame = frame - frame.mean(0)
    frame = frame - _EMPHASIS * torch.cat((frame[:1], frame[:-1]))
    frame = frame * (0.5 - 0.5 * torch.cos(2 * math.pi * taps / (window - 1))).pow(0.85)[:, None]
    turns = torch.arange(size // 2, dtype=torch.float64)[:, None] * taps * 2 * math.pi / size
    return torch.cat((torch.cos(turns) @ frame, torch.sin(turns) @ frame)).float()


def triangles(size: int, rate: int, bands: int, warp: float = 1.0) -> Tensor:
    """(frequencies, bands): how much each frequency counts in each band.

    warp: the bands are those of a voice whose frequencies are so many times as high
    """
    highest = rate / 2
    edges = torch.linspace(_mel(_LOWEST), _mel(highest), bands + 2, dtype=torch.float64)
    frequencies = torch.arange(size // 2, dtype=torch.float64) * rate / size
    heights = 1127.0 * torch.log1p(warped(frequencies, warp, highest) / 700.0)
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    rising = (heights[:, None] - left) / (middle - left)
    falling = (right - heights[:, None]) / (right - middle)
    return torch.minimum(rising, falling).clamp(min=0.0).float()


def warped(frequencies: Tensor, warp: float, highest: float) -> Tensor:
    """Frequencies as another voice has them: times `warp` up to 7/8 of the range, then in a line to its end.

    Source: Lee & Rose 1998, IEEE Trans. Speech and Audio Processing 6 (1), section III (vocal tract length).
    """
    bend = 0.875 * highest * min(1.0, 1.0 / warp)
    beyond = warp * bend + (highest - warp * bend) * (frequencies - bend) / (highest - bend)
    return torch.where(frequencies <= bend, warp * frequencies, beyond)


def mean_and_deviation(mel: LogMel, recordings: Iterable[npt.NDArray[np.float32]]) -> tuple[list[float], list[float]]:
    """Of each band over all frames of some recordings; a band that never varies counts as if it varied by 1."""
    count, total, squares = 0, torch.zeros(mel.bands, dtype=torch.float64), torch.zeros(mel.bands, dtype=torch.float64)
    for samples in recordings:
        with torch.no_grad():
            frames = mel(torch.from_numpy(samples)[None])[0].double()
        count += len(frames)
        total += frames.sum(0)
        squares += frames.square().sum(0)
    mean = total / max(1, count)
    deviation = (squares / max(1, count) - mean.square()).clamp(min=0).sqrt()
    return mean.tolist(), torch.where(deviation > 1e-3, deviation, 1.0).tolist()


def _mel(frequency: float) -> float:
    return 1127.0 * math.log1p(frequency / 700.0)
