"""What a model did with one input: its answer and its attention, as a picture in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from rich.console import RenderableType
from torch import Tensor

from regard.data.batching import collate
from regard.data.example import Example
from regard.errors import RegardError
from regard.look.draw import heat_map
from regard.look.record import record
from regard.models.generate import Writer
from regard.models.inputs import Inputs
from regard.predict import Answer, Predictor

# The kinds of attention, by the last part of a layer's path; of a decoder's layers those to the memory come first to
# mind, since they show which part of what was read stands behind what was written.
PARTS = ("cross", "encoder", "decoder")

# The signs that begin and end a text.
START, END = "<start>", "<end>"


@dataclass(frozen=True)
class Look:
    """One input, the answer, and the weights of each attention layer.

    tokens:  what is read, as the network sees it
    written: what is written, piece by piece; nothing where no text is
    weights: module path -> (heads, queries, keys), in the order of the layers
    """

    answer: Answer
    tokens: tuple[str, ...]
    weights: Mapping[str, Tensor]
    written: tuple[str, ...] = ()

    @property
    def answered(self) -> str:
        """The words with their labels, or the words and the one answer to them."""
        if self.answer.example.whole:
            return f"{' '.join(self.answer.words)} → {', '.join(map(': '.join, self._answers()))}"
        return " ".join("/".join(row) for row in zip(self.answer.words, *self.answer.columns.values(), strict=True))

    def _answers(self) -> list[tuple[str, str]]:
        return [(column, answer) for column, answers in self.answer.columns.items() for answer in answers]

    def layers(self, part: str) -> dict[str, Tensor]:
        """The layers of one part: encoder, decoder, or cross (what the decoder looks at in what was read)."""
        return {path: weights for path, weights in self.weights.items() if part_of(path) == part}

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that there are."""
        return tuple(part for part in PARTS if self.layers(part))

    def sides(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Who looks, and at what. A row of the decoder is the piece that was written by it."""
        rows = (*self.written, END)
        part = part_of(path)
        if part == "encoder":
            return self.tokens, self.tokens
        return rows, self.tokens if part == "cross" else (START, *self.written)

    def picture(self, layer: int | None = None, head: int | None = None, part: str | None = None) -> RenderableType:
        """One head (both counted from 1), or the mean over all heads of the layer; the last layer if none is named.

        part: encoder, decoder or cross; cross if not given and there, else the encoder
        """
        part = self.parts[0] if part is None else part
        if part not in self.parts:
            raise RegardError(f"this model has no part {part} to look at; there are {', '.join(self.parts)}")
        layers = self.layers(part)
        layer = len(layers) if layer is None else layer
        if not 1 <= layer <= len(layers):
            raise RegardError(f"there is no layer {layer}; the layers are 1 to {len(layers)}")
        path, weights = list(layers.items())[layer - 1]
        if head is not None and not 1 <= head <= len(weights):
            raise RegardError(f"there is no head {head}; the heads are 1 to {len(weights)}")
        shown = weights.mean(0) if head is None else weights[head - 1]
        which = f"mean of {len(weights)} heads" if head is None else f"head {head} of {len(weights)}"
        of = "" if self.parts == ("encoder",) else f"{part} "
        title = f"{of}layer {layer} of {len(layers)}, {which}: each row looks at the columns"
        return heat_map(shown.tolist(), *self.sides(path), title=title)

    def sharpest(self, part: str) -> tuple[int, int]:
        """The head whose rows are least spread out: (layer, head), both counted from 1."""
        found = [
            (float(weights[head].amax(-1).mean()), -layer, -head - 1)
            for layer, weights in enumerate(self.layers(part).values(), 1)
            for head in range(len(weights))
        ]
        _, layer, head = max(found)
        return -layer, -head

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


def part_of(path: str) -> str:
    """encoder, decoder or cross, from a layer's module path."""
    return "cross" if path.endswith("cross_attention") else path.partition(".")[0]


def look(predictor: Predictor, example: Example) -> Look:
    """Answer one example and record what attention does meanwhile.

    A text is written first, unwatched; then the model is told it piece by piece, all at once, and watched.
    """
    if not example.words:
        raise RegardError("there is nothing to look at: the input is empty")
    answer = next(predictor.predict([example]))
    inputs = collate([predictor.item(example)], [0]).to(predictor.device).inputs
    pieces = told(predictor, inputs)
    with record(predictor.model) as recording, torch.inference_mode():
        predictor.model(inputs)
    if not recording.weights:
        raise RegardError("this model has no attention to look at; its encoder is not attention")
    weights = {path: of_layer[0].cpu() for path, of_layer in recording.weights.items()}
    return Look(answer, predictor.tokenizer.names(example), weights, pieces)


def told(predictor: Predictor, inputs: Inputs) -> tuple[str, ...]:
    """Put what the model writes of one item into its inputs, where it writes; gives its pieces."""
    writes = predictor.writes
    if writes is None:
        return ()
    assert isinstance(predictor.answering, Writer)
    with torch.inference_mode():
        numbers = predictor.answering.search(inputs)[0][0].tokens
    inputs["written"] = torch.tensor([[writes.start, *numbers]], device=predictor.device)
    inputs["answers"] = torch.tensor([len(numbers) + 1], device=predictor.device)
    return writes.tokenizer.written(numbers)
