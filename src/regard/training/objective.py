"""What training makes small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from regard.data.batching import IGNORED, Batch
from regard.data.example import Example
from regard.data.labels import Labels
from regard.data.target import Target
from regard.models.model import EncoderDecoderModel, Model
from regard.models.outputs import CrfHead, Heads, SoftmaxHead


def summed_loss(output: Heads, scores: Mapping[str, Tensor], batch: Batch, smoothing: float) -> Tensor:
    """How unlikely the batch's labels are, summed over all labels of all columns: ()."""
    losses = [
        output.head(column).negative_log_likelihood(of_column, batch.labels[column], batch.inputs["answers"], smoothing)
        for column, of_column in scores.items()
    ]
    return torch.stack(losses).sum()


def training_loss(model: Model, batch: Batch, smoothing: float) -> Tensor:
    """The same of what a model makes of the batch: what training makes small, and need not hold all scores for."""
    return model.output.loss(model.vectors(batch.inputs), batch.labels, batch.inputs["answers"], smoothing)


def joint_loss(model: EncoderDecoderModel, batch: Batch, share: float, smoothing: float) -> Tensor:
    """The loss of what is written, and a share of that of what the elements of the source spell: ().

    Source: Kim, Hori & Watanabe 2017, arXiv:1609.06773, equation 13 (their λ is the share).
    """
    assert model.spelled is not None
    memory, mask = model.read(batch.inputs)
    (labels,) = batch.labels.values()
    spelled = model.spelled.negative_log_likelihood(model.spelled(memory), labels, batch.inputs["lengths"])
    vectors = model.told(memory, mask, batch.inputs)
    written = model.output.loss(vectors, batch.labels, batch.inputs["answers"], smoothing)
    return (1 - share) * written + share * spelled


def known_labels(batches: Sequence[Batch]) -> int:
    """How many labels of these batches are learnt from.

    A whole update's losses are summed and divided by this once: a mean of the batches' means would let labels in short
    batches weigh more.
    """
    return sum(int(_known(labels).sum()) for batch in batches for labels in batch.labels.values())


def summed_weights(output: Heads, batches: Sequence[Batch]) -> float:
    """How much the labels weigh that these batches are learnt from: as many as there are, unless labels weigh
    differently. The losses are divided by this, so that the learning rate means the same."""
    return sum(_weight(output, column, labels) for batch in batches for column, labels in batch.labels.items())


def _weight(output: Heads, column: str, labels: Tensor) -> float:
    known, head = labels[_known(labels)], output.head(column)
    weights = head.label_weights if isinstance(head, SoftmaxHead) else None
    return len(known) if weights is None else weights.cpu()[known].sum().item()


def weigh_labels(output: Heads, targets: Mapping[str, Target], examples: Iterable[Example], kind: str) -> None:
    """From now on each label counts in the loss by how often it stands in the examples."""
    examples = list(examples)
    for column, target in targets.items():
        head = output.head(column)
        assert isinstance(target, Labels) and isinstance(head, SoftmaxHead) and not isinstance(head, CrfHead)
        numbers = torch.tensor([number for example in examples for number in target.encode(example.labels[column])])
        counts = torch.bincount(numbers[_known(numbers)], minlength=len(target))
        head.label_weights = CLASS_WEIGHTS[kind](counts).to(next(head.project.parameters()))


def _balanced(counts: Tensor) -> Tensor:
    """n / (k · count): all labels weigh the same together, and the mean weight of what is learnt from is 1.

    Source: King & Zeng 2001, "Logistic regression in rare events data", Political Analysis 9, section 4.2; scaled as in
    scikit-learn's class_weight="balanced".
    """
    return counts.sum() / (len(counts) * counts)


CLASS_WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": torch.ones_like,
    "balanced": _balanced,
}


def _known(labels: Tensor) -> Tensor:
    return ~labels.isnan() if labels.is_floating_point() else labels != IGNORED
