"""A model as a graph of tensors in and tensors out, for any batch and any length."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batching import Item, collate
from regard.errors import RegardError
from regard.models.inputs import Inputs
from regard.models.model import EncoderModel
from regard.predict import Predictor


@dataclass(frozen=True)
class Read:
    """An input of a graph.

    axes: their names; what has the same name has the same size
    says: what it holds
    """

    axes: tuple[str, ...]
    says: str


# All that a graph can be given, by its name in a batch; what is not here cannot be exported.
READ: dict[str, Read] = {
    "lengths": Read(("batch",), "how many elements (words or pieces) each item has; what stands behind is padding"),
    "word_numbers": Read(("batch", "time"), "the number of each word"),
    "piece_numbers": Read(("batch", "time"), "the number of each piece"),
    "word_of_piece": Read(("batch", "time"), "which word each piece belongs to, counted from 0"),
    "letters": Read(("spellings", "letters"), "the letters of each distinct word; row 0 is of padding"),
    "affixes": Read(("spellings", "3"), "beginning, end and shape of each distinct word"),
    "spellings": Read(("batch", "time"), "the row of letters and affixes of each word"),
    "texts": Read(("batch", "time"), "which of two texts each element belongs to; -1: to none"),
    "shared": Read(("batch", "time"), "1 where a word stands in the other text too"),
}

# What a batch holds for other purposes: labels' places in training.
_NOT_READ = ("answers", "words", "written")

# Items of different lengths by which a graph is drawn: no size is 1, and no two axes are as long as each other.
EXAMPLES = 3


class Graph(nn.Module):
    """A model that takes nothing but tensors."""

    def __init__(self, model: EncoderModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """inputs: as in READ; output: for each target column (batch, answers, scores)"""
        return self.model(inputs)


def inputs_of(inputs: Inputs) -> Inputs:
    """Those of a batch's inputs that a graph is given."""
    unknown = [name for name in inputs if name not in READ and name not in _NOT_READ]
    if unknown:
        raise RegardError(f"this model reads {', '.join(unknown)}, which no export can be given")
    return {name: tensor for name, tensor in inputs.items() if name in READ}


def draw(predictor: Predictor, items: Sequence[Item], most: int | None = None) -> torch.export.ExportedProgram:
    """The model's graph, drawn while it reads some items.

    most: how long an item may be; None: any length
    """
    model = predictor.model
    assert isinstance(model, EncoderModel)
    inputs = inputs_of(collate(items, range(len(items))).inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch, about itself
        return torch.export.export(Graph(model.eval()), (inputs,), dynamic_shapes=(_open(inputs, most),))


def _open(inputs: Inputs, most: int | None) -> dict[str, Any]:
    """Which sizes of the inputs are open."""
    limits = {"time": most}
    names = {axis for name in inputs for axis in READ[name].axes if not axis.isdigit()}
    sizes = {axis: torch.export.Dim(axis, min=1, max=limits.get(axis)) for axis in sorted(names)}
    return {
        name: {place: sizes[axis] for place, axis in enumerate(READ[name].axes) if axis in sizes} for name in inputs
    }
