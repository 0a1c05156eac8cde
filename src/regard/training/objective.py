"""What training makes small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from regard.data.batching import IGNORED, Batch
from regard.models.outputs import PerPosition


def summed_loss(output: PerPosition, scores: Mapping[str, Tensor], batch: Batch, smoothing: float) -> Tensor:
    """How unlikely the batch's labels are, summed over all labels of all columns: ()."""
    losses = [
        output.head(column).negative_log_likelihood(of_column, batch.labels[column], batch.inputs["words"], smoothing)
        for column, of_column in scores.items()
    ]
    return torch.stack(losses).sum()


def known_labels(batches: Sequence[Batch]) -> int:
    """How many labels of these batches are learnt from.

    A whole update's losses are summed and divided by this once: a mean of the batches' means would let labels in short
    batches weigh more.
    """
    return sum(int((labels != IGNORED).sum()) for batch in batches for labels in batch.labels.values())
