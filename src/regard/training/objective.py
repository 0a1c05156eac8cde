"""What training makes small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from regard.data.batching import IGNORED, Batch
from regard.models.outputs import Heads


def summed_loss(output: Heads, scores: Mapping[str, Tensor], batch: Batch, smoothing: float) -> Tensor:
    """How unlikely the batch's labels are, summed over all labels of all columns: ()."""
    losses = [
        output.head(column).negative_log_likelihood(of_column, batch.labels[column], batch.inputs["answers"], smoothing)
        for column, of_column in scores.items()
    ]
    return torch.stack(losses).sum()


def known_labels(batches: Sequence[Batch]) -> int:
    """How many labels of these batches are learnt from.

    A whole update's losses are summed and divided by this once: a mean of the batches' means would let labels in short
    batches weigh more.
    """
    return sum(int(_known(labels).sum()) for batch in batches for labels in batch.labels.values())


def _known(labels: Tensor) -> Tensor:
    return ~labels.isnan() if labels.is_floating_point() else labels != IGNORED
