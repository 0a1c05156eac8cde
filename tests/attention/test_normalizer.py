"""Normalisers: scores become weights."""

import pytest
import reference
import torch
from laws import what_is_masked_weighs_nothing
from sharp import assert_close, assert_moved, draw, numpy

from regard.attention import NORMALIZERS, Mask, attend
from regard.attention.normalizer import Softmax
from regard.errors import ShapeError

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
    scores = (2 * draw(1, 2, 3, 5, dtype=torch.float64)).requires_grad_()
    allowed = draw(1, 1, 3, 5, seed=1) < 0.5
    allowed[0, 0, 1] = False
    assert torch.autograd.gradcheck(lambda scores: NORMALIZERS[name]()(scores, allowed), scores)


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15"])
def test_weights_sum_to_one_where_anything_may_be_seen(name):
    weights = NORMALIZERS[name]()(SCORES, ALLOWED)
    assert_close(weights.sum(-1), ALLOWED.any(-1).expand(2, 3, 5).double(), 1e-12)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_score_that_is_no_number_is_not_lost_unless_it_is_hidden(name):
    scores = torch.tensor([[1.0, float("nan"), 2.0], [1.0, 0.5, 2.0]])
    weights = NORMALIZERS[name]()(scores)
    assert weights[0].isnan().any() and weights[1].isfinite().all()
    hidden = NORMALIZERS[name]()(scores, torch.tensor([True, False, True]))
    assert hidden.isfinite().all() and (hidden[:, 1] == 0).all() and torch.equal(hidden[0], hidden[1])


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_mask_with_one_column_for_all_keys_is_the_mask_written_out(name):
    allowed = torch.tensor([True, False, True, True, False])[:, None]
    part = NORMALIZERS[name]()
    assert torch.equal(part(SCORES, allowed), part(SCORES, allowed.expand(5, 7)))


@pytest.mark.parametrize("name", ["sparsemax", "entmax15"])
def test_low_scores_weigh_exactly_nothing_and_equal_ones_the_same(name):
    part = NORMALIZERS[name]()
    weights = part(torch.tensor([3.0, 0.0, 3.0, -5.0]))
    assert_close(weights, torch.tensor([0.5, 0, 0.5, 0]), 1e-6)
    assert weights[0] == weights[2] and (weights[[1, 3]] == 0).all()
    assert part(torch.tensor([0.0, 2.5])).tolist() == [0, 1]
    assert_close(part(torch.full((7,), 1e30)), torch.full((7,), 1 / 7), 1e-7)


ENTMAX = {"sparsemax": "sparsemax", "entmax15": "entmax15"}


@pytest.mark.parametrize("name", ENTMAX)
@pytest.mark.parametrize(
    "scores",
    [
        draw(97, 31, dtype=torch.float64),
        5 * draw(97, 31, dtype=torch.float64),
        0.01 * draw(97, 31, dtype=torch.float64),
        draw(11, 1, dtype=torch.float64),
        draw(53, 7, dtype=torch.float64).round(),  # ties, also at the border of what weighs anything
        torch.zeros(2, 5, dtype=torch.float64),
        1e6 * draw(13, 7, dtype=torch.float64),
        1e6 + draw(13, 7, dtype=torch.float64),
        draw(5, 997, dtype=torch.float64),
    ],
    ids=["plain", "sharp", "flat", "one key", "ties", "all equal", "extreme", "far from 0", "long"],
)
def test_sparse_normalizers_equal_the_package_of_their_authors(name, scores):
    """Martins & Astudillo's and Peters, Niculae & Martins' own code, in outputs and gradients."""
    entmax = pytest.importorskip("entmax")
    pull = draw(*scores.shape, seed=1, dtype=torch.float64)
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 1e-6)):
        if dtype == torch.float32 and float(scores.abs().max()) > 1e5:
            continue  # single precision rounds such scores themselves
        mine, theirs = (scores.to(dtype).clone().requires_grad_() for _ in range(2))
        found, wanted = NORMALIZERS[name]()(mine), getattr(entmax, ENTMAX[name])(theirs, dim=-1)
        assert_close(found, wanted, tolerance)
        (found * pull).sum().backward()
        (wanted * pull).sum().backward()
        assert_close(mine.grad, theirs.grad, 20 * tolerance)


def test_a_temperature_divides_the_scores_on_every_path():
    """Also what is added to them: the fused path is told a factor, not asked to divide."""
    queries, keys, values = (draw(2, 3, 5, 7, seed=seed, dtype=torch.float64) for seed in range(3))
    bias = draw(3, 5, 5, seed=3, dtype=torch.float64)
    warm = Softmax(temperature=2.5)
    assert_close(warm(SCORES, ALLOWED), Softmax()(SCORES / 2.5, ALLOWED), 1e-12)
    for mask in (None, Mask.causal(), Mask.lengths(torch.tensor([5, 3]))):
        for added in (None, bias):
            asked = {"mask": mask, "bias": added, "normalizer": warm}
            plain = attend(queries, keys, values, path="plain", **asked)
            assert_close(attend(queries, keys, values, path="fused", **asked), plain, 1e-12)
            assert_moved(plain, attend(queries, keys, values, mask=mask, bias=added))


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_that_is_not_above_zero_is_refused(temperature):
    with pytest.raises(ShapeError, match="a temperature is above 0, not"):
        Softmax(temperature)
