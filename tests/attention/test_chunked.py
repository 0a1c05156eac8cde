"""The chunked path: rows are computed again for their gradients, and nothing but memory is different."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from sharp import BATCH, HEADS, KEYS, assert_close, assert_moved, draw

from regard.attention import NORMALIZERS, PATHS, Mask, attend
from regard.attention.normalizer import _supported, _supported_by_sorting
from regard.attention.score import Additive


def drawn(time=KEYS, dtype=torch.float64):
    return [draw(BATCH, HEADS, time, 5, seed=seed, dtype=dtype).requires_grad_() for seed in range(3)]


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr("regard.attention.chunked.CHUNK", 2 * BATCH * HEADS * KEYS)


def gradients(output, inputs):
    return torch.autograd.grad((output * draw(*output.shape, seed=7, dtype=output.dtype)).sum(), inputs)


def test_what_was_dropped_is_dropped_again_for_the_gradients(small_pieces):
    """With values of one, the gradient of the keys is that of the weights which were not dropped."""
    queries, keys, values = drawn()
    torch.manual_seed(3)
    output = attend(queries, keys, values, dropout=0.5, path="chunked")
    (slope,) = torch.autograd.grad(output.sum(), values)
    # The output is linear in the values, so that it is its own slope times the values.
    assert_close((slope * values).sum(), output.sum(), 1e-10)
    assert_moved(output, attend(queries, keys, values, dropout=0.5, path="chunked"))


def test_pieces_that_are_not_computed_again_are_noticed(small_pieces, monkeypatch):
    tensors = drawn()
    wanted = gradients(attend(*tensors, normalizer="sparsemax", path="plain"), tensors)
    found = gradients(attend(*tensors, normalizer="sparsemax", path="chunked"), tensors)
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other, 1e-12)
    monkeypatch.setattr("regard.attention.chunked.checkpoint", lambda take, piece, **asked: take(piece).detach())
    with pytest.raises(RuntimeError, match="grad"):
        gradients(attend(*tensors, normalizer="sparsemax", path="chunked"), tensors)


def test_numbers_that_a_score_learns_are_learned_in_pieces_too(small_pieces):
    score = Additive(HEADS, 5, inner=3).double()
    found, wanted = (
        gradients(attend(*drawn(), score=score, path=path), list(score.parameters())) for path in ("chunked", "plain")
    )
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other, 1e-12)


def test_attend_takes_it_where_there_are_many_weights(monkeypatch):
    taken = []
    before = PATHS["chunked"]
    spy = replace(before, take=lambda question: taken.append(question.queries.shape[2]) or before.take(question))
    monkeypatch.setitem(PATHS, "chunked", spy)
    monkeypatch.setattr("regard.attention.chunked.PAYS_FROM", BATCH * HEADS * KEYS**2)
    for time in (KEYS - 1, KEYS):
        attend(*drawn(time), normalizer="relu")
    assert taken == [KEYS]


def test_padding_stays_one_row_for_all_queries_on_the_fused_path(monkeypatch):
    """Written out for each query and head it takes up to twice as long."""
    seen, kernel = [], F.scaled_dot_product_attention

    def spy(*tensors, attn_mask, **asked):
        seen.append(tuple(attn_mask.shape))
        return kernel(*tensors, attn_mask=attn_mask, **asked)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    attend(*drawn(), mask=Mask.lengths(torch.tensor([KEYS, 0, 2])), path="fused")
    attend(*drawn(), mask=Mask.keys(draw(BATCH, KEYS) > 0), path="fused")
    assert seen == [(BATCH, 1, 1, KEYS)] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("normalizer", "power"), [("sparsemax", 1), ("entmax15", 2)])
def test_newtons_threshold_is_that_of_sorting(normalizer, power, dtype, monkeypatch):
    """Ties, extremes, rows of which one score weighs all, and rows that are not finite."""
    rows = torch.cat(
        [
            5 * draw(101, 31, dtype=dtype),
            draw(101, 31, dtype=dtype).round(),
            torch.zeros(1, 31, dtype=dtype),
            1e30 * draw(11, 31, dtype=dtype),
            torch.arange(31, dtype=dtype).neg().exp2()[None],
        ]
    )
    part = NORMALIZERS[normalizer]()
    found = part(rows)
    monkeypatch.setattr("regard.attention.normalizer._supported", _supported_by_sorting)
    assert_close(found, part(rows), 2e-6 if dtype == torch.float32 else 1e-14)
    broken = torch.full((1, 5), float("nan"), dtype=dtype)
    assert _supported(broken, power).all()
