"""Speech for the network: samples, how many vectors become of them, and what training draws anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.data.drawing import Draws
from regard.data.example import Example
from regard.data.kind import Encoded, InputKind
from regard.data.padding import PADDING, stacked
from regard.data.signal.recording import Recording, Samples
from regard.data.signal.sound_augment import coloured_noise, faster, hidden, mixed_with
from regard.errors import DataError

# A voice that training makes higher or lower is one of so many.
VOICES = 21

# Mean and deviation of bands are taken from so many recordings at most.
_TELLING = 2000

# What is in memory comes in so many pieces where it is listened to.
_PIECES = 3

# Noise is white, pink, brown, or between these.
TILTS = (0.0, 0.5, 1.0, 1.5, 2.0)

# Frequencies are lifted and lowered in so many waves over their range.
WAVES = 3

# Of so many stretches of frames and of bands each may be hidden.
MASKS = 2


class Frames(NamedTuple):
    """How samples become vectors.

    window, step: samples in a frame, and from one frame to the next
    shorten:      so many frames become one vector
    """

    rate: int
    bands: int
    window: int
    step: int
    shorten: int

    @classmethod
    def of(cls, rate: int, bands: int, frame_ms: float, step_ms: float, shorten: int) -> Frames:
        return cls(rate, bands, int(rate * frame_ms / 1000), int(rate * step_ms / 1000), shorten)

    def count(self, samples: int) -> int:
        """How many frames so many samples have; what is shorter than a frame is filled up to one."""
        return max(0, samples - self.window) // self.step + 1

    def vectors(self, samples: int) -> int:
        return -(-self.count(samples) // self.shorten)

    @property
    def seconds(self) -> float:
        """From one vector to the next."""
        return self.step * self.shorten / self.rate


@dataclass(frozen=True)
class EncodedSpeech(Encoded):
    """A recording as the network reads it: its samples are read when they are needed.

    count:   how many samples it has when all is changed
    changes: what training does to them, one after the other
    voice:   the number of the voice it is turned into; VOICES // 2 is its own
    lifted:  how many decibels high each of the waves is in which frequencies are lifted and lowered
    frames, bands: which are hidden, each from a place to the one before another
    """

    sound: Samples | Recording
    count: int
    cut: Frames
    changes: tuple[Callable[[Samples], Samples], ...] = ()
    voice: int = VOICES // 2
    lifted: tuple[float, ...] = ()
    frames: tuple[tuple[int, int], ...] = ()
    bands: tuple[tuple[int, int], ...] = ()

    @property
    def length(self) -> int:
        return self.cut.vectors(self.count)

    def samples(self) -> Samples:
        """(count,)"""
        found = self.sound.read() if isinstance(self.sound, Recording) else self.sound
        for change in self.changes:
            found = change(found)
        # A header may be wrong by a sample, of packed sound by more.
        return found if len(found) == self.count else np.pad(found, (0, max(0, self.count - len(found))))[: self.count]

    def blocks(self) -> Iterator[Samples]:
        """The same piece by piece, where nothing is changed."""
        assert not self.changes
        return self.sound.blocks() if isinstance(self.sound, Recording) else iter(np.array_split(self.sound, _PIECES))

    @classmethod
    def side_by_side(cls, items: Sequence[EncodedSpeech]) -> dict[str, Tensor]:
        """samples: (batch, most samples); sample_counts: (batch,); what is hidden: (batch, masks, 2)"""
        inputs = {
            "samples": stacked([item.samples() for item in items], PADDING["samples"]),
            "sample_counts": torch.tensor([item.count for item in items]),
        }
        if any(item.voice != VOICES // 2 for item in items):
            inputs["voices"] = torch.tensor([item.voice for item in items])
        if any(item.lifted for item in items):
            inputs["lifted"] = torch.tensor([item.lifted for item in items])
        for name in ("frames", "bands"):
            if any(getattr(item, name) for item in items):
                inputs[f"hidden_{name}"] = torch.tensor([getattr(item, name) for item in items])
        return inputs


class Speech(InputKind):
    """Recordings become samples at one rate, of which the network makes log-mel frames.

    mean, deviation: of each band over the training examples, where frames are measured by these
    """

    kind = "speech"

    def __init__(self, cut: Frames, mean: Sequence[float] = (), deviation: Sequence[float] = ()) -> None:
        self.cut = cut
        self.mean, self.deviation = tuple(mean), tuple(deviation)

    def of(self, example: Example) -> EncodedSpeech:
        sound = checked(example)
        return EncodedSpeech(sound, sound.count if isinstance(sound, Recording) else len(sound), self.cut)

    def names(self, example: Example) -> tuple[str, ...]:
        """The seconds at which each vector begins."""
        return tuple(f"{number * self.cut.seconds:.2f}" for number in range(self.of(example).length))

    def sizes(self) -> dict[str, int]:
        return {"bands": self.cut.bands}

    def saved(self) -> dict[str, Any]:
        return {"cut": self.cut._asdict(), "mean": self.mean, "deviation": self.deviation}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Speech:
        found = cls(Frames(**saved["cut"]), saved["mean"], saved["deviation"])
        sound = all(isinstance(size, int) and size > 0 for size in found.cut)
        finite = all(map(math.isfinite, (*found.mean, *found.deviation)))
        lengths = {len(found.mean), len(found.deviation)}
        if not sound or not finite or lengths not in ({0}, {found.cut.bands}) or 0 in found.deviation:
            raise DataError(f"bands, mean and deviation do not fit together: {dict(saved)}")
        return found


def spread_out(examples: Sequence[Example]) -> Sequence[Example]:
    """Examples from all over the data, as many as tell the mean of a band well enough."""
    return examples[:: max(1, -(-len(examples) // _TELLING))]


def checked(example: Example) -> Samples | Recording:
    """The sound of an example, or a refusal that names its place."""
    signal = example.signal
    if isinstance(signal, Recording):
        return signal
    if not isinstance(signal, np.ndarray):
        raise DataError(f"{example.place}: a text, where speech is read; give a recording")
    if signal.ndim != 1:
        raise DataError(f"{example.place}: an array of {signal.ndim} dimensions, but speech has (samples,)")
    if not len(signal):
        raise DataError(f"{example.place} holds no samples")
    if not np.issubdtype(signal.dtype, np.floating):
        raise DataError(f"{example.place}: samples are {signal.dtype}; give floats between -1 and 1")
    if not np.isfinite(signal).all():
        where = int(np.argmin(np.isfinite(signal)))
        raise DataError(f"{example.place}: sample {where} is not a finite number")
    return signal.astype(np.float32)


@dataclass(frozen=True)
class SpeechDraws(Draws):
    """How strongly recordings are changed in training; 0 leaves them as they are.

    speed, pitch: by which share faster or slower, higher or lower at most
    noise:        which share of the recordings gets noise, 5 to 30 decibels below them
    equalizer:    how strongly frequencies are lifted and lowered, in decibels
    hide:         the largest share of frames, and of bands, that one of the masks hides
    """

    speed: float = 0.0
    pitch: float = 0.0
    noise: float = 0.0
    equalizer: float = 0.0
    hide: float = 0.0

    def __call__(self, encoded: EncodedSpeech, random: np.random.Generator) -> EncodedSpeech:
        changes: list[Callable[[Samples], Samples]] = []
        count = encoded.count
        if self.speed:
            factor = math.exp(random.uniform(-1, 1) * math.log1p(self.speed))
            count = max(1, round(count / factor))
            changes.append(partial(faster, factor=factor, count=count))
        if self.noise and random.random() < self.noise:
            noise, start = coloured_noise(float(random.choice(TILTS))), int(random.integers(2**31))
            changes.append(partial(mixed_with, noise=noise, decibels=random.uniform(5, 30), start=start))
        voice = int(random.integers(VOICES)) if self.pitch else VOICES // 2
        lifted = tuple(random.normal(0.0, self.equalizer, WAVES).tolist()) if self.equalizer else ()
        drawn = replace(encoded, count=count, changes=tuple(changes), voice=voice, lifted=lifted)
        if not self.hide:
            return drawn
        frames = hidden(random, encoded.cut.count(count), self.hide, MASKS)
        return replace(drawn, frames=tuple(frames), bands=tuple(hidden(random, encoded.cut.bands, self.hide, MASKS)))

    def mixed(self, one: EncodedSpeech, other: EncodedSpeech, share: float) -> EncodedSpeech:
        raise AssertionError("recordings are not mixed; faults.py refuses input.mixup")
