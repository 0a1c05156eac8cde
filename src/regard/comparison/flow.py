"""How far a network's last vector hears of its first, and how long it takes to hear all."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence

import torch

from regard.data.batching import collate
from regard.data.example import Example
from regard.models.model import EncoderDecoderModel, EncoderModel
from regard.predict import Predictor

# So many numbers of the last vector are asked at a time, since each takes a copy of the sequence.
_AT_A_TIME = 8

# The shortest of so many passes counts: others were held up by something else.
_PASSES = 5


def heard(predictor: Predictor, examples: Sequence[Example]) -> float:
    """How much the encoder's last vector changes with its first: the norm of ∂ output at the end / ∂ input at the
    start, the mean over some examples.

    The norm is Frobenius's, of all numbers by all numbers, in double precision: Hochreiter 1991 and Bengio, Simard &
    Frasconi 1994, IEEE Transactions on Neural Networks 5(2), section III, tell why that of a recurrence vanishes.
    """
    model = copy.deepcopy(predictor.model).cpu().double().eval()
    assert isinstance(model, EncoderModel | EncoderDecoderModel)  # what has an encoder
    norms = [_norm(model, predictor, example) for example in examples]
    return sum(norms) / len(norms)


def _norm(model: EncoderModel | EncoderDecoderModel, predictor: Predictor, example: Example) -> float:
    inputs = collate([predictor.item(example)], [0]).inputs
    x = model.input(inputs).detach()
    parts = []
    for numbers in torch.arange(x.shape[-1]).split(_AT_A_TIME):
        copies = x.repeat(len(numbers), 1, 1).requires_grad_()
        # Of each copy another number of the last vector: (copies, time, width) -> (copies,)
        asked = model.encoder(copies, None)[:, -1].gather(1, numbers[:, None])
        (changes,) = torch.autograd.grad(asked.sum(), copies)
        parts.append(changes[:, 0])
    return _length(torch.cat(parts))


def _length(numbers: torch.Tensor) -> float:
    """The root of the sum of squares, of numbers whose squares may be smaller than any number there is."""
    largest = numbers.abs().max()
    return float(largest * (numbers / largest).norm()) if largest > 0 else 0.0


def seconds(predictor: Predictor, width: int, length: int) -> float:
    """How long the encoder takes for one sequence of so many vectors: the time that this thread computes, which is the
    time on the wall where the machine does nothing else."""
    model = predictor.model
    assert isinstance(model, EncoderModel | EncoderDecoderModel)
    encoder = model.encoder.cpu().eval()
    x = torch.randn(1, length, width)
    with torch.inference_mode():
        encoder(x, None)
        return min(_timed(encoder, x) for _ in range(_PASSES))


def _timed(encoder: torch.nn.Module, x: torch.Tensor) -> float:
    started = time.thread_time()
    encoder(x, None)
    return time.thread_time() - started
