"""Speech as vectors: log-mel frames, brought to one level, then shortened."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.block import LayerNorm
from regard.models.inputs import InputPart, Inputs
from regard.models.logmel import LogMel, triangles

# What is this far below the loudest frame of an item is silence: 50 decibels, in units of the logarithm.
_RANGE = 11.5

# Where frames are measured by those of train, nothing is further below their mean than so many deviations.
_LOWEST = -3.0


class Level(nn.Module):
    """What frames are measured by, so that loud and quiet recordings look alike."""

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """x, output: (batch, frames, bands); real: (batch, frames), which frames are no padding"""
        raise NotImplementedError


class ItemLevel(Level):
    """An item's frames have mean 0 and deviation 1, all bands together; what is far below its loudest is silence."""

    over: tuple[int, ...] = (1, 2)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        hidden = ~real[..., None]
        loudest = x.masked_fill(hidden, -torch.inf).amax((1, 2), keepdim=True)
        x = torch.maximum(x, loudest - _RANGE).masked_fill(hidden, 0.0)
        count = real.sum(1)[:, None, None]
        size = count * x.shape[2]
        mean = x.sum(self.over, keepdim=True) / (size if 2 in self.over else count)
        x = (x - mean).masked_fill(hidden, 0.0)
        spread = (x.square().sum((1, 2), keepdim=True) / size).sqrt()
        # A recording that is all the same, as silence is, has no spread.
        return x / spread.clamp(min=1e-2)


class BandLevel(ItemLevel):
    """The same, but that each band of an item has mean 0: a microphone's own sound is taken off."""

    over = (1,)


class TrainLevel(Level):
    """Each band is measured by its mean and deviation in train, so that nothing need be known of what is to come."""

    def __init__(self, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.mean: Tensor
        self.deviation: Tensor
        # Saved with what the input has learnt.
        self.register_buffer("mean", torch.tensor(mean), persistent=False)
        self.register_buffer("deviation", torch.tensor(deviation), persistent=False)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        x = ((x - self.mean) / self.deviation).clamp(min=_LOWEST)
        return x.masked_fill(~real[..., None], 0.0)


# By name: made from each band's mean and deviation in train.
LEVELS: dict[str, Callable[[Sequence[float], Sequence[float]], Level]] = {
    "item": lambda mean, deviation: ItemLevel(),
    "band": lambda mean, deviation: BandLevel(),
    "train": TrainLevel,
}


class Shorten(nn.Module):
    """Convolutions over time and bands, of which some take two steps at once: fewer vectors, each of more frames.

    After each, what stands beyond an item's end is put back to 0, as it is where the item stands alone: else the first
    convolution's bias would be read by the next one.

    shorten:  so many frames become one vector: 1, 2, 4 or 8
    channels: patterns that are looked for
    """

    def __init__(self, bands: int, width: int, *, shorten: int, channels: int) -> None:
        super().__init__()
        self.factor = shorten
        halvings = shorten.bit_length() - 1
        count = max(2, halvings)
        self.strides = [2] * halvings + [1] * (count - halvings)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(1 if number == 0 else channels, channels, 3, stride=(stride, 2), padding=1)
            for number, stride in enumerate(self.strides)
        )
        for _ in self.strides:
            bands = -(-bands // 2)
        self.project = nn.Linear(channels * bands, width)
        self.norm = LayerNorm(width)

    @property
    def reach(self) -> int:
        """How many vectors beside one its own frames matter to, and the other way round."""
        frames, step = 0, 1
        for stride in self.strides:
            frames, step = frames + step, step * stride
        return -(-frames // self.factor)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: (batch, frames, bands); lengths: (batch,), frames that are no padding; output: (batch, time, width)"""
        x = x[:, None]
        for convolution, stride in zip(self.convolutions, self.strides, strict=True):
            # (batch, channels, frames, bands) -> (batch, channels, frames / stride, bands / 2)
            x = F.gelu(convolution(x))
            lengths = -(-lengths // stride)
            x = x * _real(x.shape[2], lengths)[:, None, :, None]
        return self.norm(self.project(x.transpose(1, 2).flatten(2)))


class FrameInput(InputPart):
    """Samples -> log-mel frames -> vectors.

    pitch: by which share the highest and lowest of the `voices` differ from an item's own, where training draws them
    """

    def __init__(self, mel: LogMel, level: Level, shorten: Shorten, *, pitch: float = 0.0, voices: int = 1) -> None:
        super().__init__()
        self.mel, self.level, self.shorten = mel, level, shorten
        self.voices: Tensor | None
        warps = torch.linspace(-1, 1, voices).tolist() if pitch else []
        banks = [triangles(mel.size, mel.rate, mel.bands, (1 + pitch) ** warp) for warp in warps]
        self.register_buffer("voices", torch.stack(banks) if banks else None, persistent=False)

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        lengths = self.mel.lengths(inputs["sample_counts"])
        x = self.level(self._frames(inputs), _real(self._count(inputs), lengths))
        for name, axis in (("hidden_frames", 1), ("hidden_bands", 2)):
            if name in inputs:
                x = x.masked_fill(_within(x, inputs[name], axis), 0.0)
        return self.shorten(x, lengths)

    def _count(self, inputs: Inputs) -> int:
        """How many frames the longest item has, padding included."""
        return max(0, inputs["samples"].shape[1] - self.mel.window) // self.mel.step + 1

    def _frames(self, inputs: Inputs) -> Tensor:
        """(batch, frames, bands)"""
        voices = None
        if "voices" in inputs:
            assert self.voices is not None
            voices = self.voices[inputs["voices"]]
        x = self.mel(inputs["samples"], voices)
        return x + equaliser(inputs["lifted"], x.shape[2])[:, None] if "lifted" in inputs else x


def equaliser(decibels: Tensor, bands: int) -> Tensor:
    """(batch, bands): what is added to the logarithm of each band, as another microphone would: cosines over the range.

    decibels: (batch, waves), how high each is; the first goes down over half a turn, the next over a whole one, …
    """
    places = torch.arange(bands, device=decibels.device) * math.pi / max(1, bands - 1)
    turns = torch.arange(1, decibels.shape[1] + 1, device=decibels.device)[:, None]
    return decibels @ torch.cos(turns * places) * (math.log(10) / 10)


def _real(count: int, lengths: Tensor) -> Tensor:
    """(batch, count): which are no padding."""
    return torch.arange(count, device=lengths.device) < lengths[:, None]


def _within(x: Tensor, stretches: Tensor, axis: int) -> Tensor:
    """(batch, frames | 1, bands | 1): what lies in one of the stretches. stretches: (batch, masks, 2)"""
    places = torch.arange(x.shape[axis], device=x.device)
    found = ((places >= stretches[..., :1]) & (places < stretches[..., 1:])).any(1)
    return found[:, :, None] if axis == 1 else found[:, None]
