"""Writing: binds a model and its cache to the search's step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.decode.search import Hypothesis, search
from regard.models.answering import Answered
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel

# A text may have so many pieces for each of the source, and so many more, where nothing else is said.
PIECES_FOR_EACH, PIECES_MORE = 3, 50


@dataclass(frozen=True)
class Writer:
    """A model that writes texts.

    column:     the target column it answers
    start, end: the numbers of the signs that begin and end a text
    forbidden:  numbers that are never written
    """

    model: EncoderDecoderModel
    column: str
    start: int
    end: int
    forbidden: Sequence[int]
    beam: int
    length_penalty: float
    max_length: int | None

    def __call__(self, inputs: Inputs) -> dict[str, Answered]:
        """The best text for each item."""
        best = [found[0] if found else Hypothesis((), -math.inf, -math.inf, cut=True) for found in self.search(inputs)]
        return {
            self.column: Answered(
                best=[[list(text.tokens)] for text in best],
                certain=[[math.exp(text.log_probability)] for text in best],
                cut=[text.cut for text in best],
            )
        }

    def greedy(self, max_length: int) -> Writer:
        """The same, taking the best next piece each time."""
        return replace(self, beam=1, max_length=max_length)

    def search(self, inputs: Inputs, count: int = 1) -> list[list[Hypothesis]]:
        """So many of the best texts for each item, best first."""
        return search(
            _Steps(self.model, self.column, inputs, self.forbidden),
            self.limits(inputs),
            start=self.start,
            end=self.end,
            beam=max(self.beam, count),
            length_penalty=self.length_penalty,
            count=count,
        )

    def limits(self, inputs: Inputs) -> list[int]:
        """How many symbols each text may have, its end included; no more than the decoder has positions for."""
        most = self.model.decoder.position.most
        lengths = [
            PIECES_FOR_EACH * length + PIECES_MORE if self.max_length is None else self.max_length
            for length in inputs["lengths"].tolist()
        ]
        return [length + 1 if most is None else min(length + 1, most) for length in lengths]


class _Steps:
    """One batch being written: what was read, and what the decoder remembers."""

    def __init__(self, model: EncoderDecoderModel, column: str, inputs: Inputs, forbidden: Sequence[int]) -> None:
        self.model = model
        self.column = column
        self.lengths = inputs["lengths"]
        self.memory, self.mask = model.read(inputs)
        self.cache = model.decoder.cache()
        self.forbidden = torch.tensor(forbidden, dtype=torch.long, device=self.memory.device)

    def __call__(self, tokens: Tensor, rows: Tensor | None, items: Tensor | None) -> Tensor:
        """(rows, pieces): log-probabilities of the next piece."""
        device = self.memory.device
        if rows is not None:
            self.cache.select(rows.to(device))
        if items is not None:
            items = items.to(device)
            self.cache.select_memory(items)
            self.memory, self.lengths = self.memory[items], self.lengths[items]
            self.mask = self.model.input.mask({"lengths": self.lengths})
        scores = self.model.write(tokens.to(device)[:, None], self.memory, self.mask, self.cache)[self.column][:, -1]
        # What is forbidden keeps its share of the probability, so that a text's score is that of the model itself.
        return scores.float().log_softmax(-1).index_fill(-1, self.forbidden, -torch.inf)
