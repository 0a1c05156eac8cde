"""A trained model's temperature: fitted on dev, kept with its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from regard.data.batching import IGNORED
from regard.data.example import Example
from regard.data.labels import Labels
from regard.models.outputs import SoftmaxHead
from regard.predict import Predictor
from regard.training.calibration import Calibration, expected_error, fitted


def calibrate(predictor: Predictor, parts: Mapping[str, Sequence[Example]]) -> dict[str, Calibration]:
    """Each column of labels that are chosen one by one gets its temperature, from dev; what that does is told."""
    found = {}
    for column, target in predictor.targets.items():
        head = predictor.model.output.head(column)
        if not isinstance(target, Labels) or type(head) is not SoftmaxHead:
            continue
        head.temperature = 1.0
        known = {part: _known(predictor, examples, column) for part, examples in parts.items()}
        if "dev" not in known or not len(known["dev"][1]):
            continue
        target.temperature = head.temperature = fitted(*known["dev"])
        found[column] = Calibration(
            target.temperature,
            {part: expected_error(*one) for part, one in known.items()},
            {part: expected_error(*one, target.temperature) for part, one in known.items()},
        )
    return found


def _known(predictor: Predictor, examples: Sequence[Example], column: str) -> tuple[Tensor, Tensor]:
    """(elements, labels) and (elements,): the scores of all elements whose label is known, and those labels."""
    items = [predictor.item(example) for example in examples]
    scores, labels = [], []
    for batch, of_columns in predictor.scored([item for item in items if item.length]):
        known = batch.labels[column] != IGNORED
        scores.append(of_columns[column][known].float().cpu())
        labels.append(batch.labels[column][known].cpu())
    if not scores:
        return torch.zeros(0, 1), torch.zeros(0, dtype=torch.long)
    return torch.cat(scores), torch.cat(labels)
