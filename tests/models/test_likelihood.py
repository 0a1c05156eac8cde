"""Cross-entropy without holding all scores."""

import pytest
import torch
import torch.nn.functional as F
from sharp import assert_close, draw

from regard.models import likelihood
from regard.models.likelihood import summed_cross_entropy

ROWS, WIDTH, LABELS = 29, 11, 37


def given(dtype=torch.float64):
    x, weight, bias = (
        draw(ROWS, WIDTH, dtype=dtype),
        draw(LABELS, WIDTH, seed=2, dtype=dtype),
        draw(LABELS, dtype=dtype),
    )
    return [tensor.requires_grad_() for tensor in (3 * x, weight, bias)], torch.arange(ROWS) * 7 % LABELS


def defined(x, weight, bias, labels, label_weights, smoothing):
    scores = F.linear(x, weight, bias)
    return F.cross_entropy(scores, labels, label_weights, reduction="sum", label_smoothing=smoothing)


@pytest.mark.parametrize("at_once", [1, 5 * LABELS, ROWS * LABELS])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_value_and_gradients_are_those_of_the_definition(at_once, smoothing, weighed, biased, monkeypatch):
    monkeypatch.setattr(likelihood, "SCORES_AT_ONCE", at_once)
    (x, weight, bias), labels = given()
    label_weights = torch.linspace(0.5, 3, LABELS, dtype=torch.float64) if weighed else None
    learnt = [x, weight, bias] if biased else [x, weight]
    asked = (x, weight, bias if biased else None, labels, label_weights, smoothing)
    ours, theirs = summed_cross_entropy(*asked), defined(*asked)
    assert_close(ours, theirs, 1e-10)
    found, wanted = (torch.autograd.grad(1.7 * loss, learnt) for loss in (ours, theirs))
    for one, other in zip(found, wanted, strict=True):
        assert other.abs().max() > 0.1
        assert_close(one, other, 1e-10)
    with torch.no_grad():
        assert_close(summed_cross_entropy(*asked), theirs, 1e-10)


def test_scores_that_are_far_apart_stay_finite():
    (x, weight, bias), labels = given(torch.float32)
    far = (1e4 * x.detach()).requires_grad_()
    loss = summed_cross_entropy(far, weight, bias, labels)
    (gradient,) = torch.autograd.grad(loss, [far])
    assert loss.isfinite() and gradient.isfinite().all()
    assert_close(loss / 1e4, defined(far, weight, bias, labels, None, 0.0) / 1e4, 1e-2)


def test_no_rows_lose_nothing():
    (x, weight, bias), labels = given()
    loss = summed_cross_entropy(x[:0], weight, bias, labels[:0])
    assert loss == 0
    for gradient in torch.autograd.grad(loss, [x, weight, bias]):
        assert (gradient == 0).all()
