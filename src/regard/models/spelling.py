"""Spelling: a model whose elements spell a text between them, bound to the search over what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.vocabulary import SPECIAL
from regard.decode.ctc import Following, spoken
from regard.models.answering import Answered
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel, EncoderModel
from regard.models.outputs import CtcHead
from regard.models.streaming import Listening


@dataclass(frozen=True)
class Speller:
    """A model that spells texts.

    column: the target column it answers
    blank:  the symbol by which an element says nothing
    beam:   so many beginnings are followed; 1 takes the best symbol of each element
    count:  how many texts are wanted of each item
    """

    model: EncoderModel
    column: str
    blank: int
    beam: int
    count: int = 1

    def __call__(self, inputs: Inputs) -> dict[str, Answered]:
        """The best texts for each item."""
        texts = [spoken(scores, self.blank, beam=self.beam, count=self.count) for scores in self.scores(inputs)]
        return {self.column: Answered(texts=texts)}

    def follow(self, inputs: Inputs) -> Iterator[int]:
        """The symbols of one item's text, that of a beam of 1."""
        (scores,) = self.scores(inputs)
        yield from Following(self.blank).follow(scores)

    def listen(self, pieces: Iterable[np.ndarray]) -> Iterator[int]:
        """The same of speech that comes piece by piece."""
        following = Following(self.blank)
        for scores in self.heard(pieces):
            yield from following.follow(sayable(scores))

    def heard(self, pieces: Iterable[np.ndarray]) -> Iterator[Tensor]:
        """(time, symbols), scores of some vectors after the other, each as soon as nothing to come can change it."""
        listening = Listening(self.model, self.column)
        for piece in pieces:
            yield from listening.feed(piece)
        yield from listening.end()

    def scores(self, inputs: Inputs) -> list[Tensor]:
        """For each item (time, symbols), how probable each symbol is in each of its elements.

        What is never said keeps its share of the probability, so that a text's score is that of the model itself.
        """
        scores = sayable(self.model(inputs)[self.column])
        return [row[:length] for row, length in zip(scores, inputs["answers"].tolist(), strict=True)]


def spelling_of(model: EncoderModel | EncoderDecoderModel, column: str, inputs: Inputs) -> Tensor | None:
    """(batch, time, symbols): what each element of what is read says; None where they say nothing."""
    if isinstance(model, EncoderModel):
        return sayable(model(inputs)[column]) if isinstance(model.output.head(column), CtcHead) else None
    return None if model.spelled is None else sayable(model.spelled(model.read(inputs)[0]))


def sayable(scores: Tensor) -> Tensor:
    """(…, symbols) -> the same as log-probabilities on the CPU, where padding and the unknown are never said."""
    never = torch.tensor(SPECIAL, device=scores.device)
    return scores.float().log_softmax(-1).index_fill(-1, never, -torch.inf).cpu()
