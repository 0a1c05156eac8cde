"""Several models as one: what they hold probable is averaged, be it of labels, of numbers or of each next piece.

Source: Hansen & Salamon 1990, IEEE Transactions on Pattern Analysis and Machine Intelligence 12(10); of translators
whose beams step together, Sutskever et al. 2014, arXiv:1409.3215, section 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.models.inputs import Inputs
from regard.models.model import DecoderModel, EncoderDecoderModel, EncoderModel, WritingModel
from regard.models.outputs import ClassesHead, Head, Heads, NumberHead, SoftmaxHead


class _Plain(SoftmaxHead):
    """Labels of which log-probabilities are given: each is chosen on its own, also where a model alone chooses them
    together."""

    def __init__(self) -> None:
        super().__init__(1, 1, nn.Identity())


def mean_scores(heads: Sequence[Head], scores: Sequence[Tensor], lengths: Tensor) -> Tensor:
    """(batch, answers, labels): the scores by which a plain head answers with the mean of what all hold probable."""
    if isinstance(heads[0], NumberHead):
        return torch.stack(list(scores)).mean(0)
    if isinstance(heads[0], ClassesHead):
        shares = torch.stack([of.float().sigmoid() for of in scores]).mean(0)
        return shares.logit(eps=1e-7)
    logs = [
        cast(SoftmaxHead, head).probabilities(of.float(), lengths).clamp(min=1e-38).log()
        if type(head) is not SoftmaxHead
        else (of.float() / head.temperature).log_softmax(-1)
        for head, of in zip(heads, scores, strict=True)
    ]
    return torch.logsumexp(torch.stack(logs), 0) - math.log(len(logs))


def _plain(head: Head) -> Head:
    return _Plain() if isinstance(head, SoftmaxHead) else head


class _Mean(nn.Module):
    """What all kinds have in common."""

    models: nn.ModuleList
    output: Heads

    def _begin(self, models: Sequence[Any]) -> None:
        nn.Module.__init__(self)
        self.models = nn.ModuleList(models)
        columns = models[0].output.columns
        self.output = Heads(columns, [_plain(models[0].output.head(column)) for column in columns])

    def _mean(self, each: Sequence[dict[str, Tensor]], lengths: Tensor) -> dict[str, Tensor]:
        return {
            column: mean_scores(
                [cast(Heads, model.output).head(column) for model in self.models],
                [of[column] for of in each],
                lengths,
            )
            for column in self.output.columns
        }

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """As one of them: for each target column (batch, answers, scores)."""
        return self._mean([model(inputs) for model in self.models], inputs["answers"])


class MeanReader(_Mean, EncoderModel):
    """Several that read and answer."""

    def __init__(self, models: Sequence[EncoderModel]) -> None:
        self._begin(models)


class _Caches:
    """What each of several decoders remembers."""

    def __init__(self, each: Iterable[Any]) -> None:
        self.each = list(each)

    @property
    def length(self) -> int:
        return int(self.each[0].length)

    def written(self, items: int) -> list[int]:
        found: list[int] = self.each[0].written(items)
        return found

    def enter(self, places: Tensor, items: int, memory: Sequence[tuple[Tensor, Tensor]], time: int) -> None:
        left = iter(memory)
        for cache in self.each:
            cache.enter(places, items, list(islice(left, len(cache.blocks))), time)

    def select(self, rows: Tensor) -> None:
        for cache in self.each:
            cache.select(rows)

    def select_memory(self, items: Tensor) -> None:
        for cache in self.each:
            cache.select_memory(items)


class _Position:
    """The most positions that all of several decoders have."""

    def __init__(self, decoders: Sequence[Any]) -> None:
        known = [decoder.position.most for decoder in decoders if decoder.position.most is not None]
        self.most = min(known, default=None)


class _Decoders:
    """Several decoders that write the same text."""

    def __init__(self, decoders: Sequence[Any]) -> None:
        self.each = decoders
        self.position = _Position(decoders)

    def cache(self, beam: int = 1) -> _Caches:
        return _Caches(decoder.cache(beam) for decoder in self.each)


class _MeanOfWriters(_Mean):
    """Several that write: all of them are told the same beginning, and the mean decides what is next."""

    decoder: Any

    def __init__(self, models: Sequence[WritingModel]) -> None:
        self._begin(models)
        self.decoder = _Decoders([model.decoder for model in models])

    def mask(self, lengths: Tensor) -> Mask:
        """Which of what was read is real."""
        mask: Mask = cast(WritingModel, self.models[0]).mask(lengths)
        return mask

    def read(self, inputs: Inputs) -> tuple[Tensor, Mask]:
        """What each has made of what was read, side by side: (batch, time, all widths)."""
        found = [cast(WritingModel, model).read(inputs) for model in self.models]
        return torch.cat([memory for memory, _ in found], -1), found[0][1]

    def remember(self, inputs: Inputs) -> list[tuple[Tensor, Tensor]]:
        """What was read as each block of each decoder attends to it, one decoder's after the other's."""
        return [block for model in self.models for block in cast(WritingModel, model).remember(inputs)]

    def write(self, numbers: Tensor, memory: Tensor, mask: Mask, cache: Any) -> dict[str, Tensor]:
        """Scores of the piece that follows, as one of them gives them."""
        # What was read is as wide as what is written.
        widths = [cast(WritingModel, model).written.table.embedding_dim for model in self.models]
        # Nothing is given where all of it is in the caches.
        memories = memory.split(widths, -1) if memory.numel() else [memory] * len(widths)
        each = [
            cast(WritingModel, model).write(numbers, own, mask, remembered)
            for model, own, remembered in zip(self.models, memories, cache.each, strict=True)
        ]
        return self._mean(each, torch.ones(len(numbers), dtype=torch.long, device=numbers.device))


class MeanTranslator(_MeanOfWriters, EncoderDecoderModel):
    """Several that read a text and write another."""


class MeanContinuer(_MeanOfWriters, DecoderModel):
    """Several that continue a text."""


def are_several(model: nn.Module) -> bool:
    """Whether a model is several, of which nobody can ask what it looks at."""
    return isinstance(model, _Mean)
