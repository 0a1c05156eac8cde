"""Speech that is still being spoken: scores as soon as all that matters to them was heard, in memory that is fixed.

What a vector's scores depend on ends a few vectors before and behind it where each block looks through a window. So the
samples are cut into pieces that overlap by as much; what lies in the overlap is computed twice, and thrown away where
not all of its neighbours were there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import torch
from torch import Tensor

from regard.layers.stack import Encoder
from regard.models.model import EncoderModel
from regard.models.speech_input import FrameInput, TrainLevel

# So many vectors are given at a time; fewer would be heard sooner, and compute more of the overlap.
CHUNK = 64


def against_streaming(model: EncoderModel) -> str | None:
    """Why a model cannot answer before all is heard; None where it can."""
    read, encoder = model.input, model.encoder
    if not isinstance(read, FrameInput):
        return "only speech comes bit by bit"
    if not isinstance(read.level, TrainLevel):
        return "frames are measured by their whole recording; input.level = train measures them by those of train"
    if encoder.reach is None:
        return "each vector looks at all others; give model.window, or use a convolution"
    if isinstance(encoder, Encoder) and encoder.position.most is not None:
        return "there are only so many learned positions; use another model.position"
    return None


class Listening:
    """One recording, piece by piece.

    column: the target column that is answered
    chunk:  so many vectors are given at a time
    """

    def __init__(self, model: EncoderModel, column: str, *, chunk: int = CHUNK) -> None:
        assert isinstance(model.input, FrameInput)
        self.model, self.read, self.column, self.chunk = model, model.input, column, chunk
        before, ahead = cast(tuple[int, int], model.encoder.reach)
        more = model.input.shorten.reach
        self.before, self.ahead = before + more, ahead + more
        # samples from `first` on, as far as they were heard; vectors from `given` on are still to be given
        self.samples = np.zeros(0, dtype=np.float32)
        self.first = self.given = 0

    def feed(self, samples: np.ndarray) -> Iterator[Tensor]:
        """More samples; gives (time, symbols), the scores of all vectors that nothing to come can change."""
        self.samples = np.concatenate((self.samples, samples))
        while len(self.samples) >= self._reach(self.given + self.chunk + self.ahead) - self.first:
            yield self._part(self.chunk, self._reach(self.given + self.chunk + self.ahead))

    def end(self) -> Iterator[Tensor]:
        """There are no more samples: the scores of what is left."""
        heard = torch.tensor([self.first + len(self.samples)])
        left = int(-(-self.read.mel.lengths(heard) // self.read.shorten.factor)) - self.given
        if left > 0 and len(self.samples):
            yield self._part(left, int(heard))

    def _reach(self, vectors: int) -> int:
        """How many samples so many vectors are made of."""
        mel = self.read.mel
        return (vectors * self.read.shorten.factor - 1) * mel.step + mel.window

    def _part(self, count: int, until: int) -> Tensor:
        """The scores of so many vectors more, from samples up to a place."""
        start = max(0, self.given - self.before)
        step = self.read.shorten.factor * self.read.mel.step
        self._forget(start * step)
        scores = self._scores(self.samples[: until - self.first], start)
        skipped = self.given - start
        self.given += count
        return scores[skipped : skipped + count]

    def _forget(self, place: int) -> None:
        """Samples before a place are no longer needed."""
        self.samples = self.samples[place - self.first :]
        self.first = place

    def _scores(self, samples: np.ndarray, start: int) -> Tensor:
        """(time, symbols). start: where the first vector stands in the recording"""
        device = next(self.model.parameters()).device
        given = torch.from_numpy(samples)[None].to(device)
        count = self.read.mel.lengths(torch.tensor([given.shape[1]], device=device))
        inputs = {
            "samples": given,
            "sample_counts": torch.tensor([given.shape[1]], device=device),
            "lengths": -(-count // self.read.shorten.factor),
        }
        x = self.read(inputs)
        positions = torch.arange(start, start + x.shape[1], device=device)[None]
        x = self.model.encoder(x, self.read.mask(inputs), positions)
        return self.model.output(self.model.gather(x, inputs))[self.column][0]
