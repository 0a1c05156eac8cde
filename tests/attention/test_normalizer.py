"""Normalisers: scores become weights."""

import pytest
import reference
import torch
from laws import what_is_masked_weighs_nothing
from sharp import assert_close, draw, numpy

from regard.attention import NORMALIZERS

SCORES = 5 * draw(2, 3, 5, 7, dtype=torch.float64)
ALLOWED = draw(2, 1, 5, 7, seed=1) < 0.3
ALLOWED[0, 0, 2] = False
ALLOWED[1, 0, 3] = True


def test_every_normalizer_stands_in_the_reference():
    assert set(NORMALIZERS) == set(reference.NORMALIZERS)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_every_normalizer_equals_the_reference(name):
    assert_close(NORMALIZERS[name]()(SCORES), reference.NORMALIZERS[name](numpy(SCORES), None), 1e-12)
    assert_close(
        NORMALIZERS[name]()(SCORES, ALLOWED), reference.NORMALIZERS[name](numpy(SCORES), numpy(ALLOWED)), 1e-12
    )


@pytest.mark.parametrize("name", NORMALIZERS)
def test_what_is_masked_weighs_nothing(name):
    what_is_masked_weighs_nothing(name)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_row_that_may_see_nothing_is_zero_and_so_is_its_gradient(name):
    scores = SCORES.clone().requires_grad_()
    weights = NORMALIZERS[name]()(scores, ALLOWED)
    (weights * draw(*weights.shape, seed=2)).sum().backward()
    assert (weights[0, :, 2] == 0).all() and (scores.grad[0, :, 2] == 0).all()
    assert scores.grad.isfinite().all() and (scores.grad[1, :, 3] != 0).any()


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_scores_at_the_end_of_the_number_range_stay_finite(name, dtype):
    """Constants such as -1e9 overflow in half precision; two masks added give minus infinity (B10)."""
    scores = (SCORES * 1000).to(dtype)
    weights = NORMALIZERS[name]()(scores, ALLOWED)
    assert weights.dtype == dtype and weights.isfinite().all()
    assert (weights[~ALLOWED.expand_as(weights)] == 0).all()


@pytest.mark.parametrize("name", NORMALIZERS)
def test_the_gradient_is_the_slope(name):
    scores = draw(1, 2, 3, 5, dtype=torch.float64).requires_grad_()
    allowed = draw(1, 1, 3, 5, seed=1) < 0.5
    allowed[0, 0, 1] = False
    assert torch.autograd.gradcheck(lambda scores: NORMALIZERS[name]()(scores, allowed), scores)


def test_softmax_sums_to_one_where_anything_may_be_seen():
    weights = NORMALIZERS["softmax"]()(SCORES, ALLOWED)
    assert_close(weights.sum(-1), ALLOWED.any(-1).expand(2, 3, 5).double(), 1e-12)
