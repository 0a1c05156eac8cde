"""What a model answers to a batch: of labels and numbers the best of each, of texts what a search finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.data.vocabulary import SPECIAL
from regard.decode.search import Hypothesis
from regard.models.inputs import Inputs
from regard.models.model import EncoderModel


@dataclass(frozen=True)
class Answered:
    """The answers of one column to a batch: labels or numbers (best), or texts.

    best:    for each item its answers, as numbers
    certain: for each item how probable each of them is; None where there are no probabilities
    texts:   for each item the texts that were found, best first; None where none are written
    looked:  for each of them (pieces, elements of its source), how much each piece looked at each element
    """

    best: Sequence[list[Any]] = ()
    certain: Sequence[list[float]] | None = None
    texts: Sequence[list[Hypothesis]] | None = None
    looked: Sequence[list[Tensor]] | None = None


# A batch's inputs -> the answers of each target column.
Answering = Callable[[Inputs], dict[str, Answered]]


def best_of_each(model: EncoderModel) -> Answering:
    """The best label or number for each element that answers."""

    def answer(inputs: Inputs) -> dict[str, Answered]:
        found = {}
        for column, scores in model(inputs).items():
            head = model.output.head(column)
            best = head.best(scores, inputs["answers"])
            certain = head.certainty(scores, best, inputs["answers"])
            found[column] = Answered(best.tolist(), None if certain is None else certain.tolist())
        return found

    return answer


def best_at_masks(model: EncoderModel, count: int = 1, *, never: Sequence[int] = SPECIAL) -> Answering:
    """So many of the most probable pieces for each element that is asked for, the most probable first.

    never: pieces that stand for no text
    """

    def answer(inputs: Inputs) -> dict[str, Answered]:
        found = {}
        for column, scores in model(inputs).items():
            # What stands for no text has its share of the probability, but is never the answer.
            shares = scores.float().softmax(-1).index_fill(-1, torch.tensor(never, device=scores.device), -1.0)
            certain, best = shares.topk(min(count, shares.shape[-1] - len(never)), -1)
            found[column] = Answered(best.tolist(), certain.tolist())
        return found

    return answer
