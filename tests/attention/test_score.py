"""Scores: how well a query fits a key."""

import pytest
import reference
import torch
from sharp import BATCH, HEAD_WIDTH, HEADS, KEYS, QUERIES, assert_close, assert_moved, draw, numpy, score_of, weights_of

from regard.attention import SCORES, attend
from regard.attention.score import Additive, Bilinear, Cosine
from regard.errors import ShapeError

QUERY = draw(BATCH, HEADS, QUERIES, HEAD_WIDTH, dtype=torch.float64)
KEY = draw(BATCH, HEADS, KEYS, HEAD_WIDTH, seed=1, dtype=torch.float64)
NARROW = draw(BATCH, HEADS, KEYS, 5, seed=2, dtype=torch.float64)


def test_every_score_stands_in_the_reference():
    assert set(SCORES) == set(reference.SCORES)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_equals_the_reference(name):
    score = score_of(name).double()
    assert_close(score(QUERY, KEY), reference.SCORES[name](numpy(QUERY), numpy(KEY), weights_of(score)), 1e-12)


@pytest.mark.parametrize("name", SCORES)
def test_a_score_that_is_a_dot_product_gives_the_same_both_ways(name):
    score = score_of(name).double()
    for scale in (None,) if name == "cosine" else (None, 0.3):
        reduced = score.as_dot_product(QUERY, KEY, scale)
        assert (reduced is None) == (name == "additive")
        if reduced is not None:
            queries, keys, factor = reduced
            assert_close(queries @ keys.transpose(-1, -2) * factor, score(QUERY, KEY, scale), 1e-12, name)


@pytest.mark.parametrize("name", SCORES)
def test_a_given_scale_is_a_factor(name):
    score = SCORES[name].sized(HEADS, HEAD_WIDTH, 0.7).double()
    assert_close(score(QUERY, KEY, 0.7), 0.7 * score(QUERY, KEY, 1.0), 1e-12)
    assert (score(QUERY, KEY, 0.0) == 0).all(), "0 is not a missing scale"


@pytest.mark.parametrize("name", SCORES)
def test_a_score_of_some_heads_is_these_of_all(name):
    score = score_of(name).double()
    heads = torch.tensor([1, 0, 1])
    assert_close(score.of_heads(heads)(QUERY[:, heads], KEY[:, heads]), score(QUERY, KEY)[:, heads], 1e-12)
    assert_close(score.of_heads(slice(1, 2))(QUERY[:, 1:], KEY[:, 1:]), score(QUERY, KEY)[:, 1:], 1e-12)
    assert score.chosen == slice(None)


def test_how_long_vectors_are_does_not_matter_to_the_cosine():
    assert_close(Cosine()(3 * QUERY, 0.1 * KEY), Cosine()(QUERY, KEY), 1e-12)
    assert float(Cosine(sharpness=1.0)(QUERY, KEY).abs().max()) < 1
    assert_close(Cosine(sharpness=1.0)(QUERY, QUERY).diagonal(0, 2, 3), torch.ones(BATCH, HEADS, QUERIES), 1e-12)


def test_a_vector_of_zeros_fits_nothing_and_has_a_finite_gradient():
    queries = torch.zeros_like(QUERY).requires_grad_()
    scores = Cosine()(queries, KEY)
    assert (scores == 0).all()
    scores.sum().backward()
    assert queries.grad.isfinite().all()


def test_the_sharpness_is_learned_for_each_head_or_given():
    learned, given = Cosine(HEADS, sharpness=7.0).double(), Cosine(sharpness=7.0)
    assert_close(learned(QUERY, KEY), given(QUERY, KEY), 1e-6)
    assert [tuple(p.shape) for p in learned.parameters()] == [(HEADS, 1, 1)] and not list(given.parameters())
    assert_close(given(QUERY, KEY, 3.0), Cosine(sharpness=3.0)(QUERY, KEY), 1e-12)
    with pytest.raises(ShapeError, match=r"a scale of 3.0 was given, but this cosine learns its sharpness; give one"):
        learned(QUERY, KEY, 3.0)


@pytest.mark.parametrize("kind", [Bilinear, Additive])
def test_queries_and_keys_may_differ_in_width_where_a_score_joins_them(kind):
    torch.manual_seed(0)
    score = kind(HEADS, HEAD_WIDTH, 5).double()
    name = kind.__name__.lower()
    wanted = reference.SCORES[name](numpy(QUERY), numpy(NARROW), weights_of(score))
    assert_close(score(QUERY, NARROW), wanted, 1e-12)
    assert attend(QUERY, NARROW, NARROW, score=score).shape == (BATCH, HEADS, QUERIES, 5)


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "cosine"])
def test_elsewhere_queries_and_keys_of_different_widths_are_refused_in_words(name):
    with pytest.raises(
        ShapeError, match=r"queries .*11\) and keys .*5\) differ in head_width; the scores Bilinear and"
    ):
        attend(QUERY, NARROW, NARROW, score=name)


@pytest.mark.parametrize("kind", [Bilinear, Additive])
def test_a_score_made_for_other_heads_or_widths_is_refused_in_words(kind):
    with pytest.raises(ShapeError, match="the score was made for 3 heads, but queries and keys have 2"):
        attend(QUERY, KEY, KEY, score=kind(3, HEAD_WIDTH).double())
    with pytest.raises(ShapeError, match=rf"the score {kind.__name__} was made for widths \(11, 7\) .*are 11 and 11"):
        attend(QUERY, KEY, KEY, score=kind(HEADS, HEAD_WIDTH, 7).double())


def test_what_an_additive_score_keeps_inside_may_be_of_any_width():
    score = Additive(HEADS, HEAD_WIDTH, inner=3).double()
    assert score(QUERY, KEY).shape == (BATCH, HEADS, QUERIES, KEYS) and score.energy.shape == (HEADS, 3, 1)
    assert_moved(score(QUERY, KEY), Additive(HEADS, HEAD_WIDTH, inner=3).double()(QUERY, KEY))
