"""Scores: how well a query fits a key."""

import reference
import torch
from sharp import BATCH, HEAD_WIDTH, HEADS, KEYS, QUERIES, assert_close, draw, numpy

from regard.attention import SCORES

QUERY = draw(BATCH, HEADS, QUERIES, HEAD_WIDTH, dtype=torch.float64)
KEY = draw(BATCH, HEADS, KEYS, HEAD_WIDTH, seed=1, dtype=torch.float64)


def test_every_score_stands_in_the_reference():
    assert set(SCORES) == set(reference.SCORES)


def test_every_score_equals_the_reference():
    for name, kind in SCORES.items():
        assert_close(kind()(QUERY, KEY), reference.SCORES[name](numpy(QUERY), numpy(KEY)), 1e-12, name)


def test_a_score_that_is_a_dot_product_gives_the_same_both_ways():
    for name, kind in SCORES.items():
        for scale in (None, 0.3):
            reduced = kind().as_dot_product(QUERY, KEY, scale)
            if reduced is not None:
                queries, keys, factor = reduced
                assert_close(queries @ keys.transpose(-1, -2) * factor, kind()(QUERY, KEY, scale), 1e-12, name)


def test_a_given_scale_is_the_factor_of_the_dot_product():
    for name in ("dot", "scaled_dot"):
        assert_close(SCORES[name]()(QUERY, KEY, 0.7), 0.7 * reference.dot(numpy(QUERY), numpy(KEY)), 1e-12, name)


def test_a_scale_of_zero_is_not_taken_for_a_missing_one():
    for name in ("dot", "scaled_dot"):
        assert (SCORES[name]()(QUERY, KEY, 0.0) == 0).all()
