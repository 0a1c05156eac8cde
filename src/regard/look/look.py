"""What a model did with one input: its answer and its attention, as a picture in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from rich.console import RenderableType
from torch import Tensor

from regard.data.example import Example
from regard.errors import RegardError
from regard.look.draw import heat_map
from regard.look.record import record
from regard.predict import Answer, Predictor


@dataclass(frozen=True)
class Look:
    """One input, the answer, and the weights of each attention layer.

    tokens:  what the network attends to
    weights: module path -> (heads, queries, keys), in the order of the layers
    """

    answer: Answer
    tokens: tuple[str, ...]
    weights: Mapping[str, Tensor]

    @property
    def answered(self) -> str:
        """The words with their labels, or the words and the one answer to them."""
        if self.answer.example.whole:
            return f"{' '.join(self.answer.words)} → {', '.join(map(': '.join, self._answers()))}"
        return " ".join("/".join(row) for row in zip(self.answer.words, *self.answer.columns.values(), strict=True))

    def _answers(self) -> list[tuple[str, str]]:
        return [(column, answer) for column, answers in self.answer.columns.items() for answer in answers]

    def picture(self, layer: int | None = None, head: int | None = None) -> RenderableType:
        """One head (both counted from 1), or the mean over all heads of the layer; the last layer if none is named."""
        layer = len(self.weights) if layer is None else layer
        if not 1 <= layer <= len(self.weights):
            raise RegardError(f"there is no layer {layer}; the layers are 1 to {len(self.weights)}")
        weights = list(self.weights.values())[layer - 1]
        if head is not None and not 1 <= head <= len(weights):
            raise RegardError(f"there is no head {head}; the heads are 1 to {len(weights)}")
        shown = weights.mean(0) if head is None else weights[head - 1]
        which = f"mean of {len(weights)} heads" if head is None else f"head {head} of {len(weights)}"
        title = f"layer {layer} of {len(self.weights)}, {which}: each row looks at the columns"
        return heat_map(shown.tolist(), self.tokens, self.tokens, title=title)

    def sharpest_neighbour(self) -> tuple[int, int, int, float]:
        """The head that looks most at one neighbour: (layer, head, offset, mean weight), both counted from 1; offset
        -1 is the word before, 1 the word after."""
        found = [
            (float(weights.diagonal(offset, 1, 2).mean(-1)[head]), layer, head + 1, offset)
            for layer, weights in enumerate(self.weights.values(), 1)
            for head in range(len(weights))
            for offset in (-1, 1)
        ]
        weight, layer, head, offset = max(found)
        return layer, head, offset, weight


def look(predictor: Predictor, example: Example) -> Look:
    """Answer one example and record what attention does meanwhile."""
    if not example.words:
        raise RegardError("there is nothing to look at: the input is empty")
    with record(predictor.model) as recording, torch.inference_mode():
        answer = next(predictor.predict([example]))
    if not recording.weights:
        raise RegardError("this model has no attention to look at; its encoder is not attention")
    weights = {path: of_layer[0].cpu() for path, of_layer in recording.weights.items()}
    return Look(answer, predictor.tokenizer.pieces(example.words), weights)
