"""A model as graphs of tensors in and tensors out, for any batch and any length.

What answers at once is one graph, `model`. What writes is two: `encoder` reads, `step` writes one piece more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batching import Item, collate
from regard.errors import RegardError
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel, EncoderModel
from regard.predict import Predictor
from regard.ship.packed import StepGraph, encoded, packed_width


@dataclass(frozen=True)
class Named:
    """An input or output of a graph.

    axes: their names, or their sizes as digits; what has the same name has the same size
    says: what it holds
    """

    axes: tuple[str, ...]
    says: str


# All that a graph can be given, by its name in a batch; what is not here cannot be exported.
READ: dict[str, Named] = {
    "lengths": Named(("batch",), "how many elements (words or pieces) each item has; what stands behind is padding"),
    "word_numbers": Named(("batch", "time"), "the number of each word"),
    "piece_numbers": Named(("batch", "time"), "the number of each piece"),
    "word_of_piece": Named(("batch", "time"), "which word each piece belongs to, counted from 0"),
    "letters": Named(("spellings", "letters"), "the letters of each distinct word; row 0 is of padding"),
    "affixes": Named(("spellings", "3"), "beginning, end and shape of each distinct word"),
    "spellings": Named(("batch", "time"), "the row of letters and affixes of each word"),
    "segments": Named(("batch", "time"), "which of two joined texts each piece is in: 0 or 1"),
    "texts": Named(("batch", "time"), "which of two texts each element belongs to; -1: to none"),
    "shared": Named(("batch", "time"), "1 where a word stands in the other text too"),
}

# What a batch holds for other purposes: labels' places in training.
_NOT_READ = ("answers", "words", "written")

# Items of different lengths by which a graph is drawn: no size is 1, and no two axes are as long as each other.
EXAMPLES = 3

# Of so many pieces, what was written remembers when a step is drawn.
_SEEN = 5


@dataclass(frozen=True)
class Graph:
    """A part of a model that takes nothing but tensors.

    name:    what its file is called
    module:  takes its inputs by name, gives its outputs by name
    example: inputs by which it is drawn
    inputs, outputs: what they are, in order
    most:    how large an axis may be; what is not named may have any size
    """

    name: str
    module: nn.Module
    example: Inputs
    inputs: Mapping[str, Named]
    outputs: Mapping[str, Named]
    most: Mapping[str, int]

    def drawn(self) -> torch.export.ExportedProgram:
        """What the module does, while it does it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PyTorch, about itself
            return torch.export.export(self.module.eval(), (self.example,), dynamic_shapes=(_open(self),))


def output_name(column: str) -> str:
    """What a graph calls the scores of a target column."""
    return f"scores.{column}"


class _Whole(nn.Module):
    """All of a model that answers at once."""

    def __init__(self, model: EncoderModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """inputs: as in READ; output: for each target column (batch, answers, scores)"""
        return {output_name(column): scores for column, scores in self.model(inputs).items()}


class _Reads(nn.Module):
    """What a model that writes reads, as each block of its decoder will look at it."""

    def __init__(self, model: EncoderDecoderModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """inputs: as in READ; output: memory, (batch, time, packed)"""
        return {"memory": encoded(self.model, inputs)}


def inputs_of(inputs: Inputs) -> Inputs:
    """Those of a batch's inputs that a graph is given."""
    unknown = [name for name in inputs if name not in READ and name not in _NOT_READ]
    if unknown:
        raise RegardError(f"this model reads {', '.join(unknown)}, which no export can be given")
    return {name: tensor for name, tensor in inputs.items() if name in READ}


class _Noting(dict[str, Tensor]):
    """Inputs that know which of them were asked for."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        self.asked.add(name)
        return super().__getitem__(name)


def _asked_for(model: nn.Module, inputs: Inputs) -> Inputs:
    """Those inputs that make a difference to the model."""
    noting = _Noting(inputs)
    with torch.inference_mode():
        model.eval().read(noting) if isinstance(model, EncoderDecoderModel) else model.eval()(noting)
    return {name: tensor for name, tensor in inputs_of(inputs).items() if name in noting.asked}


def graphs(predictor: Predictor, items: Sequence[Item], most: Mapping[str, int]) -> Iterator[Graph]:
    """The graphs that a model is, each with what it reads of some items."""
    model = predictor.model
    inputs = _asked_for(model, collate(items, range(len(items))).inputs)
    named = {name: READ[name] for name in inputs}
    scores = {output_name(column): Named(("batch", "answers", "scores"), column) for column in predictor.targets}
    if isinstance(model, EncoderModel):
        yield Graph("model", _Whole(model), inputs, named, scores, most)
        return
    assert isinstance(model, EncoderDecoderModel)
    width = packed_width(model)
    memory = Named(("batch", "time", str(width)), "what was read, as each block of the decoder looks at it")
    past = Named(("batch", "length", str(width)), "what was written so far, in the same way; at first of length 0")
    yield Graph("encoder", _Reads(model), inputs, named, {"memory": memory}, most)
    written = Named(("batch", "1"), "the latest piece of each text; at first the sign that begins a text")
    example = {
        "written": torch.ones(len(items), 1, dtype=torch.long),
        "memory": torch.zeros(len(items), int(inputs["lengths"].max()), width),
        "lengths": inputs["lengths"],
        "past": torch.zeros(len(items), _SEEN, width),
    }
    asked = {"written": written, "memory": memory, "lengths": READ["lengths"], "past": past}
    yield Graph("step", StepGraph(model, output_name), example, asked, {**scores, "past": past}, most)


def _open(graph: Graph) -> dict[str, Any]:
    """Which sizes of the inputs are open."""
    names = {axis for named in graph.inputs.values() for axis in named.axes if not axis.isdigit()}
    least = {"length": 0}
    sizes = {axis: torch.export.Dim(axis, min=least.get(axis, 1), max=graph.most.get(axis)) for axis in sorted(names)}
    return {
        name: {place: sizes[axis] for place, axis in enumerate(named.axes) if axis in sizes}
        for name, named in graph.inputs.items()
    }
